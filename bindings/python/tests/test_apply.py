# SPDX-License-Identifier: MIT
"""Applier and agent from Python; what `ip` says is the judge."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import socket
import time
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

import cgroups
import riptide
from netns import DEADLINE_S, Host, Network, routes, rules, wait_until, windows
from riptide import Duration, EventKind, EstimatorOptions, RouteState

SO_COOKIE = 57  # Python does not name it
PAPER: EstimatorOptions = {"ttl": 3600, "policy": "paper"}


def settle(applier: Any) -> Any:
    """Dispatches until nothing waits; what changed on the way."""
    changed = []
    while not applier.is_idle:
        assert select.select([applier], [], [], DEADLINE_S)[0], "the applier waits for nothing"
        applier.dispatch()
        while True:
            try:
                changed.append(applier.pop())
            except riptide.AgainError:
                break
    return changed


def test_routes_reach_the_kernel_and_go_with_the_applier(net: Network) -> None:
    with net.host.entered(), riptide.Applier(backend=riptide.Backend.ROUTES) as applier:
        applier.start()
        applier.set("203.0.113.7", 40)
        applier.set(ip_network("2001:db8::7"), 25, rto_min=0.2)
        changed = {str(route.dst): route for route in settle(applier)}
        assert windows(net.host) == {"203.0.113.7": 40, "2001:db8::7": 25}
        route = changed["203.0.113.7/32"]
        assert route.state == RouteState.APPLIED and route.gateway == ip_address("10.0.0.1")
        assert applier.stats()["rules_reason"] == (None, None)
        assert applier.stats()["routes"] == 2
        applier.set("203.0.113.7", 0)
        assert [route.state for route in settle(applier)] == [RouteState.WITHDRAWN]
    assert windows(net.host) == {} and rules(net.host) == []


def test_a_loop_of_edges(net: Network) -> None:
    with net.host.entered(), riptide.Agent(interval=0.02) as agent, select.epoll() as edges:
        agent.start()
        edges.register(agent, select.EPOLLIN | select.EPOLLET)
        ticks = 0
        while ticks < 3:
            assert edges.poll(DEADLINE_S)
            more = True
            while more:
                more = agent.dispatch()
                ticks += sum(event.kind == EventKind.TICK for event in agent.events())
    with net.host.entered(), riptide.Applier() as applier, riptide.Observer() as observer:
        assert not applier.dispatch() and not observer.dispatch()
        applier.start()
        applier.set("203.0.113.7", 40)
        observer.start()
        assert applier.dispatch() and observer.dispatch()


def test_windows_are_bounded_and_timeouts_round_up(net: Network) -> None:
    with net.host.entered(), riptide.Applier() as applier:
        applier.start()
        cases: list[tuple[Duration, int]] = [
            (1e-9, 1), (0.2, 200), (timedelta(microseconds=1001), 2), (60, 60_000)]
        for rto_min, ms in cases:
            applier.set("203.0.113.7", 50, 20, rto_min)
            settle(applier)
            assert windows(net.host) == {"203.0.113.7": 20}
            assert {"rto_min": ms} in [
                {name: value for name, value in metric.items() if name == "rto_min"}
                for metric in routes(net.host)["203.0.113.7"]["metrics"]]


def test_no_window_is_below_that_without_us(net: Network) -> None:
    with net.host.entered(), riptide.Applier(backend=riptide.Backend.PROGRAM, dry_run=True) as applier:
        applier.start()
        applier.set("203.0.113.7", 5)
        applier.set("203.0.113.8", 5, may_lower=True)
        assert [change.initcwnd for change in settle(applier)] == [10, 5]


def test_route_of_a_paced_window_gives_24_or_what_the_base_route_gives(net: Network) -> None:
    with net.host.entered(), riptide.Applier(backend=riptide.Backend.ROUTES) as applier:
        applier.start()
        for base_cwnd, initcwnd in ((0, 24), (40, 40)):
            applier.set("203.0.113.7", 60, pacing_percent=100, base_cwnd=base_cwnd, may_lower=True)
            settle(applier)
            assert windows(net.host) == {"203.0.113.7": initcwnd}


def test_no_route_where_the_path_mtu_is_smaller(net: Network) -> None:
    with net.host.entered(), riptide.Applier(backend=riptide.Backend.ROUTES) as applier:
        applier.start()
        applier.set("203.0.113.7", 50, pmtu_bytes=1400)
        assert [change.reason for change in settle(applier)] == ["its path MTU is smaller than that of its route"]
        assert routes(net.host) == {}


def test_routes_that_are_left_stay_and_are_flushed(net: Network) -> None:
    with net.host.entered():
        applier = riptide.Applier()
        applier.start()
        applier.set("203.0.113.7", 40)
        settle(applier)
        applier.close(leave_routes=True)
        assert windows(net.host) == {"203.0.113.7": 40}
        assert riptide.flush() == "removed: rules 2, routes 1, table 7230"
        assert windows(net.host) == {}


def test_applier_starts_once(net: Network) -> None:
    """What the second call raises takes nothing away, and close() gives all back."""
    with net.host.entered():
        with riptide.Applier() as applier:
            applier.start()
            with pytest.raises(OSError, match="started before") as caught:
                applier.start()
            assert caught.value.errno == errno.EALREADY
            assert rules(net.host) != []
        assert rules(net.host) == []


def test_pause_lifts_the_rules(net: Network) -> None:
    with net.host.entered(), riptide.Applier() as applier:
        applier.start()
        applier.pause()
        assert rules(net.host) == [] and applier.stats()["rules_reason"] == ("paused", "paused")
        applier.resume()
        settle(applier)
        assert len(rules(net.host)) == 2


def test_errors_of_the_applier(net: Network) -> None:
    with net.host.entered(), riptide.Applier() as applier, riptide.Applier(
            backend=riptide.Backend.ROUTES, max_windows=1) as other:
        applier.start()
        with pytest.raises(OSError, match="process") as caught:
            other.start()
        assert caught.value.errno == errno.EBUSY
        with pytest.raises(riptide.InvalidError, match="^initcwnd: "):
            applier.set("203.0.113.7", 65536)
        with pytest.raises(riptide.InvalidError, match="^rto_min: up to 60 s"):
            applier.set("203.0.113.7", 20, rto_min=60.000001)
        with pytest.raises(OverflowError):
            applier.set("203.0.113.7", 1 << 32)
        other.set("203.0.113.7", 20)
        with pytest.raises(riptide.FullError):
            other.set("203.0.113.9", 20)
        applier.stop()
        assert rules(net.host) == []


def test_without_privilege_it_is_a_permission_error(net: Network) -> None:
    code = ("import riptide\n"
            "with riptide.Applier() as applier:\n"
            "    try: applier.start()\n"
            "    except PermissionError as error: print(error)\n")
    import sys
    said = net.host.run("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", "--",
                        sys.executable, "-c", code).stdout
    assert "CAP_NET_ADMIN" in said


async def until(agent: Any, is_enough: Any) -> Any:
    """Events up to the one that is enough."""
    seen = []
    async for event in agent:
        seen.append(event)
        if is_enough(event):
            return seen


def test_asyncio_agent(net: Network) -> None:
    cwnd = net.learned("203.0.113.7", 60).cwnd()
    with net.host.entered(), riptide.Agent(
            interval=0.05,
            estimator={"ttl": 3600, "policy": "paper"}) as agent:
        agent.start()
        turns = []

        async def both() -> Any:
            async def others() -> Any:
                while True:
                    turns.append(1)
                    await asyncio.sleep(0)

            other = asyncio.ensure_future(others())
            seen = await asyncio.wait_for(until(agent, lambda e: e.kind == EventKind.TICK), DEADLINE_S)
            other.cancel()
            return seen

        seen = asyncio.run(both())
        assert len(turns) > 5, "the loop was held up"
        window = next(event for event in seen if event.kind == EventKind.WINDOW).window
        assert window.dst == window.route.dst == window.estimate.dst == ip_network("203.0.113.7")
        assert window.route.initcwnd == window.estimate.cwnd == min(cwnd, 100)
        assert windows(net.host) == {"203.0.113.7": min(cwnd, 100)}
        tick = seen[-1].tick
        assert (tick.samples, tick.overflow) == (1, 0)
        found = agent.find("203.0.113.7")
        assert found.estimate and found.estimate.samples == 1
        assert [window.route for window in agent.windows()] == [found.route]
        with pytest.raises(riptide.UnknownError):
            agent.find("203.0.113.8")
        with pytest.raises(riptide.UnknownError):  # by routes none is held out
            agent.verdict()
        stats = agent.stats()
        assert stats["observer"]["samples"] == 1 == stats["estimator"]["samples"]
        assert stats["applier"]["routes"] == 1 and not stats["is_paused"]
    assert windows(net.host) == {} and rules(net.host) == []


def run_round(agent: Any) -> Any:
    asyncio.run(asyncio.wait_for(until(agent, lambda e: e.kind == EventKind.TICK), DEADLINE_S))


def test_agent_sets_no_more_routes_than_max_windows(net: Network) -> None:
    for last in (7, 8, 9):
        net.learned(f"203.0.113.{last}", 40)
    with net.host.entered(), riptide.Agent(interval=0.05, estimator=PAPER,
                                           applier={"max_windows": 1}) as agent:
        agent.start()
        run_round(agent)
        assert len(windows(net.host)) == 1 and agent.stats()["estimator"]["destinations"] == 3


def test_agent_gives_windows_by_the_program(net: Network, tmp_path: Path) -> None:
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with cgroups.mounted(tmp_path) as root, cgroups.made(root) as cgroup, net.host.entered():
        with riptide.Agent(interval=0.05, estimator=PAPER, applier={
                "backend": riptide.Backend.PROGRAM, "cgroup": cgroup}) as agent:
            agent.start()
            *_, event = asyncio.run(asyncio.wait_for(
                until(agent, lambda e: e.kind == EventKind.WINDOW), DEADLINE_S))
            assert event.outcome.backend is riptide.Backend.PROGRAM
            assert event.outcome == event.window.program
            assert event.outcome.initcwnd == cwnd == net.connect("203.0.113.1").cwnd()
            assert event.window.route is None
            *_, event = asyncio.run(asyncio.wait_for(
                until(agent, lambda e: e.kind == EventKind.TICK), DEADLINE_S))
            assert event.reason is None
            with pytest.raises(riptide.UnknownError, match="no connection is held out"):
                agent.verdict()
            assert routes(net.host) == {} and rules(net.host) == []
        assert net.connect("203.0.113.1").cwnd() == 10


def test_a_host_knows_which_arm_a_connection_of_its_own_is_in(net: Network, tmp_path: Path) -> None:
    window = net.learned("203.0.113.1", 30).cwnd()
    with cgroups.mounted(tmp_path) as root, cgroups.made(root) as cgroup, net.host.entered():
        with riptide.Agent(interval=0.05, estimator=PAPER, applier={
                "backend": riptide.Backend.PROGRAM, "cgroup": cgroup, "holdout_percent": 50}) as agent:
            agent.start()
            asyncio.run(asyncio.wait_for(until(agent, lambda e: e.kind == EventKind.WINDOW), DEADLINE_S))

            def arm_of(connection: Any, peer: str = "203.0.113.1") -> riptide.Arm:
                return agent.arm_of(peer, int.from_bytes(connection.near.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), "little"))
            found = []
            for connection in [net.connect("203.0.113.1") for _ in range(40)]:
                with contextlib.suppress(riptide.UnknownError):  # the place of its note was taken: 1 of 1,000
                    found.append((arm_of(connection), connection.cwnd()))
            assert set(found) == {(riptide.Arm.WINDOW, window), (riptide.Arm.HOLDOUT, 10)} and len(found) > 35
            with pytest.raises(riptide.UnknownError):
                arm_of(net.connect("203.0.113.2"), "203.0.113.2")
            agent.pause()
            with pytest.raises(riptide.UnknownError):
                arm_of(net.connect("203.0.113.1"))


@pytest.mark.parametrize("name", ["not there", 3 * f"/{100 * 'x'}"], ids=["short", "long"])
def test_a_cgroup_that_is_not_there_is_an_option_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(riptide.OptionError, match="^.Errno 2. cgroup: .* is not there: make it first$") as refused:
        riptide.Applier(backend=riptide.Backend.PROGRAM, cgroup=f"{tmp_path}/{name}")
    assert (refused.value.errno, refused.value.field) == (errno.ENOENT, "cgroup")


def test_one_process_serves_two_namespaces(net: Network, tmp_path: Path) -> None:
    """Agents are made in them, and all else happens in a third one."""
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with cgroups.mounted(tmp_path) as root, cgroups.made(root) as cgroup, contextlib.ExitStack() as stack:
        def agent_in(host: Host) -> riptide.Agent:
            with host.entered():
                return stack.enter_context(riptide.Agent(
                    interval=0.05, estimator=PAPER,
                    applier={"backend": riptide.Backend.PROGRAM, "cgroup": cgroup}))
        first, second, third = agent_in(net.world), agent_in(net.host), agent_in(net.host)
        first.start()
        second.start()
        with pytest.raises(OSError, match="already manages this network namespace") as refused:
            third.start()
        assert refused.value.errno == errno.EBUSY
        first.close()
        asyncio.run(asyncio.wait_for(until(second, lambda e: e.kind == EventKind.WINDOW), DEADLINE_S))
        assert net.connect("203.0.113.1").cwnd() == cwnd
        second.close()
        assert net.connect("203.0.113.1").cwnd() == 10
        third.start()


def test_start_that_was_refused_is_tried_again(net: Network, tmp_path: Path) -> None:
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with cgroups.mounted(tmp_path) as root, cgroups.made(root) as cgroup, net.host.entered():
        with riptide.Agent(interval=0.05, estimator=PAPER, applier={
                "backend": riptide.Backend.AUTO, "cgroup": cgroup}) as agent:
            with riptide.Applier() as other:
                other.start()
                for _ in range(3):
                    before = len(os.listdir("/proc/self/fd"))
                    with pytest.raises(OSError) as refused:
                        agent.start()
                    assert refused.value.errno == errno.EBUSY
                assert len(os.listdir("/proc/self/fd")) == before
            agent.start()
            asyncio.run(asyncio.wait_for(
                until(agent, lambda e: e.kind == EventKind.WINDOW), DEADLINE_S))
            assert net.connect("203.0.113.1").cwnd() == cwnd


def test_agent_can_be_paused_and_hinted(net: Network) -> None:
    cwnd = net.learned("203.0.113.7", 40).cwnd()
    with net.host.entered(), riptide.Agent(interval=0.05, estimator=PAPER) as agent:
        agent.start()
        run_round(agent)
        assert windows(net.host) == {"203.0.113.7": cwnd}
        in_an_hour_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 3600 * 10**9
        agent.set_hint(riptide.Hint("203.0.113.0/24", cwnd_max=15, until_ns=in_an_hour_ns))
        wait_until(lambda: run_round(agent) or windows(net.host) == {"203.0.113.7": 15}, "the hint")
        agent.pause()
        assert rules(net.host) == []
        agent.resume()
        wait_until(lambda: run_round(agent) or len(rules(net.host)) == 2, "rules")
        agent.remove_hint("203.0.113.0/24")
        with pytest.raises(riptide.UnknownError):
            agent.remove_hint("203.0.113.0/24")
        agent.stop()
        with pytest.raises(OSError) as caught:
            agent.pause()
        assert caught.value.errno == errno.ESHUTDOWN


def test_agent_goes_on_from_a_state(net: Network, tmp_path: Path) -> None:
    with riptide.Estimator(policy="paper", ttl=3600) as before:
        before.add(riptide.Sample(dst="203.0.113.99", cwnd=33))
        before.tick()
        (tmp_path / "state").write_bytes(before.save())
    options: riptide.AgentOptions = {"interval": 0.05, "estimator": PAPER, "state": tmp_path / "state"}
    with net.host.entered():
        with riptide.Agent(**options) as agent:
            agent.start()
            assert "destinations loaded: 1" in agent.stats()["state"]
            agent.pause()
            agent.save()
            saved = (tmp_path / "state").read_bytes()
            assert b"203.0.113.99 cwnd=33 " in saved and b"\npaused=1\n" in saved and b"paused=1" in agent.state()
            agent.resume()
        assert b"paused=1" not in (tmp_path / "state").read_bytes()
        with riptide.Agent(**options) as agent:
            agent.start()
            run_round(agent)
            assert windows(net.host) == {"203.0.113.99": 33}


def test_agent_that_is_broken_off_in_a_task_leaves_the_loop_alone(net: Network) -> None:
    async def main(agent: Any) -> Any:
        task = asyncio.ensure_future(until(agent, lambda event: False))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.get_running_loop().remove_reader(agent.fileno())

    with net.host.entered(), riptide.Agent() as agent:
        agent.start()
        asyncio.run(main(agent))


async def first_event(agent: riptide.Agent) -> riptide.AgentEvent:
    async for event in agent:
        return event
    raise AssertionError("the agent ended")


def test_agents_one_after_the_other_in_one_loop(net: Network) -> None:
    async def run() -> None:
        for _ in range(3):
            with riptide.Agent(interval=0.05) as agent:
                agent.start()
                await asyncio.wait_for(first_event(agent), DEADLINE_S)

    with net.host.entered():
        asyncio.run(run())


def test_close_ends_the_task_that_waits_and_a_second_one_is_refused(net: Network) -> None:
    async def run() -> None:
        agent = riptide.Agent(interval=60)
        waiting = asyncio.ensure_future(first_event(agent))
        await asyncio.sleep(0)
        with pytest.raises(riptide.ConcurrentUseError):
            await first_event(agent)
        agent.close()
        with pytest.raises(ValueError, match="closed"):
            await asyncio.wait_for(waiting, DEADLINE_S)

    with net.host.entered():
        asyncio.run(run())
