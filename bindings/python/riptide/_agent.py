# SPDX-License-Identifier: MIT
"""Agent: observe, compute and apply on one fd and one clock."""

from __future__ import annotations

import os
from typing import Any, AsyncIterator, Callable, Unpack

from ._convert import read, text, write_prefix
from ._errors import UnknownError, check, new_error
from ._handle import KernelHandle, Learner
from ._native import ffi, lib
from ._structs import AgentConfig, AgentEvent, AgentStats, PrefixLike, Sample, Verdict, Window


class Agent(KernelHandle[AgentEvent, AgentStats], Learner[AgentEvent, AgentStats, Window]):
    """Learns from open connections and gives windows to new ones. Needs CAP_NET_ADMIN.

    Both are of the network namespace in which the constructor is called; all else may be called
    from another one.

        with riptide.Agent(interval=1) as agent:
            agent.start()
            async for event in agent:
                print(event)

    With another event loop call dispatch() whenever fileno() is readable, then pop_all(); reading
    events is optional: windows reach the kernel without it. close() takes everything back, unless
    told to leave the routes. An agent that is dropped without close() leaves them too, until the
    next start() or flush(), but gives no more windows by the program.

    Options: AgentConfig. Errors: OptionError and other OSErrors, TypeError, ValueError,
    OverflowError.
    """

    _stage = "agent"

    def __init__(self, **options: Unpack[AgentConfig]) -> None:
        self._wakers: set[Callable[[], Any]] = set()  # of the tasks that wait
        super().__init__(options)

    def close(self, leave_routes: bool = False) -> None:
        """As Applier.close; also saves the state, unless told to leave the routes.

        Tasks that wait for the agent get a ValueError.
        """
        try:
            super().close(leave_routes)
        finally:
            if not self._is_parents():  # a child has no part in the parent's loop
                for wake in self._wakers.copy():
                    wake()

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        """Runs the agent in this asyncio loop, without blocking it, and yields events.

        A cancelled wait ends this iteration, even a timeout of asyncio.wait_for around one anext();
        another `async for` continues the agent. Errors: as dispatch; ValueError: it is closed.
        """
        import asyncio  # here, as most scripts do not need it and it takes half of their start

        while True:
            await self._wait(asyncio.get_running_loop())
            self.dispatch()
            for event in self.pop_all():
                yield event

    async def _wait(self, loop: Any) -> None:
        """Waits until the fd is readable, or the agent is closed."""
        ready = loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        def wake_from_afar() -> None:
            loop.call_soon_threadsafe(wake)

        fd = os.dup(self.fileno())  # nobody else gets its number if the agent is closed
        try:
            self._wakers.add(wake_from_afar)
            loop.add_reader(fd, wake)
            await ready
        finally:
            self._wakers.discard(wake_from_afar)
            loop.remove_reader(fd)
            os.close(fd)

    def stats(self) -> AgentStats:
        """Counters and the present state of the agent and its stages."""
        with self._use as c:
            stats: AgentStats = read(lib.riptide_agent_get_stats(c))
        return stats

    def verdict(self) -> Verdict:
        """The effect of windows. Errors: UnknownError: none yet, or it is not valid; says why."""
        found = ffi.new("struct riptide_verdict *")
        result = self._call("get_verdict", found, ffi.sizeof(found[0]))
        if result == lib.RIPTIDE_E_UNKNOWN:
            raise UnknownError(f"no verdict: {text(found.reason)}")
        check(result)
        verdict: Verdict = read(found)
        return verdict

    def annotate(self, peer: PrefixLike, cookie: int) -> Sample:
        """How an established connection opened, by its peer and its socket's SO_COOKIE.

        Its `initcwnd`, `arm`, `together` and `paced`; all else is 0. Arm.NONE: it was drawn to no arm,
        or was not noted: do not count it.
        """
        sample = ffi.new("struct riptide_sample *", {"cookie": cookie})
        write_prefix("peer", sample.dst, peer)
        check(self._call("annotate", sample))
        annotated: Sample = read(sample)
        return annotated

    def save(self, synced: bool = True) -> None:
        """Saves the state in the file of the option `state`, whole or not at all.

        `synced`: waits for the disk. Errors: OptionError.
        """
        error = new_error()
        check(self._call("save", bool(synced), error), error)

    def state(self) -> bytes:
        """The state as text in bytes."""
        return self._text("get_state")
