"""Studies that faults happen to, and whether they go on: continued, explained and reported."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pellucid_lab.faults.base import Tally
from pellucid_lab.faults.children import Say, attempted

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

STUDY = "study"
STEPS = 4
_ANSWERS = ("recommend", "stopping_verdict", "history", "receipts")
# Of several objectives, these are about one at a time.
_ABOUT_ONE = ("importance", "parameter_ranges", "calibration")
# Trials that a study must be able to add after a fault.
MORE = 2

Objective = Callable[["Trial"], Any]
# By trial number: the state and the values.
Snapshot = dict[int, tuple[str, tuple[float, ...]]]


def training(trial: Trial) -> float:
    """Two parameters and a learning curve of four steps, which `CurvePruner` may stop."""
    import optuna

    x, y = trial.suggest_float("x", -1.0, 1.0), trial.suggest_float("y", -1.0, 1.0)
    loss = (x - 0.3) ** 2 + (y + 0.2) ** 2
    for step in range(1, STEPS + 1):
        reported = loss + 3.0 * math.exp(-step)
        trial.report(reported, step)
        if step < STEPS and trial.should_prune():
            raise optuna.TrialPruned
    return reported


def quiet() -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)


@lru_cache(maxsize=1)
def prepared() -> None:
    """Import what children need, so that each of them does not have to: some packages only load what is used."""
    import alembic.command  # noqa: F401
    import optuna
    from optuna.storages import RDBStorage

    import pellucid

    quiet()
    RDBStorage("sqlite:///:memory:")
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=4))
    study.optimize(training, n_trials=5)
    with TemporaryDirectory() as folder:
        check_answers(study, Path(folder), lambda said: None)


def opened(address: str) -> Study:
    """The study at an address, as `pellucid tune` opens it, with a model after four trials."""
    import pellucid
    from pellucid.surfaces.cli.storage.places import place_of
    from pellucid.surfaces.cli.storage.studies import load, open_storage

    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=4)
    return load(open_storage(place_of(address)), STUDY, sampler, pellucid.CurvePruner())


def begin(address: str, trials: int) -> None:
    """Create a study at an address, and run some trials."""
    from pellucid.surfaces.cli.storage.places import place_of
    from pellucid.surfaces.cli.storage.studies import create_study

    create_study(place_of(address), STUDY, ("minimize",))
    study = opened(address)
    for _ in range(trials):
        run_trial(study)


def run_trial(study: Study, objective: Objective = training) -> FrozenTrial:
    """One whole trial: ask, suggest, report, tell. It has been told once this returns."""
    import optuna
    from optuna.trial import TrialState

    trial = study.ask()
    try:
        value = objective(trial)
    except optuna.TrialPruned:
        return study.tell(trial, state=TrialState.PRUNED)
    return study.tell(trial, value)


def work(address: str, trials: int, say: Say, objective: Objective = training) -> None:
    """A worker: says the number and the values of every trial that it has told."""
    study = opened(address)
    for _ in range(trials):
        told = run_trial(study, objective)
        say([told.number, list(told.values or ())])


# ---------------------------------------------------------------------- what is in the storage


def snapshot_of(trials: list[FrozenTrial]) -> Snapshot:
    return {trial.number: (trial.state.name, tuple(trial.values or ())) for trial in trials}


def snapshot(tally: Tally, address: str) -> Snapshot | None:
    """The trials that a storage has; None if it cannot be read, which is counted."""
    ended = attempted(tally, lambda say: list(snapshot_of(opened(address).trials).items()))
    if not ended.fine:
        tally.unusable += 1
        return None
    return {number: (state, tuple(values)) for number, (state, values) in ended.value}


def count_lost(tally: Tally, told: Mapping[int, tuple[float, ...]], after: Snapshot) -> None:
    """Trials that had been told and are not in the storage, or not with their values."""
    for number, values in told.items():
        state, kept = after.get(number, ("absent", ()))
        if state not in ("COMPLETE", "PRUNED") or kept != values:
            tally.lost += 1
            tally.note(f"lost: trial {number} was told {values}, but is {state} with {kept}")


def count_backwards(tally: Tally, before: Snapshot, after: Snapshot) -> None:
    """Trials that were there before, and finished ones that have changed."""
    for number, (state, values) in before.items():
        now = after.get(number)
        if now is None or (state in ("COMPLETE", "PRUNED", "FAIL") and now != (state, values)):
            tally.lost += 1
            tally.note(f"lost: trial {number} was {state} with {values}, and is {now}")


def compared(tally: Tally, address: str, told: Mapping[int, tuple[float, ...]], before: Snapshot) -> Snapshot:
    """The trials that a storage has now; what was told or there before and is not is counted as lost."""
    after = snapshot(tally, address)
    if after is None:
        return before
    count_lost(tally, told, after)
    count_backwards(tally, before, after)
    return after


def fingerprint(study: Study, first: int) -> list[Any]:
    """Everything of the trials from a number on that does not depend on the clock, bit for bit."""
    return [
        [
            trial.number,
            trial.state.name,
            {name: repr(value) for name, value in trial.params.items()},
            [value.hex() for value in trial.values or ()],
            {str(step): value.hex() for step, value in trial.intermediate_values.items()},
            {name: value for name, value in trial.system_attrs.items() if name.startswith("pellucid")},
            {name: value for name, value in trial.user_attrs.items() if name.startswith("pellucid")},
        ]
        for trial in study.get_trials(deepcopy=False)
        if trial.number >= first
    ]


# ---------------------------------------------------------------------- whether it goes on


def is_sentence(error: BaseException) -> bool:
    """Whether an error is one that an answer may raise: it says in a sentence why there is none."""
    import pellucid

    return isinstance(error, pellucid.Unanswered) and str(error).rstrip("`").endswith((".", "?"))


def failure_of(what: str, ask: Callable[[], object]) -> list[str]:
    """The error of a question, unless that is a sentence; none if there is an answer."""
    try:
        str(ask())
    except Exception as error:
        return [] if is_sentence(error) else [f"{what}: {type(error).__name__}: {error}"]
    return []


def check_goes_on(study: Study, folder: Path, say: Say, objective: Objective = training, more: int = MORE) -> list[str]:
    """What fails when a study is continued, explained and reported. Nothing but the report is in the folder."""
    problems = []
    before = len(study.get_trials(deepcopy=False))
    try:
        for _ in range(more):
            run_trial(study, objective)
            say("trial")
        if len(study.get_trials(deepcopy=False)) != before + more:
            problems.append("continue: the study has another number of trials")
    except Exception as error:
        problems.append(f"continue: {type(error).__name__}: {error}")
    return problems + check_answers(study, folder, say)


def check_answers(study: Study, folder: Path, say: Say) -> list[str]:
    """What fails when a study is explained and reported."""
    import pellucid

    problems = []
    for name in (*_ANSWERS, *_ABOUT_ONE):
        about = range(len(study.directions)) if name in _ABOUT_ONE else (None,)
        for objective in about:
            subject = {} if objective is None else {"objective": objective}
            problems += failure_of(name, partial(getattr(pellucid, name), study, **subject))
        say(name)
    try:
        page = pellucid.report(study, folder / "report.html", progress=False)
        text = page.read_text(encoding="utf-8")
        if not text.rstrip().endswith("</html>"):
            problems.append("report: the page is not complete")
        if "This answer failed" in text:
            problems.append("report: an answer failed")
    except Exception as error:
        problems.append(f"report: {type(error).__name__}: {error}")
    say("report")
    return problems


def count_unusable(tally: Tally, address: str, folder: Path, first: int | None = None) -> list[Any] | None:
    """Continue, explain and report the study at an address. Returns the fingerprint of its trials from `first` on."""

    def check(say: Say) -> list[Any]:
        study = opened(address)
        return [check_goes_on(study, folder, say), None if first is None else fingerprint(study, first)]

    ended = attempted(tally, check)
    problems = ended.value[0] if ended.fine else ["it cannot be opened, or not in time"]
    if problems:
        tally.unusable += 1
        tally.note("unusable: " + "; ".join(problems))
    found: list[Any] | None = ended.value[1] if ended.fine else None
    return found


def begun(tally: Tally, address: str, trials: int) -> None:
    """Create a study at an address, in a child, so that this process holds no connection."""
    attempted(tally, lambda say: begin(address, trials))
