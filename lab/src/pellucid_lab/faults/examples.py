"""Real receipts of every kind and a real ranking model, made once per process."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial

STARTUP = 5
TRIALS = 10


def mixed(trial: Trial) -> float:
    """Floats, an integer, a choice, and a parameter that exists for one choice only."""
    x, n = trial.suggest_float("x", 1e-3, 1.0, log=True), trial.suggest_int("n", 1, 9)
    loss = (x - 0.3) ** 2 + 0.01 * (n - 4) ** 2
    if trial.suggest_categorical("c", ["a", "b", None, True]) == "b":
        loss += (trial.suggest_float("y", -1.0, 1.0) + 0.2) ** 2
    return loss


def bowl(trial: Trial) -> float:
    return (trial.suggest_float("x", -1.0, 1.0) - 0.3) ** 2 + (trial.suggest_float("y", -1.0, 1.0) + 0.2) ** 2


def several(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", -1.0, 1.0), trial.suggest_float("y", -1.0, 1.0)
    return x**2 + y**2, (x - 0.5) ** 2 + y**2


def limited(trial: Trial) -> float:
    value = bowl(trial)
    trial.set_constraint("room", 0.1 - trial.params["x"])
    return value


def _study(sampler: Any, objective: Any, directions: int = 1, pruner: Any = None) -> Study:
    import optuna

    study = optuna.create_study(directions=["minimize"] * directions, sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=TRIALS)
    return study


@lru_cache(maxsize=1)
def example_studies() -> dict[str, Study]:
    """By the sort of receipt. Rankings need torch, and are left out without it."""
    from importlib.util import find_spec

    import pellucid
    from pellucid.search.acquisition import SAWEI
    from pellucid_lab.faults.studies import training

    def sampler(**options: Any) -> Any:
        return pellucid.BayesianSampler(seed=0, n_startup_trials=STARTUP, **options)

    studies = {
        "mixed": _study(sampler(), mixed),
        "bowl": _study(sampler(), bowl),
        "policy": _study(sampler(acquisition=SAWEI()), bowl),
        "several": _study(sampler(), several, 2),
        "constrained": _study(sampler(), limited),
        "curves": _study(sampler(), training, pruner=pellucid.CurvePruner()),
    }
    if find_spec("torch") is not None:
        from pellucid.models.ranking.files import from_bytes
        from pellucid.models.ranking.ranker import Ranker

        studies["ranking"] = _study(pellucid.RankingSampler(model=Ranker.of(from_bytes(model_data())), seed=0), mixed)
    return studies


@lru_cache(maxsize=1)
def model_data() -> bytes:
    """A small ranking model of the parameters of `mixed`, as a file holds it."""
    import optuna

    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.files import to_bytes
    from pellucid.models.ranking.training import Recipe
    from pellucid.study.earlier_studies import EarlierStudies

    past = EarlierStudies.of([_study(optuna.samplers.RandomSampler(seed=i), mixed) for i in range(3)])
    ensemble = RankingEnsemble(past.space, members=2, width=8, recipe=Recipe(steps=5, lists=2))
    return to_bytes(ensemble.meta_trained(past.tasks))
