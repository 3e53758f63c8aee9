# SPDX-License-Identifier: MIT
"""What the kernel reports to lib/observe: closed connections, each exactly once, and those inside the scope; riptide
observe."""

import collections
import contextlib
import ipaddress
import random
import re
import socket
import subprocess
import time

import pytest
from netns import (AS_NOBODY, DEADLINE_S, MOUNTED, WITHOUT_NET_ADMIN, Connection, Daemon, cookie_of, observe, ss,
                   wait_until, wait_window)
from programs import Program
from waiting import stopped


class Observer(Program):
    """An observer on a host: see observer.c. `samples` are all so far, as (kind, cookie, dst, cwnd,
    segments); `first` is its first line."""

    def __init__(self, host, events=True, queue_bytes=0, scope=(), prefix=()):
        super().__init__(host, "observer", int(events), queue_bytes, *scope, prefix=prefix)
        self.samples = []
        self.first = self.line()

    def note(self, line):
        kind, cookie, dst, *numbers = line.split()
        assert kind in ("open", "closed"), line
        self.samples.append((kind, int(cookie), dst, *map(int, numbers)))

    def dump(self):
        self.send(["dump"])
        self.answer("done")

    def stats(self):
        self.send(["stats"])
        return {name: int(value) for name, value in (word.split("=") for word in self.answer("stats").split()[1:])}

    def wait_closed(self, n):
        """The counters, once n closed sockets were reported or lost."""
        return wait_until(lambda: (lambda s: s["closed"] + s["closed_lost"] >= n and s)(self.stats()),
                          f"{n} closed")


@pytest.fixture
def observer(net):
    return Observer(net.host)


@pytest.mark.parametrize("address, options", [
    ("203.0.113.1", {}),
    ("203.0.113.1", {"passive": True}),
    ("203.0.113.1", {"mapped": True}),
    ("2001:db8::1", {}),
    ("2001:db8::1", {"passive": True}),
])
def test_a_connection_between_two_dumps_is_learned_once(net, observer, address, options):
    observer.dump()
    net.short(address, **options)
    wait_until(lambda: observer.stats() and observer.samples, "its end")  # the listener's may come first
    observer.dump()
    assert [(kind, dst) for kind, _, dst, *_ in observer.samples] == [("closed", address)]
    assert observer.samples[0][4] >= 35  # 50,000 bytes


def test_half_closed_connection_is_in_no_later_dump(net, observer):
    """Dumps show connections that may have data in flight; one has shown this connection."""
    connection = net.learned("203.0.113.1")
    net.learned("203.0.113.2")
    observer.dump()
    connection.near.shutdown(socket.SHUT_WR)
    wait_until(lambda: "203.0.113.1" in net.host.run("ss", "-tnH", "state", "fin-wait-2").stdout, "half of it")
    for _ in range(4):
        observer.dump()
        observer.stats()
    net.finish(connection)
    observer.wait_closed(1)
    assert shown(observer, "203.0.113.1") == [("open", 0), ("closed", 1)]
    assert shown(observer, "203.0.113.2") == [("open", 0)] + 4 * [("open", 1)]


def test_what_closes_is_told_from_what_a_dump_has_shown(net, observer):
    """Each at its time, beside others that open, on whatever processor the kernel counts cookies."""
    observer.dump()
    for n in range(0, 60, 3):
        kept = net.learned("203.0.113.1")
        net.short("203.0.113.2")
        observer.wait_closed(n + 1)
        observer.dump()
        net.short("203.0.113.2")
        net.learned("203.0.113.3")
        net.finish(kept)
        observer.wait_closed(n + 3)
    assert shown(observer, "203.0.113.1") == 20 * [("open", 0), ("closed", 1)]
    assert set(shown(observer, "203.0.113.2")) == {("closed", 0)}
    assert shown(observer, "203.0.113.3").count(("open", 0)) == 19


def shown(observer, dst):
    """Whether a dump had shown it before, of each sample of that destination."""
    return [(kind, was) for kind, _, of, *_, was in observer.samples if of == dst]


def test_under_churn_each_that_closes_is_handed_out_once(net, observer):
    """Dumps follow each other without a pause, so that events are read many dumps late."""
    observer.dump()
    n, churn = 0, None
    for _ in range(50):
        if not churn or churn.poll() is not None:
            command = MOUNTED / "lab/bench/connections", "churn", net.host.path, net.world.path, "cb007101", "500"
            churn = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            n += 500
        observer.dump()
    assert churn.wait(DEADLINE_S) == 0
    stats = observer.wait_closed(n)
    assert stats["closed"] == n and stats["left_out"] == 0
    closed = [cookie for kind, cookie, *_ in observer.samples if kind == "closed"]
    assert len(set(closed)) == n == len(closed)


@pytest.mark.parametrize("prefix", [AS_NOBODY, WITHOUT_NET_ADMIN])
def test_events_need_no_privilege(net, prefix):
    observer = Observer(net.host, prefix=prefix)
    observer.dump()
    net.short("203.0.113.1")
    observer.wait_closed(1)
    assert [sample[0] for sample in observer.samples] == ["closed"]
    assert observer.stats()["error"] == 0


