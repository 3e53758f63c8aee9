# SPDX-License-Identifier: MIT
"""A content delivery network of 34 points of presence, each with its own riptided (paper, Sec. IV).

Each PoP is a namespace; round trip times follow distances (pops.py). An hour takes 30 s, and all
times that the paper has in hours or minutes are divided by 120: hourly probes, life of idle connections, time to
live of a window (90 s become 0.75 s), one look a minute at the windows. Round trips and transfers cannot be
compressed. riptided dumps its connections twice a second, which is once a minute of the network's
time instead of each second as in the paper, so windows follow more slowly.

Assumptions that the paper does not print: idle connections close after 1.5 hours in the mean; paths have 100
Mbit/s to 1 Gbit/s and a buffer of half a bandwidth-delay product, and one in ten loses 0.1 to 1 % of its packets;
one PoP is very busy with files of the network's sizes, seven are somewhat. The paper looks at one PoP of a
continent with many machines; here each PoP is one machine, so all of the continent's are taken together.
"""

import math
import re
import time
from typing import NamedTuple

import cdn_figures
import pops
from testbed import Testbed
from traffic import Transfer

HOUR_S = 30
WARM_HOURS = 2  # not counted: windows begin to grow
HOURS = 5  # counted
PROBE_BYTES = (10000, 50000, 100000)
IDLE_HOURS = 1.5
LOOKS_AN_HOUR = 4
BUSIEST, PROBE_ONLY = "ashburn", "warsaw"
BUSY = ("london", "frankfurt", "chicago", "losangeles", "tokyo", "singapore", "sydney")
MEASURED = ("Europe", "North America")  # the continents of Figs. 12 to 16
BUSIEST_RATE, BUSY_RATE = 8, 1.5  # files a second
LARGEST_FILE_BYTES = 2000000
CWNDS_MAX = (50, 100, 150, 200, 250)
INTERVAL, TTL = "500ms", "750ms"


class Arm(NamedTuple):
    name: str
    options: tuple = ()  # of riptided; empty: it does not run


def list_arms(quick):
    paper = [Arm(str(cwnd_max), ("--apply", "routes", "--policy", "paper", "--cwnd-max", cwnd_max))
             for cwnd_max in CWNDS_MAX]
    careful = ("--policy", "careful", "--cwnd-max", 100)
    ours = [Arm(name, (*careful, *apply)) for name, apply in cdn_figures.OURS.items()]
    if quick:
        return [Arm("none"), paper[1], *ours]
    return [Arm("none"), *paper, *ours]


def list_pops(quick):
    if not quick:
        return pops.POPS
    names = {BUSIEST, PROBE_ONLY, "frankfurt", "chicago", "sydney"}
    return tuple(pop for pop in pops.POPS if pop.name in names)


def list_paths(sites, evaluation):
    """A path for each direction of each pair, drawn once for all arms."""
    paths = []
    for a in sites:
        for b in sites:
            if a == b:
                continue
            drawn = evaluation.drawn("path", *sorted((a.name, b.name)))
            rtt_ms = pops.rtt_ms(a, b)
            rate_mbps = math.exp(drawn.uniform(math.log(100), math.log(1000)))
            buffer_bytes = max(64000, rate_mbps * rtt_ms * 125 / 2)
            path = (f"from={a.name},to={b.name},delay={rtt_ms * 500:.0f}us,"
                    f"rate={rate_mbps:.0f}mbit,buffer={buffer_bytes:.0f}b")
            if drawn.random() < 0.1:
                path += f",loss={drawn.uniform(0.001, 0.01):.4f}"
            paths.append(path)
    return paths


def life_s(drawn):
    return drawn.expovariate(1 / (IDLE_HOURS * HOUR_S))


def list_probes(sites, hours, drawn):
    """Each PoP fetches all sizes from every other one, at once, each hour."""
    transfers = []
    for asking in sites:
        for asked in sites:
            if asking == asked:
                continue
            phase_s = drawn.uniform(0, HOUR_S)
            transfers += [
                Transfer(asked.name, asking.name, n_bytes, at_s=hour * HOUR_S + phase_s,
                         reuse=True, idle_s=life_s(drawn), tag="probe")
                for hour in range(hours) for n_bytes in PROBE_BYTES]
    return transfers


