"""Record every text that people read about fifteen studies, or compare the texts with the recorded ones.

    python -m tests.golden.surfaces                  write texts/surfaces/*.txt
    python -m tests.golden.surfaces --check          compare all of them
    python -m tests.golden.surfaces --check flat     compare one

A file has what stands on the page and in its figures, what `pellucid explain` prints, and the keys of its JSON; of some
studies also the note and the figures of the dashboard, and what a tracker gets. `mcp.txt` has the tools of the server
and what they answer. What the functions of Python say is in `texts/answers`, which `record` writes. Only public
functions, commands and files are used. `masks` says how texts are compared.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime, timedelta
from html.parser import HTMLParser
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.golden.masks import NAMES, changes, masked, part, text_file, write_text
from tests.golden.record import at_known_times, pinned, read, rounding

STORAGE = "studies.log"
# Studies whose note, figures of the dashboard and run of a tracker are recorded too: these repeat most of the page.
PUBLISHED = ("failures", "two objectives, constraint")
# Studies that an agent asks about, each with one of its objectives or nothing.
ASKED: dict[str, dict[str, str]] = {"failures": {}, "two objectives, constraint": {"objective": "right"}}
SERVER = "mcp"

# ---------------------------------------------------------------------------------------------- the page


class Outline(HTMLParser):
    """The texts of a page by section; headings and labels are texts like all others."""

    _BREAKS = frozenset(
        {
            *("a", "button", "dd", "details", "div", "dt", "figcaption", "h1", "h2", "h3", "h4", "label", "li", "nav"),
            *("option", "p", "section", "summary", "table", "td", "th", "title", "tr", "ul"),
        }
    )
    _SPOKEN = ("aria-label", "placeholder", "title", "alt")

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[tuple[str, list[str]]] = [("head", [])]
        self._text: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._skipped += 1
        if tag in self._BREAKS:
            self._end()
        given = dict(attrs)
        if tag == "section" or (tag in ("main", "header", "footer") and not self._skipped):
            self.sections.append((f"{tag} {given.get('id') or given.get('class') or ''}".strip(), []))
        texts = self.sections[-1][1]
        for name in self._SPOKEN:
            said = given.get(name)
            if said and said.replace("`", "") not in texts:  # A figure has its finding as a text and as a label.
                texts.append(f"[{name}] {said}")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._skipped -= 1
        if tag in self._BREAKS:
            self._end()

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._text.append(data)

    def _end(self) -> None:
        self.sections[-1][1].append("".join(self._text))
        self._text = []


def page_texts(study: Any) -> Iterator[str]:
    from tests.helpers import page_data

    import pellucid

    page = pellucid.report(study, "report.html", progress=False).read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(page)
    for name, texts in outline.sections:
        yield from part(f"page, {name}", texts)
    data = page_data(page)
    figures: dict[str, list[str]] = {}
    for name, figure in data["figures"].items():
        figures.setdefault(masked(name), []).extend(spoken(figure))
    for name, texts in figures.items():
        yield from part(f"page, figure {name}", texts)
    yield from part("page, why each trial", (words for trial in data["picked"] for words in trial["words"]))
    yield from part(f"page, columns of the table: {', '.join(column['name'] for column in data['table']['columns'])}")


_TEXTS = ("text", "name", "finding", "hovertemplate", "hovertext", "ticktext", "title")


def spoken(figure: Any) -> Iterator[str]:
    """Every text of a figure: titles, names of traces, notes, and what is shown under the pointer."""
    if isinstance(figure, Mapping):
        for key, value in figure.items():
            if key in _TEXTS:
                texts = value if isinstance(value, list) else [value]
                yield from (f"{key}: {text}" for text in texts if isinstance(text, str))
            yield from spoken(value)
    elif isinstance(figure, list) and figure and isinstance(figure[0], Mapping | list):
        for entry in figure:
            yield from spoken(entry)


# --------------------------------------------------------------------------- the dashboard and a tracker


def note_texts(study: Any) -> Iterator[str]:
    from optuna_dashboard import get_note

    from pellucid.surfaces import dashboard

    with redirect_stderr(io.StringIO()):
        findings = dashboard.publish(study)
    yield from part("dashboard, note", get_note(study).splitlines())
    yield from part("dashboard, figures", findings)


class Run:
    """A run of Weights & Biases that keeps what it is given."""

    def __init__(self, folder: str, options: Mapping[str, Any]) -> None:
        self.id, self.dir, self.step, self.options = options["id"], folder, 0, options
        self.settings: dict[str, Any] = {}
        self.metrics: dict[str, float] = {}
        self.config = SimpleNamespace(update=lambda values, **_: self.settings.update(values))
        self.summary: dict[str, Any] = {}

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self.metrics.update(metrics)

    def save(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None: ...


def tracker_texts(study: Any) -> Iterator[str]:
    from pellucid.surfaces.trackers import wandb

    runs: list[Run] = []
    stand_in = ModuleType("wandb")

    def init(**options: Any) -> Run:
        runs.append(Run("tracker", options))
        return runs[-1]

    vars(stand_in).update(init=init, Settings=dict)
    with patch.dict(sys.modules, {"wandb": stand_in}):
        wandb.log(study, progress=False)
    [run] = runs
    for name in sorted(run.metrics):
        yield f"tracker, metric {masked(name)}"
    yield f"tracker, config {', '.join(sorted(run.settings))}"
    for path in sorted(Path(run.dir, "pellucid").iterdir()):
        named = f": {', '.join(json.loads(path.read_text()))}" if path.suffix == ".json" else ""
        yield f"tracker, file {path.name}{named}"
    yield from part("tracker, notes", run.options["notes"].splitlines())


# ----------------------------------------------------------------------------------- commands and server


def command(*arguments: str) -> tuple[str, str]:
    """What the command `pellucid` prints on standard output, and on standard error."""
    [script] = entry_points(group="console_scripts", name="pellucid")
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["pellucid", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            script.load()()
        except SystemExit as end:
            err.write("\n(It succeeded.)" if end.code in (None, 0) else "\n(It failed.)")
    return out.getvalue(), err.getvalue()


def keys(data: Any, where: str = "") -> list[str]:
    """The paths to all entries; those of a list share one."""
    if isinstance(data, Mapping):
        inside = [path for key, value in data.items() for path in keys(value, f"{where}.{key}" if where else key)]
    elif isinstance(data, list):
        inside = [path for value in data if isinstance(value, Mapping | list) for path in keys(value, f"{where}[]")]
    else:
        inside = []
    return list(dict.fromkeys(masked(path) for path in ([where] if where else []) + inside))


def explained(study: Any) -> Iterator[str]:
    last, params = study.trials[-1].number, list(study.trials[0].params)
    place = ("--study", study.study_name, "--storage", STORAGE)
    asked: dict[str, list[str]] = {
        "": [],
        "--trial": [str(last)],
        "--param": params[:1],
        "--goal": ["failed" if any(trial.state.name == "FAIL" for trial in study.trials) else "best"],
    }
    for option, value in asked.items():
        given = [option, *value] if option else []
        said = "\n".join(command("explain", *given, *place))
        yield from part(f"pellucid explain {' '.join(given)}".strip(), said.splitlines())
    printed, _ = command("explain", "--json", *place)
    yield from (f"json: {key}" for key in keys(json.loads(printed)))


def questions(objective: dict[str, str]) -> dict[str, dict[str, Any]]:
    """What is asked by the key of its answer: every question of the catalogue that can be asked."""
    from pellucid.answers.base import Takes
    from pellucid.answers.catalogue import CATALOGUE

    named = {Takes.TRIAL: {"trial": 12}, Takes.PARAMS: {"params": ["x"]}}
    asked: dict[str, dict[str, Any]] = {}
    for answer in CATALOGUE:
        if answer.asked:
            about = objective if answer.parts.named else {}
            asked.setdefault(answer.key, {}).update({**about, **named.get(answer.takes, {})})
    return asked


def server_texts(folder: Path) -> Iterator[str]:
    """The tools of `pellucid mcp`, and what each answers about the studies of ASKED."""
    from tests.cli.mcp.sessions import session

    asked: list[tuple[str, dict[str, Any]]] = [("list_studies", {})]
    for name, objective in ASKED.items():
        study = {"study": name}
        asked += [
            ("overview", study),
            *((key, {**study, **given}) for key, given in questions(objective).items()),
            ("report", study),
        ]
    (folder / "reports").mkdir()
    calls = session(folder, ["--storage", STORAGE, "--allow-tune", "--reports", "reports"], asked)
    yield from part("instructions", [calls.instructions])
    for name, tool in calls.tools.items():
        yield from part(f"tool {name}", [tool.title or "", tool.description or ""])
        for argument, schema in tool.input_schema["properties"].items():
            yield from part(f"tool {name}, argument {argument}", [str(schema.get("description", ""))])
    for (name, given), answer in zip(asked, calls.answers, strict=True):
        title = f"call of {name} about {given.get('study', 'all')}{' failed' if answer.failed else ''}"
        # A page has the name of its study, and a digest of where that is.
        text = re.sub(r"report-(.+)-\w+\.html", r"report-\1.html", answer.text.replace(str(folder), ""))
        yield from part(title, text.splitlines())
        yield f"{title}, json: {', '.join(answer.data)}"


# ---------------------------------------------------------------------------------------------- the files


def stored(name: str, storage: Any) -> Any:
    """A golden study in a storage, with trials that ran at known times of the last hour."""
    import optuna
    from tests.golden.studies import STUDIES

    made = STUDIES[name]()
    study = optuna.create_study(
        study_name=name, storage=storage, directions=made.directions, sampler=made.sampler, pruner=made.pruner
    )
    if made.metric_names:
        study.set_metric_names(made.metric_names)
    study.add_trials(at_known_times(made, datetime.now() - timedelta(hours=1)))
    return study


def texts_of(name: str) -> list[str]:
    """The file of one study, or of the server, as lines."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        os.chdir(folder)
        try:
            storage = JournalStorage(JournalFileBackend(STORAGE))
            if name == SERVER:
                for each in ASKED:
                    stored(each, storage)
                return list(server_texts(Path(folder)))
            study = stored(name, storage)
            parts: list[Callable[[Any], Iterator[str]]] = [explained, page_texts]
            if name in PUBLISHED:
                parts += [note_texts, tracker_texts]
            return [line for texts in parts for line in texts(study)]
        finally:
            os.chdir(before)


def main() -> int:
    import optuna

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    exact, n_changed = read()["rounding"] == rounding(), 0
    names = options.names or [*NAMES, SERVER]
    for name in names:
        present, path = texts_of(name), text_file("surfaces", name)
        if not options.check:
            write_text(path, present)
        lines = changes(path, present, exact=exact)
        n_changed += bool(lines)
        for line in lines:
            print(line)
    how = "" if exact else ", within tolerances, because this processor rounds otherwise"
    print(f"{len(names)} files of texts compared{how}: {n_changed} with differences.")
    return 1 if n_changed else 0


if __name__ == "__main__":
    os.environ.update({"COLUMNS": "160", "TERM": "dumb", "NO_COLOR": "1"})
    pinned("tests.golden.surfaces")
    raise SystemExit(main())
