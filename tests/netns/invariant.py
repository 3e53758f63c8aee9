# SPDX-License-Identifier: MIT
"""The invariant as a property: random routing, random events, and a comparison of the twins. A run is
determined by its seed."""

import collections
import os
import random
import time
from socket import AF_INET, AF_INET6

import pytest
from routing_base import addresses_of, destinations
from routing_events import Routing
from rtnetlink import Batch
from programs import Violation
from twins import Parted, Twins
from waiting import Closing, percentile

N_HOSTS = int(os.environ.get("RIPTIDE_HOSTS", 45))  # of each family, besides some prefixes
N_SAMPLE = 12  # questions that are repeated, to find when a difference ends


class Figures:
    """Figures over many runs."""

    def __init__(self):
        self.counts = collections.Counter()  # seen: differences in the first comparison after an event
        self.lasted_us = []
        self.longest = (0, None, "")  # us, seed, lines before it

    def __str__(self):
        median, p99, most = (percentile(self.lasted_us, share) / 1000 for share in (0.5, 0.99, 1))
        n = self.counts
        return (f"{n['events']} events in {n['runs']} runs; {n['ours'] / max(n['asked'], 1):.0%} of destinations "
                f"took a route of ours; after the {len(self.lasted_us)} events that changed an answer "
                f"({n['seen']} of them were seen) a difference lasted ms: median {median:.2f}, p99 {p99:.2f}, "
                f"max {most:.2f} (seed {self.longest[1]}: {self.longest[2]}); settled late {n['late']}, "
                f"by a silent change {n['silent']}, took turns {n['undecided']}, twins parted {n['parted']}")


class Run(Closing):
    """The namespaces of a seed, and the lines executed in them."""

    def __init__(self, seed, n_hosts=N_HOSTS):
        self.seed = seed
        self.rng = random.Random(seed)
        self.dsts = destinations(self.rng, n_hosts)
        self.twins = Twins([address for dst in self.dsts for address in addresses_of(self.rng, dst)])
        # Not always with prefixes, for which the router reads more.
        has_prefixes = self.rng.random() < 0.7
        self.windows = [f"set {dst} {self.rng.randrange(10, 101)}" for dst in self.dsts
                        if ("/" not in dst or has_prefixes) and self.rng.random() < 0.9]
        self.base = self.mtus = None
        # A generator of its own: its use depends on the kernel's answers, and events must not.
        self.sampling = random.Random(seed)

    def close(self):
        self.twins.close()

    def happen(self, lines, windows=()):
        """Routing first, then windows for destinations, all at once."""
        for line in lines:
            self.twins.happen(line)
        self.twins.driver.send(windows)
        self.base, self.mtus = self.twins.judge(), self.twins.mtus()

    def event(self, lines, figures):
        """Executes lines first on the twin, so that the right answer is known before the host's."""
        twins = self.twins
        figures.counts["events"] += 1
        if any(line.startswith("wait ") for line in lines):
            self.happen(lines)
            return
        is_about_links = any(" link " in line or " addr " in line for line in lines)
        said = [twins.tell_twin(line) for line in lines]
        if is_about_links:
            twins.without_us.settle()
        base, mtus = twins.ask(twins.without_us), twins.mtus()
        # Links that change without a notification are followed by a round, after this check.
        moved = {index for _, index in self.mtus.keys() | mtus.keys()
                 if is_about_links and any(self.mtus.get((family, index)) != mtus.get((family, index))
                                           for family in (AF_INET, AF_INET6))}
        changed = [n for n, (old, new) in enumerate(zip(self.base, base))
                   if (old != new and twins.read(old, n)[0] is not twins.read(new, n)[0])
                   or (moved and not moved.isdisjoint(twins.read(new, n)[0].links))]
        self.base, self.mtus = base, mtus
        sample = self.sampling.sample(changed, min(N_SAMPLE, len(changed)))
        batch = Batch([twins.questions[n].body for n in sample])
        for line, expected in zip(lines, said):
            twins.tell_host(line, expected)
        if is_about_links:
            twins.with_us.settle()
        if sample:
            self._watch(sample, batch, figures, lines)
        twins.judge(base)

    def _watch(self, sample, batch, figures, lines):
        """How long the answers for some of the changed destinations stay wrong, after the last ip(8) has ended."""
        twins = self.twins
        done_ns = now_ns = time.perf_counter_ns()
        right = [twins.read(self.base[n], n)[0] for n in sample]
        is_first = True
        while now_ns - done_ns < 3e9:  # after that, judge reports it
            answers = twins.ask(twins.with_us, batch)
            now_ns = time.perf_counter_ns()
            if all(twins.read(raw, n)[0].is_like(base, self.mtus)
                   for raw, n, base in zip(answers, sample, right)):
                figures.lasted_us.append((now_ns - done_ns) / 1000)
                if figures.lasted_us[-1] > figures.longest[0]:
                    figures.longest = figures.lasted_us[-1], self.seed, "; ".join(lines)
                return
            figures.counts["seen"] += is_first
            is_first = False


def run(seed, n_events, kinds, figures, n_hosts=N_HOSTS):
    """One run; a violation fails the test, with the lines before it."""
    case = Run(seed, n_hosts)
    figures.counts["runs"] += 1
    lines = []
    try:
        routing = Routing(case.rng, case.dsts, kinds)
        lines += routing.setup()
        case.happen(lines, case.windows)
        lines.append("# windows are set here")
        for _ in range(n_events):
            event = routing.event()
            lines += event
            case.event(event, figures)
    except Parted as parted:
        figures.counts["parted"] += 1
        print(f"seed {seed}: without Riptide as well, {parted}", flush=True)
    except Violation as violation:
        pytest.fail("\n".join([f"seed {seed}", *lines, str(violation)]), pytrace=False)
    finally:
        figures.counts.update(case.twins.counts)
        case.close()
