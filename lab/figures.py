# SPDX-License-Identifier: MIT
"""Statistics with confidence intervals, and one style for all pictures. Writes only pictures."""

import math
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy  # noqa: E402

RESAMPLES = 2000
DEFAULT_LINE = {"color": "C3", "linewidth": 5, "zorder": 3}  # riptided's default, in all pictures
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


def estimate(values, statistic=numpy.median, level=0.95):
    """A statistic of the values with a percentile bootstrap interval."""
    values = numpy.asarray(values, dtype=float)
    drawn = numpy.random.default_rng(1).integers(0, len(values), (RESAMPLES, len(values)))
    resampled = statistic(values[drawn], axis=1)
    low, high = numpy.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(statistic(values)), float(low), float(high))


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


def draw_cdf(axes, values, **style):
    """Draws the share of values at or below each: a step for each value, from the first one on."""
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    axes.step(ordered, numpy.arange(1, len(ordered) + 1) / len(ordered), where="post", **style)


def draw_estimates(axes, xs, estimates, **style):
    """Draws points with their intervals."""
    values = numpy.array([one.value for one in estimates])
    bars = numpy.array([[one.value - one.low for one in estimates],
                        [one.high - one.value for one in estimates]]).clip(min=0)
    return axes.errorbar(xs, values, yerr=bars, capsize=3, marker="o", **style)
