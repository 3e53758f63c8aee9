# SPDX-License-Identifier: MIT
"""riptide status reports the true state."""

import os
import re
import signal

import cgroups
import pytest
from cgroups import refusing_bpf
from control import ask, derived, labelled, riptide_json, status, wait_given, wait_rounds, whole
from netns import AS_NOBODY, BY_ROUTES, RIPTIDE, RIPTIDED, Daemon, add_wg_quick_rules, wait_until, wait_window
from test_metrics import figures_of


def fits(done, code=0):
    """The lines of a status: at most seven, and one that counts others, of 80 columns."""
    assert (done.returncode, done.stderr) == (code, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 7 + lines[-1].startswith("  ... ") and max(map(len, lines)) <= 80, lines
    return lines


def wait_status(what, **members):
    """Waits for a status with these members; it is returned."""
    return wait_until(lambda: (found := status()).items() >= members.items() and found, what)


def last_minute():
    """What the program or the events of closed connections counted."""
    return status()["apply"]["last_minute"]


def test_status_without_an_answer_says_what_is_left_and_what_to_do(net):
    def left(found):
        return found["health"], found["left"]
    assert fits(net.host.run(RIPTIDE, check=False), 3) == [
        "riptide: NOT RUNNING. No connection in this network namespace gets a window.",
        labelled("why", "no riptided at /run/riptide/control"),
        labelled("do", "systemctl start riptided")]
    assert left(riptide_json(net.host, "status", check=False)) == ("not running", None)
    said = net.host.run(RIPTIDE, "--control", "site", check=False).stdout
    assert labelled("do", "systemctl start riptided@site\n") in said
    with Daemon.learned(net, {"203.0.113.1": 30}, *BY_ROUTES) as daemon:
        os.utime("/run/riptide/control", (0, 0))
        wait_rounds()
        with daemon.stopped():
            first, *why, do = fits(net.host.run(RIPTIDE, check=False), 4)
            assert re.fullmatch(rf"riptide: HANGS\. Process {daemon.pid}; its last round was \d+(\.\d)? s ago\.", first)
            assert why == [labelled("why", "no answer within 5 s at /run/riptide/control; its program, if it"),
                           labelled("", "has one, gives windows for at most 30 s after its last round"),
                           labelled("left", "rules 2, routes 1, which nobody maintains: gateways may be gone")]
            assert do == labelled("do", f"systemctl restart riptided (without systemd: kill -KILL {daemon.pid})")
            assert riptide_json(net.host, "status", check=False)["pid"] == daemon.pid
        daemon.signal(signal.SIGKILL)
        assert "No connection in this network namespace gets" in net.world.run(RIPTIDE, check=False).stdout
        assert left(riptide_json(net.host, "status", check=False)) == ("not running", "rules 2, routes 1")
        first, _, left_over, do = fits(net.host.run(*AS_NOBODY, RIPTIDE, check=False), 3)
        assert first == "riptide: NOT RUNNING, but it has left rules or routes in this network namespace."
        assert left_over == labelled("left", "rules 2, routes 1, which nobody maintains: gateways may be gone")
        assert do == labelled("do", "systemctl start riptided; or, to remove them: riptide flush")


def test_status_counts_the_connections_of_the_last_minute(net, daemon):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, *BY_ROUTES, "--policy", "careful", "--scope", "198.51.100.0/24"):
        def counts():
            minute = last_minute()
            return [minute[name] for name in ("opened", "given", "without")]
        wait_until(lambda: net.short("203.0.113.1") or counts()[0] > 0, "one that closed")
        wait_rounds()
        n, *others = counts()
        assert others == [0, n] and fits(net.host.run(RIPTIDE))[0] == (
            "riptide: not used. 0 % of connections that closed had a window.")
        with net.learned("198.51.100.1", 30).busy():
            wait_window(net.host, "198.51.100.1")
            wait_until(lambda: net.short("198.51.100.1") or counts()[1] > 0, "one with a window")
            wait_rounds()
            n, given, _ = counts()
            assert fits(net.host.run(RIPTIDE))[0] == (
                f"riptide: working. {100 * given / n:.0f} % of connections that closed had a window.")
    with daemon("program"):
        wait_until(lambda: net.starts("203.0.113.1") > 10 and last_minute()["opened"] > 0, "a window that counts")
        wait_rounds()  # what the next two read stays as it is
        minute = riptide_json(net.host, "status")["apply"]["last_minute"]
        assert minute["opened"] == minute["given"] >= 1 and minute["held_out"] == 0 and minute["cwnd_median"] >= 10
        first, second, *_ = fits(net.host.run(RIPTIDE))
        n, median = minute["opened"], minute["cwnd_median"]
        assert first == "riptide: working. 100 % of connections due a window got it, or are held out."
        assert second.startswith(f"  last minute  {n} to destinations with a window: {n} with it, 0 held out, ")
        assert f"; median window: up to {median} segments\n" in whole(net.host.run(RIPTIDE).stdout)


