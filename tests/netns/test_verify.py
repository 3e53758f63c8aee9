# SPDX-License-Identifier: MIT
"""riptide verify: listening servers, and everything that can prevent a window."""

import contextlib
import socket
import subprocess

import pytest
from control import one_line, said_json
from netns import (AS_NOBODY, BY_ROUTES, DEADLINE_S, RIPTIDE, TABLE, Daemon, wait_until, wait_window, windows)

STATUS = {"applied": 0, "bounded": 3, "overridden": 4, "unknown": 5}
V4, V6 = "203.0.113.1", "2001:db8::1"


@contextlib.contextmanager
def listening(net):
    """A port on which all addresses of the world listen."""
    with net.world.socket(socket.AF_INET6) as server:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def port(net):
    with listening(net) as number:
        yield number


def verify(net, address, port, *options, prefix=()):
    done = net.host.run(*prefix, RIPTIDE, "verify", address, port, "--json", *options, check=False)
    document = said_json(done, "verify")
    assert done.stderr == ""
    assert done.returncode == STATUS[document["verdict"]]
    assert (document["reason"] is None) == (document["verdict"] == "applied")
    assert document["connection"]["peer"] == address
    assert document["connection"]["peer_port"] == port
    return document


def learned(net, address):
    return Daemon.learned(net, {address: 25}, *BY_ROUTES, "--cwnd-max", "30")


@pytest.mark.parametrize("address", [V4, V6])
@pytest.mark.parametrize("control", ["reno", "bbr"])
def test_window_is_proved(net, port, address, control):
    net.host.sysctl("ipv4/tcp_congestion_control", control)
    with learned(net, address):
        cwnd = windows(net.host)[address]
        found = verify(net, address, port)
    assert found["verdict"] == "applied"
    assert found["connection"]["cwnd"] == found["route"]["initcwnd"] == cwnd > 10
    assert found["route"]["table"] == TABLE
    assert found["route"]["dst"] == address
    assert found["connection"]["congestion_control"] == control


@pytest.mark.parametrize("way", ["routes", "program"])
def test_a_hint_that_switches_windows_off_is_named(net, cgroup, port, way):
    options = BY_ROUTES if way == "routes" else ("--apply", way, "--cgroup", cgroup, "--holdout-percent", "0")
    net.learned(V4, 25)
    with Daemon(net.host, *options, has_rules=way == "routes"):
        wait_until(lambda: verify(net, V4, port)["verdict"] == "applied", "a window")
        net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--off", "--for", "10min")
        wait_until(lambda: verify(net, V4, port)["reason"] ==
                   "windows are off for 203.0.113.0/24, by a hint or a section of the configuration", "the cause")


def test_text_shows_the_proof_and_needs_no_privilege(net, port):
    """Nor does it need a daemon, as long as the rules are in place."""
    with learned(net, V4) as daemon:
        cwnd = windows(net.host)[V4]
        done = net.host.run(*AS_NOBODY, RIPTIDE, "verify", V4, port)
        assert "there was no connection to it" in verify(net, "203.0.113.2", port)["reason"]
        daemon.kill()
        assert verify(net, V4, port)["verdict"] == "applied"
        net.host.ip("rule", "delete", "lookup", str(TABLE))
        found = verify(net, V4, port)
    assert "our rule for IPv4 is not in place" in found["reason"]
    assert found["connection"]["cwnd"] == 10
    first, *rest = done.stdout.splitlines()
    assert first == f"applied: {V4} port {port} starts with {cwnd} segments"
    assert rest[0].startswith("  connection  from 10.0.0.10 port ")
    assert rest[1] == f"  route       {V4} table {TABLE} proto 230 initcwnd {cwnd}"
    assert rest[2].startswith("  peer        takes ")


def test_without_daemon_that_is_said_and_nothing_is_sent(net):
    with net.world.socket(socket.AF_INET) as server:
        server.bind((V4, 0))
        server.listen()
        found = verify(net, V4, server.getsockname()[1])
        server.settimeout(DEADLINE_S)
        accepted, _ = server.accept()
        with accepted:
            accepted.settimeout(DEADLINE_S)
            assert accepted.recv(100) == b""
    assert found["verdict"] == "overridden"
    assert "no riptided runs here" in found["reason"]
    assert (found["connection"]["cwnd"], found["route"]["table"]) == (10, 254)
    assert found["route"]["initcwnd"] is None


