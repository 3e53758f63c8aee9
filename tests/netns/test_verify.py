# SPDX-License-Identifier: MIT
"""riptide verify: listening servers, and everything that can take a window away."""

import contextlib
import json
import socket

import jsonschema
import pytest
from netns import (AS_NOBODY, DEADLINE_S, REPOSITORY, RIPTIDE, TABLE, Daemon, wait_until, wait_window,
                   windows)

SCHEMA = json.loads((REPOSITORY / "docs/schema/verify.json").read_text())
STATUS = {"applied": 0, "bounded": 3, "overridden": 4}
V4, V6 = "203.0.113.1", "2001:db8::1"


@contextlib.contextmanager
def listening(net):
    """A port on which each address of the world listens."""
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
    assert done.stderr == ""
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    assert done.returncode == STATUS[document["verdict"]]
    assert (document["reason"] is None) == (document["verdict"] == "applied")
    assert document["connection"]["peer"] == address
    assert document["connection"]["peer_port"] == port
    return document


def learn(net, address, cwnd=25):
    net.learned(address, cwnd)
    return Daemon(net.host, "--cwnd-max", "30")


@pytest.mark.parametrize("address", [V4, V6])
@pytest.mark.parametrize("control", ["reno", "bbr"])
def test_window_is_proved(net, port, address, control):
    net.host.sysctl("ipv4/tcp_congestion_control", control)
    with learn(net, address):
        cwnd = wait_window(net.host, address)
        found = verify(net, address, port)
    assert found["verdict"] == "applied"
    assert found["connection"]["cwnd"] == found["route"]["initcwnd"] == cwnd > 10
    assert found["route"]["table"] == TABLE
    assert found["route"]["dst"] == address
    assert found["connection"]["congestion_control"] == control


def test_text_shows_the_proof(net, port):
    with learn(net, V4):
        cwnd = wait_window(net.host, V4)
        done = net.host.run(RIPTIDE, "verify", V4, port)
    first, *rest = done.stdout.splitlines()
    assert first == f"applied: {V4} port {port} starts with {cwnd} segments"
    assert rest[0].startswith("  connection  from 10.0.0.10 port ")
    assert rest[1] == f"  route       {V4} table {TABLE} proto 230 initcwnd {cwnd}"
    assert rest[2].startswith("  peer        takes ")


def test_needs_no_privilege(net, port):
    with learn(net, V4):
        wait_window(net.host, V4)
        assert verify(net, V4, port, prefix=AS_NOBODY)["verdict"] == "applied"


def test_link_local_address_needs_a_link(net):
    done = net.host.run(RIPTIDE, "verify", "fe80::1", "443", check=False)
    assert done.returncode == 2
    assert "a link-local address is one on each link: give --interface" in done.stderr
    done = net.host.run(RIPTIDE, "verify", "fe80::1", "443", "--interface", "lo", check=False)
    assert "link-local" not in done.stderr


def test_nothing_is_sent(net):
    with net.world.socket(socket.AF_INET) as server:
        server.bind((V4, 0))
        server.listen()
        verify(net, V4, server.getsockname()[1])
        server.settimeout(DEADLINE_S)
        accepted, _ = server.accept()
        with accepted:
            accepted.settimeout(DEADLINE_S)
            assert accepted.recv(100) == b""


def test_peer_that_takes_less(net):
    net.learned(V4, 25)
    net.world.sysctl("ipv4/tcp_rmem", "4096 30000 6291456")
    with Daemon(net.host, "--cwnd-max", "30"), listening(net) as port:
        cwnd = wait_window(net.host, V4)
        found = verify(net, V4, port)
    assert found["verdict"] == "bounded"
    assert found["connection"]["cwnd"] == cwnd
    assert f"takes {found['connection']['peer_window_bytes']} bytes" in found["reason"]


def test_no_daemon(net, port):
    found = verify(net, V4, port)
    assert found["verdict"] == "overridden"
    assert "no riptided runs here" in found["reason"]
    assert found["connection"]["cwnd"] == 10
    assert found["route"]["table"] == 254
    assert found["route"]["initcwnd"] is None


def test_destination_that_is_not_known(net, port):
    with learn(net, V4):
        wait_window(net.host, V4)
        found = verify(net, "203.0.113.2", port)
    assert "has seen no connection to it" in found["reason"]


def test_destination_that_is_left_alone(net, port):
    net.host.ip("route", "add", "203.0.113.2", "via", "10.0.0.2", "table", "100")
    net.host.ip("rule", "add", "to", "203.0.113.2", "lookup", "100")
    net.learned("203.0.113.2", 25)
    with Daemon(net.host) as daemon:
        reason = wait_until(lambda: daemon.said().partition("left alone: ")[2], "the reason")
        found = verify(net, "203.0.113.2", port)
    assert found["reason"] == f"Riptide leaves this destination alone: {reason.splitlines()[0]}"


def test_rules_that_are_not_in_place(net, port):
    with learn(net, V4) as daemon:
        wait_window(net.host, V4)
        daemon.kill()
        assert verify(net, V4, port)["verdict"] == "applied"
        net.host.ip("rule", "delete", "lookup", str(TABLE))
        found = verify(net, V4, port)
    assert "our rules for IPv4 are not in place" in found["reason"]
    assert found["connection"]["cwnd"] == 10


