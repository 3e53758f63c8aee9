# SPDX-License-Identifier: MIT
"""riptide verdict: connections with a window, compared with those held out."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from control import one_line, riptide_json, status
from netns import REPOSITORY, RIPTIDE, RIPTIDED, Daemon, wait_until
from test_metrics import OF_OUTCOMES, figures_of


def count_ended(near):
    """Connections to a destination with a window that have closed, whether they count or not. The verdict's are fewer: those
    of classes that have two of each arm, of which a slow machine makes others than the path has."""
    return sum(value for name, value in figures_of(near.run(RIPTIDE, "metrics").stdout).items()
               if name.startswith(("riptide_arm_connections_total", "riptide_outcomes_left_out_total")))


def transfer(connect, n_bytes=60_000):
    connection = connect(congestion="cubic")
    connection.send(n_bytes)
    connection.near.close()
    connection.far.close()


def check_metrics(text, row):
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=text.encode(), check=True)
    figures = figures_of(text)

    def total(name, arm):
        return sum(value for series, value in figures.items() if series.startswith(f"riptide_arm_{name}_total{{arm={arm},"))
    assert figures["riptide_holdout_ratio"] == 0.5
    assert total("connections", "window") >= row["connections"] and total("connections", "holdout") >= row["held_out"]
    for arm in ("window", "holdout"):
        n, doublings = total("connections", arm), total("doublings", arm)
        assert 1 < doublings / n < 7 and doublings ** 2 / n <= total("doublings_squares", arm) + 1e-6
        assert total("again_squares", arm) <= total("again", arm) <= total("connections_again", arm) <= n
    for name, member, unit in (("effect_rounds_saved", "rounds_saved", 1), ("effect_time_ratio", "time_percent", 100),
                               ("effect_again_ratio", "again_points", 100), ("held_out_ratio", "share_percent", 100)):
        for bound in ("estimate", "low", "high"):
            assert figures[f"riptide_{name}{{bound={bound}}}"] * unit == pytest.approx(row[member][bound], rel=1e-4)
    manual = (REPOSITORY / "docs/operations.md").read_text()
    names = set(re.findall("^# TYPE ([a-z0-9_]+) ", text, re.MULTILINE))
    assert {name for name in names if re.match(OF_OUTCOMES, name)} == set(re.findall(f"`({OF_OUTCOMES}[a-z_]+)`", manual))
    rules = re.sub("^(#|- name).*", "", (REPOSITORY / "docs/effect.rules.yaml").read_text(), flags=re.MULTILINE)
    assert set(re.findall("riptide_[a-z_]+", rules)) <= names


def test_real_transfers_of_both_arms_show_that_windows_help(path, cgroup):
    connect, near, _ = path
    options = ("--apply", "program", "--cgroup", cgroup, "--policy", "careful", "--holdout-percent", "50")
    one_line(near.run(RIPTIDE, "verdict", check=False), 3)
    with Daemon(near, *options, has_rules=False), ThreadPoolExecutor(3) as threads:
        before = riptide_json(near, "verdict")
        assert (before["reason"], before["holdout_percent"], before["classes"]) == (None, 50, [])
        assert (before["pooled"]["verdict"], before["pooled"]["connections"], before["pooled"]["held_out"]) == ("few", 0, 0)
        assert near.run(RIPTIDE, "verdict").stdout.startswith("Not known yet: 0 with a window and 0 held out; 20 of each are needed.\n")
        bulk = connect(congestion="cubic")
        bulk.send(1_000_000)
        wait_until(lambda: status()["destinations"] and status()["round"]["number"] > 12, "a window")
        n = 0

        def pooled():
            nonlocal n
            list(threads.map(lambda _: transfer(connect), range(15)))
            n += 15
            wait_until(lambda: count_ended(near) == n, "all ends")
            row = riptide_json(near, "verdict")["pooled"]
            return row["verdict"] == "helps" and row
        # As many as it needs, not as many as a busy machine transfers in some time.
        row = next(filter(None, (pooled() for _ in range(100))))
        assert min(row["connections"], row["held_out"]) >= 20
        assert 0 < row["rounds_saved"]["low"] < row["rounds_saved"]["estimate"] < 4
        assert row["share_percent"]["low"] < 50 < row["share_percent"]["high"]
        document = riptide_json(near, "verdict")
        assert document["pooled"] == riptide_json(near, "status")["apply"]["effect"]
        assert row["connections"] + row["held_out"] <= sum(
            found["connections"] + found["held_out"] for found in document["classes"]) <= n
        lines = near.run(RIPTIDE, "verdict").stdout.splitlines()
        assert lines[0] == "Windows help." and max(map(len, lines)) <= 80
        assert re.match(r"  time, round trips +\d+\.\d\d +\d+\.\d\d +-\d+\.\d % +\(-", lines[2])
        assert [line.split() for line in lines if line.startswith("  connections")] == [
            ["connections", str(row["held_out"]), str(row["connections"])]]
        assert any(re.match(r"    32 to 64 KB, 100 to 150 ms +-", line) for line in lines)
        assert re.search(r"^  effect       time -\d", near.run(RIPTIDE, "status").stdout, re.M)
        check_metrics(near.run(RIPTIDE, "metrics").stdout, row)
        assert figures_of(near.run(RIPTIDE, "metrics").stdout)["riptide_first_flight_segments_total{arm=holdout}"] > 0

        def small(arm):
            figures = figures_of(near.run(RIPTIDE, "metrics").stdout)
            return figures[f"riptide_outcomes_left_out_total{{arm={arm},reason=small}}"]
        assert small("window") + small("holdout") == 0
        list(threads.map(lambda _: transfer(connect, 3000), range(15)))
        wait_until(lambda: count_ended(near) == n + 15, "the ends of small ones")
        n_small = riptide_json(near, "verdict")["left_out"]["small"]
        assert small("window") > 0 and small("holdout") > 0 and small("window") + small("holdout") == n_small
        assert f"  left out     {n_small:g} within the kernel's window, " in near.run(RIPTIDE, "verdict").stdout
        bulk.close()


@pytest.mark.parametrize("apply, percent, reason", [
    ("program", 0, "no connection is held out: --holdout-percent 5 "),
    ("routes", 0, "windows are given by routes, which cannot hold out single connections"),
])
def test_it_says_why_nothing_is_compared(net, cgroup, apply, percent, reason):
    below = ("--cgroup", cgroup) if apply != "routes" else ()
    with Daemon(net.host, "--apply", apply, *below, "--holdout-percent", percent,
                has_rules=apply == "routes"):
        assert " ".join(net.host.run(RIPTIDE, "verdict").stdout.split()).startswith(f"Nothing is compared. why {reason}")
        document = riptide_json(net.host, "verdict")
        assert (document["pooled"], document["classes"], document["holdout_percent"]) == (None, [], 0)
        assert document["reason"].startswith(reason)
        assert "  effect " not in net.host.run(RIPTIDE, "status").stdout


def test_a_dry_run_compares_nothing(net, cgroup, tmp_path):
    path = tmp_path / "control"
    process = net.host.start(RIPTIDED, "--dry-run", "--apply", "program", "--cgroup", cgroup, "--control", path)
    said = wait_until(lambda: net.host.run(RIPTIDE, "verdict", "--control", path, check=False).stdout, "an answer")
    assert said == "Nothing is compared.\n  why          a dry run gives no window\n"
    process.terminate()
    assert process.wait() == 0
