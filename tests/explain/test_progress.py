"""Progress bars: on a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

import pellucid
from pellucid import progress
from pellucid.answers.importance import shares
from pellucid.answers.proposals import explanation
from pellucid.progress import progress_bar, tracked


@pytest.fixture
def bundles(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What an output of a notebook held, one after the other."""
    held: list[dict[str, str]] = []

    class DisplayHandle:
        def display(self, bundle: dict[str, str], raw: bool) -> None:
            held.append(bundle)

        update = display

    shell: Any = SimpleNamespace(kernel=None)
    display = SimpleNamespace(DisplayHandle=DisplayHandle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    return held


def test_a_notebook_shows_a_bar_and_removes_it(bundles: list[dict[str, str]]) -> None:
    assert list(tracked("abc", "<letters>", show=True)) == ["a", "b", "c"]
    texts = [bundle["text/plain"].split(",")[0] for bundle in bundles]
    assert texts == ["<letters>: 0 of 3", "<letters>: 1 of 3", "<letters>: 2 of 3", "<letters>: 3 of 3", ""]
    assert "<progress value='2' max='3'" in bundles[2]["text/html"]
    assert "&lt;letters&gt;: 2 of 3, 0:00 left" in bundles[2]["text/html"]
    assert bundles[-1]["text/html"] == ""


def test_a_bar_is_removed_after_an_error(bundles: list[dict[str, str]]) -> None:
    def interrupted() -> None:
        with progress_bar("letters", 3, show=True) as bar:
            bar.advance("digits")
            bar.reach(2)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert [bundle["text/plain"][:13] for bundle in bundles] == ["letters: 0 of", "digits: 1 of ", "digits: 2 of ", ""]


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=20)
    return study


def test_importance_of_many_trials_has_a_bar(
    study: optuna.Study, bundles: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pellucid.importance(study)
    assert bundles == []
    monkeypatch.setattr(shares, "_MANY_TRIALS", 19)
    pellucid.importance(study, progress=False)
    assert bundles == []
    pellucid.importance(study)
    assert [bundle["text/plain"].split(",")[0] for bundle in bundles] == [
        "model: 0 of 4",
        "plausible models: 1 of 4",
        "shares of the variance: 2 of 4",
        "evidence: 3 of 4",
        "evidence: 4 of 4",
        "",
    ]


def test_interactions_have_a_bar_if_they_take_long(
    study: optuna.Study, bundles: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("shapiq")
    fast = pellucid.proposal_interactions(study, 19)
    assert bundles == []
    monkeypatch.setattr(explanation, "_SLOW_OPERATIONS", 0.0)
    assert pellucid.proposal_interactions(study, 19, progress=False) == fast
    assert bundles == []
    assert pellucid.proposal_interactions(study, 19) == fast
    texts = [bundle["text/plain"].split(",")[0] for bundle in bundles]
    assert texts == ["loading shapiq: 0 of 9", *(f"coalitions: {done} of 9" for done in range(1, 10)), ""]


def test_nothing_is_shown_if_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(tracked("abc", "letters", show=True)) == ["a", "b", "c"]
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("letters", 3, show=True) as bar:
        bar.advance()
        bar.reach(3)
    assert "letters" in capsys.readouterr().err
