# SPDX-License-Identifier: MIT
"""Pictures of the content delivery network, and the paper's own figures beside them."""

import statistics
from typing import NamedTuple

import figures
import numpy

SIZES = (10000, 50000, 100000)
FAR_MS = (150, 1e9)
CHOSEN = "100"  # the paper's c_max, beside which the others stand
DEFAULT = "both"
OURS = {  # the default policy, by routes and paced by the program: options
    "careful": ("--apply", "routes"), "program": ("--apply", "program"), DEFAULT: ("--apply", "both")}
DRAWN = {"none": "without Riptide", CHOSEN: "the paper's Riptide", DEFAULT: "riptided, by default"}
STEPS = range(5, 100, 5)


class Network(NamedTuple):
    arms: list
    measured: dict  # {continent: [PoP, ...]}
    busiest: str
    probe_only: str

    def shown(self, *others):
        """The arms that pictures compare: the paper's, ours and those others."""
        return [arm for arm in self.arms if arm in (*others, CHOSEN, *OURS)]


def windows_of(rows, arm, sender=None):
    """All sampled windows, one for each connection and dump."""
    values = []
    for row in rows:
        if row["arm"] == arm and sender in (None, row["sender"]):
            values += [row["cwnd"]] * row["count"]
    return values


class Probes:
    """Rows by arm and size, as arrays: there are too many to read each for each figure."""

    def __init__(self, rows):
        groups = {}
        for row in rows:
            groups.setdefault((row["arm"], row["bytes"]), []).append(row)
        columns = ("sender", "receiver", "rtt_ms", "reused", "time_ms", "retrans_segs", "data_segs")
        self._groups = {key: {column: numpy.array([row[column] for row in group])
                              for column in columns} for key, group in groups.items()}

    def column(self, arm, n_bytes, name, senders=None, rtts_ms=None, receiver=None, fresh=False):
        group = self._groups[arm, n_bytes]
        chosen = numpy.ones(len(group["rtt_ms"]), dtype=bool)
        if senders is not None:
            chosen &= numpy.isin(group["sender"], senders)
        if rtts_ms is not None:
            chosen &= (group["rtt_ms"] >= rtts_ms[0]) & (group["rtt_ms"] < rtts_ms[1])
        if receiver is not None:
            chosen &= group["receiver"] == receiver
        if fresh:
            chosen &= ~group["reused"].astype(bool)
        return group[name][chosen]

    def times_ms(self, arm, n_bytes, **chosen):
        return self.column(arm, n_bytes, "time_ms", **chosen)

    def resent(self, arm):
        """Share of the segments of all sizes."""
        again, all_of_them = (sum(self.column(arm, n_bytes, name).sum() for n_bytes in SIZES)
                              for name in ("retrans_segs", "data_segs"))
        return again / all_of_them


def draw(evaluation, network, probes, windows):
    """Fig. 10 for the default, and the times of 100 KB over the longest paths."""
    far = {arm: probes.times_ms(arm, SIZES[-1], rtts_ms=FAR_MS) for arm in DRAWN}
    open_windows = {arm: windows_of(windows, arm) for arm in DRAWN}
    for name, values, words, most in (("windows", open_windows, "congestion window of open connections, segments", 300),
                                      ("times", far, "100 KB over more than 150 ms: milliseconds", None)):
        with evaluation.picture(name, width=9) as (_, axes):
            for arm, label in DRAWN.items():
                style = figures.DEFAULT_LINE if arm == DEFAULT else {}
                figures.draw_cdf(axes, values[arm], label=label, **style)
            axes.set(xlim=(0, most), xlabel=words, ylabel="share of them")
            axes.legend()


def gains(probes, senders, n_bytes, arm):
    """Percent of time saved at each percentile, averaged over destinations."""
    by_receiver = []
    for receiver in numpy.unique(probes.column("none", n_bytes, "receiver", senders=senders)):
        without, with_us = (numpy.percentile(
            probes.times_ms(one, n_bytes, senders=senders, receiver=receiver), STEPS)
            for one in ("none", arm))
        by_receiver.append(100 * (1 - with_us / without))
    return numpy.mean(by_receiver, axis=0)


def shares(probes, arm, n_bytes, senders):
    """Percentiles, over all destinations, at which the arm is at least 5 % faster, and slower."""
    without, with_us = (numpy.percentile(probes.times_ms(one, n_bytes, senders=senders), range(1, 100))
                        for one in ("none", arm))
    return (100 * float(numpy.mean(with_us < 0.95 * without)),
            100 * float(numpy.mean(with_us > 1.05 * without)))


