"""Figures: their contents, and that a real browser can draw them."""

from __future__ import annotations

import struct
from pathlib import Path

import optuna
import plotly.graph_objects as go
import pytest
from optuna.trial import Trial

import pellucid
from pellucid.answers import drawing as plots

HOSTILE = "</script><b>bold</b>"


def test_a_page_needs_no_network_and_executes_no_name(tmp_path: Path) -> None:
    figure = go.Figure(go.Box(x=[1.0], name=HOSTILE))
    plots.style(figure, HOSTILE, 640, 400)
    plots.save(figure, tmp_path / "figure.html")
    page = (tmp_path / "figure.html").read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert 'src="http' not in page


def test_a_picture_is_drawn_by_a_browser(tmp_path: Path) -> None:
    if plots.browser() is None:
        pytest.skip("no Chromium here: `apt-get install chromium`, or set $CHROMIUM")
    path = tmp_path / "figure.png"
    figure = go.Figure(go.Scatter(y=[1.0, 2.0]))
    plots.style(figure, "t", 640, 400)
    plots.save(figure, path)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (640, 400)


def test_other_kinds_of_files_are_refused_with_the_rule(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.html, or as \.png"):
        plots.save(go.Figure(), tmp_path / "figure.jpg")


# ---------------------------------------------------------------------- proposals


@pytest.fixture(scope="module")
def hostile_study() -> optuna.study.Study:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float(HOSTILE, 0, 1)
        kind = trial.suggest_categorical("kind" + 60 * "!", ["<i>a</i>", "b"])
        return (x - 0.3) ** 2 + (0.1 if kind == "b" else 0.0)

    # One acquisition for all proposals, so that their terms are the same.
    sampler = pellucid.BayesianSampler(acquisition=pellucid.acquisition.LCB(2.0), seed=0, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=10)
    return study


def test_bars_are_stacked_by_term_with_intervals(hostile_study: optuna.study.Study) -> None:
    explanation = pellucid.explain_proposal(hostile_study, 9)
    figure = explanation.plot()
    bars = {trace.name: trace for trace in figure.data if trace.type == "bar"}
    assert list(bars) == ["predicted objective", "uncertainty"]
    order = sorted(explanation.contributions, key=lambda c: c.total)
    assert list(bars["uncertainty"].x) == [c.terms["uncertainty"] for c in order]
    total = figure.data[-1]
    assert list(total.x) == [c.total for c in order]
    assert list(total.error_x.array) == [c.high - c.total for c in order]
    assert "mainly for" in figure.layout.title.text
    assert figure.layout.barmode == "relative"


def test_paths_have_a_panel_per_parameter_and_payouts_a_line_per_term(hostile_study: optuna.study.Study) -> None:
    paths = pellucid.desirability_paths(hostile_study, progress=False)
    figure = paths.plot()
    assert len(figure.layout.annotations) == 2
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.name]
    assert len(lines) == 2 * 3
    payouts = paths.plot("payouts")
    assert [trace.name for trace in payouts.data] == ["predicted objective", "uncertainty", "sum"]
    assert list(payouts.data[-1].y) == [explanation.total for explanation in paths.explanations]
    single = pellucid.desirability_paths(hostile_study, [9], progress=False)
    assert single.plot().data[-1].mode == "markers"
    with pytest.raises(ValueError, match="'contributions' or 'payouts', but got 'bars'"):
        paths.plot("bars")
    with pytest.raises(TypeError, match="There is no figure for int"):
        plots.draw(3)


def test_names_of_proposals_are_escaped(hostile_study: optuna.study.Study, tmp_path: Path) -> None:
    paths = pellucid.desirability_paths(hostile_study, progress=False)
    figures = [
        paths.explanations[-1].plot(), paths.plot(), paths.plot("payouts"),
        pellucid.compare_importance(hostile_study, 9).plot(), pellucid.importance(hostile_study).plot(),
    ]  # fmt: skip
    for i, figure in enumerate(figures):
        plots.save(figure, tmp_path / f"{i}.html")
        page = (tmp_path / f"{i}.html").read_text(encoding="utf-8")
        assert HOSTILE not in page
        assert "<b>bold" not in page
        assert "<i>a" not in page
