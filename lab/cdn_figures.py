"""Pictures of the content delivery network, and the paper's own figures beside them."""

import statistics
from typing import NamedTuple

import numpy
from figures import draw_cdf

RTT_GROUPS = ((0, 50, "< 50 ms"), (50, 100, "50 to 100 ms"), (100, 150, "100 to 150 ms"),
              (150, 1e9, "> 150 ms"))
SIZES = (10000, 50000, 100000)
CHOSEN = "100"  # the paper's c_max, beside which the others stand
STEPS = range(5, 100, 5)


class Network(NamedTuple):
    arms: list
    measured: dict  # {continent: PoP}
    busiest: str
    probe_only: str


def windows_of(rows, arm, sender=None):
    """All windows seen, one for each connection and look."""
    values = []
    for row in rows:
        if row["arm"] == arm and sender in (None, row["sender"]):
            values += [row["cwnd"]] * row["count"]
    return values


def times_ms(probes, arm, n_bytes, senders=None, rtts_ms=(0, 1e9), receiver=None, fresh=False):
    low, high = rtts_ms
    return [row["time_ms"] for row in probes
            if row["arm"] == arm and row["bytes"] == n_bytes and low <= row["rtt_ms"] < high
            and (senders is None or row["sender"] in senders)
            and receiver in (None, row["receiver"]) and not (fresh and row["reused"])]


def draw_windows(evaluation, network, windows):
    """Figs. 10 and 11."""
    with evaluation.picture("windows", 1, 2) as (_, (left, right)):
        for arm in network.arms:
            draw_cdf(left, windows_of(windows, arm), label=arm)
        for name, label in ((network.busiest, "busiest"), (network.probe_only, "probes alone")):
            draw_cdf(right, windows_of(windows, CHOSEN, name), label=f"{label}, {CHOSEN}")
        left.set(xlim=(0, 300), title="Fig. 10: windows of open connections, by c_max")
        right.set(xlim=(0, 200), title="Fig. 11: a busy and a quiet PoP")
        for axes in (left, right):
            axes.set(xlabel="congestion window, segments", ylabel="share of connections")
            axes.legend(fontsize=7)


def draw_times(evaluation, network, probes):
    """Figs. 12 to 14, for each measured PoP."""
    for continent, pop in network.measured.items():
        name = "times_" + continent.lower().replace(" ", "_")
        with evaluation.picture(name, len(SIZES), len(RTT_GROUPS), height=9) as (_, grid):
            for line, n_bytes in zip(grid, SIZES):
                for axes, (low, high, label) in zip(line, RTT_GROUPS):
                    for arm in ("none", CHOSEN):
                        values = times_ms(probes, arm, n_bytes, [pop], (low, high))
                        if values:
                            draw_cdf(axes, values, label=arm)
                    axes.set(title=f"{n_bytes // 1000} KB, {label}", xlabel="ms")
            grid[0][0].legend(title="c_max", fontsize=7)


def gains(probes, pop, n_bytes, arm=CHOSEN):
    """Percent of time saved at each percentile, averaged over destinations."""
    receivers = sorted({row["receiver"] for row in probes if row["sender"] == pop})
    by_receiver = []
    for receiver in receivers:
        without, with_us = (numpy.percentile(times_ms(probes, one, n_bytes, [pop],
                                                      receiver=receiver), STEPS)
                            for one in ("none", arm))
        by_receiver.append(100 * (1 - with_us / without))
    return numpy.mean(by_receiver, axis=0)


def draw_gains(evaluation, network, probes):
    """Figs. 15 and 16; {(continent, bytes): [percent at each step]}"""
    found = {}
    with evaluation.picture("gains", len(SIZES) - 1, len(network.measured)) as (_, grid):
        for line, n_bytes in zip(grid, SIZES[1:]):
            for axes, (continent, pop) in zip(line, network.measured.items()):
                found[continent, n_bytes] = gains(probes, pop, n_bytes)
                axes.bar(STEPS, found[continent, n_bytes], width=4)
                axes.set(title=f"{n_bytes // 1000} KB from {continent}", xlabel="percentile",
                         ylabel="time saved, %")
    return found


