# SPDX-License-Identifier: MIT
"""Ownership of an object of the library: which thread may use it, and when it is freed."""

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
    """`with use as c` gives the C object, and keeps other threads from using it meanwhile."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *failure: object) -> None: ...
    def enter(self, frame: FrameType) -> Any: ...


class Owner(NamedTuple):
    """The thread whose call is running; `frame` is that of its `with` statement."""

    thread: int
    frame: FrameType

    def is_gone(self) -> bool:
        """Whether the call has ended without a trace, by an exception of a signal's handler."""
        if self.thread != threading.get_ident():
            return False
        frame: FrameType | None = sys._getframe()
        while frame not in (None, self.frame):
            frame = frame.f_back if frame else None
        return frame is None


class Waiter(NamedTuple):
    """A task that waits for an object, which only the thread of its event loop may use meanwhile.

    A task that is done no longer waits. If the same task waits again, a signal's handler has ended
    its former wait by an exception, without a trace.
    """

    thread: int
    task: Any
    wake: Callable[[], None]


class Guard:
    """Gives one thread at a time access to an object, and none to another process.

    It has no lock, because a signal's handler may raise between any two steps, and a lock could
    stay taken: the owner is set in one step, and ignored once its call has ended (is_gone).
    """

    def __init__(self, name: str, c: Any) -> None:
        self.name = name
        self.c = c
        self.pid = os.getpid()
        self.owners: dict[str, Owner] = {}  # the present owner as "now", or empty
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
        """Does the work of __enter__ for the `with` statement in that frame."""
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
        """Closes: returns the object for the caller to free, and the result of a last call on it.

        The object is None if it was closed before. A child of fork(2) makes no call.
        """
        if self.pid != os.getpid():  # other threads and the waiting loop exist only in the parent
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


class Handle:
    """A context manager around an object that close() frees.

    Only one thread at a time may use it: others get ConcurrentUseError; and only the process that
    made it: a child of fork(2) gets ForkedError. After close() any use raises ValueError.
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
        """Frees the object, unless closed before. In a child of fork(2) the parent's stays."""
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
    """A handle whose object has rules and routes in the kernel between start() and stop()."""

    def _start(self, start: Callable[[Any, Any], int]) -> None:
        error = new_error()
        with self._use as c:
            check(start(c, error), error)

    def _stop(self, stop: Callable[[Any, Any], int]) -> None:
        error = new_error()
        with self._use as c:
            check(stop(c, error), error)

    def _close(self, stop: Callable[[Any, Any], int], leave_routes: bool) -> None:
        """Stops and frees. Stopping has no effect if it was never started, or stopped before."""
        error = new_error()
        c, result = self._guard.take(lambda c: 0 if leave_routes else stop(c, error))
        if c is not None:
            ffi.release(c)
        check(result, error)
