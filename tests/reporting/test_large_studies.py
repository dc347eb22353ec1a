"""The table of a page on a large study has some of the trials, and the page says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.helpers import bowl, new_study, page_data

import pellucid
from pellucid.surfaces.page import trial_table


def page_on(n: int, folder: Path) -> tuple[str, int]:
    """A page, and the recommended trial."""
    study = new_study()
    study.optimize(bowl, n_trials=n)
    text = pellucid.report(study, folder / "report.html", progress=False).read_text(encoding="utf-8")
    return text, pellucid.recommend(study).trial


def test_the_table_has_what_is_picked_recommended_and_newest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trial_table, "_MOST_CELLS", 16)
    monkeypatch.setattr("pellucid.surfaces.page.picker._MOST_PICKED", 6)
    page, recommended = page_on(40, tmp_path)
    data = page_data(page)
    numbers = data["table"]["numbers"]
    picked = {each["number"] for each in data["picked"]}
    assert {0, 39, recommended, *picked} <= set(numbers)
    assert 8 <= len(numbers) < 40
    assert numbers == sorted(set(numbers))
    assert all(len(column["values"]) == len(numbers) for column in data["table"]["columns"])
    (said,) = re.findall(r"(\d+) of 40 trials are listed", page)
    assert int(said) == len(numbers)
    rows = next(column for column in data["table"]["columns"] if column["name"] == "x")
    assert rows["values"][-1] is not None


def test_the_table_of_a_usual_study_has_all_trials(tmp_path: Path) -> None:
    page, _ = page_on(12, tmp_path)
    assert page_data(page)["table"]["numbers"] == list(range(12))
    assert "trials are listed" not in page
