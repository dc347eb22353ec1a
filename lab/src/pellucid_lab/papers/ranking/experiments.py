"""The experiments of the ranking surrogate: how much each of its parts helps, and how it compares with others.

A run is a method with a seed on all test tasks of a collection. The seed determines the start of every task and the
meta-trained model, if there is one, so that means over seeds average over both. All experiments but one are on tables;
in that one, samplers propose in the spaces of the tasks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pellucid.search.acquisition import EI, LCB
from pellucid_lab.papers.ranking.report import Regrets, regret_after
from pellucid_lab.papers.ranking.samplers import SAMPLERS, against_best_known, tune
from pellucid_lab.papers.ranking.transfer import HAND_OVER, GaussianProcessEI, RandomOrder, TransferMethod, search
from pellucid_lab.problems.tabular import Collection, tabular

COLLECTIONS = ("lcbench", "rbv2_xgboost")
OURS = "ranking"
NEVER_HANDS_OVER = "ranking only"
IN_THE_SPACE = "samplers"
MakeMethod = Callable[[Collection, int], TransferMethod]


def _ranking(collection: Collection, seed: int, recipe: Mapping[str, object], **settings: Any) -> TransferMethod:
    """`recipe`: settings of the model, including "context" and "transfer"; `settings`: of the method."""
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.training import Recipe
    from pellucid_lab.papers.ranking.ranking import Ranking, meta_trained

    remaining = dict(recipe)
    context, transfer = remaining.pop("context", None), remaining.pop("transfer", True)
    model = RankingEnsemble(collection.space, context=context, recipe=Recipe(**remaining))  # type: ignore[arg-type]
    model = meta_trained(model, collection, seed) if transfer else model
    return Ranking(model, seed=seed, **settings)


def _ours(recipe: Mapping[str, object] | None = None, **settings: Any) -> MakeMethod:
    return partial(_ranking, recipe=recipe or {}, **settings)


def deep_ensemble(_: Collection, seed: int = 0) -> TransferMethod:
    from pellucid_lab.papers.ranking.baselines import DeepEnsembleEI

    return DeepEnsembleEI(seed=seed)


def deep_kernel(_: Collection, seed: int = 0) -> TransferMethod:
    from pellucid_lab.papers.ranking.baselines import DeepKernelEI

    return DeepKernelEI(seed=seed)


def few_shot(collection: Collection, seed: int = 0) -> TransferMethod:
    from pellucid_lab.papers.ranking.baselines import FewShotEI

    return FewShotEI.learned(collection.space, collection.train, collection.validation, seed)


def _static(collection: Collection, seed: int) -> TransferMethod:
    from pellucid_lab.papers.ranking.baselines import StaticForest

    return StaticForest.learned(collection.space, collection.train, seed)


def rank_weighted(collection: Collection, seed: int = 0) -> TransferMethod:
    from pellucid_lab.papers.ranking.baselines import RankWeightedEI

    return RankWeightedEI.learned(collection.space, collection.train, seed)


def _alone(**recipe: object) -> MakeMethod:
    return _ours({"transfer": False, **recipe})


# Every method by the name that tables show; a method of several experiments runs once.
METHODS: Mapping[str, MakeMethod] = {
    "random": lambda _, seed: RandomOrder(seed),
    "GP": lambda *_: GaussianProcessEI(),
    "deep ensemble": deep_ensemble,
    "DGP": deep_kernel,
    "FSBO": few_shot,
    "RGPE": rank_weighted,
    "static forest": _static,
    OURS: _ours(hand_over=HAND_OVER),
    NEVER_HANDS_OVER: _ours(),
    "ListMLE 1/log": _ours({"loss": "list_mle", "weighting": "inverse_log"}),
    "ListMLE 1/j": _ours({"loss": "list_mle", "weighting": "inverse"}),
    "ListMLE linear": _ours({"loss": "list_mle", "weighting": "linear"}),
    "ListMLE": _ours({"loss": "list_mle", "weighting": None}),
    "RankNet": _ours({"loss": "rank_net"}),
    "subset regression": _ours({"loss": "subset_regression"}),
    "ListNet, alone": _alone(),
    "ListMLE 1/log, alone": _alone(loss="list_mle", weighting="inverse_log"),
    "ListMLE, alone": _alone(loss="list_mle", weighting=None),
    "RankNet, alone": _alone(loss="rank_net"),
    "subset regression, alone": _alone(loss="subset_regression"),
    "Deep Set": _ours({"context": "mean"}),
    "no context": _ours({"context": "none"}),
    "Deep Set, alone": _alone(context="mean"),
    "near, alone": _alone(context="near"),
    "transferred": _ours(turns="transferred"),
    "tuned": _ours(turns="tuned"),
    "UCB": _ours(acquisition=LCB(1.0)),
    "EI, incumbent": _ours(acquisition=EI()),
    "EI, last": _ours(acquisition=EI(), reference="last"),
}
EXPERIMENTS: Mapping[str, tuple[str, ...]] = {
    "comparison": ("random", "GP", "deep ensemble", "DGP", "FSBO", "RGPE", "static forest", OURS),
    "other-draws": ("random", "GP", "FSBO", "RGPE", "static forest", OURS),
    "losses": (NEVER_HANDS_OVER, "ListMLE 1/log", "ListMLE", "RankNet", "subset regression"),
    "losses-alone": (
        *("ListNet, alone", "ListMLE 1/log, alone", "ListMLE, alone", "RankNet, alone", "subset regression, alone"),
        "deep ensemble",
    ),
    "weightings": ("ListMLE 1/log", "ListMLE 1/j", "ListMLE linear", "ListMLE"),
    "contexts": (NEVER_HANDS_OVER, "Deep Set", "no context", "near, alone", "Deep Set, alone", "ListNet, alone"),
    "tuning": (OURS, NEVER_HANDS_OVER, "transferred", "tuned"),
    "acquisitions": (NEVER_HANDS_OVER, "UCB", "EI, incumbent", "EI, last"),
    IN_THE_SPACE: SAMPLERS,
}

# Draws of the tables: all experiments but one use draw 0.
OTHER_DRAWS = (1, 2, 3, 4)


def draws_of(experiment: str) -> tuple[int, ...]:
    return OTHER_DRAWS if experiment == "other-draws" else (0,)


TransferKey = tuple[str, str, int, int]


@dataclass(frozen=True)
class TransferTask:
    collection: str
    method: str
    seed: int
    data: str | None
    draw: int = 0

    @property
    def key(self) -> TransferKey:
        return (self.collection, self.method, self.seed, self.draw)

    @property
    def label(self) -> str:
        return f"{self.method} seed {self.seed} draw {self.draw}"


@dataclass(frozen=True)
class TransferRun:
    """Regret after each step, one row per test task; `checks`: for each validation task, the regret of the best of the
    first 1, 5 and 10 configurations in the order of a meta-trained model without observations of that task."""

    collection: str
    method: str
    seed: int
    regret: tuple[Sequence[float], ...]
    training_s: float
    search_s: float
    checks: tuple[Sequence[float], ...] = field(default=())
    draw: int = 0

    @property
    def key(self) -> TransferKey:
        return (self.collection, self.method, self.seed, self.draw)


def run_transfer_task(task: TransferTask) -> TransferRun:
    collection = tabular(task.collection, task.data, task.draw)
    run = partial(TransferRun, task.collection, task.method, task.seed, draw=task.draw)
    if task.method in SAMPLERS:
        regret, learning_s, tuning_s = tune(task.method, collection, task.seed, task.data)
        return run(regret=regret, training_s=learning_s, search_s=tuning_s)
    before = time.perf_counter()
    # Variants that differ only after meta-training could share a model; each makes its own, as a user would.
    method = METHODS[task.method](collection, task.seed)
    trained = time.perf_counter()
    starts = [collection.seeds[table.name][task.seed : task.seed + 1] for table in collection.test]
    chosen = search(method, collection.space, collection.test, starts, collection.steps)
    ended = time.perf_counter()
    n_init = starts[0].shape[1]
    regret = tuple(
        regret_after(table, indices, n_init, collection.steps)[0].tolist()
        for table, indices in zip(collection.test, chosen, strict=True)
    )
    card = getattr(getattr(method, "model", None), "card", None)
    checks = () if card is None else tuple(check.regret for check in card.checks)
    return run(regret=regret, training_s=trained - before, search_s=ended - trained, checks=checks)


def regrets_of(collection: str, experiment: str, runs: Sequence[TransferRun], tasks: Sequence[str]) -> Regrets:
    """The regrets of an experiment's methods, ordered by draw, seed and task. Other draws of a table are of the same
    task."""
    by_key = {run.key: run for run in runs}
    seeds = sorted({run.seed for run in runs if run.collection == collection})
    seeds_and_draws = [(seed, draw) for draw in draws_of(experiment) for seed in seeds]
    by_method = {
        name: np.concatenate([np.array(by_key[collection, name, seed, draw].regret) for seed, draw in seeds_and_draws])
        for name in EXPERIMENTS[experiment]
    }
    names = tuple(task for _ in seeds_and_draws for task in tasks)
    regrets = Regrets(by_method, names, (collection,) * len(names))
    return against_best_known(regrets) if experiment == IN_THE_SPACE else regrets
