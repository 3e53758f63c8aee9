# SPDX-License-Identifier: MIT
"""riptide verify: listening servers, and what can prevent a window."""

import collections
import contextlib
import re
import socket
import subprocess
import time

import cgroups
import pytest
from control import labelled, one_line, riptide_json, wait_given, whole
from netns import AS_NOBODY, BY_ROUTES, RIPTIDE, Daemon, wait_until, windows

V4, V6 = "203.0.113.1", "2001:db8:1111:2222:3333:4444:5555:6666"
STATUS = {"applied": 0, "other": 4}


def verify(net, address, port, prefix=()):
    """(word, window, the other lines)."""
    done = net.host.run(*prefix, RIPTIDE, "verify", address, port, check=False)
    word, sentence, rest = re.fullmatch(r"(\w+): (.*?\ssegments)\n(.*)", done.stdout, re.S).groups()
    sentence = " ".join(sentence.split())
    assert (done.stderr, done.returncode) == ("", STATUS[word])
    assert all(len(line) <= 80 or " /" in line for line in done.stdout.splitlines())  # a path is not broken
    cwnd = int(sentence.split()[-2])
    assert sentence == f"{address} port {port} starts with {cwnd} segments"
    return word, cwnd, " ".join(rest.split())


@contextlib.contextmanager
def accepts(net, n):
    """So many connections that the host accepts, of a process in the cgroup of this one."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(net.host.server("10.0.0.10"))
        for _ in range(n):
            client = stack.enter_context(net.world.socket(socket.AF_INET))
            client.bind((V4, 0))
            client.connect(("10.0.0.10", server.getsockname()[1]))
        yield


@pytest.mark.parametrize("address", [V4, V6])
@pytest.mark.parametrize("control", ["reno", "bbr"])
def test_window_is_applied(net, port, address, control):
    net.host.sysctl("ipv4/tcp_congestion_control", control)
    with Daemon.learned(net, {address: 25}, *BY_ROUTES, "--cwnd-max", "30") as daemon:
        cwnd = windows(net.host)[address]
        assert verify(net, address, port, prefix=AS_NOBODY) == ("applied", cwnd, "")
        daemon.kill()  # its rules and routes stay
        said = one_line(net.host.run(RIPTIDE, "verify", address, port, check=False), 3)
        assert said.startswith("riptide: verify: no riptided at ")


def test_while_paused_one_connection_is_opened(net):
    with Daemon.learned(net, {V4: 25}, *BY_ROUTES), net.world.server() as server:
        server.setblocking(False)
        net.host.run(RIPTIDE, "pause")
        word, cwnd, rest = verify(net, V4, server.getsockname()[1])
        assert (word, cwnd) == ("other", 10) and rest.startswith("why paused do riptide resume")
        server.accept()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_rule_for_the_user_of_the_connection_is_named(net, port):
    with Daemon.learned(net, {V4: 25}, *BY_ROUTES):
        net.host.ip("route", "add", "default", "via", "10.0.0.2", "table", "100")
        net.host.ip("rule", "add", "uidrange", "65534-65534", "lookup", "100", "pref", "1000")
        # A round may count this connection; our rule goes for a moment as theirs comes.
        word, cwnd, _ = wait_until(lambda: (found := verify(net, V4, port, prefix=AS_NOBODY)) and re.match(
            r"why riptided gives \d+: a rule for this user, ", found[2]) and found, "our rule")
        assert (word, cwnd) == ("other", 10)
        assert verify(net, V4, port)[0] == "applied"


def test_window_of_the_program_is_applied_though_others_are_held_out(net, cgroup, port, daemon):
    cwnd = net.learned(V4, 30).cwnd()
    with daemon("program", "--holdout-percent", "50", "--interval", "1h"):
        wait_given(V4)
        for _ in range(5):
            assert verify(net, V4, port)[:2] == ("applied", cwnd)
        cgroups.enter(cgroup.parent)
        word, found, rest = verify(net, V4, port)
        cgroups.enter(cgroup)
        assert (word, found) == ("other", 10)
        assert rest == f"why riptided gives {cwnd}: this command is not in the cgroup {cgroup}"


def test_window_of_the_program_that_a_hint_holds_back_is_named(net, port, daemon):
    net.learned(V4, 30)
    with daemon("program"):
        wait_given(V4)
        assert verify(net, V4, port)[0] == "applied"
        net.host.run(RIPTIDE, "hint", V4, "--max", "10", "--for", "1h")
        wait_until(lambda: riptide_json(net.host, "show", V4)["program"]["initcwnd"] == 10, "the hint")
        why = f"why windows are held back for {V4} do riptide hint lists hints"
        assert verify(net, V4, port) == ("other", 10, why)


def test_kernels_window_outside_of_the_cgroup_is_not_the_programs_though_as_large(net, cgroup, daemon):
    """One connection each shows that: only of those that are held out the next one is tried."""
    net.learned(V4, 30)
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1", "initcwnd", 24)
    with (daemon("program", "--holdout-percent", "0", config="[prefix 203.0.113.0/24]\ncwnd-max = 24\n"),
          net.world.server() as server):
        wait_given(V4)
        port = server.getsockname()[1]
        assert verify(net, V4, port)[:2] == ("applied", 24)
        cgroups.enter(cgroup.parent)
        assert verify(net, V4, port)[:2] == ("other", 24)
        cgroups.enter(cgroup)
        server.setblocking(False)
        for _ in range(2):
            server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_connection_that_fails_names_the_reason(net):
    def failure(address, port):
        return one_line(net.host.run(RIPTIDE, "verify", address, port, check=False))

    for address in (V4, V6):
        assert failure(address, 9) == f"riptide: verify: {address} port 9: Connection refused\n"
    net.world.ip("route", "add", "blackhole", "10.0.0.10", "table", "100")
    net.world.ip("rule", "add", "to", "10.0.0.10", "lookup", "100", "pref", "1")
    assert failure(V4, 80) == f"riptide: verify: {V4} port 80: no answer within 5 s\n"
    for family, address in (("-4", V4), ("-6", V6)):
        net.host.ip(family, "route", "delete", "default")
        assert failure(address, 80) == f"riptide: verify: {address} port 80: Network is unreachable\n"


def test_accepted_connections_show_with_which_window_they_began(net):
    """Of a host that only accepts; the window of those that it opened is not shown."""
    with Daemon.learned(net, {V4: 25}, *BY_ROUTES), net.host.server("10.0.0.10") as server:
        cwnd = windows(net.host)[V4]
        port = server.getsockname()[1]
        with net.world.socket(socket.AF_INET) as client:
            client.bind((V4, 0))
            client.connect(("10.0.0.10", port))
            header, row = net.host.run(RIPTIDE, "verify", "--accepted", "--for", "100ms").stdout.splitlines()
            assert header.split() == ["PEER", "PORT", "BEGAN", "BY"]
            assert row.split() == [V4, str(port), str(cwnd), "route"]
        said = one_line(net.host.run(RIPTIDE, "verify", "--accepted", "198.51.100.0/24", "--for", "0s", check=False))
        assert "no accepted connection was seen" in said


def test_accepted_connections_show_what_gave_the_window(net, cgroup, daemon):
    """By the program; none outside of its cgroup; and none of ours where there is no riptided."""
    def accepted(status=0):
        with accepts(net, 8):
            done = net.host.run(RIPTIDE, "verify", "--accepted", "--for", "100ms", check=False)
            assert (done.returncode, done.stderr) == (status, "")
        rows = [line.split(None, 3) for line in done.stdout.splitlines()[1:] if line.startswith(V4)]
        assert len(rows) == 8
        return {(int(began), by) for _, _, began, by in rows}, whole(done.stdout)
    cwnd = net.learned(V4, 30).cwnd()
    with daemon("program", "--holdout-percent", "50", "--interval", "1h"):
        wait_given(V4)
        assert wait_until(lambda: len(found := accepted()[0]) == 2 and found, "both arms") == {
            (cwnd, "program"), (10, "held out")}
        cgroups.enter(cgroup.parent)
        rows, said = accepted(4)
        assert rows == {(10, "outside")}
        assert re.search(rf"^  why +8 are outside of the cgroup {cgroup}$", said, re.M)
        assert re.search(r"^  do +set `cgroup` to one that contains their processes \(ps -o cgroup\), or apply = both",
                         said, re.M)
    assert accepted()[0] == {(10, "no answer")}


def watch_accepted(net, status, *options):
    """What gave each its window, and the lines behind these rows."""
    done = net.host.run(RIPTIDE, "verify", "--accepted", *options, check=False)
    assert (done.returncode, done.stderr) == (status, "")
    lines = done.stdout.splitlines()[1:]
    rows = [line.split(None, 3)[3] for line in lines if line.startswith(V4)]
    return rows, whole("\n".join(lines[len(rows):]))


def test_accepted_connection_outside_of_the_cgroup_is_trouble_beside_those_with_the_window(net, cgroup, daemon):
    net.learned(V4, 30)
    with daemon("program", "--interval", "1h"):
        wait_given(V4)
        with accepts(net, 3):
            cgroups.enter(cgroup.parent)
            with accepts(net, 1):
                rows, said = watch_accepted(net, 4, "--for", "100ms")
            cgroups.enter(cgroup)
        assert sorted(rows) == ["outside", "program", "program", "program"]
        assert f"1 are outside of the cgroup {cgroup}" in said


@pytest.mark.parametrize("is_all", [False, True], ids=["cgroup", "all of the host"])
def test_accepted_connection_older_than_the_window_is_no_trouble(net, cgroup, is_all):
    net.learned(V4, 30)
    within = () if is_all else ("--cgroup", cgroup)
    with accepts(net, 1), Daemon(net.host, "--apply", "program", *within):
        wait_given(V4)
        assert watch_accepted(net, 0, "--for", "100ms")[0] == ["older"]


def test_accepted_connection_younger_than_the_window_that_missed_it_is_trouble(net, daemon):
    """The program gives it, but has no room for its note."""
    net.learned(V4, 30)
    with daemon("program", "--interval", "1h") as riptided, cgroups.Notes(riptided.pid) as notes:
        wait_given(V4)
        notes.fill(age=0)
        watch = net.host.start(RIPTIDE, "verify", "--accepted", "--for", "2s", stdout=subprocess.PIPE, text=True)
        few = collections.deque()  # the first dump, however late, shows no more than these

        def is_over():
            few.append(contextlib.ExitStack())
            few[-1].enter_context(accepts(net, 1))
            if len(few) > 5:
                few.popleft().close()
            return watch.poll() is not None
        wait_until(is_over, "its end")
        for one in few:
            one.close()
        said = watch.stdout.read()
        assert watch.returncode == 4
        assert " not ours\n" in said and "outside" not in said
        assert re.search(r"^  why +\d+ began without the window of their destination, which had it$", whole(said), re.M)


def test_accepted_connections_say_why_their_destination_has_no_window(net):
    with Daemon.learned(net, {V4: 25}, *BY_ROUTES), accepts(net, 2):
        net.host.run(RIPTIDE, "pause")
        rows, said = watch_accepted(net, 0, "--for", "100ms")
        assert rows == ["no window"] * 2
        assert said == f"{labelled('why', f'{V4} has no window: paused')}\n{labelled('do', 'riptide resume')}"


def test_silent_riptided_is_waited_for_once(net):
    with Daemon.learned(net, {V4: 25}, *BY_ROUTES) as riptided, accepts(net, 8), riptided.stopped():
        began_s = time.monotonic()
        assert watch_accepted(net, 0, "--for", "100ms")[0] == ["no answer"] * 8
        assert 5 <= time.monotonic() - began_s < 20  # 40 s, if each was asked about
