"""Make ten studies as people have them, and write all that pellucid says about each: python tools/ten_studies.py OUT

Reading the answers of different studies one after the other shows sentences that contradict each other or are hard to
read. For each study there are `OUT/<name>.txt` (what `pellucid explain` prints), `OUT/<name>.md` (the
note of the dashboard) and `OUT/<name>.html` (the report). The studies are stored in `OUT/studies.db`: a second run
continues those that are not finished and writes the texts again. `--only NAME` does one of them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import optuna
from optuna.pruners import BasePruner, NopPruner
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import Trial
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, cross_validate, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pellucid
from pellucid.beliefs.of_study import beliefs_of
from pellucid.surfaces.cli.answers import answers_text, answers_to
from pellucid.surfaces.cli.questions import overview
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.page import page

digits, numerals = (part[:600] for part in load_digits(return_X_y=True))
folds = StratifiedKFold(n_splits=3, shuffle=True, random_state=0)
# Epochs of the trainings that can be stopped, nodes that a forest may have, and trials of the large study that TPE
# chooses: it slows down with the number of trials.
EPOCHS, MOST_NODES, CHOSEN = 25, 1000, 100


# ---------------------------------------------------------------------- objectives


def forest_accuracy(trial: Trial) -> float:
    """One objective with a name."""
    forest = ExtraTreesClassifier(
        n_estimators=20,
        criterion=trial.suggest_categorical("criterion", ["gini", "entropy"]),
        max_depth=trial.suggest_int("max_depth", 2, 24),
        max_features=trial.suggest_float("max_features", 0.02, 1.0, log=True),
        min_samples_leaf=trial.suggest_int("min_samples_leaf", 1, 30, log=True),
        bootstrap=trial.suggest_categorical("bootstrap", [True, False]),
        random_state=0,
    )
    return float(cross_val_score(forest, digits, numerals, cv=folds).mean())


def regression(trial: Trial) -> float:
    """R^2 of a support vector regression."""
    features, targets = load_diabetes(return_X_y=True)
    model = SVR(
        kernel=trial.suggest_categorical("kernel", ["rbf", "linear", "sigmoid"]),
        C=trial.suggest_float("C", 1e-2, 1e3, log=True),
        epsilon=trial.suggest_float("epsilon", 1e-2, 50.0, log=True),
        gamma=trial.suggest_float("gamma", 1e-3, 30.0, log=True),
    )
    return float(cross_val_score(model, features, targets, cv=KFold(3, shuffle=True, random_state=0)).mean())


def model_choice(trial: Trial) -> float:
    """Three kinds of models, each with parameters of its own."""
    kind = trial.suggest_categorical("model", ["svc", "forest", "neighbours"])
    if kind == "svc":
        model = SVC(
            C=trial.suggest_float("svc_C", 1e-2, 1e3, log=True),
            gamma=trial.suggest_float("svc_gamma", 1e-6, 1e-1, log=True),
        )
    elif kind == "forest":
        model = ExtraTreesClassifier(
            n_estimators=20,
            max_features=trial.suggest_float("forest_features", 0.02, 1.0, log=True),
            max_depth=trial.suggest_int("forest_depth", 2, 16),
            random_state=0,
        )
    else:
        model = KNeighborsClassifier(
            n_neighbors=trial.suggest_int("neighbours_k", 1, 50, log=True),
            weights=trial.suggest_categorical("neighbours_weights", ["uniform", "distance"]),
        )
    return float(cross_val_score(model, digits, numerals, cv=folds).mean())


def noisy_training(trial: Trial) -> float:
    """Another split and another seed for every trial; `power_t` has no effect if the rate is constant."""
    features, labels = load_breast_cancer(return_X_y=True)
    parts = train_test_split(features, labels, test_size=0.15, random_state=trial.number)
    model = SGDClassifier(
        learning_rate="constant",
        eta0=trial.suggest_float("rate", 1e-5, 1.0, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        power_t=trial.suggest_float("power_t", 0.1, 0.9),
        loss=trial.suggest_categorical("loss", ["hinge", "log_loss"]),
        max_iter=20,
        tol=None,
        random_state=trial.number,
    )
    scaled = make_pipeline(StandardScaler(), model).fit(parts[0], parts[2])
    return float(1.0 - scaled.score(parts[1], parts[3]))


def small_forest(trial: Trial) -> float:
    """R^2 of a forest with a limited number of nodes."""
    features, targets = load_diabetes(return_X_y=True)
    model = ExtraTreesRegressor(
        n_estimators=trial.suggest_int("trees", 3, 60, log=True),
        max_depth=trial.suggest_int("depth", 2, 16),
        min_samples_leaf=trial.suggest_int("leaf", 1, 40, log=True),
        max_features=trial.suggest_float("features", 0.1, 1.0),
        random_state=0,
    )
    fits = cross_validate(model, features, targets, cv=KFold(3, shuffle=True, random_state=0), return_estimator=True)
    nodes = [sum(tree.tree_.node_count for tree in forest.estimators_) for forest in fits["estimator"]]
    trial.set_constraint("nodes", max(nodes) - MOST_NODES)
    return float(fits["test_score"].mean())


def accuracy_and_size(trial: Trial) -> tuple[float, float]:
    """Accuracy, and thousands of nodes of all trees."""
    model = RandomForestClassifier(
        n_estimators=trial.suggest_int("trees", 3, 40, log=True),
        max_depth=trial.suggest_int("depth", 2, 14),
        min_samples_leaf=trial.suggest_int("leaf", 1, 20, log=True),
        max_features=trial.suggest_float("features", 0.05, 1.0),
        random_state=0,
    )
    fits = cross_validate(model, digits, numerals, cv=folds, return_estimator=True)
    nodes = [sum(tree.tree_.node_count for tree in forest.estimators_) for forest in fits["estimator"]]
    return float(fits["test_score"].mean()), max(nodes) / 1000.0


def epochs(trial: Trial) -> float:
    """The error of a network on held-out digits after every epoch; asks whether to go on."""
    train_x, valid_x, train_y, valid_y = train_test_split(digits / 16.0, numerals, test_size=0.3, random_state=0)
    network = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("units", 4, 64, log=True),),
        learning_rate_init=trial.suggest_float("rate", 1e-4, 0.3, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        batch_size=trial.suggest_int("batch", 16, 128, log=True),
        random_state=0,
    )
    error = 1.0
    for epoch in range(1, EPOCHS + 1):
        network.partial_fit(train_x, train_y, classes=range(10))
        error = float(1.0 - network.score(valid_x, valid_y))
        trial.report(error, epoch)
        if epoch < EPOCHS and trial.should_prune():
            raise optuna.TrialPruned
    return error


def fragile_training(trial: Trial) -> float:
    """Pairs of solver and penalty that scikit-learn refuses, and rates at which the weights overflow."""
    if trial.suggest_categorical("kind", ["logistic", "gradient"]) == "logistic":
        features, labels = load_breast_cancer(return_X_y=True)
        model = LogisticRegression(
            solver=trial.suggest_categorical("solver", ["lbfgs", "liblinear"]),
            penalty=trial.suggest_categorical("penalty", ["l1", "l2"]),
            C=trial.suggest_float("C", 1e-3, 1e2, log=True),
            max_iter=50,
        )
        scaled = make_pipeline(StandardScaler(), model)
        return float(cross_val_score(scaled, features, labels, cv=3, error_score="raise").mean())
    features, targets = load_diabetes(return_X_y=True)
    rate = trial.suggest_float("rate", 1e-3, 10.0, log=True)
    model = SGDRegressor(learning_rate="constant", eta0=rate, max_iter=20, tol=None, random_state=0)
    score = float(cross_val_score(model, features, targets, cv=3).mean())
    return score if score > -10.0 else float("nan")


def surface(trial: Trial) -> float:
    """A function of three parameters and of one without an effect."""
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 1e-3, 1.0, log=True)
    shape = trial.suggest_categorical("shape", ["round", "flat"])
    trial.suggest_int("unused", 1, 10)
    return float((x - 0.3) ** 2 + 0.1 * np.log10(y / 0.05) ** 2 + 0.05 * (shape == "flat") + 0.1 * x * np.log10(y))


# ---------------------------------------------------------------------- studies


@dataclass(frozen=True)
class Subject:
    """A study to make. `sampler`: from the number of trials that there are, so that a study can be continued."""

    name: str
    objective: Callable[[Trial], float | tuple[float, ...]]
    n_trials: int
    sampler: Callable[[int], BaseSampler]
    directions: tuple[str, ...] = ("maximize",)
    metrics: tuple[str, ...] = ()
    pruner: BasePruner | None = None


def ours(_: int) -> BaseSampler:
    return pellucid.BayesianSampler(seed=0)


def tpe(n: int) -> BaseSampler:
    return TPESampler(seed=n)


def at_random(n: int) -> BaseSampler:
    return RandomSampler(seed=n)


SUBJECTS = (
    Subject("ours", forest_accuracy, 40, ours, metrics=("accuracy",)),
    Subject("tpe", regression, 60, tpe, metrics=("r2",)),
    Subject("conditional", model_choice, 50, ours, metrics=("accuracy",)),
    Subject("noisy", noisy_training, 50, ours, ("minimize",), metrics=("error",)),
    Subject("constraints", small_forest, 40, ours, metrics=("r2",)),
    Subject("objectives", accuracy_and_size, 35, ours, ("maximize", "minimize"), ("accuracy", "kilonodes")),
    Subject("pruned", epochs, 40, ours, ("minimize",), metrics=("error",), pruner=pellucid.CurvePruner()),
    Subject("failed", fragile_training, 60, at_random),
    Subject("one", forest_accuracy, 1, ours, metrics=("accuracy",)),
    Subject("large", surface, 5000, tpe, ("minimize",)),
)


def made(subject: Subject, url: str) -> optuna.Study:
    """The study of a subject in the storage, with all its trials."""
    create = partial(optuna.create_study, directions=subject.directions, load_if_exists=True)
    study = create(study_name=subject.name, storage=url, pruner=subject.pruner or NopPruner())
    if subject.metrics:
        study.set_metric_names(list(subject.metrics))
    done = len(study.get_trials(deepcopy=False))
    study.sampler = subject.sampler(done)
    if subject.n_trials <= CHOSEN:
        study.optimize(subject.objective, n_trials=max(subject.n_trials - done, 0), catch=(ValueError,))
    elif done < subject.n_trials:
        study.add_trials(many(subject)[done:])
    return study


def many(subject: Subject) -> list[optuna.trial.FrozenTrial]:
    """The trials of a large study, which are made in memory: most at random, the last ones by its sampler."""
    study = optuna.create_study(directions=subject.directions, sampler=RandomSampler(seed=0))
    study.optimize(subject.objective, n_trials=subject.n_trials - CHOSEN)
    study.sampler = subject.sampler(0)
    study.optimize(subject.objective, n_trials=CHOSEN)
    return study.get_trials(deepcopy=False)


def write(study: optuna.Study, url: str, folder: Path) -> None:
    """What pellucid says about a study: the answers, the note of the dashboard, and the report."""
    beliefs = beliefs_of(study)
    answers = answers_to(overview(beliefs, None))
    text = answers_text(beliefs.view, Place(url, url), answers)
    (folder / f"{study.study_name}.txt").write_text(f"{text}\n", encoding="utf-8")
    gathered = gather(study, progress=False)
    (folder / f"{study.study_name}.md").write_text(note(gathered, "#trial-") + "\n", encoding="utf-8")
    (folder / f"{study.study_name}.html").write_text(page(gathered), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="OUT")
    parser.add_argument("--only", choices=[subject.name for subject in SUBJECTS], help="make and write this study only")
    options = parser.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")  # Of trainings that have not converged, and of Optuna's experimental parts.
    options.folder.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{options.folder / 'studies.db'}"
    for subject in SUBJECTS:
        if options.only in (None, subject.name):
            start = perf_counter()
            study = made(subject, url)
            ready = perf_counter()
            write(study, url, options.folder)
            print(f"{subject.name}: trials {ready - start:.0f} s, texts {perf_counter() - ready:.0f} s", flush=True)


if __name__ == "__main__":
    main()
