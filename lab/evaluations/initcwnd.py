# SPDX-License-Identifier: MIT
"""Download time of a page by initial window, round trip time and bandwidth (Stanford, CS244 '13).

The replication of Dukkipati et al., "An Argument for Increasing TCP's Initial Congestion Window":
a page of 37 KB over 3 Mbit/s and 100 ms, cubic, with windows of 3 to 42; then what windows of 10
and 26 gain over 3 as the round trip time, the bandwidth or their product changes. As in Mininet,
both directions have the bandwidth, and a buffer of 1,000 packets, which such a page never fills.
"""

from dataclasses import dataclass

from figures import draw_estimates, estimate, on_time
from testbed import Testbed
from traffic import Transfer

PAGE_BYTES = 37000
WINDOWS = (3, 6, 10, 16, 26, 42)
COMPARED = (3, 10, 26)
BUFFER_BYTES = 1500000
SERVER = "server"
RTTS_MS = (20, 50, 100, 200, 500, 1000, 3000)
RATES_KBPS = (56, 256, 512, 1000, 2000, 3000, 5000)
PRODUCT_RATES_KBPS = (8, 40, 80, 400, 800)  # at 1,000 ms
SWEEPS = "rtt", "rate", "product"  # round trip time, bandwidth, their product
STAGGER_S = 0.05  # so that first flights do not coincide in the emulator


@dataclass(frozen=True)
class Case:
    """A client with its own path to the server."""
    sweep: str
    x: int
    rtt_ms: int
    rate_kbps: int
    window: int


def list_cases(quick):
    cases = [Case("window", window, 100, 3000, window) for window in WINDOWS]
    rtts_ms, rates_kbps, product_rates_kbps = RTTS_MS, RATES_KBPS, PRODUCT_RATES_KBPS
    if quick:
        rtts_ms, rates_kbps, product_rates_kbps = RTTS_MS[:4], RATES_KBPS[3:], ()
    for window in COMPARED:
        cases += [Case("rtt", rtt_ms, rtt_ms, 3000, window) for rtt_ms in rtts_ms]
        cases += [Case("rate", rate, 100, rate, window) for rate in rates_kbps]
        cases += [Case("product", rate * 125, 1000, rate, window) for rate in product_rates_kbps]
    return cases


def download(evaluation, cases, drawn):
    """Plays one download for each case: [(result, whether the emulator was on time), ...]."""
    clients = {f"client{n}": f"10.9.{n}.1" for n in range(len(cases))}
    paths = []
    for client, case in zip(clients, cases):
        link = f"delay={case.rtt_ms * 500}us,rate={case.rate_kbps}kbit,buffer={BUFFER_BYTES}b"
        paths += [f"from={SERVER},to={client},{link}", f"from={client},to={SERVER},{link}"]
    with Testbed(evaluation, {SERVER: "10.9.255.1", **clients}, paths) as testbed:
        for address, case in zip(clients.values(), cases):
            testbed.set_route(SERVER, "initcwnd", case.window, to=address)
        order = list(range(len(cases)))
        drawn.shuffle(order)
        results = testbed.transfer(
            [Transfer(SERVER, f"client{n}", PAGE_BYTES, at_s=at * STAGGER_S, tag=n)
             for at, n in enumerate(order)], limit_s=200)
    return [(result, testbed.on_time) for result in results]


def measure(evaluation):
    table = evaluation.table("downloads", "sweep", "x", "rtt_ms", "rate_kbps", "window",
                             "repetition", "time_ms", "cwnd_first", "retrans_segs", "on_time")
    cases = list_cases(evaluation.quick)
    repetitions = range(1 if evaluation.quick else 9)
    for repetition in evaluation.steps(repetitions, lambda n: f"repetition {n + 1}"):
        for result, is_on_time in download(evaluation, cases, evaluation.drawn(repetition)):
            case = cases[result.tag]
            table.add(case.sweep, case.x, case.rtt_ms, case.rate_kbps, case.window, repetition,
                      result.done_us / 1e3 if result.complete else float("nan"),
                      result.cwnd_first, result.retrans_segs, is_on_time)
    return table.rows


def times_ms(rows, sweep, x, window):
    """Times of the repetitions with an emulator on time; of all, if it never was."""
    chosen = [row for row in rows
              if (row["sweep"], row["x"], row["window"]) == (sweep, x, window)]
    return [row["time_ms"] for row in on_time(chosen)]


def draw_windows(evaluation, rows):
    found = [estimate(times_ms(rows, "window", window, window)) for window in WINDOWS]
    with evaluation.picture("windows") as (_, axes):
        draw_estimates(axes, WINDOWS, found)
        axes.set(xlabel="initial window, segments", ylabel="download of 37 KB, ms", ylim=(0, None))
    return {window: one.value for window, one in zip(WINDOWS, found)}


def gains(rows, sweep):
    """Percent of the time that larger windows save over one of 3: {window: {x: percent}}."""
    found = {window: {} for window in COMPARED[1:]}
    for x in sorted({row["x"] for row in rows if row["sweep"] == sweep}):
        base_ms = estimate(times_ms(rows, sweep, x, 3)).value
        for window, by_x in found.items():
            by_x[x] = 100 - 100 * estimate(times_ms(rows, sweep, x, window)).value / base_ms
    return found


def draw_gains(evaluation, found):
    """The gains by round trip time."""
    with evaluation.picture("gains") as (_, axes):
        for window, by_x in found["rtt"].items():
            axes.plot(*zip(*by_x.items()), "o-", label=f"window of {window}" + ", the kernel's" * (window == 10))
        axes.set(xscale="log", xlabel="round trip time, ms", ylabel="time saved over a window of 3, percent",
                 ylim=(0, None))
        axes.set_xticks(list(by_x), map(str, by_x))
        axes.minorticks_off()
        axes.legend()


def evaluate(evaluation):
    rows = measure(evaluation)
    times = draw_windows(evaluation, rows)
    found = {sweep: gains(rows, sweep) for sweep in SWEEPS}
    draw_gains(evaluation, found)
    best = max(percent for by_window in found.values() for percent in by_window[26].values())
    evaluation.verdict(
        "37 KB, 3 Mbit/s, 100 ms: " + ", ".join(
            f"{times[window]:.0f} ms from {window}" for window in WINDOWS),
        f"10 saves {100 - 100 * times[10] / times[3]:.0f} % over 3, 26 saves"
        f" {100 - 100 * times[26] / times[3]:.0f} %, 42 no more than"
        f" {100 - 100 * times[42] / times[3]:.0f} %; the most that 26 saves anywhere"
        f" is {best:.0f} %")
