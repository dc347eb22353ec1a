"""Processes that are forked in the middle of something: no lock stays locked, and limits of threads are restored."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.threads.forks import PATIENCE_S, child, in_a_thread
from threadpoolctl import ThreadpoolController

import pellucid
from pellucid import threads
from pellucid.numerics import one_thread
from pellucid.threads import cached_property, no_fork

if not hasattr(os, "fork"):
    pytest.skip("Windows cannot fork.", allow_module_level=True)

USERS = 2  # The setting of the user: neither ours nor, on most machines, the default.


class Slow:
    """Its value takes until `go` is set."""

    def __init__(self) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.calls = 0

    @cached_property
    def value(self) -> int:
        """Some number."""
        self.calls += 1
        self.began.set()
        assert self.go.wait(PATIENCE_S)
        return 7


# ------------------------------------------------------------------------------------------ properties


def test_a_property_is_computed_once() -> None:
    slow = Slow()
    slow.go.set()
    assert [slow.value, slow.value, slow.calls] == [7, 7, 1]
    assert isinstance(Slow.value, cached_property)
    assert Slow.value.__doc__ == "Some number."


def test_a_child_forked_while_a_thread_computes_a_property_computes_its_own() -> None:
    slow = Slow()

    def read_another() -> int:
        other = Slow()
        other.go.set()
        return other.value

    with in_a_thread(lambda: slow.value):
        assert slow.began.wait(PATIENCE_S)
        try:
            assert child(read_another) == 7
        finally:
            slow.go.set()
    assert slow.value == 7


# ----------------------------------------------------------------------------------------------- forks


def test_a_fork_waits_for_the_threads_that_are_in_the_middle_of_something() -> None:
    inside, done = threading.Event(), []

    def update() -> None:
        with no_fork:
            inside.set()
            time.sleep(0.2)
            done.append(True)

    with in_a_thread(update):
        assert inside.wait(PATIENCE_S)
        assert child(lambda: len(done)) == 1


def test_a_thread_in_the_middle_of_something_can_fork_and_so_can_its_child() -> None:
    with no_fork:
        assert child(lambda: child(lambda: 7)) == 7


def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONGEST_WAIT_S", 0.1)
    inside, leave = threading.Event(), threading.Event()

    def wait_for_the_thread_that_forks() -> None:
        with no_fork:
            inside.set()
            assert leave.wait(PATIENCE_S)

    with in_a_thread(wait_for_the_thread_that_forks):
        assert inside.wait(PATIENCE_S)
        try:
            assert child(lambda: child(lambda: 7)) == 7
        finally:
            leave.set()


def test_a_child_forked_while_a_thread_loads_a_name_can_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first use of a name of pellucid imports it."""
    (tmp_path / "takes_long.py").write_text("import time\ntime.sleep(0.3)\nnumber = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(pellucid._modules(), "number", "takes_long")
    with in_a_thread(lambda: pellucid.number):
        while "takes_long" not in sys.modules:
            time.sleep(0.001)
        assert child(lambda: pellucid.number) == 7
    del pellucid.number
    del sys.modules["takes_long"]


# -------------------------------------------------------------------------------------- limits of BLAS


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture
def users_setting() -> Iterator[list[int]]:
    """Two threads; skips if this BLAS has one at most."""
    with ThreadpoolController().select(user_api="blas").limit(limits=USERS):
        if set(blas_threads()) != {USERS}:
            pytest.skip("The BLAS of this machine has one thread only.")
        yield blas_threads()


def test_the_last_to_leave_restores_the_users_setting_whoever_came_first(users_setting: list[int]) -> None:
    inside, leave, left, end = (threading.Event() for _ in range(4))

    def ask_first() -> None:
        with one_thread:
            inside.set()
            assert leave.wait(PATIENCE_S)
        left.set()
        assert end.wait(PATIENCE_S)  # The thread lives on.

    with in_a_thread(ask_first):
        assert inside.wait(PATIENCE_S)
        with one_thread:
            leave.set()
            assert left.wait(PATIENCE_S)
            assert blas_threads() == [1] * len(users_setting)
        restored = blas_threads()
        end.set()
    assert restored == users_setting


def before_inside_and_after() -> list[list[int]]:
    before = blas_threads()
    with one_thread:
        inside = blas_threads()
    return [before, inside, blas_threads()]


def test_a_child_has_the_users_setting_although_another_thread_is_inside(users_setting: list[int]) -> None:
    inside, leave = threading.Event(), threading.Event()
    ones = [1] * len(users_setting)

    def ask() -> None:
        with one_thread:
            inside.set()
            assert leave.wait(PATIENCE_S)

    with in_a_thread(ask):
        assert inside.wait(PATIENCE_S)
        try:
            assert child(before_inside_and_after) == [users_setting, ones, users_setting]
            assert blas_threads() == ones  # The other thread of the parent is still inside.
        finally:
            leave.set()
    assert before_inside_and_after() == [users_setting, ones, users_setting]


def test_a_child_forked_inside_leaves_with_the_users_setting(users_setting: list[int]) -> None:
    ones = [1] * len(users_setting)

    def leave() -> list[list[int]]:
        inside = blas_threads()
        with one_thread:
            again = blas_threads()
        still = blas_threads()
        one_thread.__exit__(None, None, None)
        return [inside, again, still, blas_threads()]

    with one_thread:
        assert child(leave) == [ones, ones, ones, users_setting]
        assert blas_threads() == ones
    assert blas_threads() == users_setting


def test_no_child_begins_in_the_middle_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    changing = threading.Event()

    class SlowLibrary:
        """Sets its number of threads in two steps, as a controller of several libraries does."""

        number = USERS, USERS

        def get_num_threads(self) -> tuple[int, int]:
            return self.number

        def set_num_threads(self, number: int | tuple[int, int]) -> None:
            first, second = (number, number) if isinstance(number, int) else number
            self.number = first, self.number[1]
            changing.set()
            time.sleep(0.2)
            self.number = first, second

    library = SlowLibrary()

    def ask() -> list[Any]:
        with one_thread:
            inside = library.number
        return [inside, library.number]

    monkeypatch.setattr(one_thread, "_libraries", [library])
    with in_a_thread(ask):
        assert changing.wait(PATIENCE_S)
        assert child(lambda: [library.number, *ask()]) == [[USERS, USERS], [1, 1], [USERS, USERS]]
    assert library.number == (USERS, USERS)
