"""Pages, figures, notes, dashboards and trackers of studies with hostile names."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from optuna.study import Study
from tests.words.recorder import Recorder, name

import pellucid
from pellucid.answers import drawing as plots

HOSTILE = name("shown")


class Elements(HTMLParser):
    """The names of all elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.add(tag)
        self.scripts += tag == "script"


def hear_page(recorder: Recorder, page: str, source: str) -> None:
    """Scripts are pellucid's own, or compressed data; everything else must be harmless."""
    elements = Elements()
    elements.feed(page)
    if elements.scripts != 5 or {"img", "svg", "iframe"} & elements.names:
        recorder.faults.append(f"{source}: elements {elements.names}, {elements.scripts} scripts")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    recorder.hear(body.replace("\n", " "), source)


def drive_pages(recorder: Recorder, studies: list[Study], folder: Path) -> None:
    from pellucid.surfaces.page.gather import gather
    from pellucid.surfaces.page.note import note
    from pellucid.surfaces.page.page import page

    for i, study in enumerate(studies):
        answers = recorder.attempt(lambda study=study: gather(study, False))
        if answers is None:
            continue
        hear_page(recorder, page(answers), f"page {i}")
        recorder.hear(note(answers, "/trials?number="), f"note {i}")
    for path in (folder, folder / HOSTILE.replace("/", " ") / "x.html"):
        recorder.attempt(lambda path=path: pellucid.report(studies[0], path, progress=False))


def drive_figures(recorder: Recorder, answers: list[pellucid.Finding], folder: Path) -> None:
    for answer in answers:
        figure = recorder.attempt(lambda answer=answer: plots.bare(answer))
        if figure is not None:
            recorder.hear_data(plots.stored(figure), f"figure of {type(answer).__name__}")
        recorder.attempt(lambda answer=answer: plots.draw(answer, HOSTILE))
    recorder.attempt(lambda: plots.draw(HOSTILE))
    figure = plots.draw(next(each for each in answers if isinstance(each, pellucid.History)))
    recorder.attempt(lambda: plots.save(figure, folder / f"{HOSTILE.replace('/', ' ')}.txt"))


def drive_dashboard(recorder: Recorder, study: Study) -> None:
    from optuna_dashboard import get_note

    from pellucid.study import storage
    from pellucid.surfaces.dashboard import publish

    for title in recorder.attempt(lambda: publish(study)) or []:
        recorder.known += "aGk=" in title
    recorder.hear(get_note(study), "note of the dashboard")

    class Broken:
        def get_study_system_attrs(self, _: int) -> dict[str, Any]:
            return {}

        @property
        def scoped_session(self) -> Any:
            raise OSError(5, HOSTILE, HOSTILE)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "RDBStorage", Broken)
        broken = SimpleNamespace(_storage=Broken(), _study_id=0)
        recorder.attempt(lambda: storage.remove_dashboard_figure(broken, HOSTILE))  # type: ignore[arg-type]


def drive_trackers(recorder: Recorder, studies: list[Study], bare: Study) -> None:
    from pellucid.surfaces.page.gather import gather
    from pellucid.surfaces.trackers import contents, mlflow, wandb

    for study in studies:
        logged = recorder.attempt(lambda study=study: contents.contents_of(gather(study, False)))
        if logged is None:
            continue
        recorder.hear(logged.name, "name of a run")
        recorder.hear(logged.description, "description of a run")
        recorder.hear(logged.files["answers.md"], "answers.md")
        recorder.hear_data(logged.params, "params of a run")
        recorder.hear_data(logged.metrics, "metrics of a run")
        recorder.hear_data(logged.directions, "directions of a run")
        for file, text in logged.files.items():
            if file.endswith(".json"):
                recorder.hear(text, file)
                json.loads(text)
    recorder.attempt(lambda: contents.contents_of(gather(bare, False)))
    recorder.hear(contents.missing(HOSTILE, HOSTILE), "a missing tracker")
    recorder.attempt(lambda: _raise(contents.missing("mlflow", HOSTILE)))
    deleted = SimpleNamespace(lifecycle_stage="deleted", experiment_id=HOSTILE)
    client = SimpleNamespace(get_experiment_by_name=lambda _: deleted)
    recorder.attempt(lambda: mlflow._run(client, HOSTILE, None))  # type: ignore[arg-type]
    run = SimpleNamespace(data=SimpleNamespace(params={HOSTILE: HOSTILE}), info=SimpleNamespace(run_id=HOSTILE))
    recorder.attempt(lambda: mlflow._check_params(run, {HOSTILE: "other"}, ()))
    for tracker in (mlflow, wandb):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(__import__("sys").modules, tracker.__name__.rpartition(".")[2], None)
            recorder.attempt(lambda tracker=tracker: tracker.log(bare))


def _raise(error: Exception) -> None:
    raise error


def drive_progress(recorder: Recorder, capsys: Any) -> None:
    """Bars on a terminal and in a notebook."""
    from pellucid import progress

    handle = SimpleNamespace(update=lambda *_, **__: None)
    bar = progress._NotebookBar(HOSTILE, 3, handle)
    bar.update(advance=1, description=HOSTILE)
    for text in bar.bundle().values():
        recorder.hear(text, "bar of a notebook")
    with progress._terminal_bar(HOSTILE, 3):
        pass
    recorder.hear("".join(capsys.readouterr()), "bar of a terminal")
