"""The notebook in `examples` runs, is what `tools/make_tour.py` makes, and is small enough to look at online."""

from __future__ import annotations

import json
import re
import runpy
from typing import Any

import pytest
from tests.helpers import ROOT

TOUR = ROOT / "examples" / "tour.ipynb"
PLOTLY = "application/vnd.plotly.v1+json"


def outputs_of(cells: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What every cell of code shows, by its source."""
    return {
        "".join(cell["source"]): [output["data"] for output in cell["outputs"] if "data" in output]
        for cell in cells
        if cell["cell_type"] == "code"
    }


def check(cells: list[dict[str, Any]]) -> None:
    """Every answer is text and at most one figure, without a fixed width."""
    shown = outputs_of(cells)
    answers = {source: outputs for source, outputs in shown.items() if source.startswith("pellucid.")}
    assert len(answers) == 9
    for source, (text, *figures) in answers.items():
        assert "<table" in "".join(text["text/html"]) or figures, source
        assert len(figures) == (re.search("importance|effect|ranges|proposal|calibration", source) is not None), source
        assert all("width" not in figure[PLOTLY]["layout"] for figure in figures)


def test_the_stored_notebook_is_small_and_has_outputs() -> None:
    text = TOUR.read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert str(ROOT) not in text
    check(json.loads(text)["cells"])


@pytest.mark.engine
def test_the_notebook_runs_and_is_the_one_that_the_script_makes() -> None:
    pytest.importorskip("ipykernel")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    made = nbformat.read(TOUR, as_version=4)
    script = runpy.run_path(str(ROOT / "tools" / "make_tour.py"))
    assert [cell.source for cell in made.cells] == list(script["CELLS"])
    nbclient.NotebookClient(made, timeout=300).execute()
    check(made.cells)
