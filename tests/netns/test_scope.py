# SPDX-License-Identifier: MIT
"""The scope in the kernel: its verdicts on real sockets equal those of the plain evaluation."""

import ipaddress
import random
import socket
import time

from netns import cookie_of
from test_events import Observer

TCP_REPAIR = 19
ROUNDS = 100


def established(host, source, peer):
    """A socket that is connected to the kernel, without packets or a peer (TCP_REPAIR)."""
    end = host.socket(socket.AF_INET6 if ":" in source[0] else socket.AF_INET)
    end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind(source)
    end.connect(peer)
    return end


class Socket:
    """The properties by which a scope decides."""

    def __init__(self, net, draw, i):
        """Draws an IPv4, IPv6 or IPv4-mapped peer, close to others or far from them."""
        v4 = f"{draw.choice(('203.0.113', '198.51.100', '192.0.2'))}.{draw.randrange(256)}"
        v6 = f"2001:db8:{draw.randrange(8):x}::{draw.randrange(1 << 16):x}"
        source, peer = draw.choice((("10.0.0.10", v4), ("fd00::10", v6),
                                    ("::ffff:10.0.0.10", f"::ffff:{v4}")))
        self.local, self.remote = 20000 + i, draw.choice((443, draw.randrange(1, 65536)))
        self.peer = ipaddress.ip_address(peer.replace("::ffff:", ""))
        self.end = established(net.host, (source, self.local), (peer, self.remote))
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


def test_the_kernels_verdict_is_the_plain_evaluations(net):
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
