#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What initial windows would make of transfers: shares within round trips, and times.

    lab/plot_model.py SIZES RTTS PICTURE.png [INITCWND...]

SIZES has lines BYTES or BYTES,WEIGHT, RTTS lines MS or MS,WEIGHT.
"""

import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures  # noqa: E402
from transfer_model import forecast  # noqa: E402


def read(path):
    rows = numpy.loadtxt(path, delimiter=",", ndmin=2)
    if rows.size == 0 or rows.shape[1] > 2 or not (rows > 0).all():
        sys.exit(f"plot_model.py: {path}: give lines VALUE or VALUE,WEIGHT, both above 0")
    return rows if rows.shape[1] == 2 else rows[:, 0]


def main(sizes_path, rtts_path, picture_path, *windows):
    sizes_bytes, rtts_ms = read(sizes_path), read(rtts_path)
    figure, (left, right) = figures.canvas(1, 2)
    for window in map(int, windows or (10, 25, 50, 100)):
        found = forecast(sizes_bytes, rtts_ms, window)
        print(f"{window} segments: {100 * found.share_within_rounds[0]:.1f} % within one round trip,"
              f" {found.rounds_mean:.2f} round trips and {found.time_ms_mean:.0f} ms in the mean")
        within = found.share_within_rounds
        left.plot(range(1, len(within) + 1), within, marker="o", markersize=4, label=str(window))
        right.plot(found.time_ms_percentiles, [percent / 100 for percent in range(1, 100)],
                   label=str(window))
    left.set(xlabel="round trips of data, at most", ylabel="share of transfers", ylim=(0, 1.02))
    right.set(xlabel="time, ms", ylabel="share of transfers")
    left.legend(title="window", fontsize=7)
    right.legend(title="window", fontsize=7)
    figures.save(figure, picture_path)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("Usage: lab/plot_model.py SIZES RTTS PICTURE.png [INITCWND...]")
    main(*sys.argv[1:])
