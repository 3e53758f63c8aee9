# SPDX-License-Identifier: MIT
"""The output of show, verify, flush and status on windows by the program."""

import json
import re
import socket

import cgroups
import pytest
from control import derived, riptide_json, said_json, status, whole
from netns import RIPTIDE, Daemon, wait_until, wait_window, windows


def test_show_and_explain_say_that_no_route_gives_it(net, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with daemon("program", has_rules=False) as riptided:
        wait_until(lambda: status()["destinations"], "a destination")
        shown = json.loads(net.host.run(RIPTIDE, "show", "--json").stdout)
        assert shown["differences"] == 0
        (row,) = shown["routes"]
        assert (row["daemon"]["state"], row["daemon"]["initrwnd"], row["starts_with"]) == ("by the program", 100, cwnd)
        assert re.search(f"\n203.0.113.1 +{cwnd} +1 +\\d program\n1 with a window, median {cwnd}; 0 without\n$",
                         net.host.run(RIPTIDE, "show").stdout)
        explained = json.loads(derived(net.host, "203.0.113.1", "--json"))
        assert explained["route"]["state"] == "by the program"
        assert "by the program" in derived(net.host, "203.0.113.1")
        assert net.host.run(RIPTIDE).stdout.startswith("riptide: working. No connection has opened in the last minute.\n")
        metrics = net.host.run(RIPTIDE, "metrics").stdout
        assert "\nriptide_program_in_place 1\n" in metrics
        assert 'riptide_rules_in_place{family="ipv4"} 0\n' in metrics
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 10, "the pause")
        assert riptide_json(net.host, "show")["why_off"] == "paused"
        done = net.host.run(RIPTIDE, "show")
        assert done.stdout.startswith("paused: new connections start without these") and done.stderr == ""
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "the end of it")
        riptided.stop()
        assert "program: ended" in riptided.said()


@pytest.mark.parametrize("apply", ["program", "both"])
def test_verify_proves_it(net, cgroup, daemon, apply):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    if apply == "both":  # only by the program
        net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 100)
        net.host.ip("rule", "add", "to", "203.0.113.0/24", "lookup", 100)
    with net.world.socket(socket.AF_INET) as server, daemon(apply, has_rules=apply == "both") as riptided:
        server.bind(("", 0))
        server.listen()
        words = (RIPTIDE, "verify", "203.0.113.1", server.getsockname()[1])
        wait_until(lambda: status()["destinations"], "a destination")
        wait_until(lambda: net.starts("203.0.113.1") == cwnd, "the window")
        said = net.host.run(*words).stdout
        assert said.startswith(f"applied: 203.0.113.1 port {words[-1]} starts with {cwnd} segments")
        assert f"\n  program     gives {cwnd}\n" in said
        if apply != "both":
            net.host.run(RIPTIDE, "pause")
            assert ("starts with 10 segments: riptided gives no windows by the program: paused"
                    in net.host.run(*words, check=False).stdout)
            net.host.run(RIPTIDE, "resume")
            with riptided.stopped():
                done = net.host.run(*words, check=False)
                # Connections opened in the pause, with 10 segments, may have changed the mean.
                assert re.match(rf"unknown: 203.0.113.1 port {words[-1]} starts with [234][0-9] segments: process "
                                rf"{riptided.pid} gives windows by the program and does not answer on --control", done.stdout)
                assert done.returncode == 5
        cgroups.enter(cgroup.parent)
        done = net.host.run(*words, check=False)
        net.host.run(RIPTIDE, "hint", "203.0.113.1", "--max", 10, "--for", "1h")
        wait_until(lambda: riptide_json(net.host, "show", "203.0.113.1")["program"]["initcwnd"] == 10, "the hint")
        as_many = net.host.run(*words, check=False)
        cgroups.enter(cgroup)
        for found, figure in ((done, "[34][0-9]"), (as_many, "10")):
            assert found.returncode == 4
            assert re.search(f"starts with 10 segments: this command runs outside of the cgroup {cgroup}: its connections do "
                             f"not get the {figure} segments that riptided gives by the program; run it in that cgroup\n",
                             found.stdout)
            assert re.search(f"\n  program     gives {figure}, but not to this connection\n", found.stdout)
        assert net.host.run(*words).stdout.startswith(f"applied: 203.0.113.1 port {words[-1]} starts with 10 segments\n")


@pytest.mark.parametrize("apply", ["program", "both"])
def test_verify_proves_no_window_of_a_program_that_is_detached(net, daemon, apply):
    net.learned("203.0.113.1", 30)
    with net.world.socket(socket.AF_INET) as server, \
            daemon(apply, "--cwnd-max", 20, has_rules=apply == "both", interval="1h") as riptided:
        server.bind(("", 0))
        server.listen()
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 20, "the window")
        if apply == "both":
            wait_window(net.host, "203.0.113.1")
        with cgroups.Links(riptided.pid) as links:
            links.detach()
        done = net.host.run(RIPTIDE, "verify", "203.0.113.1", server.getsockname()[1], "--json", check=False)
        found = said_json(done, "verify")
    assert found["program"] == {"initcwnd": 20, "has_given": False}
    if apply == "both":  # its route still gives the window
        assert (found["verdict"], found["connection"]["cwnd"], found["route"]["initcwnd"]) == ("applied", 20, 20)
    else:
        assert (found["verdict"], found["connection"]["cwnd"]) == ("overridden", 10)
        assert found["reason"].startswith("not by riptided, which would give 20 by the program: ")


