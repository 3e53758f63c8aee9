# SPDX-License-Identifier: MIT
"""What the objects of the library have in common: who may call them, and when they are freed."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from types import FrameType
from typing import Any, Generic, Iterator, Self, TypeVar

from ._convert import new_config, new_prefix, new_struct, read
from ._errors import AgainError, ConcurrentUseError, ForkedError, check, new_error
from ._native import ffi, lib
from ._structs import Hint, PrefixLike, Sample

Popped = TypeVar("Popped")
Found = TypeVar("Found")
Stats = TypeVar("Stats")


class Guard:
    """`with guard as c` gives the C object to one thread at a time, and to none of another process.

    It has no lock, because a signal's handler may raise between any two steps, and a lock could
    stay taken: the owner is set in one step, and ignored once its call has ended (_is_over).
    """

    def __init__(self, name: str, pointer: Any) -> None:
        self.name = name
        self.pointer = pointer
        self.pid = os.getpid()
        self._owners: dict[str, tuple[int, FrameType]] = {}  # the present owner as "now", or empty

    def __enter__(self) -> Any:
        if self.pid != os.getpid():
            raise ForkedError(f"{self.name}: made before fork, in process {self.pid}; "
                              "make a new one in this process")
        us = threading.get_ident(), sys._getframe(1)
        owner = self._owners.setdefault("now", us)
        if owner is not us:
            if not _is_over(*owner):
                raise ConcurrentUseError(f"{self.name}: a call on it is under way in another "
                                         "thread or around this one; one thread at a time may "
                                         "use it")
            self._owners["now"] = us
        if self.pointer is None:
            self.__exit__()
            raise ValueError(f"{self.name}: closed")
        return self.pointer[0]

    def __exit__(self, *failure: object) -> None:
        self._owners.pop("now", None)


def _is_over(thread: int, frame: FrameType) -> bool:
    """Whether a `with` of that frame has ended without a trace, by an exception of a handler."""
    if thread != threading.get_ident():
        return False
    ours: FrameType | None = sys._getframe()
    while ours not in (None, frame):
        ours = ours.f_back if ours else None
    return ours is None


class Handle(Generic[Popped, Stats]):
    """A context manager around an object that close() frees; after that any use is a ValueError.

    Only one thread at a time may use it: others get ConcurrentUseError, and change nothing. So does
    a signal's handler in the middle of a call; an exception of the handler ends the call, and the
    object can be used again. Only the process that made it may use it: a child of fork(2) gets
    ForkedError, and can close it.
    """

    _stage: str
    _guard: Guard | None = None

    def __init__(self, options: Any) -> None:
        keep: list[Any] = []
        config = new_config(f"struct riptide_{self._stage}_config *", options, keep)
        free, error = self._function("free"), new_error()
        # Whatever a signal's handler raises, and wherever: who has this pointer has the object.
        pointer = ffi.gc(ffi.new(f"struct riptide_{self._stage} **"), lambda owner: free(owner[0]))
        check(self._function("new")(pointer, config, error), error)
        self._guard = Guard(type(self).__name__, pointer)

    def _function(self, name: str) -> Any:
        return getattr(lib, f"riptide_{self._stage}_{name}")

    @property
    def _use(self) -> Guard:
        """For calls that belong together. Errors: ConcurrentUseError, ForkedError, ValueError."""
        assert self._guard is not None, "a class that derives from this one calls its __init__"
        return self._guard

    def _call(self, name: str, *arguments: Any) -> Any:
        """Calls riptide_<stage>_<name>. Errors: as _use."""
        with self._use as c:
            return self._function(name)(c, *arguments)

    def _read(self, name: str, *arguments: Any) -> Any:
        """Calls a function whose last parameter is for a result, and reads that."""
        function = self._function(name)
        result = ffi.new(ffi.typeof(function).args[len(arguments) + 1])
        with self._use as c:
            check(function(c, *arguments, result))
            return read(result[0])

    def _text(self, name: str, *arguments: Any) -> bytes:
        """Calls a function that returns text."""
        with self._use as c:
            text = self._function(name)(c, *arguments)
        if not text:
            raise MemoryError
        return bytes(ffi.string(ffi.gc(text, lib.free)))

    def pop(self) -> Popped:
        """Takes the next one. Errors: AgainError: there is none."""
        popped: Popped = self._read("pop")
        return popped

    def pop_all(self) -> Iterator[Popped]:
        """Pops until there is nothing more."""
        while True:
            try:
                popped = self.pop()
            except AgainError:
                return
            yield popped

    def stats(self) -> Stats:
        """Counters and the present state, as the struct of the headers has them."""
        result = ffi.new(ffi.typeof(self._function("get_stats")).args[1])
        self._call("get_stats", result, ffi.sizeof(result[0]))
        stats: Stats = read(result)
        return stats

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._use.pointer is None

    def _is_parents(self) -> bool:
        return self._use.pid != os.getpid()

    def close(self) -> None:
        """Frees the object, unless closed before. In a child of fork(2) the parent's stays."""
        guard = self._use
        if not self.closed and not self._is_parents():
            guard.__enter__()
        pointer, guard.pointer = guard.pointer, None
        guard.__exit__()
        if pointer is not None:
            ffi.release(pointer)

    def __enter__(self) -> Self:
        with self._use:
            return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._guard and not self.closed and not self._is_parents():
            warnings.warn(f"{self._guard.name}: not closed", ResourceWarning, source=self)


