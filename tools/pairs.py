"""How long this tree takes beside 1.0.0rc1: CPU seconds of an ask and of a report, old and new alternating.

`python tools/pairs.py .venvs/rc1/bin/python` prints the median ratio of 40 pairs and its standard error, for studies
with one objective, two, and a constraint. `--old-source FOLDER` compares with the sources of another commit instead,
with this interpreter. Both processes have the same trials; each call gets a new study with a copy of them, so none
finds what an earlier one left in memory. The first pair is not counted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna

N_TRIALS, N_PAIRS = 60, 40
STUDIES = {"one objective": (1, False), "two objectives": (2, False), "a constraint": (1, True)}
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Resamples of the pairs behind the standard error of a median.
N_RESAMPLES = 2000


# ---------------------------------------------------------------------- one process


def trained(trial: optuna.Trial) -> tuple[float, float]:
    """Six parameters, one of them conditional."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 12)
    shares = [trial.suggest_float(name, 0.0, 1.0) for name in ("rows", "columns")]
    solver = trial.suggest_categorical("solver", ["plain", "momentum"])
    push = trial.suggest_float("push", 0.0, 1.0) if solver == "momentum" else 0.0
    loss = 0.1 * np.log(rate / 0.03) ** 2 + 0.01 * (depth - 6) ** 2 + (shares[0] - 0.6) ** 2 + 0.3 * (push - 0.7) ** 2
    return float(loss), depth * (0.2 + shares[1])


def tuned(objectives: int, constrained: bool) -> optuna.Study:
    """The trials that every call is asked about, from a search of Optuna's, so that both processes have the same."""

    def func(trial: optuna.Trial) -> tuple[float, ...]:
        values = trained(trial)[:objectives]
        if constrained:
            trial.set_constraint("memory", trial.params["depth"] - 9.0)
        return values

    sampler = optuna.samplers.TPESampler(seed=1)
    study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
    study.optimize(func, n_trials=N_TRIALS)
    return study


def ask(study: optuna.Study) -> None:
    study.ask().suggest_float("rate", 1e-4, 1.0, log=True)


def report(study: optuna.Study) -> None:
    import pellucid

    with tempfile.TemporaryDirectory() as folder:
        pellucid.report(study, Path(folder) / "report.html", progress=False)


CALLS: dict[str, Callable[[optuna.Study], None]] = {"ask": ask, "report": report}


def serve() -> None:
    """Answer each line, a study and a call, with the CPU seconds that the call took."""
    import pellucid

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    studies = {name: tuned(*kind) for name, kind in STUDIES.items()}
    for line in sys.stdin:
        name, call = line.rstrip("\n").split("/")
        source = studies[name]
        study = optuna.create_study(directions=source.directions, sampler=pellucid.BayesianSampler(seed=2))
        study.add_trials(source.get_trials(deepcopy=False))
        started = time.process_time()
        CALLS[call](study)
        print(time.process_time() - started, flush=True)


# ---------------------------------------------------------------------- pairs of them


class Server:
    def __init__(self, interpreter: str, source: Path | None) -> None:
        paths = {} if source is None else {"PYTHONPATH": str(source)}
        self._process = subprocess.Popen(
            [interpreter, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **THREADS, **paths},
        )

    def seconds(self, study: str, call: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(f"{study}/{call}", file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def compare(old: Server, new: Server, n_pairs: int) -> None:
    generator = np.random.default_rng(0)
    print(f"{'call':<8}{'study':<18}{'rc1, s':>9}{'today, s':>10}{'ratio':>8}{'error':>8}")
    for call in CALLS:
        for study in STUDIES:
            pairs = np.array([(old.seconds(study, call), new.seconds(study, call)) for _ in range(n_pairs + 1)])[1:]
            ratios = pairs[:, 1] / pairs[:, 0]
            medians = np.median(generator.choice(ratios, (N_RESAMPLES, n_pairs)), axis=1)
            before, today = np.median(pairs, axis=0)
            print(
                f"{call:<8}{study:<18}{before:>9.4f}{today:>10.4f}{np.median(ratios):>8.3f}{medians.std():>8.3f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the CPU seconds of an ask and of a report with 1.0.0rc1.")
    parser.add_argument("interpreter", nargs="?", default=sys.executable, help="that of 1.0.0rc1, see `make peers`")
    parser.add_argument("--old-source", type=Path, help="sources of another commit, in the place of an interpreter")
    parser.add_argument("--pairs", type=int, default=N_PAIRS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    here = Path(__file__).parents[1] / "src"
    compare(Server(options.interpreter, options.old_source), Server(sys.executable, here), options.pairs)


if __name__ == "__main__":
    main()
