"""Tune a forest that reads handwritten digits, then ask which configuration to use, whether to stop and what matters.

The study is stored in `demo.db`. Stop the script at any time (Ctrl-C or `kill`) and run it again: it continues where it
stopped. One parameter is conditional: `max_samples` exists only if `bootstrap` is true, and the sampler learns that
from the trials. The script prints the answers and writes them, with figures, to `report.html`.
"""

from __future__ import annotations

import argparse

import optuna
from optuna.trial import TrialState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

import pellucid

STORAGE = "sqlite:///demo.db"
STUDY = "digits-forest"
REPORT = "report.html"

images, labels = load_digits(return_X_y=True)
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)


def objective(trial: optuna.Trial) -> float:
    """Mean accuracy of a five-fold cross-validation."""
    bootstrap = trial.suggest_categorical("bootstrap", [True, False])
    forest = ExtraTreesClassifier(
        n_estimators=50,
        criterion=trial.suggest_categorical("criterion", ["gini", "entropy"]),
        max_depth=trial.suggest_int("max_depth", 2, 24),
        max_features=trial.suggest_float("max_features", 0.02, 1.0, log=True),
        min_samples_leaf=trial.suggest_int("min_samples_leaf", 1, 30, log=True),
        bootstrap=bootstrap,
        max_samples=trial.suggest_float("max_samples", 0.1, 1.0) if bootstrap else None,
        random_state=0,
    )
    return float(cross_val_score(forest, images, labels, cv=folds).mean())


def finished(study: optuna.Study) -> int:
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))


def tune(study: optuna.Study, target: int, console: Console) -> None:
    """Run trials until the study has `target` finished ones."""
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
    """Print the answers and write the report."""

    def say(heading: str, answer: object) -> None:
        console.print(f"\n[bold]{heading}[/bold]")
        console.print(str(answer), markup=False, highlight=False)

    say("Which configuration is best?", pellucid.recommend(study))
    say("More trials?", pellucid.stopping_verdict(study))
    if finished(study) >= 10:  # Fewer trials say little about what matters.
        say("What matters?", pellucid.importance(study))
    pellucid.report(study, REPORT)
    console.print(f"\nReport: {REPORT} (open it in a browser)", highlight=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study should have in total")
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
        console.print(f"{STORAGE} already has {done} trials; use --trials {done + 20} to add more.")
    else:
        if done:
            console.print(f"Resuming {STORAGE} after {done} trials.")
        try:
            tune(study, arguments.trials, console)
        except KeyboardInterrupt:
            interrupted = True
            console.print("\nInterrupted. Finished trials are kept: run the demo again to continue.")
    if finished(study):
        show(study, console)
    return 130 if interrupted else 0


if __name__ == "__main__":
    raise SystemExit(main())
