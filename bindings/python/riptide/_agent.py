# SPDX-License-Identifier: MIT
"""Agent: observe, compute and apply on one fd and one clock."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator

from ._calls import new_object, pop, pop_all, walk
from ._errors import ConcurrentUseError, UnknownError, check, has_more, new_error
from ._estimator import new_hint, read_estimate
from ._handle import KernelHandle, Waiter
from ._native import ffi, lib
from ._applier import read_route
from ._types import AgentEvent, AgentOptions, Arm, Change, EventKind, Hint, Tick, Verdict, Window
from ._values import (PrefixLike, network, new_config, new_prefix, read, read_members, text, whole)

if TYPE_CHECKING:
    from typing_extensions import Unpack

CONFIG = "struct riptide_agent_config *"


def _read_window(c: Any) -> Window:
    def route(given: Any) -> Any:
        return read_route(given) if given else None
    return read(Window, c, dst=network, route=route, program=route,
                estimate=lambda estimate: read_estimate(estimate) if estimate else None)


def _read_event(c: Any) -> AgentEvent:
    return read(
        AgentEvent, c, kind=EventKind,
        outcome=lambda route: read_route(route) if route else None,
        tick=lambda tick: read(Tick, tick) if tick else None,
        window=lambda window: _read_window(window) if window else None,
        reason=lambda reason: text(reason) if reason else None)


def _end_wait(loop: Any, fd: int, ready: Any) -> None:
    """Ends a wait: the fd is readable, or will be closed, after which its number is reused."""
    loop.remove_reader(fd)
    if not ready.done():
        ready.set_result(None)


class Agent(KernelHandle):
    """Learns from open connections and gives windows to new ones. Needs CAP_NET_ADMIN.

    Both are of the network namespace in which the constructor is called; all else may be called
    from another one.

        with riptide.Agent(interval=1) as agent:
            agent.start()
            async for event in agent:
                print(event)

    With another event loop call dispatch() whenever fileno() is readable, then events(). close()
    removes rules and routes, unless told to leave them. An agent that is dropped without close()
    leaves them too, until the next start() or flush(), but gives no more windows by the program.

    Errors: OptionError and other OSErrors, TypeError, ValueError, OverflowError.
    """

    def __init__(self, **options: Unpack[AgentOptions]) -> None:
        keep: list[Any] = []
        config = new_config(CONFIG, options, keep)
        super().__init__(new_object(lib.riptide_agent_new, config, lib.riptide_agent_free))

    def close(self, leave_routes: bool = False) -> None:
        """Removes rules and routes and frees the agent. After an OSError it is closed as well."""
        self._close(lib.riptide_agent_stop, leave_routes)

    def fileno(self) -> int:
        """The fd to wait on for reading; it stays the same."""
        with self._use as c:
            return int(lib.riptide_agent_get_fd(c))

    def start(self) -> None:
        """Installs the rules or the program, and begins the first round.

        Errors: OSError, as Applier.start; PermissionError without CAP_BPF.
        """
        self._start(lib.riptide_agent_start)

    def stop(self) -> None:
        """Removes everything from the kernel, and saves the state.

        Errors: OSError. Later start, hints, pause and resume raise it with ESHUTDOWN.
        """
        self._stop(lib.riptide_agent_stop)

    def dispatch(self) -> bool:
        """Does one bounded piece of work.

        Returns whether there may be more: an edge-triggered loop (EPOLLET) calls it again until
        there is not. Errors: OSError: the agent cannot continue.
        """
        with self._use as c:
            return has_more(lib.riptide_agent_dispatch(c))

    def pop(self) -> AgentEvent:
        """Returns the next event. Errors: AgainError: there is none."""
        return pop(self._use, lib.riptide_agent_pop, _read_event)

    def events(self) -> Iterator[AgentEvent]:
        """Pops all events. Reading them is optional: windows reach the kernel without it."""
        return pop_all(self._use, lib.riptide_agent_pop, _read_event)

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        """Runs the agent in this asyncio loop, without blocking it, and yields events.

        A cancelled wait ends this iteration, even a timeout of asyncio.wait_for around one anext();
        another `async for` continues the agent.

        Errors: as dispatch; ValueError once it is closed; ConcurrentUseError in a second task.
        """
        import asyncio  # here, as most scripts do not need it and it takes half of their start

        loop = asyncio.get_running_loop()
        while True:
            await self._readable(loop, asyncio.current_task())
            self.dispatch()
            for event in self.events():
                yield event

    async def _readable(self, loop: Any, task: Any) -> None:
        """Waits until the fd is readable, or the agent is closed."""
        with self._guard as c:
            other = self._guard.waiter
            if other and other.task is not task and not other.task.done():
                raise ConcurrentUseError("Agent: another task waits for it")
            fd, ready = lib.riptide_agent_get_fd(c), loop.create_future()
            waiter = Waiter(threading.get_ident(), task, partial(_end_wait, loop, fd, ready))
            loop.add_reader(fd, waiter.wake)
            self._guard.waiter = waiter
        try:
            await ready
        finally:
            if self._guard.waiter is waiter:
                self._guard.waiter = None
                loop.remove_reader(fd)

    def pause(self) -> None:
        """Disables windows by rules and program; learning continues. Errors: OSError."""
        with self._use as c:
            check(lib.riptide_agent_set_paused(c, True))

    def resume(self) -> None:
        """Enables windows again, with the next dispatch."""
        with self._use as c:
            check(lib.riptide_agent_set_paused(c, False))

    def verdict(self) -> Verdict:
        """The effect of windows. Errors: UnknownError: none yet, or it is not valid; says why."""
        found = ffi.new("struct riptide_verdict *")
        with self._use as c:
            result = lib.riptide_agent_get_verdict(c, found, ffi.sizeof(found[0]))
        if result == lib.RIPTIDE_E_UNKNOWN:
            raise UnknownError(f"no verdict: {ffi.string(found.reason).decode()}")
        check(result)

        def change(given: Any) -> Change:
            return read(Change, given)
        return read(Verdict, found, time=change, retransmitted=change, halves=change)

    def find(self, dst: PrefixLike) -> Window:
        """The window of a destination, or of a peer's, why, and what the kernel has of it.

        Errors: UnknownError: neither a window nor samples within the time to live.
        """
        prefix, window = new_prefix("dst", dst), ffi.new("struct riptide_window **")
        with self._use as c:
            check(lib.riptide_agent_find(c, prefix, window))
            return _read_window(window[0])

    def arm_of(self, peer: PrefixLike, cookie: int) -> Arm:
        """The arm of a connection that opens now, by its peer and its socket's SO_COOKIE.

        Errors: UnknownError: no window is in force, so that it shows nothing.
        """
        prefix, arm = new_prefix("peer", peer), ffi.new("enum riptide_arm *")
        with self._use as c:
            check(lib.riptide_agent_arm_of(c, prefix, whole("cookie", cookie), arm))
        return Arm(arm[0])

    def windows(self) -> Iterator[Window]:
        """Walks over windows; those that rounds change meanwhile may be missed, or seen twice."""
        return walk(self._use, lib.riptide_agent_next, lambda item: _read_window(item[0]))

    def stats(self) -> dict[str, Any]:
        """The members of struct riptide_agent_stats, with those of the stages as dicts."""
        with self._use as c:
            return read_members(lib.riptide_agent_get_stats(c))

    def set_hint(self, hint: Hint) -> None:
        """As Estimator.set_hint; takes effect at the end of the round."""
        c_hint, error = new_hint(hint), new_error()
        with self._use as c:
            check(lib.riptide_agent_set_hint(c, c_hint, error), error)

    def remove_hint(self, dst: PrefixLike) -> None:
        """As Estimator.remove_hint; takes effect at the end of the round."""
        prefix = new_prefix("dst", dst)
        with self._use as c:
            check(lib.riptide_agent_remove_hint(c, prefix))

    def save(self, synced: bool = True) -> None:
        """Saves the state in the file of the option `state`, whole or not at all.

        `synced`: waits for the disk. Errors: OptionError.
        """
        error = new_error()
        with self._use as c:
            check(lib.riptide_agent_save(c, synced, error), error)

    def state(self) -> bytes:
        """The state as text in bytes."""
        with self._use as c:
            most = lib.riptide_agent_get_state(c, ffi.NULL, 0)
            text = ffi.new("char[]", most)
            n_bytes = lib.riptide_agent_get_state(c, text, most)
        return bytes(ffi.buffer(text, n_bytes))
