# SPDX-License-Identifier: MIT
"""The transfer-time model of the Riptide paper (Sec. II-B): round trips of an object from an initial
window, and how long they are. No I/O.

A window doubles with each round trip. Nothing is lost, the receiver's window never limits, and
putting packets on the wire takes no time: real transfers take longer, never fewer round trips.
"""

from typing import NamedTuple

import numpy


class Forecast(NamedTuple):
    """Forecast for a window, from sizes and round trip times as independent distributions."""
    share_within_rounds: list  # shares of sizes that take at most 1, 2, ... round trips
    rounds_mean: float
    time_ms_percentiles: list  # 1 to 99
    time_ms_mean: float


def rounds(size_bytes, window, mss_bytes):
    """Round trips from the first byte's departure to the last one's arrival; at least one."""
    segments, n = -(-int(size_bytes) // mss_bytes), 1
    while segments > window * (2 ** n - 1):
        n += 1
    return n


def weighted(values):
    """Values, or pairs of a value and its weight, as two arrays."""
    pairs = numpy.asarray(values, dtype=float)
    return (pairs, numpy.ones(len(pairs))) if pairs.ndim == 1 else (pairs[:, 0], pairs[:, 1])


def forecast(sizes_bytes, rtts_ms, window, mss_bytes=1448, setup_rounds=1):
    """`setup_rounds`: round trips before an object's first byte (TCP: 1, with TLS 1.3: 2)."""
    sizes, size_weights = weighted(sizes_bytes)
    rtts, rtt_weights = weighted(rtts_ms)
    taken = numpy.array([rounds(size, window, mss_bytes) for size in sizes])
    by_rounds = numpy.bincount(taken, size_weights) / size_weights.sum()
    n = numpy.nonzero(by_rounds)[0]
    times = numpy.outer(n + setup_rounds, rtts).ravel()
    weights = numpy.outer(by_rounds[n], rtt_weights / rtt_weights.sum()).ravel()
    order = numpy.argsort(times)
    # The factor allows for rounding: the median of two values is the first one.
    reached = numpy.cumsum(weights[order]) * (1 + 1e-12)
    at = numpy.searchsorted(reached, numpy.arange(1, 100) / 100).clip(max=len(times) - 1)
    return Forecast(numpy.cumsum(by_rounds)[1:].tolist(), float(numpy.average(taken, weights=size_weights)),
                    times[order][at].tolist(), float(times @ weights))
