"""`pellucid tune` with trials that are stopped early: its pruners, its table and its summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import optuna
import pytest
from optuna.pruners import HyperbandPruner, MedianPruner, NopPruner
from optuna.study import Study
from rich.console import Console
from tests.cli.tune.scripts import COMPLETE, FAIL, LOG, PRUNED, states, study, tune
from tests.helpers import file_storage, new_study

import pellucid
from pellucid.study.pruning import REASON_ATTRIBUTE
from pellucid.surfaces.cli.terminal import json_text
from pellucid.surfaces.cli.tune.display import Progress, rows_of, sentence_of, sparkline, table_of
from pellucid.surfaces.cli.tune.pruning import PrunerName, make_pruner
from pellucid.surfaces.cli.tune.snapshot import snapshot_of

pytestmark = pytest.mark.usefixtures("copied_workers")
NAN, INF = float("nan"), float("inf")
QUICK = ("--sampler", "random", "--seed", "0", "--storage", LOG)


def began(study: Study, *reports: float) -> None:
    """Begin a trial that reports these values at the steps 1, 2, ..."""
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    for step, value in enumerate(reports, start=1):
        trial.report(value, step)


def ended(study: Study, reports: Sequence[float], state: optuna.trial.TrialState) -> None:
    began(study, *reports)
    study.tell(len(study.trials) - 1, reports[-1] if state == COMPLETE else None, state)


def progress_of(study: Study, n_workers: int = 2) -> Progress:
    return Progress("title", snapshot_of(study), 20, 3, 1.0, None, "", n_workers)


def curve_rows(study: Study) -> dict[str, str]:
    return {name: text for name, text in rows_of(progress_of(study)) if name.startswith("trial ")}


# ------------------------------------------------------------------------------ runs


def test_every_stop_has_a_reason_and_the_summary_says_what_stops_saved(folder: Path) -> None:
    result = tune("worse_and_worse", 9, "--pruner", "curve", "--jobs", "2", *QUICK)
    assert result.exit_code == 0, result.output
    stopped = [trial for trial in study(storage=LOG).trials if trial.state == PRUNED]
    assert len(stopped) >= 3
    for trial in stopped:
        assert trial.user_attrs[REASON_ATTRIBUTE].startswith("Stopped at step ")
    record = pellucid.pruning_record(study(storage=LOG))
    assert record.sentence in result.stdout
    assert f", {len(stopped)} pruned ({record.saved} steps saved)" in result.stderr
    again = tune("worse_and_worse", 9, *QUICK, "--json")
    assert json.loads(again.stdout)["pruning"] == json.loads(json_text(record.to_dict()))


def test_a_study_goes_on_with_another_pruner(folder: Path) -> None:
    optuna.create_study(study_name="script", storage=file_storage(folder / LOG))
    for level in range(5):
        ended(study(storage=LOG), [level + 0.5**step for step in range(1, 11)], COMPLETE)
    assert tune("worse_and_worse", 7, "--pruner", "curve", *QUICK).exit_code == 0
    assert states(storage=LOG) == {COMPLETE: 5, PRUNED: 2}
    assert tune("worse_and_worse", 9, "--pruner", "none", *QUICK).exit_code == 0
    assert states(storage=LOG) == {COMPLETE: 7, PRUNED: 2}


def test_nothing_is_said_about_stops_if_no_trial_reports(folder: Path) -> None:
    study = optuna.create_study(study_name="script", storage=file_storage(folder / LOG))
    study.add_trial(optuna.create_trial(value=1.0))
    study.add_trial(optuna.create_trial(state=PRUNED))
    result = tune("bowl", 2, "--pruner", "curve", "--storage", LOG)
    assert result.exit_code == 0, result.output
    assert "stopped early" not in result.output
    assert json.loads(tune("bowl", 2, "--storage", LOG, "--json").stdout)["pruning"] is None
    rows = dict(rows_of(progress_of(study)))
    assert rows["trials"] == "2 of 20: 1 complete, 0 failed, 1 pruned; 0 running in 2 workers"


def test_each_name_is_a_pruner() -> None:
    types = [type(make_pruner(name, None)) for name in PrunerName]
    assert types == [pellucid.CurvePruner, MedianPruner, HyperbandPruner, NopPruner]


def test_nothing_is_stopped_if_no_chance_may_be_lost(folder: Path) -> None:
    result = tune("worse_and_worse", 7, "--pruner", "curve", "--keep", "0", *QUICK)
    assert result.exit_code == 0, result.output
    assert states(storage=LOG) == {COMPLETE: 7}


# ------------------------------------------------------------------------------ the table


def test_the_table_shows_the_curves_of_running_trials_the_newest_first() -> None:
    study = new_study()
    ended(study, [3.0, 2.0, 1.0, 0.5], COMPLETE)
    ended(study, [9.0], PRUNED)
    ended(study, [9.0, 8.0], FAIL)
    began(study, 4.0, 2.0, 3.0)
    began(study)
    began(study, 1.25)
    console = Console(width=100, record=True, file=StringIO())
    console.print(table_of(progress_of(study)))
    lines = [line.strip("│ ").split(" │ ") for line in console.export_text().splitlines() if "│" in line]
    cells = {name.strip(): text.strip() for name, text in lines}
    assert cells["trials"] == "3 of 20: 1 complete, 1 failed, 1 pruned (3 steps saved); 3 running in 2 workers"
    assert cells["trial 5"] == "step 1 of 4: 1.25 ▅"
    assert cells["trial 3"] == "step 3 of 4: 3 █▁▅"
    assert list(curve_rows(study)) == ["trial 5", "trial 3"]
    assert ", 1 failed, 1 pruned (3 steps saved); best 0.5" in sentence_of(progress_of(study))


def test_the_last_step_is_named_once_a_complete_trial_has_shown_it() -> None:
    study = new_study()
    began(study, 2.0, 1.0)
    assert curve_rows(study) == {"trial 0": "step 2: 1 █▁"}
    ended(study, [1.0, 1.0, 1.0], COMPLETE)
    assert curve_rows(study) == {"trial 0": "step 2 of 3: 1 █▁"}
    began(study, 1.0, 2.0, 3.0, 4.0)
    assert curve_rows(study)["trial 2"] == "step 4: 4 ▁▃▆█"


def test_hundreds_of_running_trials_leave_the_table_short() -> None:
    study = new_study()
    for _ in range(200):
        began(study, 1.0)
    assert list(curve_rows(study)) == [f"trial {number}" for number in (199, 198, 197, 196)]


def test_trials_that_a_killed_process_left_running_are_not_shown_at_the_end() -> None:
    study = new_study()
    began(study, 1.0)
    assert not [name for name, _ in rows_of(progress_of(study, n_workers=0)) if name.startswith("trial ")]


def test_several_objectives_have_no_curves() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    study.ask()
    snapshot = snapshot_of(study)
    assert (snapshot.curves, snapshot.horizon, snapshot.saved) == ((), None, 0)


def test_the_table_counts_the_steps_that_the_record_counts() -> None:
    study = new_study()
    for level in range(6):
        ended(study, [level + 0.5**step for step in range(1, 8)], COMPLETE)
    ended(study, [9.0, NAN, 8.0, NAN], PRUNED)  # The last number came at step 3.
    ended(study, [9.0] * 9, PRUNED)
    assert snapshot_of(study).saved == pellucid.pruning_record(study).saved == 4


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([5.0], "▅"),
        ([2.0, 2.0], "▅▅"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([3.0, NAN, 1.0], "█ ▁"),
        ([INF, 2.0, 1.0, -INF], "██▁▁"),
        ([NAN, NAN], "  "),
        ([INF], "▅"),
        ([-1.7e308, 1.7e308], "▁█"),
        ([0.0, 5e-324], "▅▅"),
        (range(100_000), "▁▁▂▂▂▃▃▄▄▄▅▅▅▆▆▇▇▇██"),
    ],
)
def test_a_curve_is_drawn_in_one_short_line(values: Sequence[float], drawn: str) -> None:
    assert sparkline(values) == drawn
