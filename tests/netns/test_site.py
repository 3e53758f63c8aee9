# SPDX-License-Identifier: MIT
"""riptide-fleet's requests to a real riptided: its results, and sums of other hosts to count."""

import os
import re
import signal

from control import ask, riptide_json, wait_rounds, write_state
from netns import RIPTIDE, Daemon, wait_until
from test_step_back import Load, hosts, shallow  # noqa: F401

DST = "10.9.2.1"
OPTIONS = ("--apply", "connections", "--policy", "paper", "--history-weight", 0.9999, "--destroy-events",
           "--pacing-percent", 0, "--holdout-percent", 5, "--step-back-percent", 0, "--trial-percent", 20)


def asked(name, **members):
    answer = ask({"request": name, **members})
    assert answer["ok"], answer
    return answer


def of_site(best, n=300):
    """A ladder with the sums of a site: `best` costs least, each rung away from it much more."""
    rungs = [10, 14, 20, 28, 40, 57, 81, 115, 163]
    costs = [0.5 * abs(i - rungs.index(best)) for i in range(len(rungs))]
    squares = sum(n * cost ** 2 for cost in costs)
    return f"0,0,{round(1000 * squares)};" + ";".join(f"{cwnd}:{1000 * n},{round(1000 * n * cost)},0"
                                                       for cwnd, cost in zip(rungs, costs))


def rows(near):
    found = riptide_json(near, "explain", DST)
    return found["window"]["cwnd"], {row["cwnd"]: row for row in found["trials"]}


def entered(least):
    found = asked("learned")["ladders"]
    return found and found[0][2] >= least and found[0]


def test_what_has_changed_is_said_and_what_others_found_counts(shallow, cgroup, tmp_path):  # noqa: F811
    near, far = shallow
    state, saved = tmp_path / "state", tmp_path / "saved"
    write_state(state, {DST: 57})
    with Load(near, far, DST), Daemon(near, *OPTIONS, "--cgroup", cgroup, "--state", state, has_rules=False):
        wait_until(lambda: asked("learned")["ladders"], "a destination")
        assert riptide_json(near, "status")["site"] is None
        first = asked("learned")
        assert first["ladders"][0][0] == DST and first["trial_percent"] == 20
        wait_until(lambda: entered(20), "connections of trials")
        later = asked("learned", life=first["life"], since=first["revision"])
        assert later["revision"] > first["revision"] and [row[0] for row in later["ladders"]] == [DST]
        assert not asked("learned", life=later["life"], since=1 << 40)["ladders"]
        assert asked("learned", life=later["life"] + 1, since=1 << 40)["ladders"]
        books = wait_until(lambda: "holdout" in (asked("books")["books"] or "") and asked("books"), "one that is held out", 60)
        assert books["books"].startswith("riptide books 1\n") and books["holdout_percent"] == 5

        assert asked("site", for_ms=3_600_000, weight=200, ladders=[[DST, of_site(14)], ["192.0.2.1", of_site(14)],
                                                                    [DST, "14"]]) | {"ok": 0} == {
            "taken": 1, "unknown": 1, "invalid": 1, "ok": 0}
        wait_until(lambda: rows(near)[0] <= 20, "a window that the site has found", 60)
        assert rows(near)[1][14]["site_connections"] == 200
        assert ", of the site 200, " in near.run(RIPTIDE, "explain", DST).stdout
        said = riptide_json(near, "status")["site"]
        assert said["destinations"] == 1 and abs(said["ago_s"] + said["left_s"] - 3600) < 0.1
        assert "site       sums of other hosts for 1 destination, received 00:" in near.run(RIPTIDE, "status").stdout
        near.run(RIPTIDE, "save", saved)
        ladder = saved.read_text().split(" ladder=")[1].split()[0]
        assert sum(int(rung.split(":")[1].split(",")[0]) for rung in ladder.split(";")[1:]) < 1000 * entered(0)[2] + 100
        assert all(row[1].split(";")[1:] != of_site(14).split(";")[1:] for row in asked("learned")["ladders"])

        asked("site", for_ms=1)
        wait_until(lambda: not any(row["site_connections"] for row in rows(near)[1].values()), "it to be forgotten")
        assert riptide_json(near, "status")["site"]["left_s"] == 0
        assert " ago: too old, none counts\n" in near.run(RIPTIDE, "status").stdout
        asked("site", for_ms=3_600_000, weight=200, ladders=[[DST, "0,0,0"]])
        assert riptide_json(near, "status")["site"]["destinations"] == 0
        asked("site", for_ms=3_600_000, weight=200, ladders=[[DST, of_site(14)]])
        assert riptide_json(near, "status")["site"]["destinations"] == 1
        asked("site", for_ms=3_600_000, replace=True)
        assert riptide_json(near, "status")["site"]["destinations"] == 0


def test_a_host_shares_costs_without_its_price(shallow, cgroup, tmp_path):  # noqa: F811
    """Whatever the price is now, or was before a reload or a restart."""
    near, far = shallow
    state, config = tmp_path / "state", tmp_path / "conf"
    write_state(state, {DST: 57})
    config.write_text("[apply]\nagain-price = 1\n")
    arguments = (*OPTIONS, "--cgroup", cgroup, "--state", state, "--config", config)
    with Daemon(near, *arguments, has_rules=False) as daemon:
        with Load(near, far, DST):
            wait_until(lambda: entered(60), "connections of trials", 60)

        def sums():
            text = asked("learned")["ladders"][0][1]
            return [list(map(int, one)) for one in re.findall(r"(\d+):(\d+),(-?\d+),(\d+)", text)]

        def check():
            for (_, _, had, again), (_, _, cost, again_now) in zip(before, sums()):
                assert again == again_now and abs(cost - had) <= 3, (before, sums())
        wait_until(lambda: not asked("status")["connections"], "all connections closed")
        wait_rounds()
        before = sums()
        assert sum(again for _, _, _, again in before) > 100, before
        config.write_text("[apply]\nagain-price = 3\n")
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: "again-price 1 -> 3" in daemon.said(), "the other price")
        check()
    config.write_text("[apply]\nagain-price = 0.5\n")
    with Daemon(near, *arguments, has_rules=False):
        check()


def test_nothing_rises_that_own_trials_have_not_confirmed(shallow, cgroup, tmp_path):  # noqa: F811
    """The site claims that 163 is best; the buffer holds 20."""
    near, far = shallow
    state = tmp_path / "state"
    write_state(state, {DST: 57})
    with Load(near, far, DST, per_second=20, n_bytes=150_000), \
            Daemon(near, *OPTIONS, "--cgroup", cgroup, "--state", state, has_rules=False):
        wait_until(lambda: entered(1), "a connection of a trial", 60)
        asked("site", for_ms=3_600_000, weight=1000, ladders=[[DST, of_site(163, 2000)]])
        seen = []

        def is_down():
            seen.append(rows(near)[0])
            return seen[-1] <= 28
        wait_until(is_down, "the window that own trials find", 240)
        assert max(seen) <= 81, seen  # a rung above the policy's window, as trials begin
        assert rows(near)[1][163]["site_connections"] == 1000
