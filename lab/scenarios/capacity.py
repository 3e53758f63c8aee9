# SPDX-License-Identifier: MIT
"""Capacity drops by ten while windows are high: how many ticks until first flights fit again.

100 Mbit/s and 50 ms become 10 Mbit/s with a buffer of one bandwidth-delay product, 42 packets. New connections
bring 150 KB, one after the other, so that a flight with losses was too large for the path, not in
another one's way. Before the drop three busy connections fill the path: from these, policies
learn its capacity. Arms run side by side, each on its own path.
"""

from figures import estimate_share, on_time
from scenarios import POLICIES, STATICS, arm_of, pairs, set_arms
from testbed import Testbed
from traffic import Transfer

OBJECT_BYTES = 150000
BEFORE_S, AFTER_S = 30, 15
EVERY_S, JITTER_S, STAGGER_S = 0.5, 0.05, 0.04
# Together they take two thirds of a second, each time at another point of riptided's interval.
BUSY_CONNECTIONS, BUSY_BYTES, BUSY_EVERY_S = 3, 1000000, 2.3
OPENING_AFTER_BUSY_S = (1.2, 1.7)
REPETITIONS = 3
FAST = "delay=25ms,rate=100mbit,buffer=625kb"
SLOW = "rate=10mbit,buffer=62500b"


def run(evaluation):
    table = evaluation.table("capacity", "arm", "repetition", "after_s", "window", "retrans_first",
                             "retrans_segs", "data_segs", "time_ms", "complete", "on_time")
    arms = ("paper", "careful") if evaluation.quick else STATICS + POLICIES
    before_s, after_s = (3, 2) if evaluation.quick else (BEFORE_S, AFTER_S)
    for repetition in range(1 if evaluation.quick else REPETITIONS):
        results, is_on_time = drop(evaluation, arms, before_s, after_s,
                                   evaluation.drawn("capacity", repetition))
        for one, at_s in results:
            table.add(arm_of(arms, one), repetition, at_s, one.cwnd_first, one.retrans_first,
                      one.retrans_segs, one.data_segs, one.done_us / 1e3, one.complete, is_on_time)
    rows = on_time(table.rows)
    draw(evaluation, rows, arms)
    return "after the drop first flights fit again after: " + ", ".join(
        f"{arm} {ticks_until_fit(rows, arm)} (from {window_before(rows, arm):.0f})"
        for arm in arms)


def drop(evaluation, arms, before_s, after_s, drawn):
    paths = [f"from=sender{n},{FAST}" for n in range(len(arms))]
    with Testbed(evaluation, pairs(arms), [*paths, "delay=25ms"]) as testbed:
        set_arms(testbed, arms)
        before = busy_and_openings(arms, before_s)
        results = [(one, one.start_us / 1e6 - before_s)
                   for one in testbed.transfer(before) if one.tag == "opening"]
        for n in range(len(arms)):
            testbed.wan.change(n + 1, SLOW)
        results += [(one, one.start_us / 1e6)
                    for one in testbed.transfer(openings(arms, after_s, drawn))]
    return results, testbed.on_time


def openings(arms, seconds, drawn):
    return [Transfer(f"sender{n}", f"receiver{n}", OBJECT_BYTES, tag="opening",
                     at_s=index * EVERY_S + drawn.random() * JITTER_S)
            for n in range(len(arms)) for index in range(int(seconds / EVERY_S))]


def busy_and_openings(arms, seconds):
    transfers = []
    for begin_ds in range(0, int(seconds * 10) - 20, int(BUSY_EVERY_S * 10)):
        for n in range(len(arms)):
            ends, at_s = (f"sender{n}", f"receiver{n}"), begin_ds / 10 + n * STAGGER_S
            transfers += [Transfer(*ends, BUSY_BYTES, at_s, tag="busy", reuse=True, idle_s=BUSY_EVERY_S)
                          for _ in range(BUSY_CONNECTIONS)]
            transfers += [Transfer(*ends, OBJECT_BYTES, at_s + after_s, tag="opening")
                          for after_s in OPENING_AFTER_BUSY_S]
    return transfers


def share_that_resent(rows, arm, second):
    """The share with retransmissions, of transfers that began in that second after the drop."""
    chosen = [row for row in rows if row["arm"] == arm and second <= row["after_s"] < second + 1]
    return estimate_share(sum(row["retrans_first"] > 0 for row in chosen), len(chosen))


def window_before(rows, arm):
    """The mean window of the last four seconds before the drop."""
    cwnds = [row["window"] for row in rows if row["arm"] == arm and -4 <= row["after_s"] < 0]
    return sum(cwnds) / max(1, len(cwnds))


def ticks_until_fit(rows, arm):
    """Seconds after which at most one first flight in twenty had losses, permanently."""
    last = int(max(row["after_s"] for row in rows))
    bad = [second for second in range(last + 1)
           if share_that_resent(rows, arm, second).value > 0.05]
    if not bad:
        return "0 ticks"
    return f"{bad[-1] + 1} ticks" if bad[-1] < last else f"not within {last + 1} ticks"


def draw(evaluation, rows, arms):
    with evaluation.picture("capacity", 1, 2) as (_, (left, right)):
        seconds = range(int(min(row["after_s"] for row in rows)),
                        int(max(row["after_s"] for row in rows)) + 1)
        for arm in arms:
            groups = [(second, [row["window"] for row in rows if row["arm"] == arm
                                and second <= row["after_s"] < second + 1]) for second in seconds]
            groups = [(second, group) for second, group in groups if group]  # not while it is busy
            left.plot([second for second, _ in groups],
                      [sum(group) / len(group) for _, group in groups], label=arm)
            right.plot([second for second, _ in groups],
                       [100 * share_that_resent(rows, arm, second).value for second, _ in groups],
                       label=arm)
        for axes in (left, right):
            axes.axvline(0, color="grey", linewidth=0.8)
            axes.set(xlabel="seconds after the drop")
        left.set(ylabel="initial window, segments, mean")
        right.set(ylabel="transfers that resent in the first flight, %")
        right.legend(fontsize=7)