def test_status_names_the_cgroup_that_connections_are_outside_of(net, cgroup, daemon):
    def is_health(word):
        return lambda: net.short("203.0.113.1") or status()["health"] == word
    net.learned("203.0.113.1", 30)
    with daemon("program", "--holdout-percent", "1"):  # closed connections are read
        wait_given("203.0.113.1")
        cgroups.enter(cgroup.parent)
        wait_until(is_health("off"), "connections without it")
        done = net.host.run(RIPTIDE, "status", check=False)
        said = whole(done.stdout)
        assert done.returncode == 4 and said.startswith("riptide: NO EFFECT. No connection gets a window.\n")
        assert re.search(r"^  why +\d+ of \d+ connections that closed in the last minute, to destinations with a "
                         "window, opened without it: they are older than it, or not in the cgroup "
                         rf"{cgroup}$", said, re.M)
        assert labelled("do", "if not in the cgroup: set one that contains their processes (ps -o cgroup), or ") in said
        for shown in (net.host.run(RIPTIDE, "show").stdout, derived(net.host, "203.0.113.1")):
            assert labelled("but", "") in shown
        cgroups.enter(cgroup)
        wait_until(is_health("ok"), "more connections with it")
        assert labelled("but", "") not in net.host.run(RIPTIDE, "show").stdout

        def closed():
            figures = figures_of(net.host.run(RIPTIDE, "metrics").stdout)
            return [figures[f"riptide_closed_connections_total{{opened={how}}}"] for how in ("with_window", "without")]
        # Of those that made it ok one may have been held out.
        wait_until(lambda: net.short("203.0.113.1") or min(closed()) > 4, "the ends of those that made it ok")
        assert status()["apply"]["not_noted"] == 0


def test_status_counts_a_half_that_is_not_in_the_cgroup(net, cgroup, daemon):
    """They are fewer than those that opened with the window, and no trouble; nor are those that a start finds open."""
    def half():
        for place in (cgroup, cgroup.parent):
            cgroups.enter(place)
            net.short("203.0.113.1")
        cgroups.enter(cgroup)
        return status()["missed"]
    net.learned("203.0.113.1", 30)
    older = [net.connect("203.0.113.1") for _ in range(20)]
    with daemon("program", "--policy", "careful", "--holdout-percent", "0"):
        wait_given("203.0.113.1")
        for connection in older:
            connection.send(10_000)
            net.finish(connection)
        wait_until(lambda: last_minute()["closed_without"] == 20, "the ends of older ones")
        assert status()["missed"] is status()["reason"] is None
        wait_until(half, "a noticeable share")
        wait_rounds()
        found = status()
        minute, n = found["apply"]["last_minute"], found["missed"]
        said = whole(net.host.run(RIPTIDE).stdout)
        assert found["health"] == "ok" and 8 <= n <= minute["closed_without"] - 20
        assert said.startswith(f"riptide: working. {100 * minute['given'] / (minute['opened'] + n):.0f} % of ")
        assert f"or not in the cgroup {cgroup}\n" in said


def test_connections_without_room_for_their_notes_are_said(net, cgroup, daemon):
    """They have their window, and the verdict lacks them."""
    net.learned("203.0.113.1", 30)
    with daemon("program", "--holdout-percent", "50") as riptided, cgroups.Notes(riptided.pid) as notes:
        wait_given("203.0.113.1")
        for _ in range(4):
            net.short("203.0.113.1")
        said = [net.host.run(RIPTIDE, command).stdout for command in ("status", "verdict")]
        assert status()["apply"]["not_noted"] == 0 and "not noted" not in "".join(said)
        notes.fill(age=0)
        for _ in range(4):
            net.short("203.0.113.1")
        assert status()["apply"]["not_noted"] == riptide_json(net.host, "verdict")["not_noted"] == 4
        assert labelled("not noted", "4 connections, which the verdict lacks: too many are open\n") in whole(
            net.host.run(RIPTIDE, "status").stdout)
        assert labelled("not noted", "4 more: there was no room to note how they opened, as some 200,000 or more "
                        "connections are open\n") in whole(net.host.run(RIPTIDE, "verdict").stdout)
        assert figures_of(net.host.run(RIPTIDE, "metrics").stdout)["riptide_connections_not_noted_total"] == 4


