"""The experiments with networks, from the random search to the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from pellucid_lab.papers.hsic import command as reproduce_hsic
from pellucid_lab.papers.hsic import report as hsic_report
from pellucid_lab.papers.hsic import searches as hsic_networks
from pellucid_lab.problems import network_tasks
from pellucid_lab.runs.files import RunFile


def test_an_experiment_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small, but real: trained, searched in four ways, stopped and resumed, put into tables."""
    small = replace(network_tasks.task("runge"), updates=8)
    for module in (network_tasks, hsic_networks):
        monkeypatch.setattr(module, "task", lambda _: small)
    for name, value in (("N_RANDOM", 50), ("N_SEARCH", 55), ("N_INITIAL", 4), ("N_STEPS", 4), ("N_STEP1", 2)):
        monkeypatch.setattr(hsic_networks, name, value)
    file = RunFile(tmp_path / "runge-random.jsonl", hsic_networks.RandomNetwork)
    (batch,) = hsic_networks.missing_batches("runge", 60, file)
    drawn = hsic_networks.train_batch(batch)
    file.append(drawn[:50])
    assert hsic_networks.missing_batches("runge", 60, file) == [
        hsic_networks.NetworkBatch("runge", tuple(range(50, 60)))
    ]
    assert [network.number for network in drawn] == list(range(60))
    assert all({"n_layers", "dropout"} <= network.params.keys() for network in drawn)
    monkeypatch.setattr(hsic_networks, "pool", lambda path, n: tuple(drawn))
    runs = []
    for method in hsic_networks.METHODS:
        for repetition in range(2):
            search = hsic_networks.SearchTask("runge", method, repetition, str(file.path), 60)
            runs.append(hsic_networks.run_search(search))
            assert not search.file.exists()
    grid = hsic_report.search_grid(runs, classes=False)
    assert [row[0] for row in grid.rows] == list(hsic_networks.METHODS)
    assert "times fewer parameters" in hsic_report.bar_sentence(runs)
    assert hsic_report.bar_sentence(runs[:3]) == "The searches are not complete."
    grids = reproduce_hsic._network_page("runge", drawn, runs, tmp_path, figures=False)
    text = (tmp_path / "runge.md").read_text()
    assert "60 networks with random settings" in text
    assert len(grids) == 4
    again = {run.key for run in runs}
    assert len(again) == 8
