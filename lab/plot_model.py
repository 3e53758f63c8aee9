#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draws what `riptide model --json` says: shares within round trips, and times, for each window.

    riptide model --json | lab/plot_model.py PICTURE.png
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures  # noqa: E402


def main(picture_path):
    windows = json.load(sys.stdin)["windows"]
    most_rounds = max(len(window["share_within_rounds"]) for window in windows)
    figure, (left, right) = figures.canvas(1, 2)
    for window in windows:
        label = f"{window['initcwnd']} segments"
        within = window["share_within_rounds"]
        within += [within[-1]] * (most_rounds - len(within))
        left.plot(range(1, most_rounds + 1), within, marker="o", markersize=4, label=label)
        right.plot(window["time_ms_percentiles"], [percent / 100 for percent in range(1, 100)],
                   label=f"{label}: mean {window['time_ms_mean']:.0f} ms")
    left.set(xlabel="round trips of data, at most", ylabel="share of transfers", ylim=(0, 1.02))
    right.set(xlabel="time, ms", ylabel="share of transfers")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    figures.save(figure, picture_path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("plot_model.py: riptide model --json | plot_model.py PICTURE.png")
    main(sys.argv[1])
