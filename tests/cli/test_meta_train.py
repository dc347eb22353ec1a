"""`pellucid meta-train`: which studies it uses, what it reports, and the file that it writes."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from tests.cli.tune.scripts import URL, call, tune


def test_meta_training_takes_names_and_patterns_and_says_what_was_learned(folder: Path) -> None:
    pytest.importorskip("torch")
    for k, name in enumerate(["net[a]", "net[b]", "other", "few"]):
        earlier = optuna.create_study(study_name=name, storage=URL, sampler=optuna.samplers.RandomSampler(seed=k))
        earlier.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=3 if name == "few" else 10)
    # A name is taken literally, even if it could be read as a pattern.
    result = call("meta-train", "--storage", URL, "--studies", "net[a]")
    assert result.exit_code == 2
    assert "needs at least 3 of them, but there is 1 to learn from" in result.stderr
    result = call("meta-train", "--storage", URL, "--studies", "net[[]*", "--studies", "nothing*")
    assert result.exit_code == 2
    assert "is called `nothing*`; it has `few`, `net[a]`, `net[b]`, `other`." in result.stderr
    result = call("meta-train", "--storage", URL, "--out", "all.ranker")
    assert result.exit_code == 0, result.output
    assert "Learned from 3 studies with 30 trials." in result.stdout
    assert "`few` is left out: it has 3 trials with a value, but needs at least 10." in result.stdout
    assert tune("bowl", 1, "--model", "all.ranker", "--quiet").exit_code == 0


def test_a_model_that_could_not_be_written_is_not_learned(folder: Path) -> None:
    pytest.importorskip("torch")
    result = call("meta-train", "--storage", URL, "--out", "y" * 250)
    assert result.exit_code == 2
    assert "cannot be written (File name too long)" in result.stderr
    assert not list(folder.glob(".y*"))
