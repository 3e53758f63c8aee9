# SPDX-License-Identifier: MIT
"""three hosts behind one bottleneck, alone and with each other's states: connections until the window is right

Each group is three hosts whose riptideds have trials, on a path of its own with a small buffer; their windows begin at
57. Half of the groups merge their states every other second, as a script would (docs/operations.md); the other half
send the same plan and keep to themselves. First, groups whose three hosts have one window for all say which rung costs
least. A host is there when its window is that rung or one beside it.
"""

import math
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import figures
from testbed import Testbed
from traffic import Transfer

RUNGS, BEGIN_CWND = (10, 14, 20, 28, 40, 57, 81), 57
HOSTS, PATH = 3, "delay=30ms,rate=50mbit,buffer=30kb"
SIZES_BYTES, PER_S = (20_000, 200_000), 2  # evenly over the logarithm; for each host
REPETITIONS, PAIRS, RUN_S, ORACLE_S, SETTLE_S = 2, 4, 110, 45, 5
ARMS_S = 7  # twelve rounds; after that all closing connections count
READ_S, MERGE_S = 1, 2
WORDS = "alone", "with each other's states"
OPTIONS = ("--apply", "connections", "--policy", "paper", "--history-weight", 0.9999, "--max-share",
           "off", "--interval", "500ms", "--pacing-percent", 0, "--trial-percent", 25)


def network(evaluation, n_groups):
    hosts = {f"sender{group}h{host}": f"10.9.{group}.{host + 2}" for group in range(n_groups) for host in range(HOSTS)}
    receivers = {f"receiver{group}": f"10.9.{group}.1" for group in range(n_groups)}
    return Testbed(evaluation, {**hosts, **receivers},
                   [*(f"to={name},{PATH}" for name in receivers), *(f"to={name},delay=30ms" for name in hosts)])


def plan(drawn, group, end_s):
    (low, high), found = SIZES_BYTES, []
    for host in range(HOSTS):
        at_s = drawn.expovariate(PER_S)
        while at_s < end_s:
            n_bytes = round(low * (high / low) ** drawn.random())
            found.append(Transfer(f"sender{group}h{host}", f"receiver{group}", n_bytes, at_s))
            at_s += drawn.expovariate(PER_S)
    return found


def cost(one):
    """A connection's cost, as in ladders."""
    rounds = max(one.busy_us / one.min_rtt_us, 1)
    segs = max(one.n_bytes / one.mss_bytes, 10)
    return math.log(rounds) - math.log(math.log2(1 + segs / 10)) + one.retrans_segs / one.data_segs


def find_best(evaluation):
    """The rung that costs least if all connections of a path have it."""
    end_s = 5 if evaluation.quick else ORACLE_S
    with network(evaluation, len(RUNGS)) as testbed:
        for group, cwnd in enumerate(RUNGS):
            for host in range(HOSTS):
                testbed.set_route(f"sender{group}h{host}", "initcwnd", cwnd)
        results = testbed.transfer([one for group in range(len(RUNGS))
                                    for one in plan(evaluation.drawn("oracle"), group, end_s)], end_s + SETTLE_S)
    table, found = evaluation.table("oracle", "cwnd", "n", "cost", "low", "high", "again_percent"), {}
    for group, cwnd in enumerate(RUNGS):
        of_group = [one for one in results if one.receiver == f"receiver{group}" and one.complete and one.min_rtt_us]
        found[cwnd] = figures.estimate_mean([cost(one) for one in of_group])
        again = 100 * sum(one.retrans_segs for one in of_group) / sum(one.data_segs for one in of_group)
        table.add(cwnd, len(of_group), *found[cwnd], again)
        evaluation.say(f"a window of {cwnd} for all: cost {found[cwnd].value:+.3f} ({found[cwnd].low:+.3f} to"
                       f" {found[cwnd].high:+.3f}), sent again {again:.1f} %")
    return min(RUNGS, key=lambda cwnd: found[cwnd].value)


def pool(testbed, folder, group):
    """Merges states as a script on each host would; a host's own state has no effect."""
    names = [f"sender{group}h{host}" for host in range(HOSTS)]
    for name in names:
        testbed.ask_riptide(name, "save", str(folder / f"{name}.state"))
    for name in names:
        for other in names:
            testbed.ask_riptide(name, "merge", str(folder / f"{other}.state"))


