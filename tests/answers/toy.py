"""A toy answer: all that is written by hand for an answer of this kind, and what surfaces show of it.

    python -m tests.answers.toy FOLDER

adds it to the catalogue by one line and prints what every surface shows, as JSON. It is a process of its own, so that
the catalogue is complete before anything reads it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.answers import catalogue
from pellucid.answers.base import Answer, Description, Metrics, Overview, Subject, as_it_is
from pellucid.answers.finding import Finding
from pellucid.answers.places import Place
from pellucid.answers.subjects import each_objective
from pellucid.words import NoAnswerYet

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.beliefs import Beliefs
    from pellucid.study.targets import Target

# ---------------------------------------------------------------------- the answer


@dataclass(frozen=True)
class Span(Finding):
    """How far apart the values of an objective are."""

    objective: str
    width: float
    n_trials: int

    @property
    def sentence(self) -> str:
        return f"The values of `{self.objective}` span {self.width:.3g}."

    @property
    def notes(self) -> tuple[str, ...]:
        return ("This is a toy.",)

    def _columns(self) -> Mapping[str, Any]:
        return {"objective": [self.objective], "width": [self.width]}


def span(study: Study, *, objective: str | int | None = None) -> Span:
    """How far apart the values of an objective are."""
    from pellucid.beliefs.of_study import opened

    with opened(study, "span", objective) as (beliefs, target):
        return span_of(beliefs, target)


def spanned(overview: Overview, subject: Subject) -> Span:
    return span_of(overview.beliefs, overview.target(subject))


def span_of(beliefs: Beliefs, target: Target) -> Span:
    values = [trial.values[target.column] for trial in beliefs.view.trials if trial.values]
    if len(values) < 3:
        raise NoAnswerYet("A span needs three trials.")
    return Span(target.name, max(values) - min(values), len(values))


def metrics(record: Span) -> Metrics:
    return {("span", "width"): record.width}


def drawn(record: Span) -> Any:
    import plotly.graph_objects as go

    from pellucid.answers.drawing.base import frame, say

    figure = go.Figure(go.Bar(x=[record.objective], y=[record.width]))
    frame(figure, "", 760, 300)
    say(figure, record.sentence, record.notes)
    return figure


SPAN: Answer[Span] = Answer(
    key="span",
    title="How far apart values are",
    compute="tests.answers.toy:spanned",
    records={"tests.answers.toy:Span": {"": "tests.answers.toy:drawn"}},
    function=("tests.answers.toy:span",),
    parts=each_objective,
    listed=as_it_is,
    shown=as_it_is,
    card=Place("How far apart?"),
    chapter=Place("How far apart are values?"),
    section="matters",
    metrics="tests.answers.toy:metrics",
    described=Description("How far apart are the values?", "use.md", "Returns how far apart the values are."),
)

# ---------------------------------------------------------------------- what surfaces show of it


def surfaces(folder: Path) -> Iterator[tuple[str, Any]]:
    """What every surface shows. Nothing here, and nothing in a surface, knows more of the toy than its entry."""
    import optuna
    from tests.golden.record import questions
    from tools import api, json_schema
    from typer.testing import CliRunner

    import pellucid
    from pellucid.surfaces.cli.app import app
    from pellucid.surfaces.cli.mcp.answering import reply_to
    from pellucid.surfaces.cli.mcp.session import Session
    from pellucid.surfaces.cli.mcp.tools import tools_of
    from pellucid.surfaces.cli.storage.places import place_of
    from pellucid.surfaces.page.gather import gather
    from pellucid.surfaces.page.note import note
    from pellucid.surfaces.page.page import page
    from pellucid.surfaces.trackers.contents import run_contents

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = f"sqlite:///{folder / 'studies.db'}"
    for name, n_trials in [("two", 8), ("new", 2)]:
        study = optuna.create_study(study_name=name, storage=url, directions=["minimize", "maximize"])
        for i in range(n_trials):
            trial = optuna.create_trial(
                params={"x": i / 8},
                distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
                values=[float(i), 10.0 * i],
            )
            study.add_trial(trial)
        answers = gather(study, progress=False)
        yield f"page, {name}", re.sub(r"<(script|style)\b.*?</\1>", "", page(answers), flags=re.DOTALL)
        yield f"note, {name}", note(answers, "trials/")
        explained = CliRunner().invoke(app, ["explain", name, "--storage", url])
        yield f"command line, {name}", explained.output
        yield (
            f"json, {name}",
            json.loads(CliRunner().invoke(app, ["explain", name, "--storage", url, "--json"]).stdout),
        )
        session = Session(place_of(url), folder)
        for tool in ("span", "overview"):
            reply = reply_to(session, tool, {"study": name})
            yield f"agent, {tool}, {name}", [reply.failed, *reply.texts]
    two = optuna.load_study(study_name="two", storage=url)
    run = run_contents(two, "mlflow", progress=False)
    yield "dashboard", pellucid.dashboard.publish(two)
    yield "tracker", {"metrics": run.metrics, "description": run.description, "files": run.files}
    yield "tools", {tool.name: [tool.title, tool.description] for tool in tools_of(session)}
    yield "schema", json_schema.explain_schema()
    yield "names", pellucid.__all__
    yield "stub", api.stub()
    yield "reference", api.reference()
    yield "questions", api.questions("")
    yield "keys", api.keys()
    asked = pellucid.span(two, objective=1)
    yield "golden questions", [name for name, _ in questions(two)]
    yield "python", str(asked)
    yield "notebook", asked._repr_html_()
    yield "figure", asked.plot().layout.title.text


def main() -> None:
    catalogue.CATALOGUE = (*catalogue.CATALOGUE, SPAN)
    print(json.dumps(dict(surfaces(Path(sys.argv[1])))))


if __name__ == "__main__":
    from tests.answers import toy  # The module that references name, not this script.

    toy.main()
