"""What Optuna Dashboard gets: a note in which the user's own text is kept, and figures that fit its cards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import optuna
import plotly.graph_objects as go
import pytest
from optuna.study import Study
from plotly.subplots import make_subplots

import pellucid
from pellucid.answers.base import Overview
from pellucid.answers.catalogue import CATALOGUE
from pellucid.study.storage import dashboard_figures, remove_dashboard_figure
from pellucid.surfaces import dashboard
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import escaped, note, prose

HOSTILE = "<img src=x> **b** [a](http://c) $x$ | `"
TRIALS = "/dashboard/studies/0/trials?numbers="


@pytest.fixture(scope="module")
def answers() -> Overview:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6))

    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", [HOSTILE, "plain"])
        return (trial.suggest_float("x_1", 0, 1) - 0.3) ** 2 + (kind == "plain")

    study.optimize(objective, n_trials=14)
    return gather(study, progress=False)


def test_the_note_answers_in_the_order_in_which_a_person_asks(answers: Overview) -> None:
    text = note(answers, TRIALS)
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    chapters = [(answer, answer.chapter) for answer in CATALOGUE if answer.chapter is not None]
    asked = [place.heading(answers) for answer, place in chapters if answers.applies(answer)]
    assert titles == [*asked, "What should I distrust?"]
    assert titles[:3] == ["Which configuration is best?", "Can I stop?", "What matters?"]
    assert {"Which ranges should I change?", "Why the last configuration?"} <= set(titles)
    assert not {"What does one cost in the other?", "Why do trials fail?"} & set(titles)
    assert f"[trial 13]({TRIALS}13)" in text


def test_names_are_text_in_the_note(answers: Overview) -> None:
    text = note(answers, TRIALS)
    assert f"| kind | {escaped(HOSTILE)} |" in text
    assert not re.search(r"(?<!\\)(<img|\*\*b|\[a\]|\$x)", text)
    assert escaped(HOSTILE) == r"\<img src=x\> \*\*b\*\* \[a\](http\://c) \$x\$ \| \`"
    assert escaped("www.a.b a@b\n# c") == r"www\.a.b a\@b \# c"


def test_names_in_quotes_are_code_and_spaces_around_them_stay() -> None:
    assert prose("No effect of `a_b`, `c` = *; d_e.") == r"No effect of `a_b`, `c` = \*; d\_e."
    assert prose("A ` alone.") == r"A \` alone."


def test_text_of_the_user_is_kept() -> None:
    first = dashboard.merged("# Mine\n\nabove", "one")
    assert first.endswith("\n\n# Mine\n\nabove")
    edited = f"Before.\n\n{first}\n\nAfter."
    second = dashboard.merged(edited, r"two \1")
    assert second.startswith("Before.\n\n[pellucid-begin]")
    assert second == edited.replace("one", r"two \1")
    assert dashboard.merged("", "one") == dashboard.merged("\n", "one")


def test_a_figure_fits_a_card() -> None:
    figure = go.Figure(layout={"width": 1080, "height": 900, "margin": {"t": 10}})
    figure.add_scatter(x=[1], y=[1], name="a name that is so long that it has a row of its own")
    figure.add_scatter(x=[1], y=[1], name="another")
    figure.update_xaxes(title="words " * 20)
    dashboard.fit(figure, "1. `x` <b> matters " + "and more " * 20)
    layout = figure.layout
    assert (layout.width, layout.height) == (None, None)
    lines = layout.title.text.split("<br>")
    assert len(lines) > 2
    assert max(map(len, lines)) < 80
    assert layout.title.text.startswith("1. <b>x</b> &lt;b&gt; matters")
    assert layout.margin.t > 18 * len(lines) + 2 * 20
    assert layout.xaxis.title.text.count("<br>") >= 2


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
def test_figures_that_are_no_longer_made_are_removed(
    kind: str, answers: Overview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optuna_dashboard = pytest.importorskip("optuna_dashboard")
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/studies.db" if kind == "sqlite" else None)
    figures = {"pellucid-old": go.Figure(), "mine": go.Figure()}
    for name, figure in figures.items():
        optuna_dashboard.save_plotly_graph_object(study, figure, graph_object_id=name)
    optuna_dashboard.save_note(study, "Mine.")
    monkeypatch.setattr("pellucid.surfaces.page.gather.gather", lambda *_, **__: answers)
    for _ in range(2):
        dashboard.publish(study)
    ids = dashboard_figures(study, "")
    assert {"mine", "pellucid-importance", "pellucid-why"} <= ids
    assert ("pellucid-old" in ids) == (kind == "memory")  # No call of Optuna removes it there: it is emptied.
    text = optuna_dashboard.get_note(study)
    assert text.count("## Which configuration is best?") == 1
    assert text.endswith("Mine.")


def test_a_database_that_refuses_keeps_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    study: Study = optuna.create_study(storage=f"sqlite:///{tmp_path}/studies.db")

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("read-only")

    monkeypatch.setattr("optuna.storages._rdb.storage._create_scoped_session", refuse)
    monkeypatch.setattr(
        "optuna.storages.RDBStorage.get_study_system_attrs", lambda *_: {"dashboard:plot_data:pellucid-old:0": "{}"}
    )
    assert not remove_dashboard_figure(study, "pellucid-old")
    assert "could not be removed from the dashboard (read-only)" in caplog.text


def test_panels_beside_each_other_have_room_for_labels() -> None:
    figure = make_subplots(cols=2, subplot_titles=("left", "a heading that is wider than its panel"))
    figure.add_scatter(x=[1, 2], y=[1, 2], row=1, col=1)
    figure.add_bar(x=[1, 2], y=["a parameter", "another parameter"], orientation="h", row=1, col=2)
    dashboard.fit(figure, "1. Two panels")
    left, right = figure.layout.xaxis.domain, figure.layout.xaxis2.domain
    assert right[0] - left[1] > 6.5 * len("another parameter") / 330
    assert right[1] == 1.0
    assert [note.xanchor for note in figure.layout.annotations] == ["left", "right"]
