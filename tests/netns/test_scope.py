# SPDX-License-Identifier: MIT
"""The scope in the kernel: its verdict is the plain evaluation's, on real sockets."""

import contextlib
import random
import socket
import time

import pytest
from netns import MOUNTED, RIPTIDE, RIPTIDED, observe

SCOPES = MOUNTED / "tests" / "netns" / "scopes"
TCP_REPAIR = 19
ROUNDS = 100


def established(host, source, peer, mark=0, device=None):
    """A socket that the kernel takes for connected, without a packet or a peer (TCP_REPAIR)."""
    end = host.socket(socket.AF_INET6 if ":" in source[0] else socket.AF_INET)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
    if device:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind(source)
    end.connect(peer)
    return end


@pytest.fixture
def stage(net):
    """The network, and a stack that closes sockets."""
    with contextlib.ExitStack() as stack:
        yield net, stack


def mixed(net, stack, draw, n):
    """IPv4, IPv6 and IPv4-mapped, with marks and on devices, near each other and far apart."""
    for i in range(n):
        v4 = f"{draw.choice(('203.0.113', '198.51.100', '192.0.2'))}.{draw.randrange(256)}"
        v6 = f"2001:db8:{draw.randrange(8):x}::{draw.randrange(1 << 16):x}"
        source, peer = draw.choice((("10.0.0.10", v4), ("fd00::10", v6),
                                    ("::ffff:10.0.0.10", f"::ffff:{v4}")))
        stack.enter_context(established(
            net.host, (source, 20000 + i), (peer, draw.choice((443, draw.randrange(1, 65536)))),
            mark=draw.randrange(8), device=draw.choice((None, None, "eth0"))))


def test_the_kernels_verdict_is_the_plain_evaluations(stage):
    net, stack = stage
    seed = time.time_ns() % 2**31
    print(f"seed {seed}")
    mixed(net, stack, random.Random(seed), 1500)
    done = net.host.run(SCOPES, ROUNDS, seed, check=False)
    assert done.returncode == 0, done.stdout
    words = done.stdout.split()
    assert words[:2] == ["scopes", str(ROUNDS)] and words[3] == "1500"
    assert ROUNDS < int(words[5]) < 1500 * ROUNDS / 2  # neither nothing nor everything


@pytest.mark.parametrize("side", ["client", "server"])
def test_slices_are_unbiased_where_windows_differ_by_port(stage, side):
    """Windows grow with the port, so that neighbours are alike and a slice of neighbours is not."""
    net, stack = stage
    for batch in range(10):
        window = 10 + 10 * batch
        net.host.ip("route", "replace", "default", "via", "10.0.0.1", "initcwnd", window)
        for i in range(280):
            spread = 32768 + 2800 * batch + 10 * i
            ports = (spread, 443) if side == "client" else (443, spread)
            stack.enter_context(established(net.host, ("10.0.0.10", ports[0]),
                                            ("203.0.113.1", ports[1])))
    done = net.host.run(SCOPES, 0, 0, check=False)
    assert done.returncode == 0, done.stdout
    print(done.stdout)
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [int(line[1]) for line in lines] == [2, 3, 4, 8, 16]
    for line in lines:
        slices, least, most = int(line[1]), int(line[3]), int(line[5])
        assert 2800 / slices * 0.8 < least <= most < 2800 / slices * 1.2
        low, high, mean, whole = (float(line[i]) for i in (8, 10, 12, 15))
        assert whole == pytest.approx(55, rel=0.01)
        assert mean == pytest.approx(whole, rel=0.02)
        assert whole * 0.88 < low <= high < whole * 1.12  # windows are 10 to 100


def test_programs_take_ports(stage):
    net, stack = stage
    for i in range(3):
        stack.enter_context(established(net.host, ("10.0.0.10", 7000 + i),
                                        (f"203.0.113.{i}", 443 + i)))
    assert observe(net.host).keys() == {"203.0.113.0", "203.0.113.1", "203.0.113.2"}
    for options, last in (("--local-port=7000", 0), ("--remote-port=444-444", 1)):
        assert observe(net.host, options).keys() == {f"203.0.113.{last}"}, options
    assert observe(net.host, "--local-port=7000-7001", "--remote-port=444",
                   "203.0.113.0/24").keys() == {"203.0.113.1"}


def test_what_no_scope_can_be_is_a_wrong_use(net):
    ports = [f"--local-port={port}" for port in range(1, 258)]
    for command in ((RIPTIDE, "observe"), (RIPTIDED, "--dry-run", "--once")):
        done = net.host.run(*command, *ports, check=False)
        assert done.returncode == 2 and "--local-port: 257; at most 256" in done.stderr


@pytest.mark.parametrize("scope", [
    ("10.0.0.0/8", "--exclude=10.0.0.0/8"),
    ("10.0.0.0/8", "--exclude=10.0.0.0/9", "--exclude=10.128.0.0/9"),
    ("--exclude=0.0.0.0/0", "--exclude=::/0"),
])
def test_a_scope_that_nothing_can_match_is_refused(net, scope):
    done = net.host.run(RIPTIDE, "observe", *scope, check=False)
    assert done.returncode == 2 and "nothing matches" in done.stderr
    assert net.host.run(RIPTIDE, "observe", *scope[:-1]).stderr == ""


def test_a_scope_too_large_for_a_filter_is_said_and_exact(stage, tmp_path):
    net, stack = stage
    # Scattered, so that wider prefixes do not tell them apart.
    draw = random.Random(1)
    hosts = {f"10.{draw.randrange(1, 255)}.{draw.randrange(256)}.{draw.randrange(256)}"
             for _ in range(4000)}
    known = sorted(hosts)[::100]
    for i, host in enumerate(known):
        near = host.rpartition(".")[0] + "." + str(int(host.rpartition(".")[2]) ^ 1)
        stack.enter_context(established(net.host, ("10.0.0.10", 20000 + i), (host, 443)))
        stack.enter_context(established(net.host, ("10.0.0.10", 30000 + i), (near, 443)))
    assert observe(net.host, *sorted(hosts)).keys() == set(known)
    scopes = [f"--scope={host}" for host in sorted(hosts)]
    said = net.host.run(RIPTIDED, "--dry-run", "--once", *scopes).stderr
    assert "too many prefixes" in said
    assert "too many prefixes" not in net.host.run(RIPTIDED, "--dry-run", "--once",
                                                   *scopes[:1000]).stderr
