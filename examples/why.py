"""Tune a small network with pellucid, then ask why its trials were proposed, in sentences and in two figures.

The questions need only the study: it could come from a storage, or another sampler could have run it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import optuna
from effects import objective
from sklearn.exceptions import ConvergenceWarning

import pellucid
from pellucid import plots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("why"), help="folder for the figures")
    parser.add_argument("--png", action="store_true", help="write pictures (needs Chromium) instead of pages")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=pellucid.BayesianSampler(seed=0))
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    proposed = [receipt.trial for receipt in pellucid.receipts(study) if receipt.kind == "model"]
    for trial in (proposed[0], proposed[len(proposed) // 2], study.best_trial.number):
        if trial in proposed:
            print(pellucid.explain_proposal(study, trial), "\n")
    best = max(proposed, key=lambda trial: study.trials[trial].value or 0.0)
    print(pellucid.explain_proposal(study, best, baseline=0), "\n")
    print(pellucid.compare_importance(study, best), "\n")
    paths = pellucid.desirability_paths(study)
    print(paths)
    kind = "png" if arguments.png else "html"
    plots.save(pellucid.explain_proposal(study, best).plot(), arguments.folder / f"proposal.{kind}")
    plots.save(paths.plot(), arguments.folder / f"paths.{kind}")
    print(f"The figures are in {arguments.folder}.")


if __name__ == "__main__":
    main()