def test_what_never_sent_is_out_of_scope_or_an_own_address_is_left_out_of_events_too(net):
    """The kernel filters only dumps: events are filtered by the observer."""
    observer = Observer(net.host, scope=["learn=203.0.113.0/30", "learn=10.0.0.0/8"])
    observer.dump()
    net.short("203.0.113.1", n_bytes=0)
    with net.host.socket(socket.AF_INET) as client, pytest.raises(ConnectionRefusedError):
        client.connect(("203.0.113.1", 9))
    assert observer.wait_closed(2)["left_out"] == 2
    net.short("203.0.113.9")
    assert observer.wait_closed(3)["left_out"] == 3
    with net.host.server("10.0.0.10") as listener, net.host.socket(socket.AF_INET) as client:
        client.connect(listener.getsockname())
        accepted, _ = listener.accept()
        client.sendall(b"x")
        accepted.close()
    assert observer.wait_closed(6)["left_out"] == 6  # with the listener
    assert not observer.samples


def dropped(host):
    """How many events the kernel had no room for on the host, from /proc/net/netlink."""
    rows = [line.split() for line in host.run("cat", "/proc/net/netlink").stdout.splitlines()[1:]]
    return sum(int(row[8]) for row in rows if row[1] == "4")


def overrun(net, observer):
    """An interval in which more connections close than fit into its small queue."""
    before = dropped(net.host)
    with stopped(observer.pid):
        for _ in range(20):
            net.short("203.0.113.1", n_bytes=2000)
        wait_until(lambda: dropped(net.host) > before, "an overrun")
    observer.stats()  # reads the overrun, in this interval
    observer.dump()
    return observer.stats()


def test_an_overrun_is_counted_harms_no_dump_and_backs_off_where_it_lasts(net):
    """It backs off to dumps only, and tries again later."""
    observer = Observer(net.host, queue_bytes=4096)
    observer.dump()
    net.learned("203.0.113.7")
    stats = overrun(net, observer)
    assert stats["closed_lost"] > 0
    stats = observer.wait_closed(20)
    assert stats["closed"] + stats["closed_lost"] == 20
    assert [dst for kind, _, dst, *_ in observer.samples if kind == "open"] == ["203.0.113.7"]
    net.short("203.0.113.2")
    observer.wait_closed(21)
    assert observer.samples[-1][2] == "203.0.113.2"
    observer.dump()
    for _ in range(3):
        assert observer.stats()["error"] == 0
        overrun(net, observer)
    observer.dump()
    stats = observer.stats()
    assert stats["error"] == 105  # ENOBUFS
    net.short("203.0.113.2")
    observer.dump()
    assert observer.stats()["closed"] == stats["closed"]
    for _ in range(63):
        observer.dump()
    assert observer.stats()["error"] == 0
    net.short("203.0.113.2")
    wait_until(lambda: observer.stats()["closed"] > stats["closed"], "events again")


def n_learned(daemon):
    """How many connections its rounds have learned from, in each round: closed ones, where none is open."""
    return [int(n) for n in re.findall(r"tick: connections (\d+), .*\n", daemon.said())]


def test_the_daemon_learns_from_connections_that_no_look_shows(net):
    with Daemon(net.host, "--policy", "careful", "--log-level", "debug", interval="300ms") as daemon:
        wait_until(lambda: n_learned(daemon), "a look")
        with daemon.stopped():  # no dump in between
            for _ in range(3):
                net.short("203.0.113.1")
        assert wait_window(net.host, "203.0.113.1")
        wait_until(lambda: sum(n_learned(daemon)) >= 3, "all of them")
        assert sum(n_learned(daemon)) == 3 and len(n_learned(daemon)) > 1


# The scope in the kernel: its verdicts on real sockets equal those of the plain evaluation.

TCP_REPAIR = 19
ROUNDS = 100


class Socket:
    """One that is connected to the kernel, without packets or a peer (TCP_REPAIR), and the
    properties by which a scope decides."""

    def __init__(self, net, draw, i):
        """Draws an IPv4, IPv6 or IPv4-mapped peer, close to others or far from them."""
        v4 = f"{draw.choice(('203.0.113', '198.51.100', '192.0.2'))}.{draw.randrange(256)}"
        v6 = f"2001:db8:{draw.randrange(8):x}::{draw.randrange(1 << 16):x}"
        source, peer = draw.choice((("10.0.0.10", v4), ("fd00::10", v6),
                                    ("::ffff:10.0.0.10", f"::ffff:{v4}")))
        self.local, self.remote = 20000 + i, draw.choice((443, draw.randrange(1, 65536)))
        self.peer = ipaddress.ip_address(peer.replace("::ffff:", ""))
        self.end = net.host.socket(socket.AF_INET6 if ":" in source else socket.AF_INET)
        self.end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        self.end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.end.bind((source, self.local))
        self.end.connect((peer, self.remote))
        self.cookie = cookie_of(self.end)


