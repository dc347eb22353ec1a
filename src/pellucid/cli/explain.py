"""``pellucid explain``: what a study says, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.answers import Unknown, answer
from pellucid.cli.errors import Mistake
from pellucid.cli.options import DEFAULT_STORAGE, Storage, StudyName
from pellucid.cli.storage.places import Place
from pellucid.cli.storage.studies import find_study, storage_sentences
from pellucid.cli.terminal import sentences, shown

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.goals import Goal
    from pellucid.records import HsicImportance, ProposalExplanation

_MOST_PARAMS = 2
_WIDE = 200


class GoalName(str, Enum):
    BEST = "best"
    WORST = "worst"
    FAILED = "failed"


@dataclass(frozen=True)
class Section:
    """An answer: its key in JSON, the question, and what to ask; the answer is a record or a list of records."""

    key: str
    question: str
    ask: Callable[[], Any]


@dataclass(frozen=True)
class Grid:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def explain(
    study: StudyName = None,
    storage: Storage = DEFAULT_STORAGE,
    trial: Annotated[
        int | None, typer.Option(min=0, show_default=False, help="Why was this trial proposed? Its number.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(show_default=False, help="What does this parameter do? Twice for two of them together."),
    ] = None,
    goal: Annotated[
        GoalName | None, typer.Option(show_default=False, help="What matters for being among these?")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON on standard output.")] = False,
) -> None:
    """Explain a study of any sampler: what to use, whether to stop, what matters, and why a trial was proposed.

    Without options, an overview in a few lines.
    """
    with sentences():
        names = tuple(param or ())
        if len(names) > _MOST_PARAMS:
            raise Mistake(f"--param is given once, or twice for two parameters together; got it {len(names)} times.")
        found, place = find_study(storage, study)
        with storage_sentences(place):
            asked = _asked(found, trial, names, goal)
            answers, unknown = _answers(asked or _overview(found))
            if asked and unknown:  # Asked for by name, what cannot be told is an error.
                raise Mistake(next(iter(unknown.values())))
            if as_json:
                _print_json(found, place, answers, unknown)
            else:
                _print_text(found, place, asked or _overview(found), answers, unknown, detailed=bool(asked))


def _asked(study: Study, trial: int | None, params: tuple[str, ...], goal: GoalName | None) -> list[Section]:
    """What the options ask for."""
    import pellucid

    sections = []
    if trial is not None:
        number = trial
        why = Section("proposal", f"Why trial {number}", lambda: pellucid.explain_proposal(study, number))
        sections.append(why)
    if params:
        question = f"What {' and '.join(params)} {'does' if len(params) == 1 else 'do'}"
        what = Section("dependence", question, lambda: pellucid.partial_dependence(study, params))
        sections.append(what)
    if goal is not None:
        wanted = goal
        sections.append(
            Section("importance", "What matters", lambda: pellucid.hsic_importance(study, goal=_goal(wanted)))
        )
    return sections


def _goal(name: GoalName) -> Goal:
    from pellucid.goals import best, failed, worst

    match name:
        case GoalName.BEST:
            return best()
        case GoalName.WORST:
            return worst()
        case GoalName.FAILED:
            return failed()


def _overview(study: Study) -> list[Section]:
    import pellucid
    from pellucid.explain.importance.analysis import importance_of_the_best
    from pellucid.explain.model import opened

    def importance() -> HsicImportance:
        with opened(study, "explain") as view:
            return importance_of_the_best(view)

    return [
        Section("recommendation", "What to use", lambda: pellucid.recommend(study)),
        Section("verdict", "Can I stop", lambda: pellucid.stopping_verdict(study)),
        Section("importance", "What matters", importance),
        Section("ranges", "Which ranges to change", lambda: pellucid.parameter_ranges(study)),
        Section("proposal", "Why the last proposal", lambda: pellucid.explain_proposal(study, _last(study))),
    ]


def _last(study: Study) -> int:
    """The newest trial that a model proposed; without any, the newest that finished."""
    from optuna.trial import TrialState

    from pellucid.study import study_io

    found = study_io.trials(study)
    proposed = study_io.model_receipts(found, before=len(found))
    if proposed:
        return proposed[-1].trial
    finished = [one.number for one in found if one.state == TrialState.COMPLETE]
    if not finished:
        raise ValueError("The study has no finished trial yet, so there is no proposal to explain.")
    return finished[-1]


def _answers(sections: Sequence[Section]) -> tuple[dict[str, Any], dict[str, str]]:
    """Answers, and why there are no others."""
    found = {section.key: answer(section.ask) for section in sections}
    unknown = {key: one.why for key, one in found.items() if isinstance(one, Unknown)}
    return {key: one for key, one in found.items() if key not in unknown}, unknown


# ---------------------------------------------------------------------- for machines and for people


def _print_json(study: Study, place: Place, answers: dict[str, Any], unknown: dict[str, str]) -> None:
    from pellucid.cli.plain import json_text
    from pellucid.cli.tune.watching import counts_of
    from pellucid.study import study_io

    data = {
        "study": study.study_name,
        "storage": place.shown,
        "direction": study.direction.name.lower(),
        "counts": counts_of(study_io.trials(study)),
        **{key: _data(one) for key, one in answers.items()},
        "unknown": unknown,
    }
    typer.echo(json_text(data))


def _print_text(
    study: Study,
    place: Place,
    sections: Sequence[Section],
    answers: dict[str, Any],
    unknown: dict[str, str],
    detailed: bool,
) -> None:
    from pellucid.cli.tune.watching import counts_of
    from pellucid.study import study_io

    counts = counts_of(study_io.trials(study))
    listed = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"
    typer.echo(f"Study `{shown(study.study_name)}` in {place.shown} ({study.direction.name.lower()}): {listed}.")
    for section in sections:
        if section.key in answers:
            typer.echo(f"{shown(section.question)}: {_text(answers[section.key])}")
            if detailed:
                _print_grid(_grid(answers[section.key]))
    if unknown:
        typer.echo("Cannot be told yet:")
        for section in sections:
            if section.key in unknown:
                typer.echo(f"  {section.question}: {shown(unknown[section.key])}")


def _data(found: Any) -> Any:
    return [one.to_dict() for one in found] if isinstance(found, list) else found.to_dict()


def _text(found: Any) -> str:
    if isinstance(found, list):
        return shown(" ".join(map(str, found)) if found else "Nothing speaks for changing one.")
    return shown(str(found))


def _grid(found: Any) -> Grid | None:
    """What a sentence has no room for."""
    from pellucid.records import HsicImportance, ProposalExplanation

    if isinstance(found, ProposalExplanation):
        return _contributions(found)
    return _importances(found) if isinstance(found, HsicImportance) else None


def _contributions(found: ProposalExplanation) -> Grid:
    terms = found.term_names
    rows = [
        (
            c.name,
            f"{c.value:.4g}" if isinstance(c.value, float) else str(c.value),
            f"{c.total:+.3g}",
            f"[{c.low:.3g}, {c.high:.3g}]",
            *(f"{c.terms[term]:+.3g}" for term in terms),
        )
        for c in sorted(found.contributions, key=lambda c: -abs(c.total))
    ]
    columns = ("parameter", "value", f"contribution ({found.unit})", f"{found.level:.0%} interval", *terms)
    return Grid(columns, tuple(rows))


def _importances(found: HsicImportance) -> Grid:
    rows = [
        (one.name, f"{one.index:.3g}", f"{one.stderr:.2g}", f"{one.p_adjusted:.2g}", one.verdict)
        for one in found.parameters
    ]
    return Grid(("parameter", "HSIC", "error", "p", "verdict"), tuple(rows))


def _print_grid(grid: Grid | None) -> None:
    if grid is None:
        return
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # A file or a pipe has no edge to fold lines at.
    table = Table(box=SIMPLE)
    for i, name in enumerate(grid.columns):
        table.add_column(Text(shown(name)), justify="left" if i == 0 else "right")
    for row in grid.rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console.print(table)
