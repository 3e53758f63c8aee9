# SPDX-License-Identifier: MIT
"""Applier and agent from Python; what `ip` says is the judge."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import socket
import sys
import time
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Iterator

import pytest

import cgroups
import riptide
from netns import DEADLINE_S, Host, Network, routes, rules, wait_until, windows
from riptide import AgentEventKind, ApplierConfig, Backend, EstimatorConfig, Reason, RouteState, Wanted, Window

SO_COOKIE = 57  # Python does not name it
PAPER: EstimatorConfig = {"ttl": 3600, "policy": "paper"}
BY_ROUTES: ApplierConfig = {"backend": Backend.ROUTES}


def settle(applier: riptide.Applier) -> list[riptide.Route]:
    """Dispatches until nothing waits; what changed on the way."""
    changed: list[riptide.Route] = []
    while not applier.is_idle:
        assert select.select([applier], [], [], DEADLINE_S)[0], "the applier waits for nothing"
        applier.dispatch()
        changed += applier.pop_all()
    return changed


def test_routes_reach_the_kernel_and_go_with_the_applier(net: Network) -> None:
    with net.host.entered(), riptide.Applier(backend=Backend.ROUTES) as applier:
        applier.start()
        applier.set(Wanted("203.0.113.7", initcwnd=40))
        applier.set(Wanted(ip_network("2001:db8::7"), initcwnd=25, rto_min=0.2))
        changed = {str(route.dst): route for route in settle(applier)}
        assert windows(net.host) == {"203.0.113.7": 40, "2001:db8::7": 25}
        assert changed["203.0.113.7/32"].state == RouteState.APPLIED
        stats = applier.stats()
        assert (stats.backend, stats.rules_reason, stats.routes) == (Backend.ROUTES, (None, None), 2)
        applier.set(Wanted("203.0.113.7"))
        assert [route.state for route in settle(applier)] == [RouteState.WITHDRAWN]
    assert windows(net.host) == {} and rules(net.host) == []


def test_routes_that_are_left_stay_and_are_flushed(net: Network) -> None:
    with net.host.entered():
        applier = riptide.Applier()
        applier.start()
        applier.set(Wanted("203.0.113.7", initcwnd=40))
        settle(applier)
        assert riptide.flush(dry_run=True) == ("rules 2, routes 1", os.getpid())
        applier.close(leave_routes=True)
        assert windows(net.host) == {"203.0.113.7": 40}
        assert riptide.flush(dry_run=True) == ("rules 2, routes 1", 0)
        assert riptide.flush() == ("removed: rules 2, routes 1", 0)
        assert riptide.flush(dry_run=True) == ("", 0)
        assert windows(net.host) == {}


def test_what_the_library_refuses_changes_nothing(net: Network) -> None:
    with net.host.entered(), riptide.Applier() as applier, riptide.Applier(
            backend=Backend.ROUTES, max_windows=1) as other:
        applier.start()
        for one, number in (applier, errno.EALREADY), (other, errno.EBUSY):
            with pytest.raises(OSError) as caught:
                one.start()
            assert caught.value.errno == number
        assert rules(net.host) != []
        with pytest.raises(riptide.InvalidError):
            applier.set(Wanted("203.0.113.7", initcwnd=65536))
        other.set(Wanted("203.0.113.7", initcwnd=20))
        with pytest.raises(riptide.FullError):
            other.set(Wanted("203.0.113.9", initcwnd=20))
        applier.stop()
        applier.stop()  # without an effect
        stats = applier.stats()
        assert (stats.rules_reason, stats.program_reason) == (("stopped",) * 2, "stopped")
        assert stats.rules_reason_code == (Reason.STOPPED,) * 2 and stats.program_reason_code is Reason.STOPPED
        assert rules(net.host) == []
        sockets = [line.split() for line in Path("/proc/thread-self/net/netlink").read_text().splitlines()]
        assert {groups for _, bus, _, groups, *_ in sockets if bus == "0"} == {"00000000"}


def test_without_privilege_it_is_a_permission_error(net: Network) -> None:
    """A rule that could not be removed is not said to be."""
    code = ("import os, riptide\n"
            "with riptide.Applier(backend=riptide.Backend.ROUTES) as applier:\n"
            "    for call in applier.start, applier.pause:\n"
            "        os.seteuid(65534)\n"
            "        try: call()\n"
            "        except PermissionError as error: print(error, applier.stats().rules_reason)\n"
            "        os.seteuid(0)\n"
            "        call()\n"
            "    print(applier.stats().rules_reason)\n")
    start, pause, end = net.host.run(sys.executable, "-c", code).stdout.splitlines()
    assert "CAP_NET_ADMIN" in start
    assert pause.endswith(" (None, None)") and end == "('paused', 'paused')"


async def until(agent: riptide.Agent, kind: AgentEventKind) -> list[riptide.AgentEvent]:
    seen: list[riptide.AgentEvent] = []
    async for event in agent:
        seen.append(event)
        if event.kind == kind:
            break
    return seen


def run_until(agent: riptide.Agent, kind: AgentEventKind) -> list[riptide.AgentEvent]:
    return asyncio.run(asyncio.wait_for(until(agent, kind), DEADLINE_S))


def run_round(agent: riptide.Agent) -> bool:
    return bool(run_until(agent, AgentEventKind.TICK))


def test_asyncio_agent(net: Network) -> None:
    cwnd = min(net.learned("203.0.113.7", 60).cwnd(), 100)

    async def both(agent: riptide.Agent) -> tuple[int, list[riptide.AgentEvent]]:
        task = asyncio.ensure_future(until(agent, AgentEventKind.TICK))
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        return turns, await task

    with net.host.entered(), riptide.Agent(interval=0.05, estimator=PAPER, applier=BY_ROUTES) as agent:
        agent.start()
        turns, seen = asyncio.run(asyncio.wait_for(both(agent), DEADLINE_S))
        assert turns > 5, "the loop was held up"
        event = next(event for event in seen if event.kind == AgentEventKind.WINDOW)
        assert event.window and event.window.route and event.window.estimate
        assert event.outcome == event.window.route
        assert (event.window.dst, event.window.route.dst, event.window.estimate.dst) == (
            ip_network("203.0.113.7"),) * 3
        assert event.window.route.initcwnd == event.window.estimate.cwnd == cwnd
        assert windows(net.host) == {"203.0.113.7": cwnd}
        assert seen[-1].tick and seen[-1].tick.samples == 1
        assert 0.05 <= seen[-1].tick.interval < DEADLINE_S
        found = agent.find("203.0.113.7")
        assert found.estimate and found.estimate.samples == 1 and found.program is None
        assert [window.route for window in agent.windows()] == [found.route]
        assert (found.reason_code, found.reason) == (Reason.NONE, "")
        nothing = agent.find("203.0.113.8")
        assert nothing == Window(ip_network("203.0.113.8"), reason_code=Reason.NOT_LEARNED,
                                 reason="no connection to it has counted yet")
        with pytest.raises(riptide.UnknownError):  # by routes none is held out
            agent.verdict()
        stats = agent.stats()
        assert stats.observer and stats.estimator and stats.applier and not stats.is_paused
        assert stats.estimator.samples == stats.applier.routes == 1
    assert windows(net.host) == {} and rules(net.host) == []


@contextlib.contextmanager
def agent_of_a_cgroup(net: Network, path: Path, **options: Any) -> Iterator[riptide.Agent]:
    """An agent that gives windows by the program, to connections of this process."""
    with cgroups.mounted(path) as root, cgroups.made(root) as cgroup, net.host.entered():
        applier: Any = {"backend": Backend.PROGRAM, "cgroup": cgroup, **options}
        with riptide.Agent(interval=0.05, estimator=PAPER, applier=applier) as agent:
            yield agent


def test_agent_gives_windows_by_the_program(net: Network, tmp_path: Path) -> None:
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with agent_of_a_cgroup(net, tmp_path) as agent:
        agent.start()
        *_, event = run_until(agent, AgentEventKind.WINDOW)
        assert event.outcome and event.window and event.outcome.backend == Backend.PROGRAM
        assert event.outcome == event.window.program and event.window.route is None
        assert event.outcome.initcwnd == cwnd == net.connect("203.0.113.1").cwnd()
        with pytest.raises(riptide.UnknownError, match="no connection is held out"):
            agent.verdict()
        assert routes(net.host) == {} and rules(net.host) == []
    assert net.connect("203.0.113.1").cwnd() == 10


def test_a_host_knows_which_arm_a_connection_of_its_own_is_in(net: Network, tmp_path: Path) -> None:
    window = net.learned("203.0.113.1", 30).cwnd()
    with agent_of_a_cgroup(net, tmp_path, holdout_percent=50) as agent:
        agent.start()
        run_until(agent, AgentEventKind.WINDOW)

        def opening_of(connection: Any, peer: str = "203.0.113.1") -> tuple[riptide.Arm, int, int]:
            cookie = connection.near.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8)
            sample = agent.annotate(peer, int.from_bytes(cookie, "little"))
            return sample.arm, sample.initcwnd, connection.cwnd()

        found = {opening_of(connection) for connection in [net.connect("203.0.113.1") for _ in range(40)]}
        assert found == {(riptide.Arm.WINDOW, window, window), (riptide.Arm.HOLDOUT, 0, 10)}
        assert opening_of(net.connect("203.0.113.2"), "203.0.113.2") == (riptide.Arm.NONE, 0, 10)
        agent.pause()
        assert opening_of(net.connect("203.0.113.1")) == (riptide.Arm.NONE, 0, 10)


def test_a_cgroup_that_is_not_there_is_an_option_error(tmp_path: Path) -> None:
    with pytest.raises(riptide.OptionError, match="^.Errno 2. applier.cgroup: .* is not there") as refused:
        riptide.Applier(backend=Backend.PROGRAM, cgroup=tmp_path / "none")
    assert (refused.value.errno, refused.value.field) == (errno.ENOENT, "applier.cgroup")


def test_one_process_serves_two_namespaces(net: Network) -> None:
    """Agents are made in them, and all else happens in a third one."""
    cwnd = net.learned("203.0.113.7", 30).cwnd()
    with contextlib.ExitStack() as stack:
        def agent_in(host: Host) -> riptide.Agent:
            with host.entered():
                return stack.enter_context(riptide.Agent(interval=0.05, estimator=PAPER, applier=BY_ROUTES))
        first, second = agent_in(net.world), agent_in(net.host)
        first.start()
        second.start()
        first.close()
        run_round(second)
        assert windows(net.host) == {"203.0.113.7": cwnd}


def test_agent_can_be_paused_and_hinted(net: Network) -> None:
    cwnd = net.learned("203.0.113.7", 40).cwnd()
    with net.host.entered(), riptide.Agent(interval=0.05, estimator=PAPER, applier=BY_ROUTES) as agent:
        agent.start()
        run_round(agent)
        assert windows(net.host) == {"203.0.113.7": cwnd}
        in_an_hour = time.clock_gettime(time.CLOCK_BOOTTIME) + 3600
        agent.set_hint(riptide.Hint("203.0.113.0/24", cwnd_max=15, until=in_an_hour))
        wait_until(lambda: run_round(agent) and windows(net.host) == {"203.0.113.7": 15}, "the hint")
        agent.pause()
        assert rules(net.host) == []
        assert (route := agent.find("203.0.113.7").route) and route.reason == "paused"
        agent.resume()
        wait_until(lambda: run_round(agent) and len(rules(net.host)) == 2, "rules")
        assert (route := agent.find("203.0.113.7").route) and route.reason == ""
        agent.remove_hint("203.0.113.0/24")
        with pytest.raises(riptide.UnknownError):
            agent.remove_hint("203.0.113.0/24")
        agent.stop()
        with pytest.raises(OSError) as caught:
            agent.pause()
        assert caught.value.errno == errno.ESHUTDOWN


def test_agent_takes_samples_of_others(net: Network) -> None:
    with net.host.entered(), riptide.Agent(
            interval=0.05, estimator=PAPER,
            observer={"scope": riptide.Scope(exclude="203.0.113.99")}) as agent:
        agent.start()
        assert agent.add(riptide.Sample(ip_network("203.0.113.7"), cwnd=33))
        run_until(agent, AgentEventKind.WINDOW)
        assert windows(net.host) == {"203.0.113.7": 33}
        with pytest.raises(riptide.UnknownError):
            agent.add(riptide.Sample(ip_network("203.0.113.99"), cwnd=33))


def test_agent_goes_on_from_a_state(net: Network, tmp_path: Path) -> None:
    path = tmp_path / "state"
    with riptide.Estimator(policy="paper", ttl=3600) as before:
        before.add(riptide.Sample(ip_network("203.0.113.99"), cwnd=33))
        before.tick()
        path.write_bytes(before.save())
    options: riptide.AgentConfig = {"interval": 0.05, "estimator": PAPER, "state": path}
    with net.host.entered():
        with riptide.Agent(**options) as agent:
            agent.start()
            assert "destinations loaded: 1" in (agent.stats().state or "")
            agent.pause()
            agent.save()
            saved = path.read_bytes()
            assert b"203.0.113.99 cwnd=33 " in saved and b"\npaused=1\n" in saved
            assert b"\npaused=1\n" in agent.state()
            agent.resume()
        assert b"paused=1" not in path.read_bytes()
        with riptide.Agent(**options) as agent:
            agent.start()
            run_round(agent)
            assert windows(net.host) == {"203.0.113.99": 33}


def test_a_state_that_is_a_link_is_not_followed(net: Network, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "state").symlink_to("victim")
    with net.host.entered():
        agent = riptide.Agent(state=tmp_path / "state")
        agent.start()
        for save in agent.save, agent.close:
            with pytest.raises(riptide.OptionError, match="no regular file"):
                save()
        assert agent.closed and rules(net.host) == []
    assert (tmp_path / "victim").read_text() == "kept"


def test_a_cancelled_wait_leaves_the_loop_alone_and_another_goes_on(net: Network) -> None:
    async def main(agent: riptide.Agent) -> None:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(until(agent, AgentEventKind.FAILED), 0.01)
            assert len(os.listdir("/proc/self/fd")) == before
        await asyncio.wait_for(until(agent, AgentEventKind.TICK), DEADLINE_S)

    with net.host.entered(), riptide.Agent(interval=0.05) as agent:
        agent.start()
        asyncio.run(main(agent))


@pytest.mark.parametrize("is_in_loop", [True, False], ids=["in the loop", "in a thread"])
def test_close_ends_the_tasks_that_wait(net: Network, is_in_loop: bool) -> None:
    ends = (ValueError,) if is_in_loop else (ValueError, riptide.ConcurrentUseError)

    async def run() -> None:
        for _ in range(3):  # the numbers of closed fds are used again
            agent = riptide.Agent(interval=60)
            waiting = [asyncio.ensure_future(until(agent, AgentEventKind.TICK)) for _ in range(2)]
            await asyncio.sleep(0)
            if is_in_loop:
                agent.close()
            else:
                await asyncio.get_running_loop().run_in_executor(None, agent.close)
            for task in waiting:
                with pytest.raises(ends):
                    await asyncio.wait_for(task, DEADLINE_S)

    with net.host.entered():
        asyncio.run(run())
