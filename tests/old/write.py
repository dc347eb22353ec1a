"""Write the files of this folder: PYTHONPATH=RELEASE/src python tests/old/write.py FOLDER

The files of a release are written once, by that release, and never again: whatever pellucid becomes, it has to read
them. For each study there are `NAME.log`, the journal of Optuna, and `NAME.json`: the trials, the receipts as this
release reads them, what it predicts when it rebuilds a proposal, and why it stopped trials early. `--database FILE`
writes an SQLite file of one study instead, with the version of Optuna that is installed.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import optuna
from optuna.distributions import distribution_to_json
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.search import acquisition

STARTUP = 4


def flat(trial: Trial) -> float:
    x, y = (trial.suggest_float(name, -2.0, 2.0) for name in ("x", "y"))
    return (x - 0.3) ** 2 + 2.0 * (y + 0.2 * x) ** 2


def mixed(trial: Trial) -> float:
    lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
    units = trial.suggest_int("units", 8, 256, log=True)
    rate = trial.suggest_float("rate", 0.0, 0.5, step=0.1)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", None])
    loss = (math.log10(lr) + 2.5) ** 2 + 0.2 * abs(math.log2(units) - 5) + rate
    return loss + {"sgd": 0.6, "adam": 0.0, None: 0.3}[optimizer]


def conditional(trial: Trial) -> float:
    model = trial.suggest_categorical("model", ["svc", "trees", "linear"])
    if model == "svc":
        return 0.2 + 0.05 * (math.log10(trial.suggest_float("C", 1e-3, 1e3, log=True)) - 1) ** 2
    return 0.3 + 0.02 * abs(trial.suggest_int("max_depth", 1, 12) - 7) if model == "trees" else 0.6


def noisy(trial: Trial) -> float:
    pellucid.report_noise(trial, 0.1)
    return flat(trial) + 0.1 * math.sin(37.0 * trial.number)


def failing(trial: Trial) -> float:
    value = flat(trial)
    return math.nan if trial.params["x"] < -0.3 else value


def training(trial: Trial) -> float:
    value = flat(trial)
    for step in range(1, 13):
        trial.report(value + 3.0 * math.exp(-0.3 * step), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def front(trial: Trial) -> tuple[float, float]:
    value = flat(trial)
    return value, -((trial.params["x"] + 1.0) ** 2) - trial.params["y"] ** 2


def front_of_three(trial: Trial) -> tuple[float, float, float]:
    return (*front(trial), abs(trial.params["x"]) + abs(trial.params["y"]))


def limited(trial: Trial) -> float:
    value = flat(trial)
    trial.set_constraint("memory", 0.4 - trial.params["x"])
    trial.set_constraint("time", trial.params["y"] - 0.5)
    return value


def limited_front(trial: Trial) -> tuple[float, float]:
    values = front(trial)
    trial.set_constraint("memory", 0.4 - trial.params["x"])
    return values


def task(shift: float) -> Callable[[Trial], float]:
    def objective(trial: Trial) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
        kind = trial.suggest_categorical("kind", ["adam", "sgd"])
        return (math.log10(lr) + 1.5 + 0.3 * shift) ** 2 + (0.6 if kind == "adam" else 0.0)

    return objective


# ---------------------------------------------------------------------------------------------- studies


def sampler(**options: Any) -> pellucid.BayesianSampler:
    return pellucid.BayesianSampler(**{"seed": 3, "n_startup_trials": STARTUP, **options})


def run(study: Study, objective: Callable[[Trial], Any], n: int, chosen: Any = None) -> None:
    study.sampler = sampler() if chosen is None else chosen
    study.optimize(objective, n_trials=n)


def with_pending_trials(study: Study) -> None:
    run(study, mixed, 6)
    for _ in range(3):
        mixed(study.ask())
    run(study, mixed, 1)


def with_a_fallback(study: Study) -> None:
    """The model of the fifth trial fails."""
    from pellucid.search import maximising

    run(study, flat, 5)
    with patch.object(maximising, "fit", side_effect=np.linalg.LinAlgError("not positive definite")):
        run(study, flat, 1)
    run(study, flat, 2)


def with_each_acquisition(study: Study) -> None:
    run(study, flat, STARTUP)
    for chosen in (
        acquisition.EI(),
        acquisition.PI(0.01),
        acquisition.LCB(2.0),
        acquisition.WEI(0.7, guard=True),
        acquisition.PosteriorVariance(),
        acquisition.InformationGain(["x", ("x", "y")]),
        acquisition.InformationGain("x", "path"),
    ):
        run(study, flat, 1, sampler(acquisition=chosen))


def with_each_policy(study: Study) -> None:
    run(study, flat, STARTUP)
    for chosen in (
        acquisition.SAWEI(window=3),
        acquisition.Steps(12),
        acquisition.Switch(8),
        acquisition.Pulse(),
        acquisition.Portfolio(),
    ):
        run(study, flat, 2, sampler(acquisition=chosen))


def interleaved(study: Study) -> None:
    run(study, flat, STARTUP)
    for chosen in (pellucid.Interleave(["x"], every=2), pellucid.Interleave(mode="multiply")):
        run(study, flat, 2, sampler(interleave=chosen))


def in_two_steps(study: Study) -> None:
    run(study, flat, 25, pellucid.TwoStepSampler(seed=2, n_random=21, n_step1=2, cheap={"x": "low"}))


def ranked(study: Study) -> None:
    storage = optuna.storages.InMemoryStorage()
    names = [f"earlier {i}" for i in range(3)]
    for i, name in enumerate(names):
        earlier = optuna.create_study(study_name=name, storage=storage, sampler=optuna.samplers.RandomSampler(seed=i))
        earlier.optimize(task(0.25 * i - 0.5), n_trials=12)
    chosen = pellucid.RankingSampler.from_studies(
        storage, names, seed=0, hand_over=5, fallback=sampler(), progress=False
    )
    run(study, task(0.3), 11, chosen)


Make = Callable[[Study], None]
STUDIES: dict[str, tuple[Make, Sequence[str]]] = {
    "mixed": (lambda study: run(study, mixed, 8), ("minimize",)),
    "conditional": (lambda study: run(study, conditional, 12), ("maximize",)),
    "noisy": (lambda study: run(study, noisy, 7), ("minimize",)),
    "failures": (lambda study: run(study, failing, 10, sampler(avoid_failures=True)), ("minimize",)),
    "pending": (with_pending_trials, ("minimize",)),
    "fallback": (with_a_fallback, ("minimize",)),
    "curves": (lambda study: run(study, training, 14), ("minimize",)),
    "acquisitions": (with_each_acquisition, ("minimize",)),
    "policies": (with_each_policy, ("minimize",)),
    "interleave": (interleaved, ("minimize",)),
    "two-steps": (in_two_steps, ("minimize",)),
    "ranking": (ranked, ("minimize",)),
    "objectives": (lambda study: run(study, front, 8), ("minimize", "maximize")),
    "three-objectives": (lambda study: run(study, front_of_three, 7), ("minimize", "maximize", "minimize")),
    "constraints": (lambda study: run(study, limited, 8), ("minimize",)),
    "constrained-objectives": (lambda study: run(study, limited_front, 8), ("minimize", "maximize")),
}


# ---------------------------------------------------------------------------------------------- writing


def trial_data(trial: optuna.trial.FrozenTrial) -> dict[str, Any]:
    """A trial as JSON can hold it."""
    return {
        "number": trial.number,
        "state": trial.state.name,
        "values": trial.values,
        "params": trial.params,
        "distributions": {name: distribution_to_json(each) for name, each in trial.distributions.items()},
        "intermediate_values": {str(step): value for step, value in trial.intermediate_values.items()},
        "user_attrs": trial.user_attrs,
        "system_attrs": trial.system_attrs,
        "datetime_start": trial.datetime_start and trial.datetime_start.isoformat(),
        "datetime_complete": trial.datetime_complete and trial.datetime_complete.isoformat(),
    }


def predictions(study: Study, number: int) -> list[dict[str, Any]]:
    """What the rebuilt models, one per objective, expect at the proposal and at the first trial."""
    points = [study.trials[number].params, study.trials[0].params]
    out = []
    for objective in range(len(study.directions)):
        rebuilt = pellucid.rebuild(study, number, objective=objective)
        mean, sd = rebuilt.predict(points)
        out.append(
            {
                "mean": mean.tolist(),
                "sd": sd.tolist(),
                "score": rebuilt.acquisition.score(rebuilt.encode(points)).tolist(),
            }
        )
    return out


def content(study: Study) -> dict[str, Any]:
    receipts = pellucid.receipts(study)
    stopped = [trial.number for trial in study.trials if trial.state.name == "PRUNED"]
    return {
        "directions": [direction.name.lower() for direction in study.directions],
        "trials": [trial_data(trial) for trial in study.trials],
        "receipts": [receipt.to_dict() for receipt in receipts],
        "rebuilt": {str(r.trial): predictions(study, r.trial) for r in receipts if r.kind == "model"},
        "stopped": {str(number): pellucid.explain_pruning(study, number).to_dict() for number in stopped},
    }


def written(name: str, folder: Path) -> None:
    make, directions = STUDIES[name]
    journal = folder / f"{name}.log"
    study = optuna.create_study(
        study_name=name,
        storage=JournalStorage(JournalFileBackend(str(journal))),
        directions=list(directions),
        pruner=pellucid.CurvePruner(keep=0.5) if name == "curves" else optuna.pruners.NopPruner(),
    )
    make(study)
    (folder / f"{name}.json").write_text(json.dumps(content(study), separators=(",", ":")) + "\n", encoding="utf-8")


def database(path: Path) -> None:
    """A study of one objective and one of two, in an SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "study.db"
        for name, objective, directions in (
            ("mixed", mixed, ("minimize",)),
            ("objectives", front, ("minimize", "maximize")),
        ):
            study = optuna.create_study(study_name=name, storage=f"sqlite:///{plain}", directions=list(directions))
            run(study, objective, 7)
        path.write_bytes(plain.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", action="store_true", help="FOLDER is the SQLite file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if options.database:
        database(options.folder)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in STUDIES:
        written(name, options.folder)


if __name__ == "__main__":
    main()
