"""Receipts that somebody has changed: one that cannot be read costs that receipt alone.

Every study has ten trials. The receipts of the five that a model proposed are changed; those of the start must come
back as they were. All are read by `pellucid.receipts`, and a sentence is made of those that can be read. A share goes
deeper: it is rebuilt and explained, the next trial is proposed from it, and a smaller one is in a report.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Say, attempted
from pellucid_lab.faults.examples import STARTUP, TRIALS, example_studies
from pellucid_lab.faults.homes import empty_folder
from pellucid_lab.faults.mutations import changed_bytes, changed_structure, dumps, odd_values
from pellucid_lab.faults.studies import check_answers, failure_of

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

_KEY, _PART = "pellucid:receipt", 2045
# One study in so many goes deeper, and one in so many of those is reported.
DEEPER, REPORTED = 20, 12


def run_receipts(task: FaultTask) -> Tally:
    """`size` receipts, changed as bytes or as JSON, the `case`."""
    example_studies()
    return tried_in_a_child(task, lambda folder, say: _changed(task, folder, say))


def tried_in_a_child(task: FaultTask, function: Callable[[Path, Say], dict[str, Any]]) -> Tally:
    """The counts of a function that tries changed inputs, in an empty folder; the file `canary` there is a trace of
    code that ran."""
    tally = Tally()
    with empty_folder() as folder:
        ended = attempted(tally, lambda say: function(folder, say))
        if ended.value is None:
            tally.unusable += 1
            tally.tried += task.size
        else:
            tally.add(ended.value)
        count_executed(tally, folder / "canary")
    return tally


def count_executed(tally: Tally, canary: Path) -> None:
    if canary.exists():
        tally.executed += 1
        tally.note("a text of the fault was executed")


def _changed(task: FaultTask, folder: Path, say: Say) -> dict[str, Any]:
    tally, rng = Tally(), random.Random(f"{task.case} {task.chunk}")
    odd = odd_values(folder / "canary")
    studies = list(example_studies().items())
    number = 0
    while tally.tried < task.size:
        sort, source = studies[number % len(studies)]
        study = _with_changes(source, lambda text: _change(task.case, rng, text, odd))
        tally.tried += TRIALS - STARTUP
        _read(tally, study, source)
        if (number + task.chunk) % DEEPER == 0:
            _go_deeper(tally, study, sort, say)
            if (number + task.chunk) // DEEPER % REPORTED == 0:
                tally.count("receipts in reports", TRIALS - STARTUP)
                for problem in check_answers(study, folder, say):
                    tally.crashes += 1
                    tally.note(f"{sort}: {problem}")
        number += 1
        say(number)
    return asdict(tally)


def _change(case: str, rng: random.Random, text: str, odd: tuple[Any, ...]) -> str:
    if case == "bytes":
        return changed_bytes(rng, text.encode()).decode(errors="replace")
    return dumps(changed_structure(rng, json.loads(text), odd))


def _with_changes(source: Study, change: Any) -> Study:
    import optuna

    study = optuna.create_study(directions=source.directions, sampler=source.sampler)
    trials = source.get_trials(deepcopy=False)
    study.add_trials([*trials[:STARTUP], *(_with_receipt(trial, change) for trial in trials[STARTUP:])])
    return study


def _with_receipt(trial: FrozenTrial, change: Any) -> FrozenTrial:
    from optuna.trial import create_trial

    text = change("".join(_parts(trial)))
    kept = {name: value for name, value in trial.system_attrs.items() if not name.startswith(_KEY)}
    parts = {f"{_KEY}:{i}": text[i * _PART : (i + 1) * _PART] for i in range(-(-len(text) // _PART))}
    return create_trial(
        state=trial.state,
        params=trial.params,
        distributions=trial.distributions,
        values=trial.values,
        intermediate_values=trial.intermediate_values,
        system_attrs={**kept, **parts},
    )


def _parts(trial: FrozenTrial) -> Iterator[str]:
    number = 0
    while f"{_KEY}:{number}" in trial.system_attrs:
        yield trial.system_attrs[f"{_KEY}:{number}"]
        number += 1


def _read(tally: Tally, study: Study, source: Study) -> None:
    """All receipts: those that nobody has changed must be there."""
    import pellucid

    try:
        found = pellucid.receipts(study)
        kept = [receipt for receipt in pellucid.receipts(source) if receipt.trial < STARTUP]
        if found[: len(kept)] != kept:
            tally.lost += 1
            tally.note("a receipt that nobody has changed is lost")
        tally.count("receipts that can still be read", len(found) - len(kept))
        for receipt in found:
            str(receipt)
    except Exception as error:
        tally.crashes += 1
        tally.note(f"reading: {type(error).__name__}: {error}")


def _go_deeper(tally: Tally, study: Study, sort: str, say: Say) -> None:
    import pellucid

    def try_to(what: str, ask: Any) -> None:
        for problem in failure_of(f"{sort}, {what}", ask):
            tally.crashes += 1
            tally.note(problem)
        say(what)

    numbers = range(STARTUP, TRIALS)
    tally.count("receipts that went deeper", len(numbers))
    for number in numbers:
        try_to("rebuild", lambda n=number: pellucid.rebuild(study, n))
        try_to("explain", lambda n=number: pellucid.explain_proposal(study, n))
    try_to("propose", lambda: study.ask(dict(study.trials[0].distributions)))
