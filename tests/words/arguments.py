"""Wrong arguments of everything that is public: hostile texts, wrong numbers and wrong types."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from optuna.study import Study
from tests.words import studies
from tests.words.recorder import Recorder, name
from tests.words.studies import ADAM, COST, DEPTH, DROP, LIMIT, LOSS, LR, OPT, SGD

import pellucid
from pellucid import surrogates
from pellucid.answers.finding import attempt
from pellucid.search import acquisition
from pellucid.study import goals

HOSTILE = name("argument")
WRONG: tuple[Any, ...] = (
    HOSTILE,
    -1,
    99,
    0.5,
    math.nan,
    [HOSTILE],
    {HOSTILE: HOSTILE},
    [],
    {},
    object(),
)


def drive_constructors(recorder: Recorder) -> None:
    """Each setting of each sampler, acquisition and policy in turn."""
    for module in (pellucid, acquisition, surrogates):
        for public in module.__all__:
            made = getattr(module, public)
            if not isinstance(made, type) or public == "RankingEnsemble" or issubclass(made, pellucid.Finding):
                continue
            if issubclass(made, Exception) or inspect.isabstract(made):
                continue
            for setting in inspect.signature(made).parameters:
                for value in WRONG:
                    made_with = {"budget": 10} if public in ("Steps", "Switch") else {}
                    shown = recorder.attempt(lambda made=made, all_={**made_with, setting: value}: made(**all_))
                    if shown is not None:
                        repr(shown)


def _calls(study: Study, trial: int) -> Iterator[tuple[Callable[..., Any], Mapping[str, Any]]]:
    """All public functions about a study, with arguments that suit it."""
    subjects = {"trial": trial, "param": LR, "params": LR, "between": None, "goal": None}
    for public in pellucid.__all__:
        function = getattr(pellucid, public)
        if isinstance(function, type) or not callable(function) or public == "report":
            continue
        parameters = inspect.signature(function).parameters
        if "study" not in parameters:
            continue
        yield function, {key: value for key, value in subjects.items() if key in parameters and key != "goal"}


def drive_functions(recorder: Recorder, study: Study, trial: int) -> None:
    """Each argument of each function in turn; the others are right."""
    for function, right in _calls(study, trial):
        fast = {"n_permutations": 9, "progress": False}
        known = inspect.signature(function).parameters
        fast = {key: value for key, value in fast.items() if key in known}
        for argument in known:
            if argument in ("study", "progress", "seed"):
                continue
            for value in WRONG:
                recorder.attempt(
                    lambda function=function, given={**right, **fast, argument: value}: function(study, **given)
                )


def drive_answers(recorder: Recorder, study: Study, trial: int) -> list[pellucid.Finding]:
    """Every answer about a study, as it is printed and shown in a notebook."""
    answers = []
    for function, right in _calls(study, trial):
        answer = recorder.attempt(lambda function=function, right=right: function(study, **right))
        for each in answer if isinstance(answer, list) else [answer]:
            if each is None:
                continue
            recorder.hear(str(each), f"print({function.__name__})")
            recorder.hear(repr(each), f"repr({function.__name__})")
            if hasattr(each, "_repr_html_"):
                recorder.hear(each._repr_html_(), f"notebook of {function.__name__}")
            if isinstance(each, pellucid.Finding):
                answers.append(each)
    return answers


def drive_options(recorder: Recorder, study: Study, two: Study, drawn: Study) -> None:
    """Arguments that have a structure of their own."""

    late = studies.late()
    recorder.attempt(lambda: pellucid.explain_proposal(late, 6, objective=LIMIT))
    recorder.attempt(lambda: pellucid.rebuild(study, 11, objective=LIMIT))
    bare = studies.new("one parameter", sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=3))
    studies.run(bare, lambda trial: trial.suggest_float(LR, 0.0, 1.0), 5)
    recorder.attempt(lambda: pellucid.proposal_interactions(bare, 4, progress=False))
    recorder.attempt(lambda: pellucid.HsicImportanceEvaluator().evaluate(drawn, params=[HOSTILE]))
    plain, few = studies.plain(), studies.fixed_of_two()
    recorder.attempt(lambda: pellucid.hsic_importance(plain, goals.above(-1e9), n_permutations=9, pairs=False))
    recorder.attempt(lambda: pellucid.recommend(few, prefer={LOSS: 1, COST: 1}))
    recorder.attempt(lambda: pellucid.tradeoff(few))
    recorder.attempt(lambda: attempt(_fails))
    limits = ({LOSS: HOSTILE}, {LOSS: ">= 3"}, {LOSS: "<= x"}, {LIMIT: "<= 0"}, {HOSTILE: "<= 3"}, [HOSTILE])
    weights = ({LOSS: -1}, {LOSS: HOSTILE}, {LOSS: 1}, {LOSS: 0, name("cost"): 0}, {LIMIT: 1}, {HOSTILE: 1}, [LOSS])
    pairs = ((LOSS,), (LOSS, LOSS), (LOSS, HOSTILE), (0, 7), HOSTILE)
    parts = (
        {DEPTH: (0, 99)}, {DEPTH: (5, 2)}, {OPT: HOSTILE}, {OPT: [HOSTILE]}, {LR: 0.5, HOSTILE: 1}, {LR: (0.5, 0.1)},
        {LR: 1e9}, {LR: 0.5}, {OPT: ADAM}, {OPT: SGD, DROP: 0.5}, {DEPTH: (2.5, HOSTILE)}, {OPT: []},
    )  # fmt: skip
    baselines = (
        {HOSTILE: 1}, {LR: 1e9}, {LR: 0.1}, 99, "incumbent", {LR: HOSTILE}, {OPT: HOSTILE, LR: 0.1, DEPTH: 2},
    )  # fmt: skip
    ask = recorder.attempt
    for wanted in limits:
        ask(lambda wanted=wanted: pellucid.recommend(two, limits=wanted))
    for wanted in weights:
        ask(lambda wanted=wanted: pellucid.recommend(two, prefer=wanted))
    ask(lambda: pellucid.recommend(study, prefer={LOSS: 1}))
    ask(lambda: pellucid.recommend(two, surrogate=pellucid.models.GaussianProcess()))
    for pair in pairs:
        ask(lambda pair=pair: pellucid.tradeoff(two, pair))
    for part in parts:
        for params in (LR, DEPTH, DROP, [LR, DEPTH]):
            ask(lambda part=part, params=params: pellucid.partial_dependence(study, params, conditional_on=part))
    for params in ([LR, LR], [LR, DEPTH, OPT], [], 3, [HOSTILE], name("fixed")):
        ask(lambda params=params: pellucid.partial_dependence(study, params))
        ask(lambda params=params: pellucid.profile_effect(study, params))
    for baseline in baselines:
        for background in ("global", HOSTILE):
            ask(
                lambda baseline=baseline, background=background: pellucid.explain_proposal(
                    study, 11, baseline=baseline, background=background
                )
            )
    reaching = (
        goals.best(), goals.worst(), goals.failed(), goals.on_the_front(), goals.below(-1e9), goals.above(-1e9),
        goals.such_that(lambda value: value < 1, HOSTILE), goals.such_that(lambda value: value > 1e9, HOSTILE),
    )  # fmt: skip
    for goal in reaching:
        recorder.hear(repr(goal), "repr of a goal")
        for source in ("random", "surrogate", HOSTILE):
            for asked in (study, drawn, two):
                ask(
                    lambda goal=goal, source=source, asked=asked: pellucid.hsic_importance(
                        asked, goal, source=source, n_permutations=9, pairs=False
                    )
                )
                ask(
                    lambda goal=goal, asked=asked: pellucid.hsic_importance(
                        asked, goal, objective=LOSS, n_permutations=9, pairs=False
                    )
                )
        for param in (LR, OPT, HOSTILE):
            for cheap in ("low", HOSTILE):
                ask(
                    lambda goal=goal, param=param, cheap=cheap: pellucid.interval_reduction(
                        drawn, param, goal=goal, cheap=cheap, n_permutations=9
                    )
                )
    for goal in (
        lambda: goals.best(7), lambda: goals.such_that(HOSTILE, "x"), lambda: goals.as_goal(HOSTILE),
        lambda: goals.such_that(lambda value: HOSTILE, HOSTILE),
    ):  # fmt: skip
        ask(goal)
    for missing in (HOSTILE, "RankingEnsemble"):
        for module in (pellucid, pellucid.models, surrogates):
            ask(lambda module=module, missing=missing: getattr(module, missing))


def _fails() -> None:
    raise RuntimeError(HOSTILE)


def drive_mathematics(recorder: Recorder) -> None:
    """Functions on arrays."""
    from pellucid import pareto as fronts
    from pellucid.answers import compare, shapley
    from pellucid.answers.importance import hsic
    from pellucid.models import GaussianProcess
    from pellucid.models.averages import functionals
    from pellucid.search.acquisition import adaptive, constrained, feasible, hypervolume, interleave
    from pellucid.search.acquisition.base import from_name
    from pellucid.space.encoding import Condition, Space

    def linear(X: Any) -> Any:
        return np.asarray(X).sum(axis=1)

    rng = np.random.default_rng(0)
    X, x, z = rng.random((6, 3)), np.zeros(3), np.arange(6) < 3
    Y, reference = rng.random((4, 2)), np.ones(2)
    gp = GaussianProcess().fit(X, linear(X))
    radial = GaussianProcess("rbf-radial").fit(X, linear(X))
    wrong_rows, nan_rows = (lambda X: np.zeros((2, 2, 2))), (lambda X: np.full(len(X), math.nan))
    calls: tuple[Callable[[], Any], ...] = (
        lambda: shapley.shapley_values(linear, X, X),
        lambda: shapley.shapley_values(linear, x, X, method=HOSTILE),
        lambda: shapley.shapley_values(linear, x, X, n_samples=HOSTILE),
        lambda: shapley.shapley_values(linear, x, X, players=[0, 7]),
        lambda: shapley.shapley_values(linear, x, X, method="baseline"),
        lambda: shapley.shapley_values(linear, x, X, level=HOSTILE),
        lambda: shapley.shapley_values(linear, np.zeros(20), np.zeros((2, 20)), method="exact"),
        lambda: shapley.shapley_values(wrong_rows, x, X),
        lambda: shapley.shapley_values(nan_rows, x, X),
        lambda: shapley.interactions(np.zeros(4), HOSTILE),
        lambda: shapley.interactions(np.zeros(5)),
        lambda: compare.ablation_path(linear, x, np.zeros(2)),
        lambda: compare.local_importance(linear, x, [np.zeros(0)] * 3),
        lambda: compare.friedman_h(linear, X[:1]),
        lambda: compare.friedman_h(linear, X, pairs=[(0, 9)]),
        lambda: compare.permutation_importance(linear, X, np.zeros(2)),
        lambda: compare.permutation_importance(linear, X, np.zeros(6), n_repeats=0),
        lambda: compare.permutation_importance(lambda X: np.zeros((len(X), 2)), X, np.zeros(6)),
        lambda: hsic.permutation_test(X[:, :1], z, n_permutations=0),
        lambda: hsic.hsic_index(X[:, :1], z[:2]),
        lambda: hsic.hsic_index(X[:, :1], z | True),
        lambda: hsic.hsic_index(X[:, :1], z, bandwidth=HOSTILE),
        lambda: adaptive.moving_iqm([1.0], window=0),
        lambda: adaptive.upper_bound_regret(gp, X[:, :2], functionals.columns_only(gp), 0),
        lambda: fronts.volume(Y, np.ones(3)),
        lambda: fronts.volume(Y, np.array([math.nan, 1.0])),
        lambda: fronts.volume(np.zeros((2, 9)), np.ones(9)),
        lambda: fronts.boxes(np.zeros((2, 9)), np.ones(9)),
        lambda: hypervolume.log_ehvi(np.zeros((3, 3)), np.ones((3, 3)), fronts.boxes(Y, reference)),
        lambda: functionals.partial_dependence(gp, [0], X, method=HOSTILE),
        lambda: functionals.partial_dependence(gp, [0, 9], X),
        lambda: functionals.partial_dependence(gp, [0], X),
        lambda: functionals.partial_dependence(gp, [0], X[:, :1], space=functionals.columns_only(gp).select([0])),
        lambda: GaussianProcess().fit(X, np.zeros(2)),
        lambda: GaussianProcess.from_hyperparameters(gp.hyperparameters).condition(X[:, :2], linear(X)),
        lambda: functionals.partial_dependence(radial, [0], X[:, :1]),
        lambda: functionals.average(gp, [0], X[:, :1], space=Space.of({LR: FloatDistribution(0, 1)})),
        lambda: Space.of({LR: FloatDistribution(0, 1), OPT: FloatDistribution(0, 1)}, {LR: Condition(OPT, (0,))}),
        lambda: fronts.check_number(9, HOSTILE, HOSTILE),
        lambda: acquisition.InformationGain(params=[(HOSTILE, HOSTILE)]),
        lambda: interleave._factor(acquisition.InformationGain()),
        lambda: from_name(HOSTILE, {}),
        lambda: from_name("LCB", {HOSTILE: HOSTILE}),
        lambda: constrained.Constrained.from_settings(
            {"base": "InformationGain", "base settings": [], "constraints": []}
        ),
        lambda: constrained.Constrained.from_settings({"constraints": [3, HOSTILE]}),
        lambda: constrained.Constrained(None, (HOSTILE,), 1.0, 1.0).bind(gp, SimpleNamespace(constraints=()), None),
        lambda: feasible.Feasible.from_settings({"base": "InformationGain", "params": "all"}),
        lambda: feasible.Feasible(acquisition.EI(), 9, 9, (1.0,)).bind(gp, None, functionals.columns_only(gp)),
    )
    for call in calls:
        recorder.attempt(call)
