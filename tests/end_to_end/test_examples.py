"""The examples run as they are, only shorter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.end_to_end.examples import number, run


def require_lightgbm() -> None:
    try:
        import lightgbm  # noqa: F401
    except OSError as error:
        pytest.skip(f"LightGBM needs the system's OpenMP library: {error}")


def check_stops(printed: str, trials: int) -> None:
    """At least one trial was stopped, each with its reason, and the answers about stops are there."""
    reasons = re.findall(r"^Trial \d+: Stopped at step \d+ of \d+: .* chance to beat", printed, re.MULTILINE)
    assert reasons, printed
    assert re.search(r"Why was trial (\d+) stopped so soon\? Trial \1 was stopped at step", printed)
    assert f"What did stopping save? {len(reasons)} of {trials} trials were stopped early" in printed
    assert re.search(r"Which configuration is best\? Use .*learning_rate=", printed)


def test_effects_of_a_tpe_study(tmp_path: Path) -> None:
    figure = tmp_path / "effect.html"
    printed = run("effects.py", "--trials", "15", "--figure", str(figure))
    assert (
        printed.count("Effects are provisional: 15 trials for 5 parameters") == 2 * 5
    )  # Of the profile and of the average.
    assert "`learning_rate`" in printed
    assert figure.stat().st_size > 100_000


def test_why_trials_were_proposed(tmp_path: Path) -> None:
    printed = run("why.py", "--trials", "16", "--folder", str(tmp_path))
    assert re.search("Trial 10 was proposed (mainly|partly) for", printed)
    assert "Over 6 proposals (trials 10 to 15)" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"proposal.html", "paths.html"}


def test_what_mattered_in_two_steps(tmp_path: Path) -> None:
    figure = tmp_path / "matters.html"
    printed = run("matters.py", "--random", "40", "--steps", "3", "--figure", str(figure))
    assert "For being among the best 10%" in printed
    assert "Step 1 tunes" in printed
    assert "Step 2 tunes" in printed
    assert figure.stat().st_size > 100_000


def test_two_objectives_and_their_compromises() -> None:
    printed = run("objectives.py", "--trials", "20")
    assert "configurations are on the true front of accuracy and kilonodes" in printed
    assert "if accuracy counts 2 and kilonodes counts 1" in printed
    assert "kilonodes <= 2 with a chance of" in printed
    assert number(r"at most\? Use .*?accuracy ([\d.]+),", printed) > 0.8


def test_a_scikit_learn_pipeline_with_branches() -> None:
    printed = run("sklearn_model.py", "--trials", "22")
    # A support vector machine or a forest of the first trials has 0.96; the recommendation names one branch alone.
    assert number(r": expect ([\d.]+) \(", printed) > 0.97
    assert re.search(r"Use model=(svc, C=[^,]+, gamma=[^,]+|forest, max_depth=\d+, max_features=[^,]+) \(", printed)
    assert re.search("[Ww]here model is ", printed)
    stopping = r"More trials\? (Continue|Stop): .*after 22 trials, the model sees room to improve the objective by "
    assert re.search(stopping, printed)


def test_a_forest_that_has_to_fit_into_a_small_device() -> None:
    printed = run("constraints.py", "--trials", "25")
    assert re.search(r"Use trees=\d+, .*feasible with a chance of", printed)
    trees, depth = (int(number(rf"{name}=(\d+)", printed)) for name in ("trees", "depth"))
    assert trees * depth <= 300
    assert re.search(r"The best feasible value is .* \d+ of 25 trials were feasible", printed)
    assert re.search(r"What makes a forest too large\? .*`(leaf|trees)`", printed)
    assert re.search(r"maximised \w+ among configurations that are likely feasible", printed)


def test_lightgbm_with_early_stopping_and_pruning() -> None:
    require_lightgbm()
    printed = run("lightgbm_model.py", "--trials", "25")
    assert 3 <= number(r"(\d+) of 25 trials were pruned", printed) <= 22
    # Early stopping ends the training before the last round.
    assert 1 <= number(r"It needs (\d+) rounds", printed) < 300
    assert number(r": expect ([\d.]+) \(", printed) < 0.13
    assert re.search(r"Why this configuration\? Trial \d+ was", printed)


def test_a_pytorch_network_whose_training_diverges() -> None:
    pytest.importorskip("torch")
    printed = run("pytorch_model.py", "--trials", "30")
    assert 3 <= number(r"(\d+) of 30 trials failed", printed) <= 20
    assert re.search(r"What makes trials fail\? For failing, `learning_rate` matters", printed)
    # The variance of the target is 1.
    assert number(r": expect ([\d.]+) \(", printed) < 0.7


def test_curves_of_lightgbm_with_the_callback_of_optuna() -> None:
    require_lightgbm()
    check_stops(run("curves_lightgbm.py", "--trials", "12"), trials=12)


def test_curves_of_xgboost_with_the_callback_of_optuna() -> None:
    pytest.importorskip("xgboost")
    check_stops(run("curves_xgboost.py", "--trials", "12"), trials=12)


def test_curves_of_a_pytorch_loop() -> None:
    pytest.importorskip("torch")
    check_stops(run("curves_pytorch.py", "--trials", "12"), trials=12)


def test_a_study_that_exists_is_explained_and_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "existing.db"
    first = run("existing_study.py", "--file", str(file), "--trials", "40")
    assert "40 trials, 0 of them proposed by pellucid" in first
    assert re.search(r"What matters\? .*`kernel`.*% of the variance", first)
    assert re.search(r"What does `C` do\? (With `C` = |40 trials can't show which value of `C`)", first)
    assert "More trials? Continue: after 40 trials, the model sees room" in first
    before = file.read_bytes()
    second = run("existing_study.py", "--file", str(file), "--trial", "20")
    assert "Why this configuration? Pellucid did not propose trial 20; its model would have" in second
    assert second.split("Why this configuration")[0] == first.split("Why this configuration")[0]
    assert file.read_bytes() == before


def test_the_demo_answers_writes_a_report_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = run("demo.py", "--trials", "4")
    assert "Continue: a verdict needs 20 complete trials, and this study has 4" in first
    assert "What matters?" not in first
    assert "Report: report.html (open it in a browser)" in first
    (tmp_path / "report.html").unlink()
    second = run("demo.py", "--trials", "10")
    assert "Resuming sqlite:///demo.db after 4 trials." in second
    assert "Continue: a verdict needs 20 complete trials, and this study has 10" in second
    assert "What matters?" in second
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.engine
def test_one_run_of_mlflow_for_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # A store of files takes a tenth of the time.
    try:
        printed = run("trackers_mlflow.py", "--trials", "6", "--tracking-uri", (tmp_path / "runs").as_uri())
    finally:
        mlflow.set_tracking_uri(None)  # Other tests choose theirs in the environment.
    assert "the same as before: True" in printed
    assert number(r"accuracy/best: ([\d.]+)", printed) > 0.9
    assert re.search(r"^  gamma = [\d.e-]+$", printed, re.MULTILINE)


def test_a_study_that_starts_where_earlier_ones_ended(tmp_path: Path) -> None:
    options = ("--earlier", "10", "--trials", "2", "--storage", f"sqlite:///{tmp_path / 'e.db'}")
    printed = run("earlier_studies.py", *options, "--model", str(tmp_path / "network.ranker"))
    assert "by a model of 5 earlier studies" in printed
    first_error = r": error rate of the first trial ([\d.]+)%"
    assert number("With earlier studies" + first_error, printed) < number("Without them" + first_error, printed)
    assert (tmp_path / "network.ranker").stat().st_size > 10_000
