# SPDX-License-Identifier: MIT
"""Statistics with confidence intervals, and one style for all pictures. Writes only pictures."""

import math
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy  # noqa: E402

RESAMPLES = 2000
plt.rcParams.update({"font.size": 14, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
                     "axes.spines.right": False, "lines.linewidth": 2, "lines.markersize": 7, "savefig.dpi": 90})


class Estimate(NamedTuple):
    """A figure with its 95 % confidence interval."""
    value: float
    low: float
    high: float

    def __str__(self):
        digits = 0 if abs(self.value) >= 100 else 1 if abs(self.value) >= 10 else 2
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def estimate(values, statistic=numpy.median, level=0.95, seed=1):
    """A statistic of the values with a percentile bootstrap interval."""
    values = numpy.asarray(values, dtype=float)
    drawn = numpy.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    resampled = statistic(values[drawn], axis=1)
    low, high = numpy.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(statistic(values)), float(low), float(high))


def estimate_mean(values, **options):
    return estimate(values, numpy.mean, **options)


def estimate_exact(count, of, level=0.95):
    """A share of trials, with Clopper and Pearson's interval, which is never too narrow."""
    def bound(is_beyond):
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if is_beyond(middle) else (middle, high)
        return low

    def at_most(n, share):
        return sum(math.comb(of, k) * share ** k * (1 - share) ** (of - k) for k in range(n + 1))
    tail = (1 - level) / 2
    return Estimate(count / of if of else 0.0,
                    bound(lambda share: 1 - at_most(count - 1, share) > tail) if count else 0.0,
                    bound(lambda share: at_most(count, share) < tail) if count < of else 1.0)


def on_time(rows):
    """The results of repetitions with the WAN in a box on time; all, if it never was."""
    return [row for row in rows if row["on_time"]] or rows


def cdf(values):
    """The empirical distribution: sorted values, and the share at or below each."""
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    return ordered, numpy.arange(1, len(ordered) + 1) / len(ordered)


def mark(is_ours, size=60):
    """The default stands out: a red star among grey points."""
    return {"s": size * (3 if is_ours else 1), "marker": "*" if is_ours else "o", "color": "C3" if is_ours else "0.45"}


def line(is_ours):
    """The default stands out: the thickest line, in red."""
    return {"marker": "o", **({"color": "C3", "linewidth": 5, "zorder": 3} if is_ours else {})}


def draw_cdf(axes, values, **style):
    """Draws a step for each value, from the first one on."""
    x, y = cdf(values)
    return axes.step(x, y, where="post", **style)[0]


def draw_estimates(axes, xs, estimates, **style):
    """Draws points with their intervals."""
    values = numpy.array([one.value for one in estimates])
    bars = numpy.array([[one.value - one.low for one in estimates],
                        [one.high - one.value for one in estimates]]).clip(min=0)
    return axes.errorbar(xs, values, yerr=bars, capsize=3, marker="o", **style)
