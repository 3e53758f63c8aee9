# SPDX-License-Identifier: MIT
"""riptide verify: listening servers, and what can prevent a window."""

import contextlib
import re
import socket

import cgroups
import pytest
from control import one_line, wait_given, whole
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
        assert rest.startswith(f"why riptided gives {cwnd}: ")
        assert rest.endswith(f" or this command is outside of its network namespace or of its cgroup {cgroup}")


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
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(net.host.server("10.0.0.10"))
            for _ in range(8):
                client = stack.enter_context(net.world.socket(socket.AF_INET))
                client.bind((V4, 0))
                client.connect(("10.0.0.10", server.getsockname()[1]))
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
        assert rows == {(10, "not ours")}
        assert re.search(r"^  why +8 began without the window of their destination: they are older than it, or outside "
                         rf"of the cgroup {cgroup}$", said, re.M)
    assert accepted()[0] == {(10, "no answer")}
