"""A receipt of each kind, for tests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pellucid.models.states import Hyperparameters, Warp
from pellucid.provenance import (
    AcquisitionState,
    ConstraintState,
    CurveState,
    FallbackReceipt,
    ModelReceipt,
    ModelState,
    PolicyState,
    RankingReceipt,
    RankingState,
    StartupReceipt,
)

WARP = Warp("log", centre=-1.5, spread=2.0, shape=0.01, low=-1.5, high=1e3)
WIDE = Warp("yeo-johnson", 0.0, 1e-300, 0.0, -1e306, 1e306)

HYPERPARAMETERS = Hyperparameters(
    kernel="matern32",
    lengthscales=(0.1, 1 / 3, 2e-5),
    outputscale=1.7,
    noise=1e-7,
    y_mean=-3.25,
    y_scale=0.1 + 0.2,
    warp=WARP,
    nominal=(0, 3, 0),
)


ACQUISITION = AcquisitionState(
    name="WEI",
    settings={"alpha": 0.3, "lam": None},
    weights={"exploit": 0.3, "explore": 0.7},
    terms={"exploit": -1e-200, "explore": 0.1},
    score=-1e50,
    best=-0.75,
)


MODEL = ModelState(
    name="",
    direction="maximize",
    hyperparameters=HYPERPARAMETERS,
    fitted_on="0-24,26",
    learned_from=26,
    mean=12.5,
    sd=0.001,
    predictive_sd=0.25,
    recalibration=1.5,
    latent_mean=-0.0,
    latent_sd=1e-12,
    best_value=0.875,
    ceiling=None,
    curvature=(1.0, -0.25, 3.5e-7),
)

# Every field of each kind differs from its default.
FULL = ModelReceipt(
    trial=42,
    phase="Step 1 tunes `lr`.",
    step=1,
    turn="It was the turn of `kind` = a.",
    look=True,
    seed=7,
    params={"lr": 0.1, "kind": "a", "n": 3, "flag": True, "nothing": None},
    space={"kind": 0, "lr": 3, "n": '{"name": "IntDistribution"}'},
    conditions={"lr": ["kind", [0, 2]], "n": ["lr", 0.25, 1.0]},
    ordinal=("n",),
    fitted_on="0-24,26",
    models=(MODEL,),
    curves=CurveState(52, "0-24", "3,7-9", {"41": (-0.5, 1 / 3)}),
    believed="25",
    pending={"40": (0.5, 0.25, 1.0), "41": (0.0, 1 / 3, 0.1)},
    acquisition=ACQUISITION,
    policy=PolicyState("Portfolio", {"alpha": 0.25, "gain 0": -1e-9}, ((0.5, 1 / 3), (0.0, 1.0))),
    bounds=(0.25, 1 / 3, -1e5),
    constraints=(
        ConstraintState("memory", HYPERPARAMETERS, 0.5, "0-24", 25, -1.5, 0.25, -2.0, 1 / 3, 0.9, -0.5, (1.0, 0.5)),
        ConstraintState("time", HYPERPARAMETERS, 0.0, "3,7", 2, 1e9, 1e-9, 0.0, 1.0, 0.25),
    ),
    front="3,7-9",
    reference=(0.5, 1 / 3),
    tolerance=0.002,
    width=0.5,
)
SEVERAL = replace(
    FULL,
    models=(
        ModelState("f1", "maximize", HYPERPARAMETERS, "0-24", 25, 0.5, 0.1, None, 1.0, -0.0, 1 / 3, None, 5.5, (2.0,)),
        ModelState("ms", "minimize", HYPERPARAMETERS, "3,7", 2, 1e9, 1e-9, 0.25, 1.5, 0.0, 1.0, -3.0, 1e308),
    ),
)
RANKED = RankingReceipt(
    trial=3,
    seed=1,
    params={"n": 2},
    phase="The ranking of this study goes on: its last proposal improved.",
    space={"n": 0},
    conditions={"n": ["n", [0]]},
    ordinal=("n",),
    fitted_on="0-2",
    ranking=RankingState("0123456789abcdef", "tuned", 3, "ei", "last", 1.5, 0.25, 1024, 7),
    direction="maximize",
    best_value=0.5,
)
STARTUP = StartupReceipt(0, 0, {"x": 0.5}, phase="It is one of the first 21 trials, which say what matters.")
FALLBACK = FallbackReceipt(0, 0, {"x": 0.5}, "it rained", phase="The fallback proposed it.")
EVERY = {"one": FULL, "several": SEVERAL, "ranking": RANKED, "startup": STARTUP, "fallback": FALLBACK}
every_kind = pytest.mark.parametrize("receipt", EVERY.values(), ids=EVERY)
