# SPDX-License-Identifier: MIT
"""The quick form of each evaluation of the lab, and their common parts; the demo."""

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys

import pytest
from netns import BUILD, REPOSITORY, wait_until
from waiting import DEADLINE_S, PATIENCE

sys.path[:0] = [str(REPOSITORY / "lab"), str(REPOSITORY / "lab" / "traffic")]
worlds = pytest.importorskip("worlds")  # not where numpy is missing, as on the kernel for arm64

LAB, DEMO = (REPOSITORY / "lab" / name for name in ("lab.py", "demo.py"))
NAMES = sorted(path.stem for path in (REPOSITORY / "lab" / "evaluations").glob("*.py"))
ENVIRONMENT = {**os.environ, "MPLCONFIGDIR": str(BUILD / "matplotlib")}


def start(*arguments, program=LAB, environment=ENVIRONMENT):
    return subprocess.Popen([sys.executable, "-IB", program, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True, env=environment)


def namespaces():
    return set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()


@pytest.mark.parametrize("name", NAMES)
def test_quick_form_of_an_evaluation(name, tmp_path):
    before = namespaces()
    lab = start(name, "--quick", "--seed", "3", "--out", tmp_path)
    out, errors = lab.communicate(timeout=400 * PATIENCE)  # it takes seconds without other load
    assert lab.returncode == 0, errors
    assert len((tmp_path / "verdict.txt").read_text().splitlines()) == 2
    assert (tmp_path / "verdict.txt").read_text() in out
    # On a busy machine too many runs are late: then the lab reports that and draws nothing.
    is_late = "No cell has two repetitions that were on time" in out
    for path in tmp_path.glob("*.csv"):
        with path.open() as file:
            assert list(csv.DictReader(file)) or is_late, path
    assert list(tmp_path.glob("*.csv"))
    assert list(tmp_path.glob("*.png")) or is_late
    assert json.loads((tmp_path / "conditions.json").read_text())["seed"] == 3
    assert namespaces() == before


def test_lab_cleans_up_when_interrupted(tmp_path):
    before = namespaces()
    lab = start("initcwnd", "--out", tmp_path)
    wait_until(lambda: namespaces() - before, "namespaces of the lab")
    lab.send_signal(signal.SIGINT)
    lab.communicate(timeout=DEADLINE_S)
    assert lab.returncode == 1
    assert namespaces() == before


@pytest.mark.parametrize("program, name", [(LAB, "initcwnd"), (DEMO, None)], ids=["lab", "demo"])
def test_the_machine_itself_is_not_touched(program, name):
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "RIPTIDE_SANDBOX"}
    refused = start(*[name] * bool(name), program=program, environment=environment)
    command = f"./dev lab {name}" if name else "./dev demo"
    assert f"run it with {command}\n" in refused.communicate(timeout=DEADLINE_S)[1]
    assert refused.returncode == 1


@pytest.mark.usefixtures("cgroup")
def test_demo_saves_round_trips():
    """Of 120 ms. With each of both 50 KB and 100 KB take one less at least; a busy machine does not add all four."""
    demo = start("--quick", program=DEMO)
    out, errors = demo.communicate(timeout=300 * PATIENCE)
    assert demo.returncode == 0, out + errors
    rows = re.findall(r"^ +(\d+) KB +(\d+) ms +(\d+) ms +(\d+) ms  +[-\d.]", out, re.MULTILINE)
    saved_ms = {int(size): 2 * int(without) - int(one) - int(other) for size, without, one, other in rows}
    assert saved_ms.keys() == {10, 50, 100}, out
    windows = [int(window) for window in re.findall(r"^\w+: the next start with (\d+) segments", out, re.MULTILINE)]
    assert len(windows) == 2 and min(windows) > 10, out
    assert saved_ms[50] + saved_ms[100] > 120, out


def test_shares_have_the_interval_of_clopper_and_pearson():
    from figures import estimate_exact  # imports matplotlib
    assert estimate_exact(0, 200) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 200)))
    assert estimate_exact(200, 200) == pytest.approx((1, 0.025 ** (1 / 200), 1))
    assert estimate_exact(10, 200) == pytest.approx((0.05, 0.02423, 0.09003), abs=1e-5)


def test_page_is_as_slow_as_its_slowest_connection():
    from contest import judge
    from contest.scenes import page_scenes
    scene = page_scenes()[0]
    names = "scene", "object_kb", "arm", "repetition", "time_ms", "retrans_segs", "data_segs", "cwnd_first"
    rows = [{**dict(zip(names, (1, 100, arm, repetition, 100 * (repetition + 1) + late * (i == 2), i, 70, 24))),
             "late_ms": 0, "rtt_ms": scene.rtt_ms}
            for arm, late in (("static 24", 0), ("paced", 50)) for repetition in range(2) for i in range(scene.openers)]
    (cell,), n_late, n_all = judge.cells_of(rows, {1: scene})
    assert (n_late, n_all) == (0, 2)
    assert [cell.mean_ms(arm) for arm in ("static 24", "paced")] == [150, 200]
    assert cell.retrans_percent("paced") == pytest.approx(100 * 15 / (6 * 70))


def test_verdicts_that_miss_the_truth_are_counted():
    def row(*bounds):
        return {key: {"low": low, "high": high} if low is not None else None
                for key, (low, high) in zip(("time_percent", "retrans_points"), bounds)}
    rows = [row((None, None), (None, None)), row((-30, -10), (-1, 1)), row((-15, 5), (-1, 1))]
    assert [worlds.misses(one, 0, 0) for one in rows] == [[False, False], [True, False], [False, False]]
    assert worlds.ever_misses(rows, 0, 0) == [True, False]
    assert worlds.ever_misses(rows, -12, 2) == [False, True]
    runs = [(worlds.Means(100, 1.0, 0.02, 0.25, 0.01), worlds.Means(100, 1.0 + more, 0.03, 0.25, 0.01))
            for more in (-0.3, -0.1)]
    found = worlds.difference(runs)
    assert (found.time_percent, found.retrans_points) == pytest.approx((100 * (math.exp(-0.2) - 1), 1))
    assert (found.time_error, found.retrans_error) == pytest.approx((100 * math.exp(-0.2) * 0.1, 0))
    assert found.time_spread == pytest.approx(2)  # 0.1414 seen, 0.0707 if independent
