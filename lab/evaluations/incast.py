# SPDX-License-Identifier: MIT
"""Many senders to one receiver behind a small and a large buffer (Glasgow's parameter tuning).

Their slides print a goodput of 45 and 20 % at 56.94 and 24.58 Mbit/s, so a link of 125 Mbit/s, and
goodputs times completion times of 1.95 MB in all; they do not print the number of senders. Here
senders answer a receiver that asks all of them at once, each for its part of 1.95 MB, on new
connections, as a job that gathers results does. Their proposal: the initial window is the path's
bandwidth-delay product divided by the senders, and rto_min the largest delay that the path can
have. Both come from earlier measurements on the path: its round trip time, rate and
largest delay under load.
"""

import math
from dataclasses import dataclass

import numpy
from figures import draw_estimates, estimate
from testbed import Testbed
from traffic import Transfer

RECEIVER = "receiver"
TOTAL_BYTES = 1950000
RATE_MBPS = 125
BUFFERS_KB = (85, 512)
MSS_BYTES = 1448
PROBE_EVERY_S = 0.004
PROBE_CONNECTIONS = 30  # enough that one is idle, however long the queue
# name: (window from the path, rto_min from the path)
ARMS = {"default": (False, False), "window": (True, False), "rto_min": (False, True),
        "both": (True, True)}
FIGURES = "time_ms", "goodput_mbps", "drops", "retrans_segs", "delay_mean_ms", "delay_max_ms", "complete"
DRAWN = {"default": "the kernel's", "window": "initial window from the path", "rto_min": "rto_min from the path",
         "both": "both from the path"}


@dataclass(frozen=True)
class Path:
    rtt_ms: float
    buffer_kb: int


@dataclass(frozen=True)
class Measured:
    """Measured properties of a path."""
    rtt_ms: float
    rate_mbps: float
    largest_ms: float  # round trip, under load

    def window(self, senders):
        segments = self.rate_mbps * 1e3 * self.rtt_ms / 8 / MSS_BYTES / senders
        return max(1, round(segments))

    def rto_min_ms(self):
        return max(1, math.ceil(self.largest_ms))


def senders_of(count):
    return {f"sender{n}": f"10.9.{n}.1" for n in range(count)}


def build(evaluation, path, count):
    links = {RECEIVER: f"rate={RATE_MBPS}mbit,buffer={path.buffer_kb}kb"}
    return Testbed(evaluation, {RECEIVER: "10.9.255.1", "prober": "10.9.254.1",
                                **senders_of(count)}, [f"delay={path.rtt_ms * 500:.0f}us"], links)


def open_probes(testbed):
    """Opens idle connections, on which single bytes measure the one-way delay."""
    testbed.transfer([Transfer("prober", RECEIVER, 1, idle_s=3600)
                      for _ in range(PROBE_CONNECTIONS)])


def probes(from_s, to_s):
    count = int((to_s - from_s) / PROBE_EVERY_S)
    return [Transfer("prober", RECEIVER, 1, at_s=from_s + n * PROBE_EVERY_S, reuse=True,
                     idle_s=3600, tag="probe") for n in range(count)]


def delays_ms(results, rtt_ms):
    """One-way delays of probes that were not lost; the way of their requests is idle."""
    return [one.done_us / 1e3 - rtt_ms / 2 for one in results
            if one.tag == "probe" and one.complete and one.reused and not one.retrans_segs]


def learn(testbed):
    """Measures a path by one sender: first idle, then filled."""
    quiet = testbed.transfer([Transfer("sender0", RECEIVER, 1000, at_s=n * 0.02) for n in range(5)])
    bulk = testbed.transfer([Transfer("sender0", RECEIVER, 5000000), *probes(0.05, 0.35)])
    filled = next(one for one in bulk if one.tag != "probe")
    rtt_ms = min(one.min_rtt_us for one in quiet) / 1e3
    seconds = (filled.done_us - filled.first_byte_us) / 1e6
    return Measured(rtt_ms, filled.n_bytes * 8 / 1e6 / seconds,
                    max(delays_ms(bulk, rtt_ms)) + rtt_ms / 2)


def set_arm(testbed, arm, measured, senders):
    """Sets an arm; returns its routes' metrics."""
    with_window, with_rto_min = ARMS[arm]
    metrics = []
    if with_window:
        metrics += ["initcwnd", measured.window(senders)]
    if with_rto_min:
        metrics += ["rto_min", f"{measured.rto_min_ms()}ms"]
    for name in senders_of(senders):
        testbed.set_route(name, *metrics)
    return " ".join(map(str, metrics)) or "-"