def lead_away(net, *selector):
    """Another table for what a rule selects, as a host with two uplinks has it."""
    net.host.ip("route", "add", "default", "via", "10.0.0.2", "table", "100")
    net.host.ip("rule", "add", *selector, "lookup", "100", "pref", "1000")


@pytest.mark.parametrize("selector, options, prefix", [
    (("fwmark", "7"), ("--mark", "7"), ()),
    (("from", "10.0.0.11"), ("--source", "10.0.0.11"), ()),
    (("uidrange", "65534-65534"), (), AS_NOBODY),
    (("oif", "eth0"), ("--interface", "eth0"), ()),
], ids=["mark", "source", "uid", "interface"])
def test_rule_that_leads_the_connection_away(net, port, selector, options, prefix):
    net.host.ip("addr", "add", "10.0.0.11/24", "dev", "eth0")
    with learn(net, V4):
        wait_window(net.host, V4)
        lead_away(net, *selector)
        wait_window(net.host, V4)
        found = verify(net, V4, port, *options, prefix=prefix)
        assert found["verdict"] == "overridden"
        assert "the rule of priority 1000 leads this connection to table 100" in found["reason"]
        assert found["route"]["table"] == 100
        # Those that the rule does not mean get it.
        assert verify(net, V4, port)["verdict"] == "applied"


def test_mark_that_is_ours(net, port):
    with learn(net, V4):
        wait_window(net.host, V4)
        found = verify(net, V4, port, "--mark", "0x72697074")
    assert "leads around our rules" in found["reason"]


def test_interface_on_another_way(net, port):
    net.host.ip("route", "add", "default", "via", "10.0.1.1", "metric", "100")
    with learn(net, V4):
        wait_window(net.host, V4)
        found = verify(net, V4, port, "--interface", "eth1")
        assert "bound to eth1" in found["reason"]
        assert verify(net, V4, port, "--interface", "eth0")["verdict"] == "applied"


@pytest.mark.parametrize("address, family", [("203.0.113.7", socket.AF_INET),
                                             ("2001:db8::7", socket.AF_INET6)])
def test_refused(net, address, family):
    with net.world.socket(family) as server:
        server.bind((address, 0))
        free = server.getsockname()[1]
    done = net.host.run(RIPTIDE, "verify", address, free, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"riptide: verify: {address} port {free}: Connection refused\n"


def test_timeout(net):
    net.world.ip("route", "add", "blackhole", "10.0.0.10", "table", "100")
    net.world.ip("rule", "add", "to", "10.0.0.10", "lookup", "100", "pref", "1")
    done = net.host.run(RIPTIDE, "verify", V4, "80", "--timeout", "200ms", check=False)
    assert done.returncode == 1
    assert done.stderr == f"riptide: verify: {V4} port 80: no answer within 200 ms (--timeout)\n"


@pytest.mark.parametrize("address", [V4, V6])
def test_unreachable(net, address):
    net.host.ip("route", "delete", "default")
    net.host.ip("-6", "route", "delete", "default")
    done = net.host.run(RIPTIDE, "verify", address, "80", check=False)
    assert done.returncode == 1
    assert done.stderr == f"riptide: verify: {address} port 80: Network is unreachable\n"


@pytest.mark.parametrize("options, named", [
    (("--interface", "eth9"), "--interface: No such device"),
    (("--source", "192.0.2.1"), "--source: Cannot assign requested address"),
])
def test_what_the_kernel_refuses_is_named(net, port, options, named):
    done = net.host.run(RIPTIDE, "verify", V4, port, *options, check=False)
    assert done.returncode == 1
    assert named in done.stderr


def test_mark_needs_a_privilege(net, port):
    done = net.host.run(*AS_NOBODY, RIPTIDE, "verify", V4, port, "--mark", "7", check=False)
    assert done.returncode == 1
    assert "--mark: Operation not permitted (needs CAP_NET_ADMIN" in done.stderr


@pytest.mark.parametrize("arguments, named", [
    ((), "address and a port"), ((V4,), "address and a port"), ((V4, "80", "81"), "address and"),
    (("example.org", "80"), "no IPv4 or IPv6 address"), (("203.0.113.0/24", "80"), "no IPv4"),
    ((V4, "0"), "no port"), ((V4, "65536"), "no port"), ((V4, "http"), "no port"),
    ((V4, "80", "--source", "here"), "--source"), ((V4, "80", "--source", V6), "same family"),
    ((V4, "80", "--table", "254"), "table: 254"), ((V4, "80", "--timeout", "5"), "--timeout 5"),
])
def test_wrong_usage(host, arguments, named):
    done = host.run(RIPTIDE, "verify", *arguments, check=False)
    assert done.returncode == 2
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_windows_stay_as_they_were(net, port):
    with learn(net, V4):
        wait_window(net.host, V4)
        before = windows(net.host)
        for _ in range(5):
            verify(net, V4, port)
        assert windows(net.host) == before