def play(evaluation, repetition, pairs, end_s, folder):
    """[(seconds, window of each host)] of each group, results, and whether all was on time. Even
    groups are alone, and have the plan of the next group."""
    groups = range(2 * pairs)
    transfers = [one for group in groups for one in plan(evaluation.drawn(repetition, group // 2), group, end_s)]
    with network(evaluation, 2 * pairs) as testbed, ThreadPoolExecutor(2 * pairs + 1) as threads:
        for group in groups:
            state = folder / f"begin{group}"
            state.write_text(f"riptide state 2 saved_ns={time.time_ns()}\n10.9.{group}.1 cwnd={BEGIN_CWND} samples=1"
                             f" smoothed={BEGIN_CWND} age_ns=1\n", encoding="ascii")
            for host in range(HOSTS):
                own = folder / f"own{group}h{host}"
                own.write_bytes(state.read_bytes())
                testbed.start_riptided([f"sender{group}h{host}"], "--cgroup", testbed.cgroup(), "--state", own,
                                       *OPTIONS)
        time.sleep(ARMS_S)
        sending = threads.submit(testbed.transfer, transfers, end_s + SETTLE_S)

        def read(group):
            rows, next_s, merge_s = [], time.monotonic(), time.monotonic()
            while not sending.done():
                if group % 2 and time.monotonic() >= merge_s:
                    merge_s += MERGE_S
                    pool(testbed, folder, group)
                said = [testbed.ask_riptide(f"sender{group}h{host}", "explain", f"10.9.{group}.1")
                        for host in range(HOSTS)]
                rows.append((time.monotonic(), [one and one["window"] and one["window"]["cwnd"] for one in said]))
                next_s += READ_S
                time.sleep(max(0, next_s - time.monotonic()))
            return rows
        reads = list(threads.map(read, groups))
        go_s, results = testbed.traffic.go_s, sending.result()
    return [[(at_s - go_s, cwnds) for at_s, cwnds in rows] for rows in reads], results, testbed.on_time


def count_until(rows, results, group, host, right):
    """The host's connections until its window is right, and whether it ever is."""
    at_s = next((at_s for at_s, cwnds in rows if cwnds[host] in right), None)
    return sum(at_s is None or one.start_us / 1e6 < at_s for one in results
               if one.sender == f"sender{group}h{host}"), at_s is not None


def evaluate(evaluation):
    best = find_best(evaluation)
    right = RUNGS[max(RUNGS.index(best) - 1, 0):RUNGS.index(best) + 2]
    evaluation.say(f"best: {best}; a host is there with {', '.join(map(str, right))}")
    table = evaluation.table("hosts", "repetition", "pair", "is_pooled", "host", "connections", "is_there", "last_cwnd",
                             "on_time")
    repetitions, pairs, end_s = (1, 1, 10) if evaluation.quick else (REPETITIONS, PAIRS, RUN_S)
    pictured = None
    for repetition in evaluation.steps(range(repetitions)):
        with tempfile.TemporaryDirectory() as folder:
            reads, results, is_on_time = play(evaluation, repetition, pairs, end_s, Path(folder))
        pictured = pictured or reads[:2]
        for group, rows in enumerate(reads):
            for host in range(HOSTS):
                table.add(repetition, group // 2, group % 2, host, *count_until(rows, results, group, host, right),
                          rows[-1][1][host], is_on_time)
    rows, of_pair = figures.on_time(table.rows), {}
    for row in rows:
        of_pair.setdefault((row["repetition"], row["pair"]), ([], []))[row["is_pooled"]].append(row["connections"])
    ratios = [sum(pooled) / max(sum(alone), 1) for alone, pooled in of_pair.values()]
    found = [[n for both in of_pair.values() for n in both[is_pooled]] for is_pooled in (0, 1)]
    for is_pooled, words in enumerate(WORDS):
        never = sum(row["is_pooled"] == is_pooled and not row["is_there"] for row in rows)
        evaluation.say(f"{words}: {figures.estimate_mean(found[is_pooled])} connections each, median"
                       f" {sorted(found[is_pooled])[len(found[is_pooled]) // 2]}; never there: {never} of"
                       f" {len(found[is_pooled])}, which count with all that they had")
    evaluation.say("times those of one alone, pair by pair: " + ", ".join(f"{one:.2f}" for one in sorted(ratios)))
    draw(evaluation, found, pictured)
    ratio = figures.estimate_mean(ratios)
    evaluation.verdict(
        f"Three hosts with each other's states need {ratio} times the connections of one alone; a third:"
        f" {'met' if ratio.value <= 1 / 3 else 'within' if ratio.low <= 1 / 3 else 'missed'}.",
        "What three hosts do not share: the rounds behind each move in which nothing is entered, and up to"
        f" {MERGE_S} s until the others know.")


def draw(evaluation, found, pictured):
    with evaluation.picture("pool", 1, 2) as (_, (left, right)):
        for is_pooled, words in enumerate(WORDS):
            figures.draw_cdf(left, found[is_pooled], color=f"C{is_pooled}", label=words)
            for host in range(HOSTS):
                right.step([at_s for at_s, _ in pictured[is_pooled]], [cwnds[host] for _, cwnds in pictured[is_pooled]],
                           color=f"C{is_pooled}", where="post", alpha=0.7)
        left.set(xlabel="connections of a host", ylabel="share of hosts that are there")
        left.legend(fontsize=7)
        right.set(xlabel="seconds, of the first pair", ylabel="window, segments")
