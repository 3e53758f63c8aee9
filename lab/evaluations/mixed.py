# SPDX-License-Identifier: MIT
"""an address that is many: clients behind paths of their own, one in five connections over a slow one

Behind each arm's sender one destination, of several hosts with paths of their own: for its kernel and for riptided what
one address behind a NAT is. Connections come at random and bring 50 to 200 KB; one of a line rarely meets another. The
first minute and the second are counted apart; "times 10" compares each connection with that of the same size, at the
same time, under a window of ten. --cells all plays static windows in the place of riptided, at once and
paced over half a round trip and one.
"""

import itertools
import math

from contest.play import set_arm
from contest.scenes import Arm, arms_named
from figures import estimate, on_time
from testbed import Testbed
from traffic import Transfer

OBJECT_BYTES = 50_000, 200_000  # evenly distributed over the logarithm
LINES = {"fast": (4, "rate=50mbit,buffer=300kb"), "slow": (2, "rate=2mbit,buffer=20kb")}
PER_S = {"fast": 4, "slow": 1}
DELAY = "delay=25ms"
MINUTE_S, QUICK_MINUTE_S, REPETITIONS = 60, 3, 3
ARMS = (Arm("10", initcwnd=10), Arm("24", initcwnd=24), Arm("32", initcwnd=32), *arms_named("careful", "paced"))
WINDOWS, PERCENT = (10, 14, 17, 20, 24, 28, 32, 40, 50, 70, 100), {0: "", 50: " over half", 100: " over one"}
ORACLE = tuple(Arm(f"{cwnd}{words}", initcwnd=cwnd, pacing_percent=percent)
               for percent, words in PERCENT.items() for cwnd in WINDOWS)
ORACLE_MINUTE_S, TOGETHER = 20, 6


def hosts_of(n):
    clients = [f"{kind}{n}l{line}" for kind, (lines, _) in LINES.items() for line in range(lines)]
    return {f"sender{n}": f"10.9.{n}.1", **{name: f"10.9.{n}.{16 + i}" for i, name in enumerate(clients)}}


def plan(drawn, n_arms, seconds):
    """The same connections for each arm, with small offsets."""
    (low, high), transfers, numbers = OBJECT_BYTES, [], itertools.count()
    for kind, per_s in PER_S.items():
        at_s, line = drawn.expovariate(per_s), 0
        while at_s < seconds:
            n_bytes, tag = round(low * (high / low) ** drawn.random()), f"{kind}/{next(numbers)}"
            transfers += [Transfer(f"sender{n}", f"{kind}{n}l{line}", n_bytes, at_s + n * 0.01, tag=tag)
                          for n in range(n_arms)]
            at_s, line = at_s + drawn.expovariate(per_s), (line + 1) % LINES[kind][0]
    return transfers


def play(evaluation, arms, repetition, table):
    minute_s = QUICK_MINUTE_S if evaluation.quick else ORACLE_MINUTE_S if evaluation.cells else MINUTE_S
    hosts = {name: address for n in range(len(arms)) for name, address in hosts_of(n).items()}
    paths = [f"from=sender{n},to={name},{DELAY},{LINES[name[:4]][1]}"
             for n in range(len(arms)) for name in hosts_of(n) if name[:4] in LINES]
    with Testbed(evaluation, hosts, [*paths, DELAY]) as testbed:
        for n, arm in enumerate(arms):
            set_arm(testbed, f"sender{n}", arm, "--aggregate", f"10.9.{n}.16/28")
        results = testbed.transfer(plan(evaluation.drawn("mixed", repetition), len(arms), 2 * minute_s),
                                   2 * minute_s + 30)
    for one in sorted(results, key=lambda one: one.start_us):
        kind, number = one.tag.split("/")
        table.add(arms[int(one.sender[6:])].name, repetition, kind, int(number), one.start_us / 1e6,
                  1 + int(one.start_us / 1e6 >= minute_s), one.cwnd_first, one.done_us / 1e3, one.retrans_first,
                  one.retrans_segs, one.data_segs, one.complete, testbed.on_time)


def median_ms(rows, arm, kind, minute):
    return estimate([row["time_ms"] for row in rows
                     if (row["arm"], row["kind"], row["minute"]) == (arm, kind, minute)])


def against_ten(rows, arm, kind):
    """Geometric mean of times in the second minute, relative to those with a window of ten."""
    times = {name: {(row["repetition"], row["number"]): row["time_ms"] for row in rows
                    if (row["arm"], row["kind"], row["minute"]) == (name, kind, 2)} for name in (arm, "10")}
    pairs = times[arm].keys() & times["10"].keys()
    return math.exp(sum(math.log(times[arm][pair] / times["10"][pair]) for pair in pairs) / len(pairs))


def evaluate(evaluation):
    arms = ORACLE if evaluation.cells else ARMS
    table = evaluation.table("transfers", "arm", "repetition", "kind", "number", "at_s", "minute", "window", "time_ms",
                             "retrans_first", "retrans_segs", "data_segs", "complete", "on_time")
    groups = [arms[i:i + TOGETHER] for i in range(0, len(arms), TOGETHER)]
    for repetition in evaluation.steps(range(REPETITIONS if arms == ARMS and not evaluation.quick else 1)):
        for group in groups:
            play(evaluation, group, repetition, table)
    rows = [row for row in on_time(table.rows) if row["complete"]]
    evaluation.say(f"{'arm':<12} {'window':>11}   slow ms (first minute)   fast ms (first minute)   sent again, %"
                   "   times 10: slow, fast")
    for arm in arms:
        of_arm = [row for row in rows if row["arm"] == arm.name and row["minute"] == 2]
        windows = sorted(row["window"] for row in of_arm)
        again = 100 * sum(row["retrans_segs"] for row in of_arm) / sum(row["data_segs"] for row in of_arm)
        cells = [f"{median_ms(rows, arm.name, kind, 2)} ({median_ms(rows, arm.name, kind, 1).value:.0f})"
                 for kind in ("slow", "fast")]
        evaluation.say(f"{arm.name:<12} {windows[0]:>3} to {windows[-1]:>3}   {cells[0]:<22}   {cells[1]:<22}"
                       f" {again:>10.1f}      {against_ten(rows, arm.name, 'slow'):.3f},"
                       f" {against_ten(rows, arm.name, 'fast'):.3f}")
    draw(evaluation, rows, arms)
    best = [arm.name for arm in arms if against_ten(rows, arm.name, "slow") <= 1.05
            and against_ten(rows, arm.name, "fast") <= 0.85]
    evaluation.verdict(
        "Slow clients at most 5 % slower than with 10, fast ones 15 % faster: " + (", ".join(best) or "none") + ".",
        f"{len(rows)} of {len(table.rows)} transfers were complete, in repetitions that were on time.")


def draw(evaluation, rows, arms):
    with evaluation.picture("mixed", 1, 2) as (_, (left, right)):
        for i, arm in enumerate(arms):
            left.plot(against_ten(rows, arm.name, "slow"), against_ten(rows, arm.name, "fast"), "o", color=f"C{i}",
                      label=arm.name)
            of_arm = [row for row in rows if row["arm"] == arm.name and row["repetition"] == 0]
            right.plot([row["at_s"] for row in of_arm], [row["window"] for row in of_arm], color=f"C{i}")
        left.axvline(1.05, color="grey", linewidth=0.8)
        left.axhline(0.85, color="grey", linewidth=0.8)
        left.set(xlabel="slow clients' time, times that with 10", ylabel="fast clients'")
        left.legend(fontsize=7)
        right.set(xlabel="seconds", ylabel="initial window, segments")
