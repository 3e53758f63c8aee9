# SPDX-License-Identifier: MIT
"""./dev demo shows what it promises."""

import os
import re
import subprocess

from netns import REPOSITORY

ROUND_TRIP_MS = 120


def test_demo_saves_round_trips():
    done = subprocess.run(["/usr/bin/python3", "-I", REPOSITORY / "lab" / "demo.py", "--quick"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          universal_newlines=True, timeout=300)
    assert done.returncode == 0
    rows = re.findall(r"^ +(\d+) KB +(\d+) ms +(\d+) ms", done.stdout, re.MULTILINE)
    saved_ms = {int(size): int(without) - int(with_us) for size, without, with_us in rows}
    assert saved_ms.keys() == {10, 50, 100}
    # Whole round trips are saved; what a busy machine adds is far less.
    assert saved_ms[10] > -ROUND_TRIP_MS / 2
    assert saved_ms[50] > ROUND_TRIP_MS / 2
    assert saved_ms[100] > ROUND_TRIP_MS / 2


def test_demo_refuses_to_touch_the_machine_itself():
    environment = {key: value for key, value in os.environ.items() if key != "RIPTIDE_SANDBOX"}
    done = subprocess.run(["/usr/bin/python3", "-I", REPOSITORY / "lab" / "demo.py"],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    assert done.returncode == 1
    assert done.stderr == "demo: this makes network namespaces: run it with ./dev demo\n"
