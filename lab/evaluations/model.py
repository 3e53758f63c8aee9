# SPDX-License-Identifier: MIT
"""What the transfer-time model says of a network's files and paths, and real transfers beside it.

Sec. II of the Riptide paper: sizes and round trip times as far as it prints them (pops.py fills in
the rest), round trips and times from windows of 10 to 100 (Figs. 2 to 6), and the
same transfers predicted by the model and measured through the WAN in a box.
"""

import statistics

import numpy
import pops
from figures import draw_cdf, on_time
from testbed import Testbed
from traffic import Transfer
from transfer_model import forecast

WINDOWS = (10, 25, 50, 100)
OBJECT_BYTES = 100000  # of Fig. 6
MSS_BYTES = 1448
MEASURED_RTTS_MS = (20, 60, 125, 200)
MEASURED_BYTES = (10000, 50000, 100000, 500000)
RATES = {"1 Gbit/s": "rate=1gbit,buffer=25mb", "20 Mbit/s": "rate=20mbit,buffer=1mb"}
SERVER = "server"


def forecast_each(sizes_bytes, rtts_ms, mss_bytes):
    """The forecast of each window: {window: forecast}."""
    return {window: forecast(sizes_bytes, rtts_ms, window, mss_bytes) for window in WINDOWS}


def draw_inputs(evaluation, sizes_bytes, rtts_ms):
    for name, unit, values in (("sizes", "bytes", sizes_bytes), ("rtts", "ms", rtts_ms)):
        table = evaluation.table(name, unit)
        for value in values:
            table.add(value)
    with evaluation.picture("inputs", 1, 2) as (_, (left, right)):
        draw_cdf(left, sizes_bytes)
        for size, share in pops.SIZE_POINTS:
            left.plot(size, share, "o", color="tab:red")
        left.set(xscale="log", xlabel="file size, bytes", ylabel="share of files",
                 title="Fig. 2; dots: what the paper prints")
        draw_cdf(right, rtts_ms)
        right.plot(pops.MEDIAN_RTT_MS, 0.5, "o", color="tab:red")
        right.set(xlabel="round trip time, ms", ylabel="share of pairs", title="Fig. 5")


def draw_rounds(evaluation, sizes_bytes, rtts_ms):
    """Draws Figs. 3, 4 and 6. Returns the forecasts of Figs. 3 and 6."""
    files = forecast_each(sizes_bytes, rtts_ms, pops.SEGMENT_BYTES)
    one = forecast_each([OBJECT_BYTES], rtts_ms, pops.SEGMENT_BYTES)
    sweep = numpy.unique(numpy.logspace(3, 7, 40 if evaluation.quick else 120).astype(int))
    gains = {window: [] for window in WINDOWS[1:]}
    for size in sweep:
        by_window = forecast_each([size], [100], pops.SEGMENT_BYTES)
        for window, points in gains.items():
            points.append(100 - 100 * by_window[window].rounds_mean / by_window[10].rounds_mean)
    with evaluation.picture("rounds", 1, 3) as (_, (left, middle, right)):
        for window in WINDOWS:
            shares = files[window].share_within_rounds[:7]
            left.step(range(1, len(shares) + 1), shares, where="post", label=str(window))
            right.plot(one[window].time_ms_percentiles, numpy.arange(1, 100) / 100,
                       label=str(window), linestyle="--" if window == 50 else "-")
        for window, points in gains.items():
            middle.step(sweep, points, where="mid", label=str(window))
        left.set(xlabel="round trips", ylabel="share of files", ylim=(0, 1), title="Fig. 3")
        middle.set(xscale="log", xlabel="file size, bytes", ylabel="round trips saved over 10, %",
                   title="Fig. 4")
        right.set(xlabel="time of 100 KB, ms", ylabel="share of pairs", title="Fig. 6")
        for axes in (left, middle, right):
            axes.legend(title="window", fontsize=7)
    return files, one


def compare_with_paper(evaluation, files, one):
    table = evaluation.table("paper", "figure", "paper", "here")
    within = {window: files[window].share_within_rounds[0] for window in WINDOWS}
    times = {window: one[window].time_ms_percentiles for window in WINDOWS}
    slower_ms = {percent: times[10][percent - 1] - times[100][percent - 1] for percent in (50, 90)}
    table.add("files over 15 KB", "54 %", f"{100 - 100 * within[10]:.1f} %")
    table.add("more files in one round trip from 50 than from 10", "31 %",
              f"{100 * (within[50] - within[10]):.1f} %")
    table.add("files that take more than one round trip from 100", "15 %",
              f"{100 - 100 * within[100]:.1f} %")
    table.add("100 KB from 10 against 100, median", "over 280 ms", f"{slower_ms[50]:.0f} ms")
    table.add("100 KB from 10 against 100, 90th percentile", "290 ms, about 100 %",
              f"{slower_ms[90]:.0f} ms, {100 * slower_ms[90] / times[100][89]:.0f} %")
    for row in table.rows:
        evaluation.say("{figure}: paper {paper}, here {here}".format(**row))
    return within


