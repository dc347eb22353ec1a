"""Tune a classifier of handwritten digits, then read the receipts.

The study lives in ``demo.db``: stop the script at any time (Ctrl-C, or less politely) and run it again,
and it goes on where it stopped. The space is conditional: a support vector machine and an ensemble of
trees have different parameters, and the sampler learns from the trials which belong to which.
"""

from __future__ import annotations

import argparse

import optuna
from optuna.trial import TrialState
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pellucid

STORAGE = "sqlite:///demo.db"
STUDY = "digits"
SHOWN = 8

features, labels = load_digits(return_X_y=True)
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)


def objective(trial: optuna.Trial) -> float:
    """Mean accuracy of a five-fold cross-validation."""
    model: ClassifierMixin
    if trial.suggest_categorical("model", ["svc", "trees"]) == "svc":
        model = SVC(
            C=trial.suggest_float("C", 1e-2, 1e3, log=True),
            gamma=trial.suggest_float("gamma", 1e-5, 1.0, log=True),
        )
    else:
        model = ExtraTreesClassifier(
            n_estimators=30,
            max_features=trial.suggest_float("max_features", 0.02, 1.0, log=True),
            max_depth=trial.suggest_int("max_depth", 3, 30),
            min_samples_leaf=trial.suggest_int("min_samples_leaf", 1, 20, log=True),
            random_state=0,
        )
    return float(cross_val_score(make_pipeline(StandardScaler(), model), features, labels, cv=folds).mean())


def finished(study: optuna.Study) -> int:
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))


def tune(study: optuna.Study, target: int, console: Console) -> None:
    """Run trials until the study holds ``target`` finished ones."""
    columns = (
        TextColumn("Tuning"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best so far {task.fields[best]}"),
        TimeElapsedColumn(),
    )

    def best() -> str:
        return f"{study.best_value:.4f}" if finished(study) else "-"

    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("tune", total=target, completed=finished(study), best=best())

        def advance(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
            progress.update(bar, completed=finished(study), best=best())

        study.optimize(objective, n_trials=target - finished(study), callbacks=[advance])


def show(study: optuna.Study, console: Console) -> None:
    """Print the best trial, the recommendation and the latest receipts."""
    best = study.best_trial
    params = ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}" for name, value in best.params.items()
    )
    console.print(f"\n[bold]Best trial[/bold]: number {best.number}, accuracy {best.value:.4f} with {params}")
    console.print("[bold]Recommendation[/bold]:", str(pellucid.recommend(study)))

    observed = {trial.number: trial.value for trial in study.get_trials(deepcopy=False)}
    latest = pellucid.receipts(study)[-SHOWN:]
    terms = list(dict.fromkeys(term for receipt in latest if receipt.acquisition for term in receipt.acquisition.terms))
    console.print("[bold]The latest receipts[/bold]: what each proposal expected, and what came")
    table = Table(box=SIMPLE_HEAD)
    table.add_column("trial", justify="right")
    table.add_column("kind")
    table.add_column("by")
    for heading in ("expected", "observed", *terms):
        table.add_column(heading, justify="right", no_wrap=True)
    for receipt in latest:
        value = observed.get(receipt.trial)
        scores = receipt.acquisition.terms if receipt.acquisition else {}
        table.add_row(
            str(receipt.trial),
            receipt.kind,
            receipt.acquisition.name if receipt.acquisition else "-",
            "-" if receipt.mean is None else f"{receipt.mean:.4f} ± {receipt.sd:.2g}",
            "-" if value is None else f"{value:.4f}",
            *(f"{scores[term]:.4f}" if term in scores else "-" for term in terms),
        )
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study shall hold")
    arguments = parser.parse_args()

    console = Console()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        study_name=STUDY,
        storage=STORAGE,
        direction="maximize",
        sampler=pellucid.BayesianSampler(seed=0),
        load_if_exists=True,
    )

    done = finished(study)
    interrupted = False
    if done >= arguments.trials:
        console.print(f"{STORAGE} already holds {done} trials; continue it with --trials {done + 20}.")
    else:
        if done:
            console.print(f"Resuming {STORAGE} after {done} trials.")
        try:
            tune(study, arguments.trials, console)
        except KeyboardInterrupt:
            interrupted = True
            console.print("\nInterrupted. Nothing is lost: run the demo again and it goes on from here.")
    if finished(study):
        show(study, console)
    return 130 if interrupted else 0


if __name__ == "__main__":
    raise SystemExit(main())
