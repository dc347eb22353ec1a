"""`pellucid meta-train`: which studies it uses, what it reports, and the file that it writes."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from tests.cli.tune.scripts import URL, call, tune

from pellucid.surfaces.cli.meta_train import verdict


def test_meta_training_takes_names_and_patterns_and_prints_a_summary(folder: Path) -> None:
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
    assert "Whether it helps is not known: with five or more studies" in result.stdout
    assert tune("bowl", 1, "--model", "all.ranker", "--quiet").exit_code == 0


def test_no_model_is_trained_if_its_file_cannot_be_written(folder: Path) -> None:
    pytest.importorskip("torch")
    result = call("meta-train", "--storage", URL, "--out", "y" * 256)
    assert result.exit_code == 2
    assert "cannot be used (File name too long); choose another path." in result.stderr
    assert not list(folder.glob(".pellucid.*"))


def test_the_verdict_says_how_many_studies_show_it() -> None:
    pytest.importorskip("torch")
    from pellucid.models.ranking.ensemble import Card, Check

    good, bad = (Check(name, 20, (regret,) * 3, (0.2,) * 3) for name, regret in [("good", 0.1), ("bad", 0.25)])
    unused = "RankingSampler will not use the model."
    assert verdict(Card(("t",))).startswith("Whether it helps is not known: with five or more studies")
    assert verdict(Card(("t",), (good,))) == (
        "It did better than random trials on `good`, the only study held out of training; one study cannot show "
        "whether it helps. The best of its first five trials misses the best value by 10.0% of the range of all "
        "values; the best of five random trials misses it by 20.0%."
    )
    alone = verdict(Card(("t",), (bad,)))
    assert alone.startswith("It did no better than random trials on `bad`, the only study")
    assert alone.endswith(unused)
    both = verdict(Card(("t",), (good, bad)))
    assert both.startswith("It did better than random trials on 1 of 2 studies held out of training (`good`, `bad`).")
    assert "by 17.5% of the range of all values on average; " in both
    assert unused not in both
    many = verdict(Card(("t",), (bad,) * 7))
    assert "on 0 of 7 studies held out of training (`bad`, `bad`, `bad`, `bad`, `bad` and 2 more)." in many
    assert many.endswith(unused)
