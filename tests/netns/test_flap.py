# SPDX-License-Identifier: MIT
"""How long TCP stays on a former next hop of main: routes that flap between two gateways, one
request after the other, as a routing daemon writes them."""

import os
import socket
import struct
import sys
import time

import pytest
from routing_ask import families
from rtnetlink import (RTA_DST, RTA_GATEWAY, RTM_NEWROUTE, Batch, Rtnetlink, attribute, packed,
                       query)
from programs import Driver
from waiting import percentile

FLAPS = 12
DESTINATIONS = 100
LONGEST_MS = 1000  # even on a busy machine
REPLACE_ACK, RTPROT_BIRD = 1 | 4 | 0x100 | 0x400, 12
TIMES = struct.Struct("=q")
GATEWAYS = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}


def prefix_of(family, n):
    return f"20.{n >> 8}.{n & 255}.0" if family == 4 else f"2001:db8:{n:x}::"


def destination_of(family, n):
    return prefix_of(family, n)[:-1] + "7" if family == 4 else prefix_of(family, n) + "7"


def beside(family, n):
    return f"30.{n >> 8}.{n & 255}.0/24" if family == 4 else f"2001:db9:{n:x}::/48"


def request(family, n, gateway):
    """Replaces the n-th route."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET if family == 4 else socket.AF_INET6,
                       24 if family == 4 else 64, 0, 0, 254, RTPROT_BIRD, 0, 1, 0)
    body += attribute(RTA_DST, packed(prefix_of(family, n)))
    body += attribute(RTA_GATEWAY, packed(gateway))
    return struct.pack("=IHHII", 16 + len(body), RTM_NEWROUTE, REPLACE_ACK, n, 0) + body


class Flapping:
    """A process that moves all routes on request, and reports when each has moved."""

    def __init__(self, host, family, n_routes):
        self.n_routes = n_routes
        self.near, far = socket.socketpair()
        self.pid = os.fork()
        if self.pid > 0:
            far.close()
            return
        self.near.close()
        link = Rtnetlink(host)
        while True:
            turn = far.recv(1)
            if not turn:
                os._exit(0)
            messages = [request(family, n, GATEWAYS[family][turn[0]]) for n in range(n_routes)]
            times = []
            for message in messages:
                link.socket.send(message)
                answer = link.socket.recv(4096)
                assert answer[16:20] == bytes(4), answer
                times.append(time.perf_counter_ns())
            far.sendall(b"".join(map(TIMES.pack, times)))

    def begin(self, turn):
        self.near.sendall(bytes([turn]))

    def times_ns(self):
        data = self.near.recv(TIMES.size * self.n_routes, socket.MSG_WAITALL)
        return [time_ns for time_ns, in TIMES.iter_unpack(data)]

    def close(self):
        self.near.close()
        os.waitpid(self.pid, 0)


class Watching:
    """Repeats the route query for TCP to each destination."""

    def __init__(self, host, dsts):
        self.link = Rtnetlink(host)
        self.batch = Batch([query(dst, False) for dst in dsts])
        self.looks = []  # (time, raw answers)

    def look(self):
        answers = self.link.ask(self.batch)
        self.looks.append((time.perf_counter_ns(), answers))
        return answers

    def wrong_ms(self, n, moved_ns, gateway):
        """How long the n-th had another gateway than main: the lower bound; the
        upper bound is one query longer."""
        last_ns = max((at_ns for at_ns, answers in self.looks if gateway not in answers[n]),
                      default=0)
        return max(last_ns - moved_ns, 0) / 1e6

    def gaps_ms(self):
        times = [at_ns for at_ns, _ in self.looks]
        return [(b - a) / 1e6 for a, b in zip(times, times[1:])]


def flap(net, family, n_routes, n_destinations):
    """[ms] that each destination was on the old next hop in each flap, [ms] until the router was
    done, [ms] between queries, and the router's counters."""
    if family == 6:  # or IPv6 is left alone, as it has two gateways
        net.host.sysctl("ipv6/conf/all/forwarding", 1)
    step = n_routes // n_destinations
    dsts = [destination_of(family, n * step) for n in range(n_destinations)]
    flapping = Flapping(net.host, family, n_routes)
    watching = Watching(net.host, dsts)
    wrong_ms, done_ms, gaps_ms = [], [], []
    try:
        flapping.begin(0)
        flapping.times_ns()
        with Driver(net.host) as driver:
            before = driver.follow(*(f"set {dst} 40" for dst in dsts))
            assert before["routes"] == n_destinations
            for turn in range(1, FLAPS + 1):
                gateway = packed(GATEWAYS[family][turn % 2])
                watching.looks.clear()
                flapping.begin(turn % 2)
                end = time.monotonic() + 20
                while not all(gateway in answer for answer in watching.look()):
                    assert time.monotonic() < end
                    time.sleep(0.0005)  # the router needs a processor
                moved_ns = flapping.times_ns()
                watching.look()
                stats = driver.quiet()
                done_ms.append((time.perf_counter_ns() - moved_ns[-1]) / 1e6)
                gaps_ms += watching.gaps_ms()
                wrong_ms += [watching.wrong_ms(n, moved_ns[n * step], gateway)
                             for n in range(n_destinations)]
            assert stats["routes"] == n_destinations
    finally:
        flapping.close()
        watching.link.close()
    return wrong_ms, done_ms, gaps_ms, {name: stats[name] - before[name] for name in stats}


@families
@pytest.mark.parametrize("n_routes, n_beside", [(1, 0), (1, 10000), (1000, 0)])
def test_old_next_hop_is_left_soon(net, family, n_routes, n_beside, capsys):
    net.host.batch("".join(f"route add {beside(family, n)} via {GATEWAYS[family][0]}\n"
                           for n in range(n_beside)))
    wrong_ms, done_ms, gaps_ms, stats = flap(net, family, n_routes, min(n_routes, DESTINATIONS))
    with capsys.disabled():
        print(f"\nIPv{family}, {n_routes} routes moved {FLAPS} times, {n_beside} beside, "
              f"{min(n_routes, DESTINATIONS)} destinations: on the old next hop for p50 "
              f"{percentile(wrong_ms, 0.5):.2f}, p99 {percentile(wrong_ms, 0.99):.2f}, longest "
              f"{max(wrong_ms):.2f} ms, looked at each p50 {percentile(gaps_ms, 0.5):.2f}, p99 "
              f"{percentile(gaps_ms, 0.99):.2f} ms; done p50 {percentile(done_ms, 0.5):.1f}, longest "
              f"{max(done_ms):.1f} ms after the last; rule removals {stats['rule_removals']}, written "
              f"{stats['written']}", file=sys.stderr)
    assert max(wrong_ms) < LONGEST_MS
    assert stats["rule_removals"] >= FLAPS  # even for few routes: it ends the wrong way
