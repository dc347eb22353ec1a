"""Progress bars: on a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pellucid.explain import progress
from pellucid.explain.progress import progress_bar, tracked


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


def test_nothing_is_shown_if_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(tracked("abc", "letters", show=True)) == ["a", "b", "c"]
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("letters", 3, show=True) as bar:
        bar.advance()
        bar.reach(3)
    assert "letters" in capsys.readouterr().err