def test_status_says_how_it_is(net):
    with Daemon.learned(net, {"203.0.113.1": 30, "2001:db8::1": 60}, *BY_ROUTES) as daemon:
        found = riptide_json(net.host, "status")
        assert (found["health"], found["reason"]) == ("ok", None)
        assert (found["pid"], found["round"]["interval_s"], found["policy"]) == (daemon.pid, 0.05, "paper")
        assert (found["round"]["connections"], found["destinations"], found["routes"]) == (2, 2, 2)
        screen = net.host.run(RIPTIDE).stdout
        assert screen.startswith("riptide: working. No connection closed in the last minute.\n")
        assert "  destinations 2 learned, at most 16384; left alone: 0\n" in screen
        net.host.run(RIPTIDE, "pause")
        assert fits(net.host.run(RIPTIDE))[:2] == [
            "riptide: PAUSED. New connections start without windows.",
            labelled("do", "riptide resume")]
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: daemon.said().count("on again") == 2, "the return")
        net.host.ip("rule", "del", "pref", "32766")
        off = wait_until(lambda: (found := riptide_json(net.host, "status", check=False))["health"] == "degraded"
                         and found, "rules without a place")
        first, why, *_ = fits(net.host.run(RIPTIDE, "status", check=False), 4)
        assert first == "riptide: DEGRADED. Not all connections get their window."
        assert why.startswith(labelled("why", "IPv4: "))
        assert "lookup main" in off["reason"] and f"{off['reason'].removeprefix('IPv4: ')}\n" in daemon.said()


def test_status_leaves_out_no_line_silently(net, cgroup):
    """What an operator has done comes before figures."""
    with Daemon.learned(net, "203.0.113.1", "--cgroup", cgroup, "--holdout-percent", "5", "--state", "/nosuch/state"):
        for words in (("hint", "203.0.113.1", "--max", "12"), ("pause",)):
            net.host.run(RIPTIDE, *words)
        wait_rounds()
        labels = [line[2:15].strip() for line in fits(net.host.run(RIPTIDE))[1:] if line[2] != " "]
        assert labels[:3] == ["do", "state", "hints"] and "daemon" not in labels
        assert int(net.host.run(RIPTIDE).stdout.splitlines()[-1].split()[1]) + len(labels) == 8


@pytest.mark.parametrize("apply, health, code", [("routes", "off", 4), ("both", "ok", 0)])
def test_status_says_which_rule_keeps_tcp_from_our_routes(net, daemon, apply, health, code):
    """wg-quick's is before ours, and takes the routes of main that are longer than its default one."""
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1")
    net.host.ip("route", "add", "2001:db8::/64", "via", "fd00::1")
    with daemon(apply, "--policy", "careful"):  # which reads events of closed connections
        with net.learned("203.0.113.1", 30).busy(), net.learned("2001:db8::1", 30).busy():
            wait_status("two routes", routes=2)
        assert (status()["health"], status()["not_taken"]) == ("ok", 0)
        add_wg_quick_rules(net.host)
        found = wait_status("routes that are not taken", not_taken=2)
        assert (found["health"], found["routes"], found["left_alone"]) == (health, 2, 0)
        reason = r"TCP does not use 2 of 2 routes, as to \S+: a rule sends it to another table: 254 \(main\)"
        first, *others = fits(net.host.run(RIPTIDE, "status", check=False), code)
        assert code == 0 or first == "riptide: NO EFFECT. No connection gets a window."
        assert re.search(reason, " ".join("\n".join(others).split()))
        assert others[0].split()[0] == ("why" if code else "but")
        doctor = {row["check"]: row["kind"] for row in riptide_json(net.host, "doctor", check=False)["findings"]}
        assert (doctor["daemon"], doctor["rules"]) == ("PROBLEM" if code else "advice", "passed")
        assert any(line.startswith(labelled("do", "let that rule match fewer connections")) for line in others)
        metrics = net.host.run(RIPTIDE, "metrics").stdout
        assert "\nriptide_routes_not_taken 2\n" in metrics and '\nriptide_routes{state="applied"} 2\n' in metrics
        if apply == "routes":  # nor does one that closes count as one with a window
            wait_until(lambda: net.short("203.0.113.1") or last_minute()["without"] > 0, "one without a window")
            assert last_minute()["given"] == 0
        for family in ("-4", "-6"):
            net.host.ip(family, "rule", "del", "pref", 32000)
        wait_status("ours again", not_taken=0, health="ok")


