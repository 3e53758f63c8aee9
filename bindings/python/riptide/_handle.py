"""One object of the library: who may use it when, and its end."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any, Callable, Protocol, TypeVar

from ._errors import ConcurrentUseError, ForkedError, check, new_error
from ._native import ffi

Self = TypeVar("Self", bound="Handle")


class Use(Protocol):
    """`with use as c`: the C object, which is nobody else's inside."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *failure: object) -> None: ...


class Guard:
    """Lets one thread at a time to an object, and none of another process."""

    def __init__(self, name: str, c: Any) -> None:
        self.name = name
        self.c = c
        self.pid = os.getpid()
        self.lock = threading.Lock()

    def __enter__(self) -> Any:
        if self.pid != os.getpid():
            raise ForkedError(f"{self.name}: made before fork, in process {self.pid}; "
                              "make a new one in this process")
        if not self.lock.acquire(blocking=False):
            raise ConcurrentUseError(f"{self.name}: a call on it is under way in another thread "
                                     "or around this one; one thread at a time may use it")
        if self.c is None:
            self.lock.release()
            raise ValueError(f"{self.name}: closed")
        return self.c

    def __exit__(self, *failure: object) -> None:
        self.lock.release()


class Part:
    """The part of a guarded object that a function gives: a stage of an agent."""

    def __init__(self, whole: Use, get: Callable[[Any], Any]) -> None:
        self.whole = whole
        self.get = get

    def __enter__(self) -> Any:
        return self.get(self.whole.__enter__())

    def __exit__(self, *failure: object) -> None:
        self.whole.__exit__(*failure)


class Handle:
    """A context manager around an object of the library, which close() frees.

    One thread at a time may use it, and only the process that made it; a second thread gets
    ConcurrentUseError, a child of fork(2) ForkedError. Used when closed, it raises ValueError.
    """

    def __init__(self, c: Any, free: Callable[[Any], Any]) -> None:
        self._guard = Guard(type(self).__name__, ffi.gc(c, free))
        self._use: Use = self._guard
        self._is_started = False

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._guard.c is None

    def _start(self, start: Callable[[Any, Any], int]) -> None:
        error = new_error()
        with self._use as c:
            check(start(c, error), error)
            self._is_started = True

    def _stop(self, stop: Callable[[Any], int]) -> None:
        with self._use as c:
            self._is_started = False
            check(stop(c))

    def _close(self, stop: Callable[[Any], int], leave_routes: bool) -> None:
        """Closes what may have something in the kernel; after fork(2) that is the parent's."""
        is_ours = self._is_started and not self.closed and self._guard.pid == os.getpid()
        try:
            if is_ours and not leave_routes:
                self._stop(stop)
        finally:
            Handle.close(self)

    def close(self) -> None:
        """Frees it; a second time does nothing. After fork(2) the parent's stays as it is."""
        if self.closed:
            return
        if self._guard.pid == os.getpid():
            with self._guard as c:
                self._guard.c = None
        else:
            c, self._guard.c = self._guard.c, None
        ffi.release(c)

    def __enter__(self: Self) -> Self:
        with self._use:
            return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __del__(self) -> None:
        guard = getattr(self, "_guard", None)
        if guard and guard.c is not None and guard.pid == os.getpid():
            warnings.warn(f"{guard.name}: not closed", ResourceWarning, source=self)
