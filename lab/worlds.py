# SPDX-License-Identifier: MIT
"""Paths on which the effect of a window is known, the traffic on them, and whether verdicts contain
it. Pure. The truth comes from the senders' kernels, connection by connection, not from riptided."""

import itertools
import math
from typing import NamedTuple

import numpy
from traffic import Transfer

KERNEL_CWND = 10
SIZES_BYTES, SHARE = (20_000, 120_000), 0.5  # even over the logarithm; none fits the kernel's window
CROSS_BYTES, CROSS_SHARE = (150_000, 1_500_000), 0.2
PACKET_BYTES = 1500
OPEN_S = 3600


class Path(NamedTuple):
    """A bottleneck shared by a sender, whose connections count, and another host."""
    rtt_ms: float
    rate_mbit: float
    buffer_bdp: float
    congestion: str  # of the sender
    cross: str  # of the other host

    def per_s(self, share=SHARE, sizes_bytes=SIZES_BYTES):
        """The connections per second, of these sizes, that use that share of the rate."""
        low, high = sizes_bytes
        return share * self.rate_mbit * 1e6 / 8 * math.log(high / low) / (high - low)

    def words(self, receivers):
        """The path's options for the WAN in a box."""
        buffer_segs = round(self.buffer_bdp * self.rate_mbit * 1e3 / 8 * self.rtt_ms / PACKET_BYTES)
        return (f"{','.join(f'to={name}' for name in receivers)},delay={self.rtt_ms / 2:g}ms,"
                f"rate={self.rate_mbit:g}mbit,buffer={buffer_segs * PACKET_BYTES}b")

    def label(self):
        return f"{self.rtt_ms:g} ms, {self.buffer_bdp:g} BDP, {self.congestion}; cross {self.cross}"


# Each congestion control, with cross traffic of the same and of the other one.
PATHS = tuple(Path(rtt_ms, 50, buffer_bdp, congestion, ("cubic", "bbr")[(rtt_ms == 60) ^ (buffer_bdp < 1)])
              for rtt_ms, congestion, buffer_bdp in itertools.product((20, 60), ("cubic", "bbr"), (1, 0.25)))


def plan(path, number, drawn, end_s):
    """Transfers from the sender and the other host to that receiver, at random times."""
    found = []
    for name, congestion, (low, high), share, options in (
            ("sender", path.congestion, SIZES_BYTES, SHARE, {}),
            ("other", path.cross, CROSS_BYTES, CROSS_SHARE, {"idle_s": OPEN_S, "reuse": True})):
        per_s = path.per_s(share, (low, high))
        at_s = drawn.expovariate(per_s)
        while at_s < end_s:
            n_bytes = round(low * (high / low) ** drawn.random())
            found.append(Transfer(f"{name}{number}", f"receiver{number}", n_bytes, at_s,
                                  congestion=congestion, **options))
            at_s += drawn.expovariate(per_s)
    return found


class Means(NamedTuple):
    """The means of an arm: the outcomes that riptided adds up."""
    n: int
    log_time: float  # busy time in smallest round trip times
    retrans: float  # share of segments with data
    log_time_variance: float
    retrans_variance: float


def means(results):
    """The means of connections; None: fewer than two."""
    if len(results) < 2:
        return None
    values = [[math.log(max(one.busy_us, one.min_rtt_us) / one.min_rtt_us) for one in results],
              [one.retrans_segs / one.data_segs for one in results]]
    return Means(len(results), *map(float, (*numpy.mean(values, axis=1), *numpy.var(values, axis=1, ddof=1))))


def arms_of(results, sender, begin_s, end_s):
    """Means of connections that began with the kernel's window, and with a larger one."""
    found = [one for one in results if one.sender == sender and one.complete and one.min_rtt_us
             and begin_s <= one.start_us / 1e6 < end_s]
    return (means([one for one in found if one.cwnd_first <= KERNEL_CWND]),
            means([one for one in found if one.cwnd_first > KERNEL_CWND]))


class Difference(NamedTuple):
    """Differences of time and retransmissions, with standard errors; spread of runs relative to
    that of independent connections."""
    time_percent: float
    time_error: float
    retrans_points: float
    retrans_error: float
    time_spread: float
    retrans_spread: float


def difference(pairs):
    """The second of each pair of Means minus the first; each pair is a run."""
    found, spreads = [], []
    for name in ("log_time", "retrans"):
        values = [getattr(two, name) - getattr(one, name) for one, two in pairs]
        seen = numpy.var(values, ddof=1)
        alone = numpy.mean([sum(getattr(arm, f"{name}_variance") / arm.n for arm in pair) for pair in pairs])
        found += [numpy.mean(values), (seen / len(values)) ** 0.5]
        spreads.append((seen / alone) ** 0.5 if alone else 1)
    time, time_error, retrans, retrans_error = found
    return Difference(*map(float, (100 * math.expm1(time), 100 * math.exp(time) * time_error, 100 * retrans,
                                   100 * retrans_error, *spreads)))


def misses(row, time_percent, retrans_points):
    """Whether the intervals of time and of retransmissions exclude these values."""
    return [interval is not None and not interval["low"] <= value <= interval["high"]
            for interval, value in ((row["time_percent"], time_percent), (row["retrans_points"], retrans_points))]


def ever_misses(rows, time_percent, retrans_points):
    """As misses, for any read of a run."""
    return [any(one) for one in zip(*(misses(row, time_percent, retrans_points) for row in rows))]
