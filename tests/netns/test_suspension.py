# SPDX-License-Identifier: MIT
"""Harmful windows are suspended: in the WAN in a box, with a small buffer."""

import contextlib
import functools
import itertools
import re
import threading
import time
from pathlib import Path

import netns
import pytest
import wanbox
from connection import Connection
from control import add_experiment, derived, outcome_line, riptide_json, status, write_state
from netns import RIPTIDE, Host, wait_until
from test_metrics import figures_of
from traffic import Traffic, Transfer
from waiting import SLOWNESS

PER_SECOND = 50
N_BYTES = 60_000
LOAD_S = 600
CWND = 80  # the buffer holds 20 segments
Daemon = functools.partial(netns.Daemon, interval=f"{50 * SLOWNESS}ms")


class Load:
    """Transfers from near at a rate, to the addresses of far in turn. In a guest a quarter: system
    calls take 0.1 ms there, so that at the full rate the processor, not the path, would decide how
    long a transfer takes."""

    def __init__(self, near, far, *addresses, per_second=PER_SECOND, n_bytes=N_BYTES):
        self.names = [Path(f"{far.path}-{n}") for n in range(len(addresses))]
        for name in self.names:
            name.symlink_to(far.name)  # a host for each address
        self.traffic = Traffic({near.name: "10.9.1.1", **{
            name.name: address for name, address in zip(self.names, addresses)}})
        receivers = itertools.cycle(name.name for name in self.names)
        self.plan = [Transfer(near.name, next(receivers), n_bytes, n * SLOWNESS / per_second)
                     for n in range(int(per_second * LOAD_S / SLOWNESS))]
        self.ended = []  # time of opening, segments sent, retransmitted segments
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.traffic.close()
        self.thread.join()
        for name in self.names:
            name.unlink()

    def share_again(self, begin, end):
        found = [each for each in self.ended if begin <= each[0] < end]
        return sum(again for _, _, again in found) / sum(sent for _, sent, _ in found)

    def _run(self):
        with contextlib.suppress(RuntimeError, TypeError, ValueError):  # its end, perhaps in the middle of a line
            for one in self.traffic.run(self.plan, LOAD_S):
                self.ended.append((self.traffic.go_s + one.start_us / 1e6, one.data_segs, one.retrans_segs))


SHALLOW = [f"10.9.{i}.1" for i in range(16, 32)]  # sources: no single one decides


@pytest.fixture
def shallow():
    """Two hosts with 50 ms and 50 Mbit/s between them (buffer: 20)."""
    with Host("near") as near, Host("far") as far, \
            wanbox.Wan({near.name: ["10.9.1.1"], far.name: SHALLOW}, ["delay=25ms,rate=50mbit,buffer=30000b"]):
        yield near, far


def cwnds(near, far, n):
    """The windows of new connections."""
    found = set()
    for _ in range(n):
        with Connection(near, far, SHALLOW[0], source="10.9.1.1") as connection:
            found.add(connection.cwnd())
    return found


@pytest.mark.parametrize("backend", ["program", "both"])
def test_windows_that_do_harm_are_suspended_and_are_tried_again_twice_as_late(shallow, cgroup, tmp_path, backend):
    near, far = shallow
    state = tmp_path / "state"

    def riptided(has_rules):
        return Daemon(near, "--apply", backend, "--cgroup", cgroup, "--cwnd-min", CWND, "--cwnd-max", CWND,
                      "--pacing", "no", "--holdout-percent", 20, "--state", state, has_rules=has_rules)

    def suspended():
        apply = status()["apply"]
        return apply["suspended_s"] > 0 and apply
    with Load(near, far, *SHALLOW) as load:
        began = time.monotonic()
        with riptided(backend == "both") as daemon:
            apply = wait_until(suspended, "suspension")
            back = time.monotonic()
            assert apply["effect"]["verdict"] == "harms"
            assert 500 < apply["suspended_s"] <= 600
            assert cwnds(near, far, 20) == {10}
            said = status()
            assert said["health"] == "suspended" and said["reason"].startswith("suspended for 600 s: time ")
            near.run(RIPTIDE, "pause")
            assert near.run(RIPTIDE, "resume").stdout.startswith("resumed; still suspended for ")
            assert cwnds(near, far, 1) == {10}
            verdict = near.run(RIPTIDE, "verdict", check=False)
            assert verdict.returncode == 4 and verdict.stdout.startswith("Windows harm.\n")
            assert re.search(r"\n  suspended    windows are given again in \d+ min\n$", verdict.stdout)
            assert riptide_json(near, "verdict", check=False)["suspended_s"] > 0
            said = near.run(RIPTIDE, "status", check=False).stdout
            assert re.match(r"riptide: SUSPENDED\. Windows did harm; they are tried again later\.\n"
                            "  why          suspended for ", said), said
            assert " do set a smaller cwnd-max for the next time, and wait; holdout-percent = 0 " in " ".join(said.split())
            assert "\n  why          suspended for" in derived(near, SHALLOW[0])
            figures = figures_of(near.run(RIPTIDE, "metrics").stdout)
            assert (figures["riptide_suspended"], figures["riptide_suspensions_total"]) == (1, 1)
            assert suspended()["effect"]["verdict"] == "harms"
            wait_until(lambda: sum(opened > back for opened, _, _ in load.ended) > 50, "transfers without a window")
            again = time.monotonic()
            wait_until(lambda: "program: windows off: suspended for 600 s: time " in daemon.said(), "the line")
        # As at the end of the wait: nobody waits ten minutes here.
        state.write_text(re.sub(r"until_ns=\d+", f"until_ns={time.time_ns() + 2 * 10**9}", state.read_text()))
        with riptided(False) as daemon:
            wait_until(lambda: not suspended() and CWND in cwnds(near, far, 20), "windows after the first wait")
            assert load.share_again(back, again) < load.share_again(began, back)
            wait_until(suspended, "suspension again")
            for line in ("program: windows on again", "program: windows off: suspended for 1200 s: time "):
                wait_until(lambda: line in daemon.said(), line)


