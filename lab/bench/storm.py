# SPDX-License-Identifier: MIT
"""What a router costs while routes of main change, and how long its rule stays in place.

Hosts with 1,000 to 1,000,000 routes in main, 1,000 and 10,000 destinations; each case in a network
namespace of its own. Printed are medians of its seconds with their quartiles. The share of time with
the rule in place is that between the kernel's own notifications. ./dev bench storm builds and runs
this in a sandbox.
"""

import argparse
import contextlib
import itertools
import re
import socket
import statistics
import sys
import threading
import time
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "common"), str(HERE.parent / "wan")]
from host import HOST, PROGRAMS, figures, host, ip_batch, judge, need_sandbox, spread, start  # noqa: E402
from wanbox import socket_in  # noqa: E402

START_MS = 2000
DESTINATIONS, OTHERS = ip_address("10.64.0.0"), ip_address("16.0.0.0")
RULES_OF_IPV4 = 1 << 7  # the group of notifications
RTM_DELRULE, FR_ACT_TO_TBL = 33, 1


class Storm(NamedTuple):
    """Route changes per second, each of a route with some destinations; targets in percent."""
    name: str
    per_route: int
    rate: int
    covers: bool
    core: float
    placed: float


STORMS = (Storm("1,000 a second, cover none", 4, 1000, False, 3, 100),
          Storm("20 a second, cover 250", 250, 20, True, 12, 80),
          Storm("20 a second, cover 4", 4, 20, True, 5, 93))


def routes(first, bits, n):
    """Destinations of n routes of main, side by side."""
    return [f"{first + (i << (32 - bits))}/{bits}" for i in range(n)]


def destinations(per_route, n):
    """n addresses, so many behind each route: 250 in a /24, 4 in a /30; none is a network's own."""
    bits, skipped = (24, 1) if per_route > 4 else (30, 0)
    return [DESTINATIONS + (i // per_route << (32 - bits)) + skipped + i % per_route for i in range(n)]


class Changer:
    """Gives each of these routes the other gateway, one after the other, at this rate."""

    def __init__(self, prefixes, rate):
        self._prefixes, self._rate = prefixes, rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._change)

    def __enter__(self):
        self._batch = start("ip", "-batch", "-")
        self._thread.start()

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._batch.communicate()

    def _change(self):
        next_s = time.monotonic()
        for gateway in itertools.cycle(("10.0.0.3", "10.0.0.2")):
            for prefix in self._prefixes:
                next_s += 1 / self._rate
                if self._ended.wait(max(0, next_s - time.monotonic())):
                    return
                self._batch.stdin.write(f"route replace {prefix} proto static via {gateway}\n")
                self._batch.stdin.flush()


class Rule:
    """When the rule was removed and restored, by the notifications."""

    def __init__(self):
        self._changes = []  # (seconds, is removed)
        self._socket = socket_in(HOST, socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, RULES_OF_IPV4))
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _watch(self):
        with contextlib.suppress(OSError):
            while True:
                message = self._socket.recv(4096)
                kind, action = int.from_bytes(message[4:6], sys.byteorder), message[16 + 7]
                if action == FR_ACT_TO_TBL:
                    self._changes.append((time.monotonic(), kind == RTM_DELRULE))

    def placed(self, begin_s, end_s):
        """The share of that time in which it was in place."""
        removed_s, was_removed, since_s = 0, False, begin_s
        for at_s, is_removed in [*self._changes, (end_s, False)]:
            at_s = min(max(at_s, begin_s), end_s)
            removed_s += was_removed * (at_s - since_s)
            was_removed, since_s = is_removed, at_s
        return 1 - removed_s / (end_s - begin_s)


def run(storm, n_routes, n_destinations, seconds):
    """The figures of a storm over that many other routes and destinations."""
    prefixes = routes(DESTINATIONS, 24 if storm.per_route > 4 else 30, -(-n_destinations // storm.per_route))
    others = routes(OTHERS, 24, n_routes)
    with host():
        ip_batch([f"route add {prefix} proto static via 10.0.0.2" for prefix in prefixes + others])
        *addresses, newcomer = destinations(storm.per_route, n_destinations + 1)
        program = start(PROGRAMS / "routes", "storm", n_destinations, seconds)
        program.stdin.write("".join(f"{address}\n" for address in addresses))
        program.stdin.flush()
        first = list(iter(program.stdout.readline, "ready\n"))
        ip_batch([f"route replace {others[0]} proto static via 10.0.0.3"])
        program.stdin.write(f"{newcomer}\n")
        program.stdin.flush()
        first.append(program.stdout.readline())
        with Rule() as rule, Changer(prefixes if storm.covers else others[:256], storm.rate):
            times_s, shares = [time.monotonic()], []
            for _ in range(seconds):
                resident_kb = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{program.pid}/status").read_text())[1])
                shares.append(program.stdout.readline())
                times_s.append(time.monotonic())
        program.communicate()
    return {**figures(first + shares), "resident_mb": resident_kb / 1024,
            "placed": [rule.placed(*span) for span in zip(times_s, times_s[1:])]}


def run_floor(rate, seconds):
    with host():
        others = routes(OTHERS, 24, 256)
        ip_batch([f"route add {prefix} proto static via 10.0.0.2" for prefix in others])
        program = start(PROGRAMS / "routes", "floor", seconds)
        program.stdout.readline()
        with Changer(others, rate):
            return figures(program.stdout.readlines())["core"]


def percent(shares):
    return spread([100 * share for share in shares], unit=" %")


def print_storms(n_routes, n_destinations, seconds):
    print(f"{n_routes:,} routes in main, {n_destinations:,} destinations", flush=True)
    starts_ms, newcomers_ms, resident = [], [], []
    for storm in STORMS:
        found = run(storm, n_routes, n_destinations, seconds)
        starts_ms += found["start_ms"]
        newcomers_ms += found["newcomer_ms"]
        resident.append(found["resident_mb"])
        core, placed = (100 * statistics.median(found[name]) for name in ("core", "placed"))
        print(f"  {storm.name:28} core {percent(found['core'])}, "
              f"{judge(core <= storm.core, f'at most {storm.core} %')}; rule in place {percent(found['placed'])}, "
              f"{judge(placed >= storm.placed, f'at least {storm.placed} %')}", flush=True)
    print(f"  start {statistics.median(starts_ms):.0f} ms ({min(starts_ms):.0f} to {max(starts_ms):.0f}), "
          f"{judge(max(starts_ms) < START_MS, f'under {START_MS} ms')}; a new destination after a change "
          f"{statistics.median(newcomers_ms):.2f} ms of processor time; {max(resident):.1f} MB resident", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--routes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--destinations", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seconds", type=int, default=8)
    options = parser.parse_args()
    need_sandbox("storm")
    rate = STORMS[0].rate
    print(f"reading {rate:,} notifications a second and nothing else: core {percent(run_floor(rate, options.seconds))}",
          flush=True)
    for n_destinations in options.destinations:
        for n_routes in options.routes:
            print_storms(n_routes, n_destinations, options.seconds)


if __name__ == "__main__":
    main()