def share_faster(probes, arm, n_bytes, senders):
    """Of percentiles, over all destinations, those at which the arm is at least 5 % faster."""
    without, with_us = (numpy.percentile(times_ms(probes, one, n_bytes, senders), range(1, 100))
                        for one in ("none", arm))
    return 100 * float(numpy.mean(with_us < 0.95 * without))


def far(probes, arm, fresh):
    """100 KB over more than 150 ms, all senders: round trips saved in the median, percent at p75."""
    saved, percents = [], []
    pairs = sorted({(row["sender"], row["receiver"], row["rtt_ms"]) for row in probes
                    if row["rtt_ms"] > 150})
    for sender, receiver, rtt_ms in pairs:
        without, with_us = (times_ms(probes, one, SIZES[-1], [sender], receiver=receiver,
                                     fresh=fresh) for one in ("none", arm))
        if without and with_us:
            saved.append((statistics.median(without) - statistics.median(with_us)) / rtt_ms)
    without, with_us = (times_ms(probes, one, SIZES[-1], None, (150, 1e9), fresh=fresh)
                        for one in ("none", arm))
    for percent in (50, 75):
        percents.append(100 - 100 * numpy.percentile(with_us, percent)
                        / numpy.percentile(without, percent))
    return statistics.median(saved), percents[0], percents[1]


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


def add_times(table, network, probes, found):
    senders = list(network.measured.values())
    for n_bytes, paper in zip(SIZES, ("0 %", "30 %", "78 % (slides: 80 %)")):
        table.add("Figs. 12-14", f"{n_bytes // 1000} KB: transfers that became faster", paper,
                  f"{share_faster(probes, CHOSEN, n_bytes, senders):.0f} %")
    best = {key: (max(values), STEPS[int(numpy.argmax(values))]) for key, values in found.items()}
    for (continent, n_bytes), paper in zip(best, ("30 %", "21 %", "not printed", "25 %")):
        percent, step = best[continent, n_bytes]
        table.add("Figs. 15-16", f"{n_bytes // 1000} KB from {continent}: largest gain", paper,
                  f"{percent:.0f} % at p{step}")


def add_arms(table, network, probes):
    """All senders: what a larger c_max still gives."""
    for arm in network.arms:
        values = times_ms(probes, arm, SIZES[-1])
        chosen = [row for row in probes if row["arm"] == arm]
        resent = sum(r["retrans_segs"] for r in chosen) / sum(r["data_segs"] for r in chosen)
        table.add("c_max", f"{arm}: 100 KB, mean and p75; segments resent",
                  "little more past 100" if arm == "150" else "-",
                  f"{statistics.mean(values):.0f} ms, {numpy.percentile(values, 75):.0f} ms;"
                  f" {100 * resent:.2f} %")


def report(evaluation, network, probes, windows):
    draw_windows(evaluation, network, windows)
    draw_times(evaluation, network, probes)
    found = draw_gains(evaluation, network, probes)
    table = evaluation.table("paper", "figure", "what", "paper", "here")
    add_windows(table, network, windows)
    add_times(table, network, probes, found)
    add_arms(table, network, probes)
    lines = {}
    for arm in network.arms[1:]:
        for fresh, label in ((False, "all"), (True, "new connections")):
            saved, median, p75 = lines[arm, fresh] = far(probes, arm, fresh)
            table.add("> 150 ms", f"100 KB, {label}, {arm}: round trips saved in the median; time"
                      " saved at p50, p75", "-", f"{saved:.1f}; {median:.0f} %, {p75:.0f} %")
    for row in table.rows:
        evaluation.say("{figure}, {what}: paper {paper}, here {here}".format(**row))
    saved, median, p75 = lines[CHOSEN, False]
    evaluation.verdict(
        f"100 KB over more than 150 ms, c_max {CHOSEN}: the median pair saves {saved:.1f} round"
        f" trips, p50 {median:.0f} %, p75 {p75:.0f} % (to reach: 1 round trip, 30 %)",
        "transfers that became faster: " + ", ".join(
            f"{n_bytes // 1000} KB {share_faster(probes, CHOSEN, n_bytes, list(network.measured.values())):.0f} %"
            for n_bytes in SIZES) + " (paper: 0, 30, 78 %)")