def list_files(sites, hours, drawn):
    """The files that busy PoPs send to others."""
    transfers = []
    for site in sites:
        rate = (BUSIEST_RATE if site.name == BUSIEST else BUSY_RATE if site.name in BUSY else 0)
        others = [other for other in sites if other != site]
        at_s = drawn.expovariate(rate) if rate else math.inf
        while at_s < hours * HOUR_S:
            n_bytes = min(LARGEST_FILE_BYTES, pops.size_bytes(drawn.uniform(0.001, 0.999)))
            transfers.append(Transfer(site.name, drawn.choice(others).name, n_bytes, at_s=at_s,
                                      reuse=True, idle_s=life_s(drawn), tag="file"))
            at_s += drawn.expovariate(rate)
    return transfers


def run_arm(evaluation, arm, sites, hours, tables):
    addresses = {site.name: f"10.9.{n}.1" for n, site in enumerate(sites)}
    windows = {}
    drawn = evaluation.drawn("traffic")  # the same for each arm

    def on_look(sender, _, cwnd):
        windows[sender, cwnd] = windows.get((sender, cwnd), 0) + 1

    transfers = list_probes(sites, hours, drawn) + list_files(sites, hours, drawn)
    looks = range(LOOKS_AN_HOUR * min(WARM_HOURS, hours - 1), LOOKS_AN_HOUR * hours)
    with Testbed(evaluation, addresses, list_paths(sites, evaluation)) as testbed:
        if arm.options:
            testbed.start_riptided(list(addresses), "--interval", INTERVAL, "--ttl", TTL, *arm.options)
        started_s, hour, probes = time.monotonic(), 0, []
        evaluation.step(f"{arm.name}, hour 1")
        for result in testbed.traffic.run(
                transfers, limit_s=hours * HOUR_S + 60,
                looks_s=[look * HOUR_S / LOOKS_AN_HOUR for look in looks], on_look=on_look):
            if time.monotonic() - started_s > (hour + 1) * HOUR_S and hour + 1 < hours:
                hour += 1
                evaluation.step(f"{arm.name}, hour {hour + 1}")
            if result.tag == "probe":
                probes.append(result)
    add_probes(tables["probes"], arm, sites, probes, testbed.on_time)
    for (sender, cwnd), count in sorted(windows.items()):
        tables["windows"].add(arm.name, sender, cwnd, count)


def add_probes(table, arm, sites, probes, on_time):
    by_name = {site.name: site for site in sites}
    for one in probes:
        rtt_ms = pops.rtt_ms(by_name[one.sender], by_name[one.receiver])
        table.add(arm.name, one.sender, one.receiver, rtt_ms, one.start_us // (HOUR_S * 1000000),
                  one.n_bytes, one.reused, one.cwnd_first, one.done_us / 1e3, one.retrans_segs,
                  one.data_segs, one.complete, on_time)


def evaluate(evaluation):
    global HOUR_S, LARGEST_FILE_BYTES
    if evaluation.quick:
        HOUR_S = 3
        LARGEST_FILE_BYTES = 200000  # a larger one takes 20 s on a path with losses
    sites, arms = list_pops(evaluation.quick), list_arms(evaluation.quick)
    if evaluation.cells:
        always = cdn_figures.DRAWN
        arms = [arm for arm in arms if arm.name in always or re.fullmatch(evaluation.cells, arm.name)]
    hours = 2 if evaluation.quick else WARM_HOURS + HOURS
    tables = {
        "probes": evaluation.table("probes", "arm", "sender", "receiver", "rtt_ms", "hour", "bytes",
                                   "reused", "cwnd_first", "time_ms", "retrans_segs", "data_segs",
                                   "complete", "on_time"),
        "windows": evaluation.table("windows", "arm", "sender", "cwnd", "count")}
    evaluation.expect(len(arms) * hours)
    for arm in arms:
        run_arm(evaluation, arm, sites, hours, tables)
    warm_hours = min(WARM_HOURS, hours - 1)
    probes = [row for row in tables["probes"].rows if row["hour"] >= warm_hours and row["complete"]]
    senders = {continent: [site.name for site in sites if site.continent == continent]
               for continent in MEASURED}
    network = cdn_figures.Network(arms=[arm.name for arm in arms], measured=senders,
                                  busiest=BUSIEST, probe_only=PROBE_ONLY)
    cdn_figures.report(evaluation, network, probes, tables["windows"].rows)
