"""The answers to a study, as numbers that can be compared with the truth.

An answer that raises ValueError is not known yet and is left out. Positions and widths are shares of the spread of the
problem (`known.spread`), so that problems can be averaged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid_lab.runs.provenance import stamp
from pellucid_lab.truth import known
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.spaces import TruthProblem
from pellucid_lab.truth.studies import OURS, SIZES, TruthTask, first_trials, study_of

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.answers.effects.records import Cost
    from pellucid.answers.stop.records import HoldKind

# Sizes at which fANOVA is asked too, and at which the stopping verdict is asked.
FANOVA_SIZES = (60, 100)
STOP_SIZES = (30, 40, 50, 60, 70, 80, 90, 110, 130, 150)
# The tolerance that a user might give, as a share of the spread; with noise it is the noise itself.
TOLERANCE = 0.05
# What can hold a stop back, by its name in rows and tables, and its kind in a verdict.
HOLDS: dict[str, HoldKind] = {
    "a recent improvement": "improvement",
    "one or two parameters not looked over": "coverage",
    "choices without their chance": "choice",
    "other fits": "fits",
}


@dataclass(frozen=True)
class TruthRun:
    """The answers to one study. `answers`: by size, then by question; `seconds`: by question at 100 trials."""

    problem: str
    noisy: bool
    sampler: str
    seed: int
    answers: dict[str, dict[str, Any]]
    stops: tuple[tuple[Any, ...], ...] = ()
    receipts: tuple[tuple[Any, ...], ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[str, bool, str, int]:
        return self.problem, self.noisy, self.sampler, self.seed


def run_truth_task(task: TruthTask) -> TruthRun:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = find_problem(task.problem)
    study = study_of(task)
    trials = study.get_trials(deepcopy=False)
    answers: dict[str, dict[str, Any]] = {}
    seconds: dict[str, float] = {}
    for n in SIZES:
        part = first_trials(study, trials, n)
        answers[str(n)] = {}
        for question, ask in _questions(problem, n).items():
            started = time.perf_counter()
            answer = _attempt(ask, part)
            if n == 100:
                seconds[question] = round(time.perf_counter() - started, 3)
            if answer is not None:
                answers[str(n)][question] = answer
    stops = tuple(_stops(problem, task.noisy, first_trials(study, trials, n), n) for n in STOP_SIZES)
    return TruthRun(
        *task.key,
        answers=answers,
        stops=stops,
        receipts=tuple(_receipts(study)) if task.sampler == OURS else (),
        seconds=seconds,
        **stamp(("pellucid", "optuna", "numpy", "scipy"), task.command),
    )


def _attempt(ask: Callable[[Study], Any], study: Study) -> Any:
    import pellucid

    try:
        return ask(study)
    except pellucid.Unanswered:
        return None


def _questions(problem: TruthProblem, n: int) -> dict[str, Callable[[Study], Any]]:
    questions: dict[str, Callable[[Study], Any]] = {
        "importance": _importance,
        "recommendation": lambda study: _recommendation(problem, study),
        "dependence": lambda study: _dependence(problem, study),
        "profile": lambda study: _profile(problem, study),
        "ranges": _ranges,
        "calibration": _calibration,
        "explanation": lambda study: _explanation(problem, study),
    }
    if n in FANOVA_SIZES and not problem.conditional:
        questions["fanova"] = _fanova
    return questions


def _rounded(*values: float | None) -> list[float | None]:
    return [None if value is None or not math.isfinite(value) else float(f"{value:.5g}") for value in values]


# ---------------------------------------------------------------------- one question each


def _importance(study: Study) -> list[Any]:
    """Per parameter: name, total index, its interval, verdict ('matters', 'no effect' or 'cannot tell'), and whether
    it is said to matter 'most', 'probably most' or neither ('')."""
    import pellucid

    answer = pellucid.importance(study)
    return [[p.name, *_rounded(p.total, p.low, p.high), p.verdict, p.rank] for p in answer.parameters]


def _fanova(study: Study) -> list[Any]:
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    indices = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0))
    return [[name, *_rounded(value)] for name, value in indices.items()]


def _recommendation(problem: TruthProblem, study: Study) -> list[Any]:
    """Expected, low, high, and the true value of the recommended configuration."""
    import pellucid

    use = pellucid.recommend(study)
    return _rounded(use.expected, use.low, use.high, problem.value(use.params))


def _dependence(problem: TruthProblem, study: Study) -> dict[str, Any]:
    """Per parameter: share of its curve inside the band, mean width of the band, verdict."""
    import pellucid

    out = {}
    for name in problem.names:
        try:
            effect = pellucid.partial_dependence(study, name)
        except pellucid.Unanswered:
            continue
        truth = known.averages(problem.name, name, effect.values[0])
        out[name] = [*_covered(problem, effect.low, effect.high, truth), effect.verdict]
    return out


def _profile(problem: TruthProblem, study: Study) -> dict[str, Any]:
    """Per parameter: share of its profile inside the band, mean width of the band, verdict, and what other values cost
    at least: as stated and in truth, in spreads."""
    import pellucid

    out = {}
    for name in problem.names:
        try:
            effect = pellucid.profile_effect(study, name)
        except pellucid.Unanswered:
            continue
        truth = known.best_values(problem.name, name, effect.values)
        costs = problem.sign * (truth - truth[effect.best]) / known.spread(problem.name)
        stated = [
            _rounded(bound / known.spread(problem.name), float(costs[inside].min()))
            for bound, inside in _stated(effect.costs, effect.values)
        ]
        out[name] = [*_covered(problem, effect.low, effect.high, truth), effect.verdict, stated]
    return out


def _stated(costs: Sequence[Cost], values: Sequence[Any]) -> Iterator[tuple[float, Any]]:
    """Every bound that the profile of a number states, and the values that it is about."""
    grid = np.array(values, dtype=float) if costs else np.empty(0)
    for cost in costs:
        yield cost.at_least, (grid >= cost.low) & (grid <= cost.high)


def _covered(problem: TruthProblem, low: Any, high: Any, truth: Any) -> list[float | None]:
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    margin = 1e-9 * known.spread(problem.name)
    inside = (truth >= low - margin) & (truth <= high + margin)
    return _rounded(float(inside.mean()), float((high - low).mean()) / known.spread(problem.name))


def _ranges(study: Study) -> list[Any]:
    """Per piece of advice: what, the parameter, where the part that it is about begins and ends, and the chance of
    error that it states."""
    import pellucid

    advice = pellucid.parameter_ranges(study).advice
    return [[a.what, a.param, *_rounded(a.start, a.stop, a.probability)] for a in advice]


def _calibration(study: Study) -> list[Any]:
    """Verdict, source, coverage and number of predictions."""
    import pellucid

    found = pellucid.calibration(study)
    return [found.verdict, found.source, *_rounded(found.coverage), found.n]


def _explanation(problem: TruthProblem, study: Study) -> list[str] | None:
    """Parameters that count for or against the last proposal by its explanation; None if it was not a proposal."""
    import pellucid

    last = study.get_trials(deepcopy=False)[-1].number
    if not any(receipt.trial == last and receipt.kind == "model" for receipt in pellucid.receipts(study)):
        return None
    why = pellucid.explain_proposal(study, last)
    return [name for name in problem.names if name in (*why.reasons, *why.against)]


def _stops(problem: TruthProblem, noisy: bool, study: Study, n: int) -> tuple[Any, ...]:
    """Size; verdict, bound and tolerance, given; verdict and tolerance, default; true regret; trials until the given
    tolerance is reached; what held a stop back. All but sizes in spreads."""
    import pellucid

    unit = known.spread(problem.name)
    given = problem.noise_sd if noisy else TOLERANCE * unit
    with_tolerance = pellucid.stopping_verdict(study, regret_below=given)
    without = pellucid.stopping_verdict(study)
    use = pellucid.recommend(study)
    regret = problem.sign * (problem.value(use.params) - known.optimum(problem.name)[0])
    bound = None if with_tolerance.bound is None else with_tolerance.bound / unit
    default = None if without.tolerance is None else without.tolerance / unit
    shares = (*_rounded(bound, given / unit), without.stop, *_rounded(default, regret / unit))
    kinds = {hold.kind for hold in with_tolerance.held_by}
    held_back = [name for name, kind in HOLDS.items() if kind in kinds]
    return (n, with_tolerance.stop, *shares, with_tolerance.more_trials, held_back)


def _receipts(study: Study) -> list[tuple[Any, ...]]:
    """Per proposal: trial, and how many predictive standard deviations its loss was above the prediction."""
    import pellucid
    from pellucid.provenance import ModelReceipt

    trials, rows = study.get_trials(deepcopy=False), []
    for receipt in pellucid.receipts(study):
        if not isinstance(receipt, ModelReceipt) or receipt.mean is None or not receipt.predictive_sd:
            continue
        sign = -1.0 if receipt.direction == "maximize" else 1.0
        z = sign * (trials[receipt.trial].values[0] - receipt.mean) / receipt.predictive_sd
        rows.append((receipt.trial, *_rounded(z)))
    return rows