def far(probes, arm, fresh):
    """100 KB over more than 150 ms, all senders: how many round trips the median of a median pair is
    faster, and how many percent the median and the 75th percentile of all are."""
    chosen = {"rtts_ms": FAR_MS, "fresh": fresh}
    medians = []
    for one in ("none", arm):
        names = ("sender", "receiver", "rtt_ms", "time_ms")
        by_pair = {}
        for *pair, time_ms in zip(*(probes.column(one, SIZES[-1], name, **chosen)
                                    for name in names)):
            by_pair.setdefault(tuple(pair), []).append(time_ms)
        medians.append({pair: statistics.median(times) for pair, times in by_pair.items()})
    saved = [(medians[0][pair] - medians[1][pair]) / pair[2] for pair in medians[0]
             if pair in medians[1]]
    without, with_us = (numpy.percentile(probes.times_ms(one, SIZES[-1], **chosen), (50, 75))
                        for one in ("none", arm))
    return (statistics.median(saved), *(100 - 100 * with_us / without))


def add_windows(table, network, windows):
    medians = {arm: statistics.median(windows_of(windows, arm)) for arm in network.arms}
    for arm, paper in (("50", "+100 %"), (CHOSEN, "+200 %")):
        if arm in medians:
            table.add("Fig. 10", f"median window, c_max {arm} over none", paper,
                      f"{100 * medians[arm] / medians['none'] - 100:+.0f} %")
    busy, quiet = (numpy.array(windows_of(windows, CHOSEN, name))
                   for name in (network.busiest, network.probe_only))
    table.add("Fig. 11", "busiest PoP: connections at 100 or more", "over 44 %",
              f"{100 * numpy.mean(busy >= 100):.0f} %")
    table.add("Fig. 11", "probes alone: connections below 100, median", "99 %, 75",
              f"{100 * numpy.mean(quiet < 100):.0f} %, {numpy.median(quiet):.0f}")


def add_times(table, network, probes):
    senders = sum(network.measured.values(), [])
    for n_bytes, paper in zip(SIZES, ("0, 0 %", "30, 0 %", "78, 0 % (slides: 80 %)")):
        for arm in network.shown():
            faster, slower = shares(probes, arm, n_bytes, senders)
            table.add("Figs. 12-14", f"{n_bytes // 1000} KB, {arm}: percentiles that became faster,"
                      " slower by 5 %", paper, f"{faster:.0f}, {slower:.0f} %")
    papers = iter(("30 %", "21 %", "not printed", "25 %"))
    for n_bytes in SIZES[1:]:
        for continent, of_continent in network.measured.items():
            percents = gains(probes, of_continent, n_bytes, CHOSEN)
            best = int(numpy.argmax(percents))
            table.add("Figs. 15-16", f"{n_bytes // 1000} KB from {continent}: largest gain", next(papers),
                      f"{percents[best]:.0f} % at p{STEPS[best]}")


def add_arms(table, network, probes):
    """All senders: what a larger c_max still gives."""
    for arm in network.arms:
        values = probes.times_ms(arm, SIZES[-1])
        table.add("c_max", f"{arm}: 100 KB, mean and p75; segments resent",
                  "little more past 100" if arm == "150" else "-",
                  f"{numpy.mean(values):.0f} ms, {numpy.percentile(values, 75):.0f} ms;"
                  f" {100 * probes.resent(arm):.2f} %")


def report(evaluation, network, rows, windows):
    probes = Probes(rows)
    draw(evaluation, network, probes, windows)
    table = evaluation.table("paper", "figure", "what", "paper", "here")
    add_windows(table, network, windows)
    add_times(table, network, probes)
    add_arms(table, network, probes)
    lines = {}
    for arm in network.arms[1:]:
        for fresh, label in ((False, "all"), (True, "new connections")):
            saved, median, p75 = lines[arm, fresh] = far(probes, arm, fresh)
            table.add("> 150 ms", f"100 KB, {label}, {arm}: round trips saved in the median; time"
                      " saved at p50, p75", "-", f"{saved:.1f}; {median:.0f} %, {p75:.0f} %")
    for row in table.rows:
        evaluation.say("{figure}, {what}: paper {paper}, here {here}".format(**row))
    evaluation.verdict(
        "100 KB over more than 150 ms: " + "; ".join(
            "{}: the median pair saves {:.1f} round trips, p50 {:.0f} %, p75 {:.0f} %".format(
                arm, *lines[arm, False]) for arm in network.shown())
        + " (to reach: 1 round trip, 30 %)",
        "percentiles that became faster, slower by 5 %: " + "; ".join(
            f"{arm}: " + ", ".join("{} KB {:.0f}, {:.0f} %".format(n_bytes // 1000, *shares(
                probes, arm, n_bytes, sum(network.measured.values(), []))) for n_bytes in SIZES)
            for arm in network.shown()) + " (paper: faster 0, 30, 78 %)")
