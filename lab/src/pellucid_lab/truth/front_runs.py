"""What is said about fronts beside what is true: studies of our sampler on problems whose fronts are known."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pellucid.answers.fronts.answer import modelled
from pellucid.beliefs import Beliefs
from pellucid.beliefs.front_members import Tried, behind_none
from pellucid.study.view import StudyView
from pellucid_lab.base import stable_seed
from pellucid_lab.problems.several import several_problem
from pellucid_lab.runs.provenance import stamp
from pellucid_lab.truth.front_claims import Asked, compromises, importance_for_the_front
from pellucid_lab.truth.fronts import NOISE, best_second, spread, trading

if TYPE_CHECKING:
    from optuna.study import Study

    from pellucid.answers.fronts.records import Tradeoff

N_TRIALS = 60
# Stands for the gain from a level that nothing reaches.
_UNREACHED = 1e9
PACKAGES = ("pellucid", "optuna", "numpy", "scipy")


@dataclass(frozen=True)
class FrontTask:
    """One study."""

    problem: str
    noisy: bool
    seed: int
    command: str = ""

    @property
    def key(self) -> tuple[str, bool, int]:
        return self.problem, self.noisy, self.seed

    @property
    def label(self) -> str:
        return f"{self.problem} {'noisy' if self.noisy else 'exact'} seed {self.seed}"


@dataclass(frozen=True)
class FrontRun:
    """The answers to one study.

    chances     per feasible trial, the chance of being on the front that was said, and whether it truly is, among the
                trials
    intervals   per member of the front and objective, whether the 95% interval covers the true value
    rates       per step: low, gain, high and the true gain, in units of the length of the true front
    roles       per parameter, what was said and whether it truly trades
    seconds     of `recommend` and `tradeoff`
    predicted   values that were inside the 95% interval of the receipt's prediction, and how many there were, over both
                objectives
    compromises per question, what was asked and how true the answer is (see `front_claims.Asked`)
    importance  per goal and parameter: the goal, the verdict, and the true share (see `front_claims`)
    """

    problem: str
    noisy: bool
    seed: int
    chances: tuple[tuple[float, bool], ...]
    intervals: tuple[bool, ...]
    rates: tuple[tuple[float, float, float, float], ...]
    roles: tuple[tuple[str, bool], ...]
    seconds: tuple[float, float]
    predicted: tuple[int, int] = (0, 0)
    compromises: tuple[Asked, ...] = ()
    importance: tuple[tuple[str, str, float], ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[str, bool, int]:
        return self.problem, self.noisy, self.seed


def front_study(task: FrontTask) -> tuple[Study, np.ndarray, np.ndarray]:
    """The study, the true outcomes of its trials (n, 2), and whether each is truly feasible."""
    import optuna

    import pellucid

    problem = several_problem(task.problem)
    sampler = pellucid.BayesianSampler(seed=stable_seed("front", *task.key))
    study = optuna.create_study(directions=list(problem.directions.values()), sampler=sampler)
    study.set_metric_names(list(problem.directions))
    rng = np.random.default_rng(stable_seed("front noise", task.problem, task.seed))
    sd = NOISE * spread(task.problem) if task.noisy else np.zeros(2)
    exact, feasible = [], []
    for _ in range(N_TRIALS):
        trial = study.ask()
        outcomes = problem.evaluate(problem.suggest(trial))
        for name, constraint in outcomes.constraints.items():
            trial.set_constraint(name, constraint)
        values = np.array(list(outcomes.values.values()))
        exact.append(values)
        feasible.append(outcomes.feasible)
        study.tell(trial, (values + sd * rng.standard_normal(2)).tolist())
    return study, np.array(exact), np.array(feasible)


def run_front_task(task: FrontTask) -> FrontRun:
    import optuna

    import pellucid

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study, exact, feasible = front_study(task)
    started = time.perf_counter()
    front = pellucid.recommend(study)
    asked = time.perf_counter()
    assert isinstance(front, pellucid.Front)
    members = [(exact[member.trial], member.outcomes) for member in front.members]
    covered = [
        bool(outcome.low <= truth <= outcome.high)
        for values, outcomes in members
        for truth, outcome in zip(values, outcomes, strict=True)
        if outcome.low is not None and outcome.high is not None
    ]
    between = time.perf_counter()
    try:
        traded = pellucid.tradeoff(study)
    except pellucid.Unanswered:  # No trade-off as far as the trials tell.
        traded = None
    answered = time.perf_counter()
    chances, length = _chances(study, exact, feasible)
    return FrontRun(
        *task.key,
        chances=chances,
        intervals=tuple(covered),
        rates=() if traded is None else _rates(task.problem, traded),
        roles=() if traded is None else _roles(task.problem, traded),
        seconds=(round(asked - started, 3), round(answered - between, 3)),
        predicted=_predicted(study),
        compromises=compromises(study, task.problem, exact, feasible, length),
        importance=importance_for_the_front(study, task.problem),
        **stamp(PACKAGES, task.command),
    )


def _chances(
    study: Study, exact: np.ndarray, feasible: np.ndarray
) -> tuple[tuple[tuple[float, bool], ...], np.ndarray]:
    """What is said of every feasible trial, and the length of the front that was observed."""
    beliefs = Beliefs(StudyView.whole(study))
    data, _ = modelled(beliefs.view)
    assert data is not None
    tried = Tried.of(beliefs, data)
    said = tried.chances()
    truth = behind_none(np.where(feasible[:, None], exact, np.inf))
    return tuple((round(float(said[i]), 4), bool(truth[i])) for i in np.flatnonzero(tried.options)), tried.spread


def _predicted(study: Study) -> tuple[int, int]:
    import pellucid

    both = [pellucid.calibration(study, objective=index) for index in range(2)]
    answers = [answer for answer in both if answer.source == "receipts"]
    return sum(round(answer.coverage * answer.n) for answer in answers), sum(answer.n for answer in answers)


def _rates(problem: str, traded: Tradeoff) -> tuple[tuple[float, float, float, float], ...]:
    unit = float(spread(problem)[1])
    rows = []
    for step in traded.rates:
        truth = best_second(problem, step.start) - best_second(problem, step.stop)
        said = (step.low / unit, step.gain / unit, step.high / unit)
        rows.append((*said, float(np.nan_to_num(truth / unit, posinf=_UNREACHED))))
    return tuple(rows)


def _roles(problem: str, traded: Tradeoff) -> tuple[tuple[str, bool], ...]:
    names = trading(problem)
    return tuple((parameter.role, parameter.param in names) for parameter in traded.parameters)
