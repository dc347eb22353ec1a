"""What threads share, so that processes that are forked meanwhile go on.

A forked process is a copy with one thread, the one that forked. What the other threads were in the middle of is never
finished there: a lock that one of them held stays locked for ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Condition, get_ident
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
# Importing torch takes that long on a busy machine. A thread that waits for the one that forks would never leave.
_LONGEST_WAIT_S = 30.0


class _NoFork:
    """While a thread is inside, a fork in another one waits for it to leave."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside: list[int] = []  # Threads.
        if hasattr(os, "register_at_fork"):  # Not on Windows, which cannot fork.
            os.register_at_fork(before=self._wait, after_in_parent=self._go_on, after_in_child=self._forget)

    def __enter__(self) -> None:
        with self._changed:
            self._inside.append(get_ident())

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._inside.remove(get_ident())
            self._changed.notify_all()

    def _wait(self) -> None:
        """Until the fork is over, nobody else enters."""
        self._changed.acquire()
        self._changed.wait_for(lambda: self._inside == self._of_this_thread(), _LONGEST_WAIT_S)

    def _go_on(self) -> None:
        self._changed.release()

    def _forget(self) -> None:
        self._changed = Condition()
        self._inside = self._of_this_thread()

    def _of_this_thread(self) -> list[int]:
        return [thread for thread in self._inside if thread == get_ident()]


no_fork = _NoFork()


class cached_property(Generic[T]):
    """`functools.cached_property` as it is since Python 3.12: without a lock.

    Before, the instances of a class share one lock while a value is computed, which processes forked meanwhile inherit.
    Without it, two threads may compute the same value, and the second one is kept.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> cached_property[T] | T:
        """Called until the instance has the value."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