@pytest.mark.parametrize("words", [("--apply", "routes", "--holdout-percent", 0),
                                   ("--apply", "auto", "--cgroup", "/nonexistent"),
                                   ("--apply", "both", "--holdout-percent", 0),
                                   ("--apply", "program", "--holdout-percent", 0)])
def test_without_arms_windows_are_given_and_outcomes_are_left_for_another_time(net, cgroup, tmp_path, words):
    state = tmp_path / "state"
    write_state(state, {"203.0.113.1": 40})
    add_experiment(state, *OUTCOMES, suspended=1, until_ns=time.time_ns() + 3600 * 10**9,
                   wait_ns=3600 * 10**9, shown_ns=5 * 10**9)
    tail = state.read_text().partition("outcome=")[2]
    below = ("--cgroup", cgroup) if not {"--cgroup", "routes"} & set(words) else ()
    with Daemon(net.host, *below, "--policy", "careful", "--holdout-percent", 5,
                *words, "--state", state) as daemon:
        assert ("outcomes of connections: 0: those of the file wait until connections are held out again\n"
                in daemon.said())
        wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
        assert not status()["apply"]["suspended_s"]
    assert state.read_text().partition("outcome=")[2] == tail


# With windows 2^1.5 round trips and 5 % retransmitted, without 2^2 and none.
OUTCOMES = (outcome_line(0, 2, 4, 1900, 2918400, 4482662400, 1556100, 1274445900),
            outcome_line(1, 2, 4, 100, 204800, 419430400, 0, 0))


def test_harm_that_no_two_networks_show_is_said_with_a_remedy(net, cgroup, tmp_path):
    """A state has no networks."""
    state = tmp_path / "state"
    write_state(state, {"203.0.113.1": 40})
    add_experiment(state, outcome_line(0, 2, 4, 1900, 3891200, 7969177600, 1556100, 1274445900),
                   outcome_line(1, 2, 4, 100, 153600, 235929600, 0, 0))
    with Daemon(net.host, "--apply", "program", "--cgroup", cgroup, "--policy", "careful",
                "--holdout-percent", 5, "--state", state):
        found = wait_until(lambda: (said := status())["round"] and said, "a round")
        assert (found["health"], found["do"]) == ("ok", "a smaller cwnd-max, or riptide pause")
        assert found["reason"].startswith("windows do harm (riptide verdict); a suspension needs several networks")


def test_a_clock_that_is_behind_loses_neither_outcomes_nor_the_wait(net, cgroup, tmp_path):
    state = tmp_path / "state"
    ahead_ns = time.time_ns() + 60 * 10**9
    state.write_text(f"riptide state 2 saved_ns={ahead_ns}\n203.0.113.1 cwnd=40 samples=1 age_ns=1\n")
    add_experiment(state, *OUTCOMES, suspended=3, until_ns=ahead_ns + 3600 * 10**9, wait_ns=2400 * 10**9, shown_ns=5)
    with Daemon(net.host, "--apply", "program", "--cgroup", cgroup, "--policy", "careful",
                "--holdout-percent", 5, "--state", state) as daemon:
        assert re.search(" ahead of this clock; no destinations loaded; "
                         "outcomes of connections: 2000; kept as .old\n", daemon.said())
        apply = status()["apply"]
        assert apply["effect"]["connections"] == 1900
        said = net.host.run(RIPTIDE, "verdict").stdout
        assert said.startswith("Windows save time, and retransmit more.\n")
        assert 2300 < apply["suspended_s"] <= 2400
        wait_until(lambda: riptide_json(net.host, "status", "--history")["hours"][-1]["suspended_s"] > 0, "a second")
