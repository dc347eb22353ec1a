"""Tune a model and keep the answers in MLflow: one run for the whole study, which is updated while the search goes on.

    python examples/trackers_mlflow.py

Then `mlflow ui --backend-store-uri sqlite:///mlflow.db` shows the run. For Weights & Biases, write
`pellucid.integrations.wandb.log(study, project="tuning")` instead.
"""

from __future__ import annotations

import argparse

import mlflow
import optuna
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pellucid


def objective(trial: optuna.Trial) -> float:
    """Accuracy of a support vector machine on wines."""
    features, wine = load_wine(return_X_y=True)
    model = SVC(
        C=trial.suggest_float("C", 1e-2, 1e3, log=True),
        gamma=trial.suggest_float("gamma", 1e-4, 1.0, log=True),
    )
    return float(cross_val_score(make_pipeline(StandardScaler(), model), features, wine, cv=3).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=30, help="trials to run")
    parser.add_argument("--tracking-uri", default="sqlite:///mlflow.db", help="where MLflow keeps its runs")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    mlflow.set_tracking_uri(arguments.tracking_uri)

    study = optuna.create_study(direction="maximize", sampler=pellucid.BayesianSampler(seed=0), study_name="wine")
    study.set_metric_names(["accuracy"])
    study.optimize(objective, n_trials=arguments.trials // 2)
    first = pellucid.integrations.mlflow.log(study, experiment="examples")
    study.optimize(objective, n_trials=arguments.trials - arguments.trials // 2)
    # The search has ended, so the recommended configuration may become params, which MLflow never lets change.
    last = pellucid.integrations.mlflow.log(study, experiment="examples", final=True)

    run = mlflow.MlflowClient().get_run(last)
    print(f"Run {last} in experiment 'examples' of {arguments.tracking_uri}, the same as before: {first == last}.")
    for name, value in sorted(run.data.metrics.items()):
        print(f"  {name}: {value:.4g}")
    for name, text in run.data.params.items():
        print(f"  {name} = {text}")


if __name__ == "__main__":
    main()