def gather(testbed, senders, rtt_ms, drawn):
    """Plays one round; the receiver needs a little time for each request. Returns FIGURES."""
    each = TOTAL_BYTES // senders
    before = testbed.wan.counters()
    order = list(senders_of(senders))
    drawn.shuffle(order)
    results = testbed.transfer(
        [Transfer(name, RECEIVER, each, at_s=0.01 + drawn.uniform(0, 0.0005)) for name in order]
        + probes(0, 0.25), limit_s=20)
    after = testbed.wan.counters()
    parts = [one for one in results if one.tag != "probe"]
    time_ms = max(one.start_us + one.done_us for one in parts) / 1e3 - 10
    waits = delays_ms(results, rtt_ms)
    before, after = (counters["ports"][RECEIVER]["dropped_downlink"] for counters in (before, after))
    return (time_ms, each * senders * 8 / 1e3 / time_ms, after - before, sum(one.retrans_segs for one in parts),
            sum(waits) / len(waits), max(waits), all(one.complete for one in parts))


def plan(quick):
    """[(path, senders), ...]"""
    if quick:
        return [(Path(1, buffer_kb), 24) for buffer_kb in BUFFERS_KB]
    cells = [(Path(1, buffer_kb), senders) for buffer_kb in BUFFERS_KB
             for senders in (4, 8, 16, 24, 32, 48)]
    return cells + [(Path(0.2, buffer_kb), 32) for buffer_kb in BUFFERS_KB]


def measure(evaluation):
    rounds = evaluation.table("rounds", "rtt_ms", "buffer_kb", "senders", "arm", "metrics",
                              "repetition", *FIGURES, "on_time")
    paths = evaluation.table("paths", "rtt_ms", "buffer_kb", "senders", "measured_rtt_ms",
                             "measured_rate_mbps", "measured_largest_ms")
    repetitions = 1 if evaluation.quick else 15
    arms = ("default", "both") if evaluation.quick else tuple(ARMS)
    cells = plan(evaluation.quick)
    evaluation.expect(len(cells) * len(arms) * repetitions)
    for path, senders in cells:
        found = []
        with build(evaluation, path, senders) as testbed:
            open_probes(testbed)
            measured = learn(testbed)
            paths.add(path.rtt_ms, path.buffer_kb, senders, measured.rtt_ms, measured.rate_mbps,
                      measured.largest_ms)
            for repetition in range(repetitions):
                for arm in arms:  # in turns, so that a disturbance affects all
                    evaluation.step(f"{senders} senders, {path.buffer_kb} kB, {arm}")
                    metrics = set_arm(testbed, arm, measured, senders)
                    drawn = evaluation.drawn(path, senders, repetition)
                    found.append((arm, metrics, repetition, gather(testbed, senders, measured.rtt_ms, drawn)))
        for arm, metrics, repetition, figures in found:
            rounds.add(path.rtt_ms, path.buffer_kb, senders, arm, metrics, repetition, *figures, testbed.on_time)
    return rounds.rows


def choose(rows, column, **wanted):
    return [row[column] for row in rows
            if all(row[key] == value for key, value in wanted.items())]


def draw(evaluation, rows):
    """The goodput behind the small buffer, which collapses."""
    rows = [row for row in rows if row["rtt_ms"] == 1 and row["buffer_kb"] == BUFFERS_KB[0]]
    counts = sorted({row["senders"] for row in rows})
    with evaluation.picture("incast") as (_, axes):
        for arm in dict.fromkeys(row["arm"] for row in rows):
            estimates = [estimate(choose(rows, "goodput_mbps", arm=arm, senders=count)) for count in counts]
            draw_estimates(axes, counts, estimates, label=DRAWN[arm])
        axes.set(xlabel="senders", ylabel=f"goodput of {RATE_MBPS} Mbit/s", ylim=(0, None))
        axes.legend()


def summarize(evaluation, rows):
    """The table of the slides for each path, with the number of senders common to all."""
    table = evaluation.table("summary", "rtt_ms", "buffer_kb", "senders", "arm", "goodput_mbps",
                             "time_ms", "drops", "delay_mean_ms", "delay_max_ms")
    for key in dict.fromkeys((r["rtt_ms"], r["buffer_kb"], r["senders"], r["arm"]) for r in rows):
        wanted = dict(zip(("rtt_ms", "buffer_kb", "senders", "arm"), key))
        table.add(*key, *(str(estimate(choose(rows, column, **wanted), numpy.mean)) for column in (
            "goodput_mbps", "time_ms", "drops", "delay_mean_ms", "delay_max_ms")))


def evaluate(evaluation):
    rows = measure(evaluation)
    draw(evaluation, rows)
    summarize(evaluation, rows)
    senders = 24
    lines = []
    for buffer_kb in BUFFERS_KB:
        default, both = ({column: estimate(choose(
            rows, column, rtt_ms=1, buffer_kb=buffer_kb, senders=senders, arm=arm), numpy.mean)
            for column in ("goodput_mbps", "drops", "delay_mean_ms")} for arm in ("default", "both"))
        lines.append(
            f"{senders} senders, {buffer_kb} kB: goodput {default['goodput_mbps']} Mbit/s, tuned"
            f" {both['goodput_mbps']}; drops {default['drops'].value:.0f} and"
            f" {both['drops'].value:.0f}; delay {default['delay_mean_ms'].value:.1f} and"
            f" {both['delay_mean_ms'].value:.1f} ms")
    evaluation.verdict(*lines)