@pytest.mark.parametrize("to, n, health, first", [
    ((), 2, "off", "NO EFFECT. No connection gets a window."),
    (("to", "203.0.113.1"), 1, "degraded", "DEGRADED. Not all connections get their window."),
], ids=["all", "one"])
def test_policy_routing_that_takes_destinations_is_named(net, to, n, health, first):
    """They get no route, as the copy of a route of main would change their path."""
    net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 99)
    net.host.ip("rule", "add", "to", "172.16.0.0/12", "lookup", 99, "pref", 40)  # is not about them
    net.host.ip("rule", "add", *to, "lookup", 99, "pref", 100)
    for peer in ("203.0.113.1", "198.51.100.1"):
        net.learned(peer, 30)
    with Daemon(net.host, *BY_ROUTES):
        found = wait_status("those left alone", left_alone=n, routes=2 - n)
        assert (found["health"], found["not_taken"]) == (health, 0)
        assert re.fullmatch(rf"riptided does not copy {n} of 2 routes, as to \S+: a rule sends it to another table: "
                            r"IPv4 priority 100 lookup 99", found["reason"])
        assert fits(net.host.run(RIPTIDE, check=False), 4)[0] == f"riptide: {first}"
        doctor = {row["check"]: row for row in riptide_json(net.host, "doctor", check=False)["findings"]}
        assert (doctor["daemon"]["kind"], doctor["rules"]["kind"]) == ("PROBLEM", "passed")
        assert found["reason"] in doctor["daemon"]["what"]
        explained = riptide_json(net.host, "show", "203.0.113.1")
        assert explained["reason"] == "connections take another table than ours: IPv4 priority 100 lookup 99"
        assert explained["do"] == doctor["daemon"]["do"] == found["do"]
        if n == 2:  # a second rule leads one back to main
            net.host.ip("rule", "add", "to", "198.51.100.1", "lookup", "main", "pref", 90)
            found = wait_status("a route that is not taken", not_taken=1)
            assert (found["health"], found["reason"]) == (
                "off",
                "TCP does not use 1 of 1 routes, as to 198.51.100.1: a rule sends it to another table: 254 (main)")


def test_routes_that_are_not_copied_at_all_are_no_effect(net):
    net.host.ip("route", "add", "203.0.113.1", "nexthop", "via", "10.0.0.1", "nexthop", "via", "10.0.0.1", "weight", 2)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, *BY_ROUTES) as daemon:
        found = wait_status("one left alone", left_alone=1)
        assert (found["health"], found["reason"]) == (
            "off", "riptided does not copy 1 of 1 routes, as to 203.0.113.1: its base route has several next hops")
        assert riptide_json(net.host, "show", "203.0.113.1")["do"] == "set apply = program, which needs no route"
        assert (end := "no destination is left alone any more\n") not in daemon.said()
        net.host.ip("route", "replace", "203.0.113.1", "via", "10.0.0.1")
        wait_until(lambda: end in daemon.said(), "the end in the log")


@pytest.mark.parametrize("apply, health, first", [
    ("routes", "off", "NO EFFECT. No connection gets a window."),
    ("both", "degraded", "DEGRADED. Not all connections get their window."),
])
def test_copies_of_routes_that_the_kernel_refuses_are_said(net, daemon, apply, health, first):
    """Their gateway is no longer known to be on the link."""
    net.host.ip("route", "del", "10.0.0.0/24", "dev", "eth0")
    for peer in ("203.0.113.1", "203.0.113.2"):
        net.learned(peer, 30)
    with daemon(apply) as riptided:
        found = wait_status("two refusals", refused=2)
        reason = found["reason"]
        assert re.fullmatch(r"the kernel refuses 2 of 2 routes, as to 203\.0\.113\.[12]: "
                            r"Nexthop has invalid gateway", reason)
        assert (found["health"], found["routes"]) == (health, 0)
        assert found["do"] == (
            "its gateway is on no link: add a route to the gateway, or `onlink`; tried again within a minute")
        said, *others = fits(net.host.run(RIPTIDE, "status", check=False), 4)
        others = " ".join("\n".join(others).split())
        assert said == f"riptide: {first}" and reason in others and f" do {found['do']}" in others
        metrics = net.host.run(RIPTIDE, "metrics").stdout
        assert '\nriptide_routes{state="failed"} 2\n' in metrics
        doctor = {row["check"]: row for row in riptide_json(net.host, "doctor", check=False)["findings"]}["daemon"]
        assert doctor["kind"] == "PROBLEM" and reason in doctor["what"] and doctor["do"] == found["do"]
        net.host.ip("route", "add", "10.0.0.0/24", "dev", "eth0")
        wait_status("both routes", refused=0, health="ok")
        assert riptided.said().count("203.0.113.1: failed: ") == 1


