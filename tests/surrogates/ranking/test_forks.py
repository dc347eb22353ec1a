"""Processes that are forked while a network ranks: nothing waits, and torch has the user's setting."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import torch
from tests.threads.forks import PATIENCE_S, child, in_a_thread

from pellucid.models.ranking.ensemble import one_torch_thread

USERS = 2


def settings() -> list[int]:
    """What a new thread begins with; and in this thread before, inside and after."""
    seen: list[int] = []
    with in_a_thread(lambda: seen.append(torch.get_num_threads())):
        pass
    seen.append(torch.get_num_threads())
    with one_torch_thread:
        seen.append(torch.get_num_threads())
    return [*seen, torch.get_num_threads()]


@pytest.fixture(autouse=True)
def users_setting() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(USERS)
    yield
    torch.set_num_threads(before)


def test_a_child_has_the_users_setting_although_another_thread_is_inside() -> None:
    inside, leave = threading.Event(), threading.Event()

    def rank() -> None:
        with one_torch_thread:
            inside.set()
            assert leave.wait(PATIENCE_S)

    with in_a_thread(rank):
        assert inside.wait(PATIENCE_S)
        try:
            assert child(settings) == [USERS, USERS, 1, USERS]
        finally:
            leave.set()
    assert settings() == [USERS, USERS, 1, USERS]


def test_a_child_forked_inside_leaves_with_the_users_setting() -> None:
    def leave() -> list[int]:
        inside = [torch.get_num_threads(), settings()[2]]
        one_torch_thread.__exit__(None, None, None)
        return [*inside, *settings()]

    with one_torch_thread:
        assert child(leave) == [1, 1, USERS, USERS, 1, USERS]
        assert torch.get_num_threads() == 1
    assert settings() == [USERS, USERS, 1, USERS]


def test_no_child_begins_in_the_middle_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    changing, set_num_threads = threading.Event(), torch.set_num_threads

    def slowly(number: int) -> None:
        set_num_threads(number)
        changing.set()
        time.sleep(0.2)

    monkeypatch.setattr(torch, "set_num_threads", slowly)
    with in_a_thread(settings):
        assert changing.wait(PATIENCE_S)
        assert child(settings) == [USERS, USERS, 1, USERS]
