"""What the figures of comparisons contain."""

from __future__ import annotations

from pathlib import Path

from pellucid.answers import drawing as plots
from pellucid_lab.tables.figures import against_truth, boxes, cliques, curves, rank_diagram

HOSTILE = "</script><b>bold</b>"


def test_curves_carry_every_line_and_band() -> None:
    figure = curves(
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
    figure = boxes({"best": [1.0, 2.0], "worst": [3.0]}, title="t", x_title="x")
    assert [trace.name for trace in figure.data] == ["worst", "best"]


def test_a_page_executes_no_name(tmp_path: Path) -> None:
    plots.save(boxes({HOSTILE: [1.0]}, title=HOSTILE, x_title="x"), tmp_path / "figure.html")
    assert HOSTILE not in (tmp_path / "figure.html").read_text(encoding="utf-8")


def test_curves_over_the_truth_share_the_range_of_the_truth() -> None:
    moments = {"10 evaluations": ([0.0, 1.0], [-1.0, 0.0], [1.0, 2.0]), "20 evaluations": ([0.0, 2.0],) * 3}
    figure = against_truth({"ei": moments, "rs": moments}, [0.0, 2.0], title="t")
    estimates = [trace for trace in figure.data if trace.name == "estimated, 95% band"]
    assert len(estimates) == 4
    assert [trace.showlegend for trace in estimates] == [True, False, False, False]
    assert list(figure.layout.yaxis.range) == [-1.2, 3.2]


def test_methods_within_the_critical_difference_are_joined() -> None:
    assert cliques([1.0, 1.5, 3.0, 3.2], 1.0) == [(0, 1), (2, 3)]
    assert cliques([1.0, 1.6, 2.2], 0.7) == [(0, 1), (1, 2)]
    assert cliques([1.0, 3.0], 1.0) == []
    assert cliques([1.0, 1.1, 1.2], 1.0) == [(0, 2)]
    figure = rank_diagram({"b": 2.0, "<a>": 1.0}, 1.5, "a wins")
    texts = [trace.text for trace in figure.data if trace.text]
    assert texts[0].strip() == "&lt;a&gt; (1.00)"
    assert any(trace.line.width == 6 for trace in figure.data)
