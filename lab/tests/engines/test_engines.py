"""The counters of shared studies can fail, and small studies pass through every part of the command."""

from __future__ import annotations

import json
from pathlib import Path

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial
from typer.testing import CliRunner

import pellucid
from pellucid_lab.commands.bench import app
from pellucid_lab.engines.kinds import ENGINES
from pellucid_lab.engines.records import EngineRun, EngineTask, Work, configuration, record
from pellucid_lab.engines.tables import markdown
from pellucid_lab.runs.provenance import stamp

TASK = EngineTask("threads", "pellucid", 2, 3)


def recorded(study: optuna.Study, *told: float) -> EngineRun:
    """As if workers had told trials with these parameters."""
    return record(TASK, Work(tuple(configuration({"x": x}) for x in told), 0, 2.0), study, stamp((), ""))


def trial(x: float, state: TrialState = TrialState.COMPLETE) -> optuna.trial.FrozenTrial:
    value = x if state == TrialState.COMPLETE else None
    return create_trial(state=state, params={"x": x}, distributions={"x": FloatDistribution(0, 1)}, value=value)


def test_a_told_trial_that_is_not_complete_is_lost() -> None:
    study = optuna.create_study()
    study.add_trials([trial(0.1), trial(0.2), trial(0.4)])  # Of the last one, nobody has heard that it was stored.
    run = recorded(study, 0.1, 0.2, 0.3)
    assert (run.lost, run.stuck, run.duplicates, run.rate) == (1, 0, 0, 1.5)


def test_a_trial_that_never_ends_is_stuck_and_a_repeated_one_a_duplicate() -> None:
    study = optuna.create_study()
    study.add_trials([trial(0.1), trial(0.1), trial(0.3, TrialState.RUNNING)])
    run = recorded(study, 0.1, 0.1)
    assert (run.lost, run.stuck, run.duplicates) == (0, 1, 1)


def test_proposals_that_saw_other_trials_are_counted() -> None:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=2))
    space = {"x": FloatDistribution(0, 1)}
    for _ in range(4):
        study.tell(study.ask(space), 1.0)
    for _ in range(3):
        study.ask(space)
    run = recorded(study)
    assert (run.seen, run.modelled) == (2, 5)


def test_a_share_is_of_random_on_the_same_engine() -> None:
    study = optuna.create_study()
    random = record(EngineTask("sqlite", "random", 2, 3), Work(("{}",) * 8, 0, 1.0), study, stamp((), ""))
    ours = record(EngineTask("sqlite", "pellucid", 2, 3), Work(("{}",) * 6, 0, 1.0), study, stamp((), ""))
    page = markdown([ours, random], "")
    assert "| processes, a file of SQLite | pellucid | 2 | 6 |" in page
    assert "| 6.0 | 75% |" in page


def test_the_command_runs_engines_once(tmp_path: Path) -> None:
    out, table = tmp_path / "engines.jsonl", tmp_path / "engines.md"
    command = ["engines", "--kinds", "threads,journal", "--samplers", "pellucid", "--workers", "2"]
    command += ["--trials", "14", "--out", str(out), "--table", str(table), "--quiet"]
    for _ in range(2):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(run["engine"], run["told"], run["lost"], run["stuck"], run["exceptions"]) for run in runs] == [
        ("threads", 14, 0, 0, 0),
        ("journal", 14, 0, 0, 0),
    ]
    assert "a journal file" in table.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kinds", "rays"], f"--kinds takes {', '.join(ENGINES)}; got `rays`."),
        (["--kinds", "threads", "--samplers", "tpe"], "got `tpe`."),
    ],
)
def test_unknown_names_are_sentences(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, ["engines", *arguments, "--out", str(tmp_path / "x.jsonl")])
    assert result.exit_code == 2
    assert sentence in result.output


def test_asks_beside_trials_that_never_end_have_a_table(tmp_path: Path) -> None:
    table = tmp_path / "running.md"
    command = ["running", "--trials", "12", "--stale", "0,3", "--table", str(table), "--quiet"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "| memory | 12 | 3 | the same sampler |" in table.read_text()
    assert "| sqlite | 12 | 3 | RandomSampler |" in table.read_text()
    assert "| sqlite | 12 | 0 |  |" in table.read_text()
