"""pellucid 1.0.0rc1, to be compared with the working tree: a study here has the trials of the study there.

Every parameter is suggested here, by the sampler with its defaults, so that conditional spaces, several objectives,
constraints, learning curves and running trials are what they are for a user of that release.
"""

from __future__ import annotations

from typing import Any

import optuna
from optuna.distributions import FloatDistribution, IntDistribution, json_to_distribution
from optuna.trial import Trial, TrialState

import pellucid

PACKAGES = ("pellucid", "optuna", "numpy", "scipy")

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Peer:
    def __init__(self, directions: list[Any], seed: int, n_startup: int) -> None:
        sampler = pellucid.BayesianSampler(seed=seed, n_startup_trials=n_startup)
        self._study = optuna.create_study(directions=directions, sampler=sampler)
        self._asked: dict[int, Trial] = {}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Note the trials that have ended, and suggest one parameter of the trial with this number."""
        for row in message["ended"]:
            self._end(row)
        number = message["trial"]
        if number not in self._asked:
            self._asked[number] = self._study.ask()
        trial = self._asked[number]
        check_number(trial.number, number)
        distribution = json_to_distribution(message["distribution"])
        return {"value": distribution.to_internal_repr(suggested(trial, message["name"], distribution))}

    def _end(self, row: dict[str, Any]) -> None:
        trial, state = self._asked.pop(row["number"], None), TrialState[row["state"]]
        distributions = {name: json_to_distribution(text) for name, text in row["distributions"].items()}
        params = {name: each.to_external_repr(row["params"][name]) for name, each in distributions.items()}
        if trial is None:
            check_number(len(self._study.trials), row["number"])
            self._study.add_trial(added(row, state, params, distributions))
            return
        if trial.params != params:
            raise ValueError(f"A trial has the parameters that were suggested, {trial.params!r}, but got {params!r}.")
        for step, value in row["reports"]:
            trial.report(value, step)
        for name, value in row["attributes"].items():
            trial.set_user_attr(name, value)
        for name, value in row["constraints"].items():
            trial.set_constraint(name, value)
        self._study.tell(trial, row["values"] if state == TrialState.COMPLETE else None, state=state)


def added(row: dict[str, Any], state: TrialState, params: dict[str, Any], distributions: dict[str, Any]) -> Any:
    """A trial that another sampler chose."""
    trial = optuna.trial.create_trial(
        state=state,
        values=row["values"],
        params=params,
        distributions=distributions,
        user_attrs=row["attributes"],
        intermediate_values=dict(row["reports"]),
    )
    for name, value in row["constraints"].items():
        trial.set_constraint(name, value)
    return trial


def check_number(here: int, there: int) -> None:
    if here != there:
        raise ValueError(f"Both studies number their trials alike, but trial {there!r} is number {here!r} here.")


def suggested(trial: Trial, name: str, distribution: Any) -> Any:
    if isinstance(distribution, FloatDistribution):
        return trial.suggest_float(
            name, distribution.low, distribution.high, step=distribution.step, log=distribution.log
        )
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(
            name, distribution.low, distribution.high, step=distribution.step, log=distribution.log
        )
    return trial.suggest_categorical(name, distribution.choices)
