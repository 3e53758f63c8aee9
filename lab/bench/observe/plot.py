# SPDX-License-Identifier: MIT
"""Processor time against the number of sockets, one line for each contender."""

import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def plot(results, path):
    """`results`: {sockets: {contender: [turn, ...]}}"""
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    names = list(dict.fromkeys(name for turns in results.values() for name in turns))
    for name in names:
        points = [(sockets, 1e3 * statistics.median(turn.cpu_s for turn in turns[name]))
                  for sockets, turns in results.items() if name in turns]
        axes.plot(*zip(*points), marker="o", markersize=4, label=name,
                  linestyle="--" if name == "floor" else "-")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("established sockets")
    axes.set_ylabel("processor time of the whole process, ms")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
