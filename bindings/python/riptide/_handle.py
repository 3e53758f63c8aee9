# SPDX-License-Identifier: MIT
"""One object of the library: which thread may use it when, and its end."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from types import FrameType
from typing import Any, Callable, NamedTuple, Protocol, TypeVar

from ._errors import ConcurrentUseError, ForkedError, check, new_error
from ._native import ffi

Self = TypeVar("Self", bound="Handle")


class Use(Protocol):
    """`with use as c`: the C object, which no other thread uses meanwhile."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *failure: object) -> None: ...
    def enter(self, frame: FrameType) -> Any: ...


class Owner(NamedTuple):
    """Whose call is under way: `frame` is that of its `with` statement."""

    thread: int
    frame: FrameType

    def is_gone(self) -> bool:
        """Whether that call ended unnoticed, by an exception of a signal's handler."""
        if self.thread != threading.get_ident():
            return False
        frame: FrameType | None = sys._getframe()
        while frame not in (None, self.frame):
            frame = frame.f_back if frame else None
        return frame is None


class Waiter(NamedTuple):
    """A task that waits for an object, which belongs to the thread of its loop meanwhile.

    One that is done waits no more, nor does one that comes to wait again: what a signal's handler
    raised ended that wait without saying so.
    """

    thread: int
    task: Any
    wake: Callable[[], None]


class Guard:
    """Gives one thread at a time access to an object, and none to another process.

    A signal's handler may raise between any two steps. So there is no lock, which could stay taken:
    the owner is set in one step, and ignored once its thread has ended.
    """

    def __init__(self, name: str, c: Any) -> None:
        self.name = name
        self.c = c
        self.pid = os.getpid()
        self.kept: list[Any] = []  # what C reads as long as the object lives
        self.owners: dict[str, Owner] = {}  # "now", or none
        self.waiter: Waiter | None = None

    def _acquire(self, frame: FrameType) -> None:
        us = Owner(threading.get_ident(), frame)
        owner = self.owners.setdefault("now", us)
        if owner is not us:
            if not owner.is_gone():
                raise ConcurrentUseError(f"{self.name}: a call on it is under way in another "
                                         "thread or around this one; one thread at a time may "
                                         "use it")
            self.owners["now"] = us
        waiter = self.waiter
        if waiter and waiter.thread != us.thread and not waiter.task.done():
            self._release()
            raise ConcurrentUseError(f"{self.name}: a task of another thread waits for it; "
                                     "one thread at a time may use it")

    def _release(self) -> None:
        self.owners.pop("now", None)

    def enter(self, frame: FrameType) -> Any:
        """What __enter__ does for the `with` statement in that frame."""
        if self.pid != os.getpid():
            raise ForkedError(f"{self.name}: made before fork, in process {self.pid}; "
                              "make a new one in this process")
        self._acquire(frame)
        if self.c is None:
            self._release()
            raise ValueError(f"{self.name}: closed")
        return self.c

    def __enter__(self) -> Any:
        return self.enter(sys._getframe(1))

    def __exit__(self, *failure: object) -> None:
        self._release()

    def take(self, last: Callable[[Any], int]) -> tuple[Any, int]:
        """The object, whose end it is for all others, and what a last call on it returned.

        None where it has ended before. A child of fork(2) makes no call.
        """
        if self.pid != os.getpid():  # threads, and a loop that waits, are the parent's
            c, self.c = self.c, None
            return c, 0
        self._acquire(sys._getframe())
        result = 0 if self.c is None else last(self.c)
        c, self.c = self.c, None
        waiter, self.waiter = self.waiter, None
        self._release()
        if waiter:
            waiter.wake()
        return c, result


class Part:
    """The part of a guarded object that a function gives: a stage of an agent."""

    def __init__(self, whole: Use, get: Callable[[Any], Any]) -> None:
        self.whole = whole
        self.get = get

    def enter(self, frame: FrameType) -> Any:
        return self.get(self.whole.enter(frame))

    def __enter__(self) -> Any:
        return self.enter(sys._getframe(1))

    def __exit__(self, *failure: object) -> None:
        self.whole.__exit__(*failure)


class Handle:
    """A context manager around something that close() ends.

    One thread at a time may use it, and only the process that made it; a second thread gets
    ConcurrentUseError, a child of fork(2) ForkedError. Used when closed, it raises ValueError.
    """

    def __init__(self, c: Any, end: Callable[[Any], None] = ffi.release) -> None:
        self._guard = Guard(type(self).__name__, c)
        self._use: Use = self._guard
        self._end = end

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._guard.c is None

    def close(self) -> None:
        """Frees it; a second time does nothing. After fork(2) the parent's stays as it is."""
        c, _ = self._guard.take(lambda _: 0)
        if c is not None:
            self._end(c)

    def __enter__(self: Self) -> Self:
        with self._use:
            return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __del__(self) -> None:
        guard = getattr(self, "_guard", None)
        if guard and guard.c is not None and guard.pid == os.getpid():
            warnings.warn(f"{guard.name}: not closed", ResourceWarning, source=self)


class KernelHandle(Handle):
    """One that has rules and routes in the kernel between start() and stop()."""

    def _start(self, start: Callable[[Any, Any], int]) -> None:
        error = new_error()
        with self._use as c:
            check(start(c, error), error)

    def _stop(self, stop: Callable[[Any], int]) -> None:
        with self._use as c:
            check(stop(c))

    def _close(self, stop: Callable[[Any], int], leave_routes: bool) -> None:
        """Stops, which does nothing where it was never started, or stopped before."""
        c, result = self._guard.take((lambda _: 0) if leave_routes else stop)
        if c is not None:
            ffi.release(c)
        check(result)
