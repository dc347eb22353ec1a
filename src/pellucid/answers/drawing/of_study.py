"""Figures of a study, like those of `optuna.visualization`: each function asks for an answer and draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import plotly.graph_objects as go
from optuna.study import Study

from pellucid.answers.calibration import calibration
from pellucid.answers.effects.dependence import partial_dependence
from pellucid.answers.effects.profile import profile_effect
from pellucid.answers.history import history
from pellucid.answers.importance.analysis import hsic_importance
from pellucid.answers.importance.shares import importance
from pellucid.answers.intervals import Cheap, interval_reduction
from pellucid.answers.proposals.explanation import desirability_paths, explain_proposal
from pellucid.answers.pruning.explanation import explain_pruning
from pellucid.answers.pruning.saved import pruning_record
from pellucid.answers.ranges.advice import parameter_ranges
from pellucid.answers.stop.one import regret_history
from pellucid.study.goals import Goal, failed


def plot_history(study: Study) -> go.Figure:
    """Trials, the best so far, what the model expected of each proposal, and which sampler chose it."""
    return history(study).plot()


def plot_regret_history(study: Study, *, regret_below: float | str | None = None) -> go.Figure:
    """How much was left to find over the run, and how much proposals explored."""
    return regret_history(study, regret_below=regret_below).plot()


def plot_calibration(study: Study, *, objective: str | int | None = None, level: float = 0.95) -> go.Figure:
    """Predictions beside what the trials returned, and how far off they were over the run."""
    return calibration(study, objective=objective, level=level).plot()


def plot_profile_effect(study: Study, param: str, *, objective: str | int | None = None) -> go.Figure:
    """The best that can be reached at each value of a parameter, with a band."""
    return profile_effect(study, param, objective=objective).plot()


def plot_partial_dependence(
    study: Study, params: str | Sequence[str], *, objective: str | int | None = None, trial: int | None = None
) -> go.Figure:
    """What one parameter does on average, or two together, with a band."""
    return partial_dependence(study, params, objective=objective, trial=trial).plot()


def plot_proposal(study: Study, trial: int, *, objective: str | int | None = None) -> go.Figure:
    """What each parameter contributed to proposing a trial, or to what was predicted of an objective."""
    return explain_proposal(study, trial, objective=objective).plot()


def plot_desirability_paths(
    study: Study, trials: Iterable[int] | None = None, *, objective: str | int | None = None
) -> go.Figure:
    """What each parameter contributed to proposals, or to what was predicted of an objective, over a run."""
    return desirability_paths(study, trials, objective=objective).plot()


def plot_pruning(study: Study, trial: int, *, step: int | None = None) -> go.Figure:
    """The learning curve of a trial, what was expected when it was stopped, or at a step, and what it had to beat."""
    return explain_pruning(study, trial, step=step).plot()


def plot_pruning_record(study: Study) -> go.Figure:
    """The steps that stopping trials early saved, and whether the chances behind such stops came true."""
    return pruning_record(study).plot()


def plot_importance(study: Study, goal: Goal | Callable[[float], bool] | None = None) -> go.Figure:
    """What matters for the objective, with intervals; with a goal, HSIC towards it with errors and verdicts."""
    return importance(study).plot() if goal is None else hsic_importance(study, goal, pairs=False).plot()


def plot_values(study: Study, goal: Goal | Callable[[float], bool] | None = None) -> go.Figure:
    """Where the trials that reach the goal are, compared with all trials."""
    return hsic_importance(study, goal, pairs=False).plot("values")


def plot_pairs(study: Study, goal: Goal | Callable[[float], bool] | None = None) -> go.Figure:
    """The strongest interactions; with a goal, which of the parameters that do nothing alone matter together for it."""
    return importance(study).plot("pairs") if goal is None else hsic_importance(study, goal).plot("pairs")


def plot_failures(study: Study) -> go.Figure:
    """Which parameters make trials fail, and where."""
    return hsic_importance(study, failed(), pairs=False).plot()


def plot_interval_reduction(study: Study, param: str, *, cheap: Cheap = "low") -> go.Figure:
    """The cheapest value that costs nothing."""
    return interval_reduction(study, param, cheap=cheap).plot()


def plot_ranges(study: Study) -> go.Figure:
    """Every range with its trials, and what to change about it."""
    return parameter_ranges(study).plot()
