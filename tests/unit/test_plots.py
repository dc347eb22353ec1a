"""Figures: what is in them, and that a real browser can draw them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pellucid import plots

HOSTILE = "</script><b>bold</b>"


def test_curves_carry_every_line_and_band() -> None:
    figure = plots.curves(
        {"a": [1.0, 2.0], "b": [3.0, 1.0]}, title="a wins", x_title="n", y_title="rank",
        bands={"a": ([0.5, 1.5], [1.5, 2.5])}, bold=("a",),
    )  # fmt: skip
    lines = {trace.name: trace for trace in figure.data if trace.mode == "lines" and trace.name}
    assert list(lines) == ["a", "b"]
    assert list(lines["b"].y) == [3.0, 1.0]
    assert lines["a"].line.width > lines["b"].line.width
    band = next(trace for trace in figure.data if trace.fill == "toself")
    assert list(band.y) == [1.5, 2.5, 1.5, 0.5]
    assert figure.layout.title.text == "a wins"


def test_boxes_have_the_first_name_on_top() -> None:
    figure = plots.boxes({"best": [1.0, 2.0], "worst": [3.0]}, title="t", x_title="x")
    assert [trace.name for trace in figure.data] == ["worst", "best"]


def test_a_page_needs_no_network_and_executes_no_name(tmp_path: Path) -> None:
    plots.save(plots.boxes({HOSTILE: [1.0]}, title=HOSTILE, x_title="x"), tmp_path / "figure.html")
    page = (tmp_path / "figure.html").read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert 'src="http' not in page


def test_a_picture_is_drawn_by_a_browser(tmp_path: Path) -> None:
    if plots.browser() is None:
        pytest.skip("no Chromium here: `apt-get install chromium`, or set $CHROMIUM")
    path = tmp_path / "figure.png"
    plots.save(plots.curves({"a": [1.0, 2.0]}, title="t", x_title="x", y_title="y", width=640, height=400), path)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (640, 400)


def test_other_kinds_of_files_are_refused_with_the_rule(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.html, or as \.png"):
        plots.save(plots.boxes({"a": [1.0]}, title="t", x_title="x"), tmp_path / "figure.jpg")