def test_verify_does_not_judge_windows_of_who_cannot_be_asked(net, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with net.world.socket(socket.AF_INET) as server, daemon("program", "--control", "none", has_rules=False):
        server.bind(("", 0))
        server.listen()
        wait_until(lambda: net.starts("203.0.113.1") == cwnd, "the window")
        done = net.host.run(RIPTIDE, "verify", "203.0.113.1", server.getsockname()[1], "--json", check=False)
    found = said_json(done, "verify")
    assert (done.returncode, found["verdict"], found["connection"]["cwnd"]) == (5, "unknown", cwnd)


def test_explain_says_of_no_short_path_that_it_is_paced(net, daemon):
    net.learned("203.0.113.1", 30)

    def explain():
        return derived(net.host, "203.0.113.1")
    with daemon("program", "--policy", "bdp", has_rules=False):  # bdp reports the RTT
        wait_until(lambda: "\n  program      initcwnd " in explain(), "a window")
        assert "paced" not in explain()
        program = riptide_json(net.host, "show", "203.0.113.1")["program"]
        assert program["pacing_percent"] == 0
        assert program["receive_bytes"] == 146_000
        assert "\n  receive      146000 bytes in the first window, where this host opens the connection, not of MPTCP\n" in explain()
        net.connect("203.0.113.1")
        assert (status()["apply"]["given"], status()["apply"]["paced"]) == (1, 0)


def test_a_destination_whose_route_is_left_alone_has_its_window_by_the_program(net, cgroup, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    net.learned("203.0.113.2", 30)
    net.host.ip("rule", "add", "to", "203.0.113.1", "lookup", "100")
    net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 100)

    def said(*words):
        return whole(net.host.run(RIPTIDE, *words).stdout)
    with daemon("both"):
        wait_until(lambda: net.starts("203.0.113.1") == cwnd, "the window")
        wait_window(net.host, "203.0.113.2")
        explained = said("show", "203.0.113.1")
        assert "\n  route        left alone: " in explained
        assert f"\n  program      initcwnd {cwnd}\n" in explained
        assert (f"=> connections start with {cwnd} segments, given by the program; no route: left alone: "
                in explained)
        assert "\n  program      initcwnd " in said("show", "203.0.113.2")
        assert f"connections start with {cwnd} segments, given by the program\n" in said("show", "203.0.113.2")
        rows = {row["dst"]: row for row in riptide_json(net.host, "show")["routes"]}
        assert rows["203.0.113.1"]["daemon"]["state"] == "left alone"
        assert [rows[dst]["starts_with"] for dst in rows] == [cwnd, cwnd]
        assert re.search(r"\n203.0.113.1 .* program left alone: ", said("show")) and re.search(r"\n203.0.113.2 .* both\n", said("show"))
        document = riptide_json(net.host, "show", "203.0.113.1")
        assert document["program"] == {"cgroup": str(cgroup), "initcwnd": cwnd, "may_lower": False, "kept": None,
                                       "receive_bytes": 146_000,
                                       "pacing_percent": 0, "reason": None, "holdout_percent": 0,
                                       "holdout_seed": document["program"]["holdout_seed"],
                                       "given": status()["apply"]["given"]}
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: f"=> connections start with {cwnd} segments, given by the program; the route is not in use: "
                   in said("show", "203.0.113.2"), "rules without a place")
        net.host.run(RIPTIDE, "pause")
        assert f"initcwnd {cwnd}, not at present: paused\n" in said("show", "203.0.113.1")
        assert "given by the program" not in said("show", "203.0.113.1")
    net.host.ip("rule", "del", "pref", 0, "lookup", "main")
    with daemon("routes"):
        wait_window(net.host, "203.0.113.2")
        assert riptide_json(net.host, "show", "203.0.113.1")["program"] is None
        assert riptide_json(net.host, "show")["routes"][0]["starts_with"] in (None, 10)


def test_explain_says_where_a_larger_initcwnd_of_a_route_stays(net, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1", "initcwnd", cwnd + 5)

    def explain():
        return derived(net.host, "203.0.113.1")
    with daemon("program", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        assert net.connect("203.0.113.1").cwnd() == cwnd + 5
        wait_until(lambda: status()["apply"]["kept"], "its counter")
        assert re.search(f"^  => connections start with {cwnd + 5} segments, their route's, which is no less than "
                         "the [34][0-9] by the program$", explain(), re.M)
        net.host.run(RIPTIDE, "hint", "203.0.113.1", "--max", "15", "--for", "1h")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 15, "the hint")
        assert "=> connections start with 15 segments, given by the program\n" in explain()


def test_explain_says_which_of_both_windows_it_is(net, daemon):
    net.learned("203.0.113.1", 40)

    def explain():
        return derived(net.host, "203.0.113.1")
    with daemon("both", "--cwnd-max", 32):
        net.host.run(RIPTIDE, "hint", "203.0.113.1", "--max", "30", "--for", "1h")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 30, "the window")
        wait_until(lambda: windows(net.host) == {"203.0.113.1": 30}, "its route")
        net.host.run(RIPTIDE, "hint", "203.0.113.1", "--remove")  # 32 is within a step of what the route has
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 32, "the larger window")
        assert "route        203.0.113.1 initcwnd 30" in explain()
        assert "=> connections start with 32 segments, given by the program\n" in explain()


