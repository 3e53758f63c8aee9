# SPDX-License-Identifier: MIT
"""Windows move to the better trials, with real transfers over a path of the WAN in a box."""

from control import riptide_json, status, write_state
from netns import RIPTIDE, wait_until
from test_metrics import figures_of
from test_step_back import Daemon, Load, hosts, shallow  # noqa: F401


def explained(near):
    found = riptide_json(near, "explain", "10.9.2.1")
    return found, {row["cwnd"]: row for row in found["trials"]}


def total(rows):
    return sum(row["connections"] for row in rows.values())


def test_the_window_moves_to_the_better_trial_and_is_kept(shallow, cgroup, tmp_path):  # noqa: F811
    """The policy's window stays at 57 segments; the buffer holds 20."""
    near, far = shallow
    state, saved = tmp_path / "state", tmp_path / "saved"
    options = ("--apply", "connections", "--cgroup", cgroup, "--policy", "paper", "--history-weight", 0.9999,
               "--pacing-percent", 0, "--holdout-percent", 0, "--trial-percent", 25, "--state", state)
    write_state(state, {"10.9.2.1": 57})
    with Load(near, far, "10.9.2.1"):
        with Daemon(near, *options, has_rules=False):
            def moved():
                found, rows = explained(near)
                larger = rows.get(57, {"time_percent": None})
                return (found["window"]["cwnd"] <= 28 and larger["time_percent"] is not None
                        and larger["time_percent"] > larger["error_percent"] and found)
            assert explained(near)[0]["window"]["cwnd"] == 57
            found = wait_until(moved, "a window that the buffer holds", 240)
            assert 50 < found["window"]["smoothed"] < 58
            assert found["program"]["initcwnd"] == found["window"]["cwnd"] != 57
            assert [row["cwnd"] for row in found["trials"] if row["is_window"]] == [found["window"]["cwnd"]]
            said = near.run(RIPTIDE, "explain", "10.9.2.1").stdout
            assert " connections, the window, sent again " in said and "  trial        57 segments: " in said
            assert figures_of(near.run(RIPTIDE, "metrics").stdout)["riptide_trial_moves_total"] >= 2
            rows = explained(near)[1]
            near.run(RIPTIDE, "save", saved)
            near.run(RIPTIDE, "merge", saved)  # the host's own sums must not count twice
            assert total(explained(near)[1]) < 1.5 * total(rows)
        with Daemon(near, *options, has_rules=False):
            wait_until(lambda: status()["round"], "a round")
            assert explained(near)[1][57]["connections"] > 0.9 * rows[57]["connections"]
            near.run(RIPTIDE, "merge", saved)  # after a restart it is still the same host
            assert total(explained(near)[1]) < 1.5 * total(rows)
        write_state(state, {"10.9.2.1": 57})
        with Daemon(near, *options, has_rules=False, interval="1s"):  # another host; nothing counts for ten rounds
            for _ in range(3):
                near.run(RIPTIDE, "merge", saved)
            assert 0.9 * total(rows) < total(explained(near)[1]) < 1.5 * total(rows)
            wait_until(lambda: explained(near)[0]["window"]["cwnd"] <= 28, "the window that others have found", 60)
