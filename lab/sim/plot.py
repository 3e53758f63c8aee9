#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plots what lab/sim prints: overflowing first flights against round trips saved.

    plot.py RESULTS.tsv PICTURE.png

Each point is the mean of the seeds, its bars their smallest and largest.
"""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def read(path):
    """Reads {policy: [(overflow in percent, round trips saved), ...]}, in the order of the file."""
    results = {}
    with open(path, encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        for row in csv.DictReader(lines, delimiter="\t"):
            point = (float(row["overflow_percent"]), float(row["saved_rtt"]))
            results.setdefault(row["policy"], []).append(point)
    return results


def bars(values):
    mean = sum(values) / len(values)
    return mean, [[mean - min(values)], [max(values) - mean]]


def main(results_path, picture_path):
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for policy, points in read(results_path).items():
        x, x_bars = bars([x for x, _ in points])
        y, y_bars = bars([y for _, y in points])
        is_static = policy.isdigit()
        axes.errorbar(x, y, xerr=x_bars, yerr=y_bars, fmt="s" if is_static else "o", capsize=2)
        axes.annotate(policy, (x, y), textcoords="offset points", xytext=(6, -10), fontsize=8)
    axes.set_xlabel("first flights that overflow the bottleneck, percent")
    axes.set_ylabel("round trips saved a transfer, against a window of ten")
    axes.grid(alpha=0.3)
    figure.savefig(picture_path, dpi=110)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
