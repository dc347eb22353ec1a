"""`pellucid mcp --allow-tune`: trials are enqueued, and only those that fit the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from tests.cli.mcp.sessions import session

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.mcp.queueing import checked_values

SPACE = {
    "lr": FloatDistribution(1e-4, 1.0, log=True),
    "share": FloatDistribution(0.0, 1.0, step=0.1),
    "depth": IntDistribution(1, 9, step=2),
    "solver": CategoricalDistribution(["sgd", "adam", True, 1, None]),
}


def test_trials_are_enqueued_and_nothing_else_is_written(tmp_path: Path) -> None:
    """With the handshake of protocols before 2026."""
    path = f"sqlite:///{tmp_path}/tuning.db"
    study = optuna.create_study(study_name="only", storage=path)
    params = {"lr": 0.1, "share": 0.5, "depth": 3, "solver": "sgd"}
    study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=1.0))
    optuna.create_study(study_name="empty", storage=path)
    good = {"study": "only", "params": {"lr": 0.01, "share": 0.3, "depth": 5.0, "solver": True}}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("enqueue_trial", good),
        ("enqueue_trial", {"study": "only", "params": {"lr": 2}}),
        ("enqueue_trial", {"study": "only", "params": {"lr": float("nan")}}),
        ("enqueue_trial", {"study": "only", "params": {}}),
        ("enqueue_trial", {"study": "empty", "params": {"lr": 0.1}}),
        ("enqueue_trial", {"study": "none", "params": {"lr": 0.1}}),
    ]
    record = session(tmp_path, ["--storage", path, "--allow-tune"], calls, mode="legacy")
    hints = record.tools["enqueue_trial"].annotations
    assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == (False, False, False)
    first, *others = record.answers
    assert first.data == {"study": "only", "enqueued": {**good["params"], "depth": 5}, "waiting": 1}
    assert first.text.startswith("A trial with lr = 0.01, share = 0.3, depth = 5, solver = true waits in study `only`")
    assert [answer.failed for answer in others] == [True] * 5
    assert others[0].text == "`lr` has to be a number from 0.0001 to 1.0; got 2."
    assert others[1].text == "`lr` has to be a number from 0.0001 to 1.0; got nothing."
    assert others[2].text.startswith("`params` has to be an object with a value for at least one parameter")
    assert "its parameters are not known before" in others[3].text
    study = optuna.load_study(study_name="only", storage=path)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE, TrialState.WAITING]
    assert study.ask(SPACE).params == {**good["params"], "depth": 5}
    assert record.unreadable == []


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"lrr": 1}, "The study has no parameter `lrr`; it has `lr`, `share`, `depth`, `solver`. Did you mean `lr`?"),
        ({"lr": "0.1"}, '`lr` has to be a number from 0.0001 to 1.0; got "0.1".'),
        ({"lr": float("inf")}, "`lr` has to be a number from 0.0001 to 1.0; got null."),
        ({"lr": True}, "`lr` has to be a number from 0.0001 to 1.0; got true."),
        ({"share": 0.25}, "`share` has to be a number from 0.0 to 1.0 in steps of 0.1; got 0.25."),
        ({"depth": 4}, "`depth` has to be a whole number from 1 to 9 in steps of 2; got 4."),
        ({"depth": 3.5}, "`depth` has to be a whole number from 1 to 9 in steps of 2; got 3.5."),
        ({"depth": 10**400}, "`depth` has to be a whole number from 1 to 9 in steps of 2; got 1000"),
        ({"solver": "lbfgs"}, '`solver` has to be one of "sgd", "adam", true, 1, nothing; got "lbfgs".'),
        ({"solver": ["sgd"]}, '`solver` has to be one of "sgd", "adam", true, 1, nothing; got ["sgd"].'),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_rule(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Mistake) as refused:
        checked_values(SPACE, params)
    assert str(refused.value).startswith(sentence)


def test_values_become_those_of_the_study() -> None:
    values = checked_values(SPACE, {"lr": 1, "depth": 9.0, "solver": 1})
    assert [(type(value), value) for value in values.values()] == [(float, 1.0), (int, 9), (int, 1)]
    assert checked_values(SPACE, {"share": 0.1 + 0.2})["share"] == pytest.approx(0.3)
    assert checked_values(SPACE, {"solver": True})["solver"] is True
    assert checked_values(SPACE, {"solver": None}) == {"solver": None}