class Scope:
    """A scope around some of the sockets, so that some are inside and some outside."""

    def __init__(self, draw, sockets):
        def prefixes(most):
            for _ in range(draw.randrange(most)):
                peer = draw.choice(sockets).peer
                length = draw.randrange(peer.max_prefixlen + 1)
                if draw.random() < 2 / 3:
                    length = peer.max_prefixlen - draw.randrange(12)
                yield ipaddress.ip_network((peer, length), strict=False)

        def ranges(side):
            for _ in range(draw.choice((0, draw.randrange(1, 6)))):
                port = getattr(draw.choice(sockets), side)
                yield port, min(port + draw.randrange(200), 65535)

        self.learn, self.exclude = (list(prefixes(draw.choice((1, 40, 40)))), list(prefixes(40)))
        self.local, self.remote = list(ranges("local")), list(ranges("remote"))

    def words(self):
        return ([f"{name}={prefix}" for name in ("learn", "exclude")
                 for prefix in getattr(self, name)]
                + [f"{side}={first}-{last}" for side in ("local", "remote")
                   for first, last in getattr(self, side)])

    def takes(self, one):
        def longest(prefixes):
            return max((prefix.prefixlen for prefix in prefixes if one.peer in prefix), default=-1)

        def is_in(port, ranges):
            return not ranges or any(first <= port <= last for first, last in ranges)

        return (longest(self.exclude) < (longest(self.learn) if self.learn else 0)
                and is_in(one.local, self.local) and is_in(one.remote, self.remote))


def test_scope_in_the_kernel_is_the_plain_evaluation(net):
    seed = time.time_ns() % 2**31
    print(f"seed {seed}")
    draw = random.Random(seed)
    sockets = [Socket(net, draw, i) for i in range(1500)]
    n_inside = 0
    for _ in range(ROUNDS):
        scope = Scope(draw, sockets)
        expected = {one.cookie for one in sockets if scope.takes(one)}
        observer = Observer(net.host, events=False, scope=scope.words())
        if "nothing matches" in observer.first:
            assert not expected, scope.words()
            continue
        observer.dump()
        cookies = [sample[1] for sample in observer.samples]
        assert set(cookies) == expected and len(cookies) == len(expected), scope.words()
        assert observer.stats()["left_out"] == 0, "not the kernel's verdict alone"
        assert observer.end() == 0
        n_inside += len(cookies)
    assert ROUNDS < n_inside < 1500 * ROUNDS / 2  # neither none nor all


# riptide observe on real connections, compared with ss(8).


def test_mean_of_established_connections_equals_what_ss_says(net):
    for congestion, cwnd in (("reno", 12), ("cubic", 35), ("bbr", 70)):
        net.learned("203.0.113.1", cwnd, congestion=congestion)
        net.learned("203.0.113.1", cwnd + 20, congestion=congestion, mapped=True)
        net.learned("203.0.113.2", cwnd, congestion=congestion, passive=True, mapped=True)
        net.learned("2001:db8::1", cwnd, congestion=congestion)
        net.learned("2001:db8::1", cwnd + 20, congestion=congestion, passive=True)
    net.short("203.0.113.3")
    windows = collections.defaultdict(list)
    for peer, cwnd in ss(net.host):
        windows[peer].append(cwnd)
    assert sorted(len(group) for group in windows.values()) == [3, 6, 6]

    with net.host.server():
        seen = observe(net.host)
        assert observe(net.host, prefix=AS_NOBODY) == seen
    assert seen.keys() == windows.keys()
    for peer, group in windows.items():
        assert seen[peer]["connections"] == len(group)
        assert seen[peer]["cwnd_mean"] == pytest.approx(sum(group) / len(group), abs=0.06)


def test_closing_connection_is_observed_while_its_data_is_unacknowledged(net):
    near = net.learned("203.0.113.1").near
    with contextlib.suppress(BlockingIOError):  # as nobody reads
        while True:
            near.send(bytes(1 << 16))
    near.shutdown(socket.SHUT_WR)
    assert "203.0.113.1" in net.host.run("ss", "-tnH", "state", "fin-wait-1").stdout and not ss(net.host)
    assert observe(net.host)["203.0.113.1"]["connections"] == 1


OWN = (("127.0.0.1", None), ("127.9.9.9", None), ("::1", None), ("10.0.0.10", None),
       ("10.0.1.10", "10.0.0.10"), ("fd00::10", None), ("fd00:0:0:1::10", "fd00::10"))


def test_peers_on_the_host_itself_and_link_local_ones_are_left_out(net):
    for host, address in ((net.host, "169.254.7.1/24"), (net.world, "169.254.7.2/24")):
        host.ip("addr", "add", address, "dev", "eth0")
    net.learned("203.0.113.1")
    net.learned("203.0.113.2")
    net.host.ip("addr", "add", "203.0.113.2/32", "dev", "lo")
    for address in ("169.254.7.2", net.world.link_local() + "%eth0"):
        net.connect(address)
    for address, source in OWN:
        net.connections.append(Connection(net.host, net.host, address, source=source))
    assert len(ss(net.host)) == 4 + 2 * len(OWN)
    assert observe(net.host).keys() == {"203.0.113.1"}
