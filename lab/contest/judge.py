# SPDX-License-Identifier: MIT
"""Figures of arms for each cell, from their transfers, and the targets. Pure."""

from typing import NamedTuple

import numpy
from figures import Estimate

RESAMPLES = 1000
REFERENCE, OURS = "static 24", "paced"
MANY_SEGS, REFERENCE_SEGS = 50, 24
LATE_SHARE, LATE_FLOOR_MS = 0.05, 2  # of a round trip


class Figures(NamedTuple):
    """One arm in one cell. Times are means over the connections that open together."""
    mean_ms: Estimate
    p95_ms: Estimate
    p99_ms: float
    cwnd: float  # mean initial window
    retrans_connections: float  # percent of connections that retransmitted
    retrans_first: float  # percent of connections that did so in their first flight
    retrans_bytes: Estimate  # percent of segments that were retransmitted
    repetitions: int


class Cell(NamedTuple):
    """A scene with one object: the samples of all arms in the same repetitions."""
    scene: int
    object_kb: float
    label: str
    capacity_segs: float
    buffer_segs: float
    object_segs: int
    samples: dict  # arm -> array (repetition, connection, [ms, retrans, first, data, cwnd])


def is_late(row):
    return row["late_ms"] > max(LATE_FLOOR_MS, LATE_SHARE * row["rtt_ms"])


def cells_of(rows, scenes):
    """Cells, from repetitions that were complete, and on time for every arm. Returns
    them, how many repetitions were left out, and of how many."""
    groups = {}
    for row in rows:
        key = row["scene"], row["object_kb"]
        repetition = groups.setdefault(key, {}).setdefault(row["repetition"], {})
        repetition.setdefault(row["arm"], []).append(row)
    arms = {row["arm"] for row in rows}
    cells, n_late, n_all = [], 0, 0
    for (number, object_kb), repetitions in groups.items():
        scene = scenes[number]
        good = [repetition for repetition in repetitions.values()
                if len(repetition) == len(arms)
                and all(len(of_arm) == scene.openers for of_arm in repetition.values())
                and not any(is_late(row) for of_arm in repetition.values() for row in of_arm)]
        n_all += len(repetitions)
        n_late += len(repetitions) - len(good)
        if len(good) < 2:
            continue
        samples = {arm: numpy.array([[[row["time_ms"], row["retrans_segs"], row["retrans_first"],
                                       row["data_segs"], row["cwnd_first"]]
                                      for row in repetition[arm]] for repetition in good], float)
                   for arm in arms}
        cells.append(Cell(number, object_kb, f"{scene.label()}, {object_kb:g} KB",
                          scene.capacity_segs, scene.buffer_bdp * scene.capacity_segs, -(-object_kb * 1000 // 1448), samples))
    return cells, n_late, n_all


def resample(n):
    return numpy.random.default_rng(1).integers(0, n, (RESAMPLES, n))


def interval(value, resampled):
    low, high = numpy.quantile(resampled, (0.025, 0.975))
    return Estimate(float(value), float(low), float(high))


def retrans_percent(samples):
    """Percent of segments retransmitted, over repetitions and connections."""
    return 100 * samples[..., 1].sum((-2, -1)) / samples[..., 3].sum((-2, -1))


def quantile(samples, share):
    times = samples[..., 0].reshape(*samples.shape[:-3], -1)
    return numpy.quantile(times, share, axis=-1)


def p95(samples):
    return quantile(samples, 0.95)


def p99(samples):
    return quantile(samples, 0.99)


def mean(samples):
    return samples[..., 0].mean((-2, -1))


def figures_of(samples):
    drawn = samples[resample(len(samples))]
    return Figures(interval(mean(samples), mean(drawn)), interval(p95(samples), p95(drawn)),
                   float(p99(samples)), samples[..., 4].mean(), 100 * (samples[..., 1] > 0).mean(),
                   100 * (samples[..., 2] > 0).mean(),
                   interval(retrans_percent(samples), retrans_percent(drawn)), len(samples))


def compare(cell, arm, other, statistic, combine):
    """A statistic of two arms, combined; their repetitions are resampled in pairs."""
    a, b = cell.samples[arm], cell.samples[other]
    picks = resample(len(a))
    return interval(combine(statistic(a), statistic(b)),
                    combine(statistic(a[picks]), statistic(b[picks])))


def ratios(cells, arm, statistic):
    """The geometric mean over cells of a statistic divided by the reference's, and the worst."""
    of_cells = [float(statistic(cell.samples[arm]) / statistic(cell.samples[REFERENCE])) for cell in cells]
    return float(numpy.exp(numpy.mean(numpy.log(of_cells)))), max(of_cells)


def time_ratio(cell, arm, other):
    return compare(cell, arm, other, mean, numpy.divide)


def p95_ratio(cell, arm, other):
    return compare(cell, arm, other, p95, numpy.divide)


def retrans_difference(cell, arm, other):
    return compare(cell, arm, other, retrans_percent, numpy.subtract)


class Target(NamedTuple):
    text: str
    missed: list  # of (cell, why)
    n: int  # cells to which it applies
    allowed: float  # share of these that may miss it

    @property
    def is_met(self):
        return len(self.missed) <= self.allowed * self.n


def beats_ours(cell, rival):
    """Whether it is clearly faster, with clearly fewer retransmitted bytes."""
    return (time_ratio(cell, rival, OURS).high < 1
            and retrans_difference(cell, rival, OURS).high < 0)


def judge(cells):
    """The targets, with the cells that miss them."""
    many = [cell for cell in cells
            if cell.capacity_segs >= MANY_SEGS and cell.object_segs > REFERENCE_SEGS]
    shallow = [cell for cell in many if cell.buffer_segs < MANY_SEGS]
    rivals = [[rival for rival in cell.samples if rival != OURS and beats_ours(cell, rival)] for cell in cells]

    def misses(those, figure, limit):
        figures = [(cell, figure(cell, OURS, REFERENCE)) for cell in those]
        return [(cell, str(value)) for cell, value in figures if value.value > limit]

    return [
        Target(f"mean time at most 2 % above {REFERENCE}", misses(cells, time_ratio, 1.02),
               len(cells), 0),
        Target(f"mean time 25 % below {REFERENCE} where the object needs more and the path carries {MANY_SEGS} segments",
               misses(many, time_ratio, 0.75), len(many), 0),
        Target(f"mean time 40 % below it where the buffer holds fewer than {MANY_SEGS} of these",
               misses(shallow, time_ratio, 0.6), len(shallow), 0),
        Target(f"bytes retransmitted at most half a point above {REFERENCE}",
               misses(cells, retrans_difference, 0.5), len(cells), 0),
        Target(f"p95 at most 3 % above {REFERENCE}", misses(cells, p95_ratio, 1.03), len(cells), 0.05),
        Target("no other arm clearly faster and with clearly fewer bytes retransmitted",
               [(cell, ", ".join(by)) for cell, by in zip(cells, rivals) if by], len(cells), 0),
    ]
