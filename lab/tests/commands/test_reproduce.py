"""`pellucid reproduce` from the command line: small runs, their continuation, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lab.tests.helpers import call

import pellucid
from pellucid.answers import drawing as plots
from pellucid_lab.methods import samplers as methods
from pellucid_lab.papers.bobax import experiment as bobax
from pellucid_lab.papers.bobax import runs as bobax_runs
from pellucid_lab.papers.hsic import examples as hsic_examples
from pellucid_lab.papers.sawei import command as reproduce_sawei
from pellucid_lab.papers.shapley import command as reproduce_shapley
from pellucid_lab.papers.shapley import forest as shapley_forest
from pellucid_lab.runs.regret import regret_file


@pytest.fixture(autouse=True)
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are saved as pages, which is faster than rendering pictures in a browser."""
    monkeypatch.setattr(plots, "browser", lambda: None)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three schedules, one seed, six proposals: everything else is as in the real protocol."""
    few = {name: methods.SCHEDULES[name] for name in ("ei", "sawei-paper", "sawei")}
    monkeypatch.setattr(methods, "SCHEDULES", few)
    protocol = reproduce_sawei.Protocol("hpobench", 8, 6, (0,))
    monkeypatch.setitem(reproduce_sawei.PROTOCOLS, ("hpobench", "quick"), protocol)
    monkeypatch.setattr(reproduce_sawei, "UNITS", protocol)


@pytest.mark.usefixtures("small")
def test_tables_figures_and_a_continuation(tmp_path: Path) -> None:
    arguments = ("reproduce", "sawei", "--suite", "hpobench", "--out", str(tmp_path))
    first = call(*arguments, "--json")
    assert first.exit_code == 0, first.output
    assert "24 of 24 runs to do, about" in first.stderr
    rows = json.loads(first.stdout)
    assert {row["method"] for row in rows} == {"ei", "sawei-paper", "sawei"}
    assert all(1 <= row["iqm_rank"] <= 3 for row in rows)
    table = (tmp_path / "hpobench.md").read_text(encoding="utf-8")
    assert "| sawei | times 1000 |" in table
    assert "8 of 8 |" in table
    assert f"pellucid {pellucid.__version__}" in table
    lines = (tmp_path / "hpobench.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 24
    assert all(len(line.split(",")) == len(lines[0].split(",")) for line in lines)
    for name in ("ranks", "final", "alpha"):
        assert (tmp_path / f"hpobench-{name}.html").stat().st_size > 5000
    assert all(len(run.trace["alpha"]) == 6 for run in regret_file(tmp_path / "units.jsonl").read())

    before = (tmp_path / "hpobench.jsonl").read_bytes()
    again = call(*arguments, "--no-figures")
    assert again.exit_code == 0, again.output
    assert "runs to do" not in again.stderr
    assert (tmp_path / "hpobench.jsonl").read_bytes() == before


def test_a_wrong_suite_or_budget_is_a_sentence_and_code_2(tmp_path: Path) -> None:
    for wrong in (("--suite", "nothing"), ("--budget", "endless")):
        result = call("reproduce", "sawei", *wrong, "--out", str(tmp_path))
        assert result.exit_code == 2
        assert "--suite is bbob or hpobench" in result.stderr


def test_bobax_writes_tables_and_figures_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three methods, two functions and one seed; everything else is as in the real protocol."""
    monkeypatch.setattr(bobax_runs, "FUNCTIONS", ("branin", "camel"))
    monkeypatch.setitem(bobax.METHODS, "source", ("rs", "ei", "bobax-2"))
    monkeypatch.setitem(bobax.METHODS, "fitted", ("rs", "ei", "bobax-2"))
    for experiment in ("source", "fitted"):
        arguments = ("reproduce", "bobax", "--experiment", experiment, "--seeds", "0", "--out", str(tmp_path))
        first = call(*arguments, "--json")
        assert first.exit_code == 0, first.output
        tables = json.loads(first.stdout)
        assert [row[0] for row in tables[0]["rows"]] == ["rs", "ei", "bobax-2"]
        text = (tmp_path / f"{experiment}.md").read_text(encoding="utf-8")
        assert "## Regret relative to EI" in text
        assert f"pellucid {pellucid.__version__}" in text
        assert len(bobax.effect_file(tmp_path / f"{experiment}.jsonl").read()) == 6
        assert len((tmp_path / f"{experiment}.csv").read_text(encoding="utf-8").splitlines()) == 7
        before = (tmp_path / f"{experiment}.jsonl").read_bytes()
        again = call(*arguments, "--no-figures")
        assert again.exit_code == 0, again.output
        assert "6 of 6 runs are already in" in again.stderr
        assert (tmp_path / f"{experiment}.jsonl").read_bytes() == before
    for name in ("source-errors", "effect-branin"):
        assert (tmp_path / f"{name}.html").stat().st_size > 5000