def measure(evaluation):
    """Predicts and measures the same transfers; each client has its own path and window."""
    table = evaluation.table("transfers", "rate", "rtt_ms", "window", "size_bytes", "repetition",
                             "predicted_ms", "measured_ms", "cwnd_first", "retrans_segs", "on_time")
    rates = list(RATES)[:1] if evaluation.quick else list(RATES)
    sizes = MEASURED_BYTES[:3] if evaluation.quick else MEASURED_BYTES
    cells = [(rate, rtt_ms, window) for rate in rates for rtt_ms in MEASURED_RTTS_MS
             for window in WINDOWS]
    predicted = {(size, rtt_ms): forecast_each([size], [rtt_ms], MSS_BYTES)
                 for size in sizes for rtt_ms in MEASURED_RTTS_MS}
    clients = {f"client{n}": f"10.9.{n}.1" for n in range(len(cells))}
    paths = []
    for client, (rate, rtt_ms, _) in zip(clients, cells):
        delay = f"delay={rtt_ms * 500}us"
        paths += [f"from={SERVER},to={client},{delay},{RATES[rate]}",
                  f"from={client},to={SERVER},{delay}"]
    repetitions = range(1 if evaluation.quick else 9)
    for repetition in evaluation.steps(repetitions, lambda n: f"repetition {n + 1}"):
        with Testbed(evaluation, {SERVER: "10.9.255.1", **clients}, paths) as testbed:
            for (_, _, window), address in zip(cells, clients.values()):
                testbed.set_route(SERVER, "initcwnd", window, to=address)
            order = [(client, size) for client in clients for size in sizes]
            evaluation.drawn(repetition).shuffle(order)
            results = testbed.transfer([
                Transfer(SERVER, client, size, at_s=0.02 * at, tag=client.replace("client", ""))
                for at, (client, size) in enumerate(order)])
        for result in results:
            rate, rtt_ms, window = cells[int(result.tag)]
            table.add(rate, rtt_ms, window, result.n_bytes, repetition,
                      predicted[result.n_bytes, rtt_ms][window].time_ms_mean,
                      result.done_us / 1e3, result.cwnd_first, result.retrans_segs,
                      testbed.on_time)
    return table.rows


def medians(rows):
    """{(rate, rtt, window, size): (predicted, median measured)}, of runs that were on time, if any.
    """
    groups = {}
    for row in rows:
        key = row["rate"], row["rtt_ms"], row["window"], row["size_bytes"]
        groups.setdefault(key, []).append(row)
    found = {}
    for key, group in groups.items():
        good = on_time(group)
        found[key] = (good[0]["predicted_ms"], statistics.median(r["measured_ms"] for r in good))
    return found


def draw_measured(evaluation, found):
    with evaluation.picture("measured") as (_, axes):
        for marker, rate in zip("os", dict.fromkeys(key[0] for key in found)):
            points = [point for key, point in found.items() if key[0] == rate]
            axes.plot(*zip(*points), marker, markersize=4, alpha=0.6, label=rate)
        end = max(max(point) for point in found.values())
        axes.plot([0, end], [0, end], color="grey", linewidth=0.8)
        axes.set(xlabel="predicted by the model, ms", ylabel="measured, median, ms",
                 title="new connections, 10 to 500 KB, 20 to 200 ms, windows 10 to 100")
        axes.legend()


def evaluate(evaluation):
    sizes_bytes, rtts_ms = pops.sizes_bytes(), pops.rtts_ms()
    draw_inputs(evaluation, sizes_bytes, rtts_ms)
    files, one = draw_rounds(evaluation, sizes_bytes, rtts_ms)
    within = compare_with_paper(evaluation, files, one)
    found = medians(measure(evaluation))
    draw_measured(evaluation, found)
    errors = {rate: [abs(measured / predicted - 1) for key, (predicted, measured) in found.items()
                     if key[0] == rate] for rate in dict.fromkeys(key[0] for key in found)}
    evaluation.verdict(
        f"In one round trip: {100 * within[10]:.0f} % of files from 10, {100 * within[50]:.0f} %"
        f" from 50, {100 * within[100]:.0f} % from 100; 100 KB take"
        f" {one[10].time_ms_percentiles[49]:.0f} ms in the median from 10,"
        f" {one[100].time_ms_percentiles[49]:.0f} ms from 100",
        "Model against real TCP, median and largest error: " + "; ".join(
            f"{100 * statistics.median(values):.1f} % and {100 * max(values):.0f} % at {rate}"
            for rate, values in errors.items()))