def test_peer_that_takes_less_and_destination_that_is_left_alone(net):
    net.host.ip("route", "add", "203.0.113.2", "via", "10.0.0.2", "table", "100")
    net.host.ip("rule", "add", "to", "203.0.113.2", "lookup", "100")
    for address in (V4, "203.0.113.2"):
        net.learned(address, 25)
    net.world.sysctl("ipv4/tcp_rmem", "4096 30000 6291456")
    with Daemon(net.host, *BY_ROUTES, "--cwnd-max", "30") as daemon, listening(net) as port:
        cwnd = wait_window(net.host, V4)
        found = verify(net, V4, port)
        assert (found["verdict"], found["connection"]["cwnd"]) == ("bounded", cwnd)
        assert f"takes {found['connection']['peer_window_bytes']} bytes" in found["reason"]
        reason = wait_until(lambda: daemon.said().partition("left alone: ")[2], "the reason")
        assert verify(net, "203.0.113.2", port)["reason"] == (
            f"Riptide leaves this destination alone: {reason.splitlines()[0]}")


RULE = "a rule comes before ours: IPv4 priority 1000"


@pytest.mark.parametrize("line, options, prefix, words", [
    ("rule add fwmark 7", ("--mark", "7"), (), RULE),
    ("rule add from 10.0.0.11", ("--source", "10.0.0.11"), (), RULE),
    ("rule add uidrange 65534-65534", (), AS_NOBODY, RULE),
    ("rule add oif eth0", ("--interface", "eth0"), (), RULE),
    ("route add default via 10.0.1.1 metric 100", ("--interface", "eth1"), (), "bound to eth1"),
], ids=["mark", "source", "uid", "interface", "another way"])
def test_what_leads_the_connection_away_is_named(net, port, line, options, prefix, words):
    net.host.batch("addr add 10.0.0.11/24 dev eth0\nroute add default via 10.0.0.2 table 100\n")
    with learned(net, V4):
        net.host.ip(*line.split(), *(("lookup", 100, "pref", 1000) if words == RULE else ()))
        wait_window(net.host, V4)
        found = verify(net, V4, port, *options, prefix=prefix)
        assert found["verdict"] == "overridden" and words in found["reason"]
        assert found["route"]["table"] == (100 if words == RULE else 254)
        # Connections that the rule does not match get the window.
        assert verify(net, V4, port)["verdict"] == "applied"


def test_connection_that_fails_names_the_reason(net):
    def failure(address, port, *options, prefix=()):
        return one_line(net.host.run(*prefix, RIPTIDE, "verify", address, port, *options, check=False))

    for options, prefix, named in (
            (("--interface", "eth9"), (), "--interface: No such device"),
            (("--source", "192.0.2.1"), (), "--source: Cannot assign requested address"),
            (("--mark", "7"), AS_NOBODY, "--mark: Operation not permitted (needs CAP_NET_ADMIN")):
        assert named in failure(V4, 80, *options, prefix=prefix)

    for address in (V4, V6):
        with net.world.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
            server.bind((address, 0))
            free = server.getsockname()[1]
        assert failure(address, free) == (f"riptide: verify: {address} port {free}: Connection "
                                          "refused\n")
    net.world.ip("route", "add", "blackhole", "10.0.0.10", "table", "100")
    net.world.ip("rule", "add", "to", "10.0.0.10", "lookup", "100", "pref", "1")
    assert failure(V4, 80, "--timeout", "200ms") == (f"riptide: verify: {V4} port 80: no answer "
                                                     "within 200 ms (--timeout)\n")
    process = net.host.start(RIPTIDE, "verify", V4, 80, "--timeout", f"{2 ** 32}ms", stderr=subprocess.PIPE, universal_newlines=True)
    wait_until(lambda: "SYN-SENT" in net.host.run("ss", "-tn").stdout or process.poll() is not None, "a SYN")
    net.world.ip("rule", "del", "pref", "1")
    assert process.communicate(timeout=DEADLINE_S)[1] == f"riptide: verify: {V4} port 80: Connection refused\n"
    for family, address in (("-4", V4), ("-6", V6)):
        net.host.ip(family, "route", "delete", "default")
        assert failure(address, 80) == (f"riptide: verify: {address} port 80: Network is "
                                        "unreachable\n")