def test_bobax_refuses_unknown_experiments_and_missing_data(tmp_path: Path) -> None:
    wrong = call("reproduce", "bobax", "--experiment", "everything", "--out", str(tmp_path))
    assert wrong.exit_code == 2
    assert "--experiment is one of source, source-lcbench, fitted, fitted-lcbench or all" in wrong.stderr
    missing = call(
        "reproduce", "bobax", "--experiment", "source-lcbench", "--data", str(tmp_path), "--out", str(tmp_path)
    )
    assert missing.exit_code == 3
    assert "lcbench is skipped: it needs model.onnx" in missing.stderr


# ---------------------------------------------------------------------- shapley


@pytest.fixture
def thesis(tmp_path: Path) -> Path:
    """Files in the layout of the source's data: contributions, and a few made-up networks."""
    folder = tmp_path / "data" / "shapleymbo"
    folder.mkdir(parents=True)
    lines = ["lambda,iteration,parameter,phi_cb,phi_cb_sd,phi_mean,phi_mean_sd,phi_se,phi_se_sd"]
    lines += [f"{lam},{i},x{j},-1,1,-1,1,0,1" for lam in (1, 10) for i in range(1, 65) for j in range(1, 5)]
    (folder / "hyper_ellipsoid_contributions.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rng = np.random.default_rng(0)
    rows = ["batch_size,max_dropout,max_units,num_layers,learning_rate,momentum,weight_decay,final_val_accuracy"]
    for _ in range(60):
        bs, md, mu, nl, lr, mom, wd = rng.random(7)
        layers = "True" if nl < 0.25 else str(1 + int(4 * nl))
        accuracy = 70 + 8 * (1 - bs) - 5 * md + 3 * lr
        rows.append(f"{int(16 + 496 * bs)},{md},{int(64 + 960 * mu)},{layers},{0.01 * lr},{mom},{0.1 * wd},{accuracy}")
    (folder / "lcbench2000.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "data"


def test_shapley_writes_tables_and_figures_and_continues(
    tmp_path: Path, thesis: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapley_forest, "N_TREES", 20)
    monkeypatch.setattr(shapley_forest, "N_TRIALS", 34)
    monkeypatch.setattr(shapley_forest, "K_SOURCE", 200)
    monkeypatch.setattr(shapley_forest, "_REFERENCE_ROWS", 16)
    monkeypatch.setattr(reproduce_shapley, "COST_TRIALS", (30, 31))
    out = tmp_path / "out"
    arguments = ("reproduce", "shapley", "--out", str(out), "--data", str(thesis), "--seeds", "0")
    first = call(*arguments, "--json")
    assert first.exit_code == 0, first.output
    titles = [grid["title"] for grid in json.loads(first.stdout)]
    assert any("Table 2" in title for title in titles)
    assert any("Table 6" in title for title in titles)
    assert any("Table 11" in title for title in titles)
    for name in ("ellipsoid", "forest-proposal", "forest-paths", "forest-payouts"):
        assert (out / f"{name}.html").stat().st_size > 5000
    for name in ("interaction", "ellipsoid", "forest"):
        assert f"pellucid {pellucid.__version__}" in (out / f"{name}.md").read_text(encoding="utf-8")
    before = (out / "ellipsoid.jsonl").read_bytes()
    again = call(*arguments, "--experiment", "ellipsoid", "--no-figures")
    assert again.exit_code == 0, again.output
    assert "2 of 2 runs are already in" in again.stderr
    assert (out / "ellipsoid.jsonl").read_bytes() == before


def test_shapley_without_its_data_or_with_a_wrong_name(tmp_path: Path) -> None:
    missing = call("reproduce", "shapley", "--experiment", "ellipsoid", "--data", str(tmp_path), "--out", str(tmp_path))
    assert missing.exit_code == 3
    assert "it needs shapleymbo/hyper_ellipsoid_contributions.csv" in missing.stderr
    wrong = call("reproduce", "shapley", "--experiment", "all-of-it", "--out", str(tmp_path))
    assert wrong.exit_code == 2
    assert "--experiment is one of interaction, ellipsoid, forest or all" in wrong.stderr


def test_hsic_writes_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hsic_examples, "N_COST", 300)
    done = call("reproduce", "hsic", "--experiment", "examples", "--out", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    grids = json.loads(done.stdout)
    assert [grid["title"].split(",")[0] for grid in grids[:3]] == ["Example 1", "Example 2", "Example 3"]
    index = {row[0]: float(row[1]) for row in grids[1]["rows"]}
    assert max(index["x2"], index["x3"], index["x4, x5"]) < 0.05 * min(index["x1"], index["x2, x3"])
    assert "## Cost of one analysis, 300 trials" in (tmp_path / "examples.md").read_text(encoding="utf-8")


def test_hsic_refuses_experiments_that_do_not_exist(tmp_path: Path) -> None:
    wrong = call("reproduce", "hsic", "--experiment", "mnist", "--out", str(tmp_path))
    assert wrong.exit_code != 0
    assert "--experiment is one of examples, runge, bateman, digits or all" in wrong.stderr
