# SPDX-License-Identifier: MIT
"""The lab's transfer-time model against its definition, segment by segment, and the paper's figures."""

import subprocess
import sys

import pytest
from netns import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "lab"))
from transfer_model import forecast, rounds  # noqa: E402


def count_rounds(segments, window):
    left_in_flight = flight = window
    n = 1
    for _ in range(segments):
        if left_in_flight == 0:
            flight *= 2
            left_in_flight = flight
            n += 1
        left_in_flight -= 1
    return n


def test_rounds_are_those_counted_segment_by_segment():
    for window in range(1, 130, 7):
        for segments in (*range(1, 100), *range(100, 900, 37)):
            expected = count_rounds(segments, window)
            assert rounds(segments * 1000, window, 1000) == expected
            assert rounds(segments * 1000 - 999, window, 1000) == expected
    assert rounds(0, 1, 1) == 1
    assert rounds(2 ** 64 - 1, 1, 1) == 64


def test_forecast_of_the_paper():
    """Sec. II: 100 KB take one round trip from 100 segments; from 10, two more."""
    found = forecast([(100000, 1), (15000, 3)], [50, 200], 10, 1500)
    assert found.share_within_rounds == [0.75, 0.75, 1]
    assert found.rounds_mean == 1.5
    assert [found.time_ms_percentiles[percent - 1] for percent in (30, 50, 60, 99)] == [
        100, 200, 400, 800]
    assert found.time_ms_mean == pytest.approx(312.5)
    assert forecast([100000], [50], 100, 1500).share_within_rounds == [1]


def test_model_is_drawn(tmp_path):
    plot = [sys.executable, "-IB", REPOSITORY / "lab" / "plot_model.py"]
    (tmp_path / "sizes").write_text("# bytes, weight\n14480,3\n100000,1\n")
    (tmp_path / "rtts").write_text("100\n")
    (tmp_path / "wrong").write_text("-5\n")
    done = subprocess.run([*plot, tmp_path / "sizes", tmp_path / "rtts", tmp_path / "model.png",
                           "10", "70"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "10 segments: 75.0 % within one round trip, 1.50 round trips and 250 ms in the mean",
        "70 segments: 100.0 % within one round trip, 1.00 round trips and 200 ms in the mean"]
    assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")
    done = subprocess.run([*plot, tmp_path / "sizes", tmp_path / "wrong", tmp_path / "model.png"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "wrong: give lines VALUE or VALUE,WEIGHT" in done.stderr
