# SPDX-License-Identifier: MIT
"""What large initial windows meet: receive windows, queues, idle times, drops, small MTUs, bursts.

One scenario a file in lab/scenarios: each says what it makes and what one should see.
"""

import importlib

SCENARIOS = ("receive_window", "idle_restart", "burst", "route_change",
             "capacity", "base_rtt")


def evaluate(evaluation):
    said = {}
    for name in evaluation.steps(SCENARIOS):
        said[name] = importlib.import_module(f"scenarios.{name}").run(evaluation)
        evaluation.say(f"{name}: {said[name]}")
    evaluation.verdict("capacity drops by ten: " + said["capacity"],
                       "200 connections at once: " + said["burst"])
