# SPDX-License-Identifier: MIT
"""What the hosts of a site cost their engine: 1,000 of them, simulated in a few processes that use the real protocol.

Each host has a connection, a riptide.fleet Site and 1,000 destinations, which it shares with all others, and exchanges each
10 s: it adds to the destinations on which connections have closed since (a tenth of them unless said otherwise), and reads
those and a sixth of all. A destination has five rungs of a ladder in use, with three sums each; what is added is of two.
Behind that all destinations change, as fast as the server takes it. ./dev bench fleet starts the server.
"""

import argparse
import contextlib
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = map(str, (REPOSITORY / "tests" / "netns", REPOSITORY / "bindings" / "python" / "riptide"))

from fleet import site, sums  # noqa: E402
import engine  # noqa: E402
from waiting import percentile  # noqa: E402

PERIOD_S = 10
RUNGS, RUNGS_ADDED = (20, 28, 40, 57, 80), 2  # of a ladder: three sums each
TIMEOUT_S = 10  # long, so that slow exchanges are measured


class Host:
    """One host; its first exchange adds all of its sums."""

    def __init__(self, url, number, given):
        self.site = site.Site(url, "bench", f"{number:016x}", timeout_s=TIMEOUT_S)
        self.chance, self.given = random.Random(number), given
        self.prefixes = [f"203.0.{i // 256}.{i % 256}" for i in range(given.destinations)]
        self.sequence = 0

    def exchange(self, n_changed, n_rungs, of=6):
        """How long it took."""
        self.sequence += 1
        added = {prefix: {f"{rung}{what}": 9 * self.chance.random()
                          for rung in self.chance.sample(RUNGS, n_rungs) for what in "nca"}
                 for prefix in self.chance.sample(self.prefixes, n_changed)}
        wanted = sums.turn(self.prefixes, self.sequence, of) if of else ()
        begin = time.perf_counter()
        self.site.exchange(added, wanted, self.sequence)
        return time.perf_counter() - begin


def work(urls, numbers, given, commands, results):
    """A process with some of the hosts: carries out requests, until None."""
    hosts = [Host(urls[number % len(urls)], number, given) for number in numbers]
    for what, until in iter(commands.get, None):
        took_s = []
        if what == "fill":
            for host in hosts:
                host.exchange(given.destinations, len(RUNGS), 0)
        elif what == "paced":
            begin, n_done = time.perf_counter(), 0
            while time.time() < until:  # hosts in turn, evenly over the period
                time.sleep(max(0, begin + n_done * PERIOD_S / len(hosts) - time.perf_counter()))
                took_s.append(hosts[n_done % len(hosts)].exchange(given.destinations * given.changed // 100, RUNGS_ADDED))
                n_done += 1
        else:
            while time.time() < until:
                took_s.append(hosts[len(took_s) % len(hosts)].exchange(given.destinations, RUNGS_ADDED, 0))
        results.put(took_s)


class Measured:
    """The servers' figures during a block."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __enter__(self):
        self.begin, self.cpu_s, self.net = time.monotonic(), [node.cpu_s() for node in self.nodes], self._net()
        return self

    def __exit__(self, *_):
        self.took_s = time.monotonic() - self.begin
        self.shares = [(node.cpu_s() - before) / self.took_s for node, before in zip(self.nodes, self.cpu_s)]
        self.bytes = [after - before for after, before in zip(self._net(), self.net)]

    def _net(self):
        found = [node.client.info("stats") for node in self.nodes]
        return [sum(one[f"total_net_{way}_bytes"] for one in found) for way in ("input", "output")]


def verdict(is_met):
    return "met" if is_met else "MISSED"


def bench(nodes, given):
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    workers = []
    for i in range(given.processes):
        commands = context.SimpleQueue()
        process = context.Process(target=work, args=([node.url for node in nodes], range(i, given.hosts, given.processes),
                                                     given, commands, results), daemon=True)
        process.start()
        workers.append((process, commands))

    def run(what, seconds=0):
        until = time.time() + seconds
        for _, commands in workers:
            commands.put((what, until))
        return [one for _ in workers for one in results.get()]

    run("fill")
    held = [node.client.info("memory")["used_memory"] for node in nodes]
    pairs = given.hosts * given.destinations
    print(f"{given.hosts} hosts with {given.destinations} destinations: {sum(held) / 1e6:.0f} MB in the server, "
          f"{sum(held) / pairs:.0f} bytes for each host's destination")
    run("paced", PERIOD_S)  # warms up connections and caches
    with Measured(nodes) as measured:
        took_s = run("paced", given.seconds)
    rate = len(took_s) / measured.took_s
    p99_ms = 1e3 * percentile(took_s, 0.99)
    print(f"{given.changed} % changed each {PERIOD_S} s: {rate:.0f} exchanges/s (asked for {given.hosts / PERIOD_S:.0f})")
    print("  processor time of the server, share of a core: " + ", ".join(f"{share:.2f}" for share in measured.shares)
          + f"; target below 1: {verdict(max(measured.shares) < 1)}")
    print(f"  an exchange: median {1e3 * percentile(took_s, 0.5):.1f} ms, p99 {p99_ms:.1f} ms, longest "
          f"{1e3 * max(took_s):.1f} ms; target p99 below 100 ms: {verdict(p99_ms < 100)}")
    sent, received = (one / measured.took_s / given.hosts for one in measured.bytes)
    print(f"  a host sends {sent:.0f} bytes/s and receives {received:.0f}")
    with Measured(nodes) as measured:
        took_s = run("unpaced", given.seconds)
    added = given.destinations * len(took_s)
    cpu_s = sum(measured.shares) * measured.took_s
    print(f"all changed, as fast as these processes go: {added / measured.took_s:.0f} sums added/s, "
          f"{1e6 * cpu_s / added:.1f} us of the server each, p99 of an exchange {1e3 * percentile(took_s, 0.99):.0f} ms: "
          f"a core takes {PERIOD_S * added / cpu_s / given.destinations:.0f} such hosts")
    for process, commands in workers:
        commands.put(None)
        process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--destinations", type=int, default=1000)
    parser.add_argument("--changed", type=int, default=10, help="percent of a host's destinations each 10 s (default 10)")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cluster", action="store_true", help="three nodes instead of one server")
    given = parser.parse_args()
    if not engine.SERVER or not engine.redis:
        sys.exit("bench: no valkey-server or redis-server, or no python3-redis")
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        if given.cluster:
            nodes = stack.enter_context(engine.cluster(Path(directory)))
        else:
            nodes = [engine.Engine(Path(directory))]
            stack.callback(nodes[0].stop)
        print(f"{Path(engine.SERVER).name} {nodes[0].client.info('server')['redis_version']}, {len(nodes)} of them")
        bench(nodes, given)


if __name__ == "__main__":
    main()
