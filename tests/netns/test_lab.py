# SPDX-License-Identifier: MIT
"""The quick form of each evaluation of the lab, and what all of them have in common."""

import csv
import json
import os
import signal
import subprocess
import sys

import pytest
from netns import BUILD, DEADLINE_S, REPOSITORY, wait_until

LAB = REPOSITORY / "lab" / "lab.py"
NAMES = sorted(path.stem for path in (REPOSITORY / "lab" / "evaluations").glob("*.py"))
ENVIRONMENT = {**os.environ, "MPLCONFIGDIR": str(BUILD / "matplotlib")}


def start(*arguments, environment=None):
    return subprocess.Popen([sys.executable, "-IB", LAB, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True, env=environment or ENVIRONMENT)


def namespaces():
    return set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()


@pytest.mark.parametrize("name", NAMES)
def test_quick_form_of_an_evaluation(name, tmp_path):
    before = namespaces()
    lab = start(name, "--quick", "--seed", "3", "--out", tmp_path)
    out, errors = lab.communicate(timeout=400)  # seconds where nobody else works
    assert lab.returncode == 0, errors
    assert len((tmp_path / "verdict.txt").read_text().splitlines()) == 2
    assert (tmp_path / "verdict.txt").read_text() in out
    for path in tmp_path.glob("*.csv"):
        with path.open() as file:
            assert list(csv.DictReader(file)), path
    assert list(tmp_path.glob("*.csv"))
    # A busy machine is late too often for figures, and is told so: then there is nothing to draw.
    assert list(tmp_path.glob("*.png")) or out.count("No cell has two repetitions that were on time")
    assert json.loads((tmp_path / "conditions.json").read_text())["seed"] == 3
    assert namespaces() == before


def test_lab_lists_its_evaluations():
    out, errors = start().communicate(timeout=DEADLINE_S)
    assert [line.split()[2] for line in out.splitlines()] == NAMES, errors


def test_lab_cleans_up_when_interrupted(tmp_path):
    before = namespaces()
    lab = start("initcwnd", "--out", tmp_path)
    wait_until(lambda: namespaces() - before, "namespaces of the lab")
    lab.send_signal(signal.SIGINT)
    lab.communicate(timeout=DEADLINE_S)
    assert lab.returncode == 1
    assert namespaces() == before


@pytest.mark.parametrize("cells, said", [("100 Gbit", "in no scene's name; one is: "),
                                         ("(", "missing ), unterminated subpattern")])
def test_cells_that_there_are_not_are_no_result(cells, said, tmp_path):
    lab = start("duel", "--cells", cells, "--out", tmp_path)
    errors = lab.communicate(timeout=DEADLINE_S)[1]
    assert lab.returncode == 1 and f"--cells {cells}: {said}" in errors
    assert not (tmp_path / "verdict.txt").exists()


def test_lab_refuses_to_touch_the_machine_itself():
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "RIPTIDE_SANDBOX"}
    lab = start("initcwnd", environment=environment)
    assert "run it with ./dev lab initcwnd" in lab.communicate(timeout=DEADLINE_S)[1]
    assert lab.returncode == 1
