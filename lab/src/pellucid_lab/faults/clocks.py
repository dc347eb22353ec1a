"""Clocks that jump: trials from the future, from decades ago, that ended before they began, or at no known time.

Optuna stores when trials began and ended; here these times are written to an SQLite file. One trial still runs.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Say, attempted
from pellucid_lab.faults.homes import home
from pellucid_lab.faults.studies import begin, check_goes_on, failure_of, opened

TRIALS = 10
_YEAR = timedelta(days=365)
# What the times of a trial are changed to.
Times = tuple[datetime | None, datetime | None]
Change = Callable[[datetime, datetime, random.Random], Times]


def _jump(years: int) -> Change:
    return lambda began, ended, rng: (began + years * _YEAR, ended + years * _YEAR)


JUMPS: dict[str, Change] = {
    "fifty years ahead": _jump(50),
    "fifty years back": _jump(-50),
    "all at one moment": lambda began, ended, rng: (datetime(2000, 1, 1), datetime(2000, 1, 1)),
    "ended a day before it began": lambda began, ended, rng: (began, began - timedelta(days=1)),
    "at no known time": lambda began, ended, rng: (None, None),
    "began at no known time": lambda began, ended, rng: (None, ended),
    "ended at no known time": lambda began, ended, rng: (began, None),
    "the first year": lambda began, ended, rng: (datetime.min, datetime.min),
    "the last year": lambda began, ended, rng: (datetime.max, datetime.max),
    "from the first year to the last": lambda began, ended, rng: (datetime.min, datetime.max),
    "back in the middle": lambda began, ended, rng: (
        began - rng.randrange(2) * _YEAR,
        ended - rng.randrange(2) * _YEAR,
    ),
    "anywhere": lambda began, ended, rng: (
        began + rng.randrange(-300, 300) * _YEAR / 10,
        ended + rng.randrange(-300, 300) * _YEAR / 10,
    ),
}


def run_clocks(task: FaultTask) -> Tally:
    """`size` jumps, from number `chunk` on."""
    tally = Tally()
    with home("sqlite") as at_home:
        attempted(tally, lambda say: _begin(at_home.address))
        names = list(JUMPS)
        for number in range(task.chunk, task.chunk + task.size):
            name = names[number % len(names)]
            tally.tried += 1
            address = at_home.copy(f"jump{number}")
            set_times(Path(address.removeprefix("sqlite:///")), JUMPS[name], random.Random(number))
            ended = attempted(tally, lambda say, url=address: _check(url, at_home.folder, say))  # type: ignore[misc]
            problems = ended.value if ended.fine else ["it cannot be opened, or not in time"]
            if problems:
                tally.unusable += 1
                tally.note(f"{name}: " + "; ".join(problems))
    return tally


def _begin(address: str) -> None:
    begin(address, TRIALS)
    opened(address).ask()


def set_times(file: Path, change: Change, rng: random.Random) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for trial, began, ended in connection.execute(
            "SELECT trial_id, datetime_start, datetime_complete FROM trials"
        ).fetchall():
            start = datetime.fromisoformat(began)
            new = change(start, start if ended is None else datetime.fromisoformat(ended), rng)
            texts = [None if time is None else time.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26) for time in new]
            connection.execute(
                "UPDATE trials SET datetime_start = ?, datetime_complete = ? WHERE trial_id = ?",
                (texts[0], None if ended is None else texts[1], trial),
            )
        connection.commit()


def _check(address: str, folder: Path, say: Say) -> list[str]:
    import pellucid
    from pellucid.surfaces.cli.tune.snapshot import snapshot_of

    study = opened(address)
    problems: list[str] = []
    for number in range(TRIALS):
        for ask in (pellucid.explain_proposal, pellucid.explain_pruning):
            problems += failure_of(ask.__name__, partial(ask, study, number))
        say(number)
    problems += failure_of("the display of tune", partial(snapshot_of, study))
    return problems + check_goes_on(study, folder, say)