class LoopHandle(Handle[Popped, Stats]):
    """An object that works in an event loop: dispatch() when fileno() is readable, then pop()."""

    def fileno(self) -> int:
        """The fd to wait on for reading; it stays the same."""
        return int(self._call("get_fd"))

    def dispatch(self) -> bool:
        """Does one bounded piece of work.

        Returns whether there may be more: an edge-triggered loop (EPOLLET) pops and dispatches
        until there is not. Errors: OSError: it cannot continue.
        """
        result = self._call("dispatch")
        check(min(result, 0))
        return bool(result == lib.RIPTIDE_E_MORE)


class KernelHandle(LoopHandle[Popped, Stats]):
    """An object that changes the kernel between start() and stop(). Needs CAP_NET_ADMIN."""

    def start(self) -> None:
        """Claims the namespace, removes what a killed predecessor left, installs the rules, the
        program, or both.

        Errors: OSError, with a line: EPERM (PermissionError: CAP_NET_ADMIN, CAP_BPF); EBUSY:
        another process gives windows in this namespace; EEXIST: another program uses our table;
        EOPNOTSUPP: no place for a rule; EALREADY: it was started; ESHUTDOWN: it was stopped.
        """
        error = new_error()
        check(self._call("start", error), error)

    def stop(self) -> None:
        """Takes everything back from the kernel; it cannot start again. Errors: OSError."""
        error = new_error()
        has_error = len(ffi.typeof(self._function("stop")).args) > 1
        check(self._call("stop", *[error] * has_error), error)

    def pause(self) -> None:
        """Disables windows: removes the rules, and the program gives none. All else goes on.

        Errors: OSError.
        """
        check(self._call("set_paused", True))

    def resume(self) -> None:
        """Enables windows again, as soon as the routes are right. Errors: OSError."""
        check(self._call("set_paused", False))

    def close(self, leave_routes: bool = False) -> None:
        """Stops and frees; `leave_routes`: only frees, so that rules and routes stay.

        Errors: OSError of the stop, after which it is closed as well.
        """
        try:
            if not (leave_routes or self.closed or self._is_parents()):
                self.stop()
        except OSError:
            super().close()
            raise
        super().close()


class Learner(Handle[Popped, Stats], Generic[Popped, Stats, Found]):
    """An object that computes windows of destinations from samples."""

    def add(self, sample: Sample) -> bool:
        """Adds a sample to the next tick. Returns whether it is evidence for the policy.

        Errors: FullError, InvalidError (both are counted), UnknownError (an agent's: the sample is
        outside its scope); TypeError, ValueError, OverflowError for what C cannot take.
        """
        result = self._call("add", new_struct("sample", sample, Sample, "struct riptide_sample *"))
        if result != lib.RIPTIDE_E_LEFT_OUT:
            check(result)
        return bool(result == 0)

    def find(self, dst: PrefixLike) -> Found:
        """The window of a destination, or of a peer's, and why; cwnd 0: why it has none.

        An agent says that of each destination. Errors: UnknownError: an estimator has neither a
        window nor samples within the time to live.
        """
        found: Found = self._read("find", new_prefix("dst", dst))
        return found

    def windows(self) -> Iterator[Found]:
        """Walks over windows; those that ticks change meanwhile may be missed, or seen twice."""
        step = self._function("next")
        cursor, item = ffi.new("uint32_t *"), ffi.new(ffi.typeof(step).args[2])
        while True:
            with self._use as c:
                if step(c, cursor, item) == lib.RIPTIDE_E_DONE:
                    return
                found: Found = read(item[0])
            yield found

    def set_hint(self, hint: Hint) -> None:
        """Sets a hint, with effect at once, or at the end of an agent's round.

        A prefix has at most one with an end and one without, which it replaces. Errors: OptionError
        (EINVAL), FullError (2048 hints); TypeError, ValueError, OverflowError.
        """
        error = new_error()
        check(self._call("set_hint", new_struct("hint", hint, Hint, "struct riptide_hint *"),
                         error), error)

    def remove_hint(self, dst: PrefixLike) -> None:
        """Removes the hint for exactly this prefix, the one with an end first.

        Errors: UnknownError: there is none.
        """
        check(self._call("remove_hint", new_prefix("dst", dst)))