def test_windows_that_the_kernel_refuses_to_the_program_are_said(net, daemon, preload, tmp_path):
    """No map of a program has memory while a file is there. A destination that is off lacks no window."""
    refuses = tmp_path / "no memory"
    refuses.touch()
    no_memory = preload(refusing_bpf("ENOMEM", f'a == BPF_MAP_UPDATE_ELEM && access("{refuses}", 0) == 0'))
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    net.learned("198.51.100.1", 30)
    off = "[prefix 198.51.100.0/24]\noff = yes\n"
    with daemon("program", "--holdout-percent", "0", command=("env", no_memory, RIPTIDED), config=off) as riptided:
        found = wait_status("a refusal", health="degraded", destinations=2)
        assert found["reason"] == "the kernel refuses 1 windows to the program: Cannot allocate memory"
        line = f"203.0.113.1: failed: initcwnd {cwnd} by the program: Cannot allocate memory\n"
        assert line in riptided.said()
        refuses.unlink()
        wait_status("the window", health="ok")
        assert net.starts("203.0.113.1") == cwnd


@pytest.mark.parametrize("apply", ["routes", "program"])
def test_status_says_for_how_long_windows_were_in_force(net, daemon, apply):
    net.learned("203.0.113.1", 30)
    with daemon(apply):
        wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
        wait_until(lambda: (found := status())["in_force_percent"] > 90 and found["uptime_s"] > 2,
                   "a share of the time since the start")
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: 0 < status()["in_force_percent"] < 50, "as long a pause")
        said = "\n".join(fits(net.host.run(RIPTIDE)))
        assert re.search(r"^  in force     [1-9]\d? % of the last minute$", said, re.M)
        metrics = net.host.run(RIPTIDE, "metrics").stdout
        assert 0 < float(re.search(r"^riptide_in_force_ratio (.*)$", metrics, re.M)[1]) < 0.5


def test_status_says_how_much_room_there_is(net):
    """One /24 has at most a sixteenth, and connections to another one find the table full."""
    for peer in ("203.0.113.1", "203.0.113.2", "198.51.100.1", "2001:db8::1"):
        net.learned(peer, 20)
    with Daemon(net.host, "--max-destinations", "2") as daemon:
        wait_status("two routes, and the end of the round", routes=2, health="full")
        found = riptide_json(net.host, "status", check=False)
        assert [found[name] for name in ("destinations", "max_destinations", "routes", "left_alone")] == [2, 2, 2, 0]
        assert (found["health"], found["do"]) == ("full", "a larger max-destinations")
        assert found["reason"].endswith(" has 1 of --max-destinations 2, as many as any network")
        first, *_ = fits(net.host.run(RIPTIDE, "status", check=False), 4)
        assert first == "riptide: FULL. New destinations find no free place."
        wait_rounds(3)
        assert len(daemon.lines(" full: ")) == 1  # of networks of one size the table's order decides which it names
        metrics = ask({"request": "metrics"})["metrics"]
        assert "riptide_destinations_full 1\n" in metrics


def test_a_peer_whose_24_has_its_sixteenth_is_said_to_be_refused_for_that(net):
    for host in (1, 2, 3):
        net.learned(f"203.0.113.{host}", 20)
    with Daemon(net.host, "--max-destinations", "32") as daemon:
        reason = ("203.0.113.0/24 has 2 of --max-destinations 32, "
                  "a sixteenth, as any /24 or /64 may: its others do not count")
        wait_until(lambda: f"{reason}\n" in daemon.said(), "the reason")
        found = status()
        assert (found["health"], found["reason"]) == ("ok", reason)
        doctor = riptide_json(net.host, "doctor")["findings"][0]
        assert doctor == {"check": "daemon", "kind": "advice", "what": reason, "do": found["do"]}
        said = [derived(net.host, f"203.0.113.{host}") for host in (1, 2, 3)]
        assert sum(labelled("do", "riptide status\n") in text for text in said) == 1


def test_history_has_a_line_for_each_hour(net):
    with Daemon.learned(net, "203.0.113.1"):
        wait_rounds()
        net.short("203.0.113.1")

        def is_the_same():
            header, *_, hour = net.host.run(RIPTIDE, "status", "--history").stdout.splitlines()
            assert header.startswith("HOUR ") and len(header) <= 80 and len(hour) <= 80
            return int(hour.split()[3]) == riptide_json(net.host, "status", "--history")["hours"][-1]["with_window"]
        wait_until(is_the_same, "the same count in both, once the last connection's end is counted")