@pytest.mark.parametrize("apply, paused", [
    ("program", "riptided gives no window until `riptide resume`\n"),
    ("both", "riptided keeps its rules removed, and gives no window by the program,\nuntil `riptide resume`"
             "; its routes are in table 7230, to which no rule refers\n")])
def test_flush_pauses_the_program_and_says_so(net, daemon, apply, paused):
    net.learned("203.0.113.1", 30)
    with daemon(apply, has_rules=apply == "both"):
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "a window")
        assert net.host.run(RIPTIDE, "flush").stdout.endswith(f"\npaused: {paused}")
        assert net.connect("203.0.113.1").cwnd() == 10


@pytest.mark.parametrize("apply", ["program", "both"])
def test_flush_names_whose_program_goes_on(net, daemon, apply):
    net.learned("203.0.113.1", 30)
    with daemon(apply, has_rules=apply == "both") as riptided:
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "a window")
        with riptided.stopped():
            done = net.host.run(RIPTIDE, "flush", check=False)
            assert done.returncode == 1
            assert done.stderr == (
                f"riptide: flush: process {riptided.pid} gives windows by the program until it ends (/run/riptide/control: "
                f"no answer within 5 s): kill -KILL {riptided.pid}; then, if it is riptided, `systemctl stop riptided`\n")
            assert net.connect("203.0.113.1").cwnd() > 10


def test_explain_says_that_it_is_given_by_the_program_and_when_not(net, cgroup, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()

    def explain():
        return derived(net.host, "203.0.113.1")
    with daemon("program", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        assert f"=> connections start with {cwnd} segments, given by the program\n" in explain()
        assert "  route        none: the window is given by the program\n" in explain()
        assert f"  program      initcwnd {cwnd}\n" in explain()
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: f"  program      initcwnd {cwnd}, not at present\n" in explain(), "the pause")
        assert ("=> no window is given by the program at present: paused; connections start with 10 segments\n"
                in explain())
    below = cgroup / "below"
    below.mkdir()
    with Daemon(net.host, "--apply", "program", "--cgroup", below, has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        below.rmdir()
        gone = f"cgroup: {below} is not there: make it first"
        wait_until(lambda: f"=> no window is given by the program at present: {gone}; connections start " in explain(), "the end of it")
        assert explain().count(gone) == 1 and ", not at present\n" in explain()
        shown = riptide_json(net.host, "show")
        assert (shown["why_off"], shown["routes"][0]["starts_with"]) == (gone, None)
        done = net.host.run(RIPTIDE, "show")
        assert done.stdout.startswith(f"no window is given by the program: {gone}\n")
        assert done.stderr == ""


def test_a_dry_run_says_what_it_would_give_by_the_program(net, cgroup):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with Daemon(net.host, "--apply", "program", "--cgroup", cgroup, "--dry-run", has_rules=False) as one:
        wait_until(lambda: "would set" in one.said(), "a window")
        assert f"would set 203.0.113.1 initcwnd {cwnd} " in one.said()
        assert ") by the program\n" in one.said()
        assert "next hops" not in one.said()
        assert "windows would be given by the program, if the kernel takes the program" in one.said()


def test_verify_names_max_destinations(net, daemon):
    net.learned("203.0.113.1", 30)
    with net.world.socket(socket.AF_INET) as server, daemon("program", "--max-destinations", "1", has_rules=False):
        server.bind(("", 0))
        server.listen()
        wait_until(lambda: status()["destinations"], "a destination")
        done = net.host.run(RIPTIDE, "verify", "203.0.113.2", server.getsockname()[1], check=False)
    assert done.returncode == 4 and "or --max-destinations is reached" in done.stdout


def test_explain_and_show_name_whose_program_goes_on(net, daemon):
    net.learned("203.0.113.1", 30)
    with daemon("program", has_rules=False) as riptided:
        # Those that open with 10 segments before it lower the mean.
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "the window")
        gives = f"process {riptided.pid} gives windows by the program and does not answer on --control"
        with riptided.stopped():
            assert derived(net.host, "203.0.113.1").endswith(f"=> {gives}\n")
            document = said_json(net.host.run(RIPTIDE, "show", "203.0.113.1", "--json"), "explain")
            assert (document["verdict"], document["is_program_silent"]) == (gives, True)
            assert f"; {gives}\n" in net.host.run(RIPTIDE, "show").stderr


