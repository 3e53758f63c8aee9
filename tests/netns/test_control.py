"""riptide and riptided on the control socket: what is said, what is done, and for whom."""

import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from control import PATH, ask, many, riptide_json, status, write_state
from netns import (AS_NOBODY, RIPTIDE, RIPTIDED, TABLE, Daemon, Network, routes, rules, wait_until,
                   wait_window, windows)

GROUP = 4711
CHANGES = [("hint", "203.0.113.1", "--max", "20", "--for", "1s"), ("pause",), ("resume",),
           ("save", "/run/state"), ("load", "/run/state"), ("merge", "/run/state")]


def one_line(done, status=1):
    assert done.returncode == status, done
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def warnings(daemon):
    return [line for line in daemon.said().splitlines() if "warning: no control socket" in line]


# Whom it answers.

@pytest.mark.parametrize("command", [("status",), *CHANGES], ids=lambda command: command[0])
def test_no_daemon_is_a_status_of_its_own(host, command):
    write_state("/run/state", {})
    assert "not running" in one_line(host.run(RIPTIDE, *command, check=False), status=3)


@pytest.mark.parametrize("command", CHANGES, ids=lambda command: command[0])
def test_others_read_and_change_nothing(net, command, tmp_path):
    net.learned("203.0.113.1", 30)
    write_state("/run/state", {"203.0.113.9": 77})
    with Daemon(net.host):
        before = wait_window(net.host, "203.0.113.1")
        done = net.host.run(*AS_NOBODY, RIPTIDE, *command, check=False)
        assert "only root and the group" in one_line(done)
        assert net.host.run(*AS_NOBODY, RIPTIDE, "status").stdout.startswith("riptided     ok")
        rounds = status()["round"]["number"]
        wait_until(lambda: status()["round"]["number"] > rounds + 1, "two rounds")
        assert windows(net.host) == {"203.0.113.1": before}
        assert len(rules(net.host)) == 2


@pytest.mark.parametrize("groups", [("--regid", GROUP, "--clear-groups"),
                                    ("--regid", "nogroup", "--groups", f"999,{GROUP},1000")],
                         ids=["first", "others"])
def test_the_group_may_change_things(net, groups):
    member = ("setpriv", "--reuid", "nobody", *groups, "--")
    with Daemon(net.host, "--control-group", GROUP):
        net.host.run(*member, RIPTIDE, "pause")
        wait_until(lambda: not rules(net.host), "the pause")
        assert "only root" in one_line(net.host.run(*AS_NOBODY, RIPTIDE, "resume", check=False))


def test_group_by_name_is_looked_up(net):
    member = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--groups", "adm", "--")
    with Daemon(net.host, "--control-group", "adm"):
        net.host.run(*member, RIPTIDE, "pause")


# Where it is.

def test_everybody_reaches_it_whatever_the_umask(host):
    with Daemon(host):
        assert Path(PATH).stat().st_mode & 0o777 == 0o666
    assert not Path(PATH).exists()
    process = host.start("sh", "-c", f"umask 077; rmdir /run/riptide; exec {RIPTIDED}")
    wait_until(Path(PATH).exists, "the socket")
    assert Path(PATH).stat().st_mode & 0o777 == 0o666
    host.run(*AS_NOBODY, RIPTIDE, "status")
    process.terminate()
    assert process.wait(10) == 0


def test_socket_of_a_dead_daemon_is_replaced(host):
    with Daemon(host) as daemon:
        wait_until(Path(PATH).exists, "the socket")
        daemon.kill()
    assert Path(PATH).is_socket()
    with Daemon(host) as daemon:
        wait_until(lambda: status()["pid"] == daemon.pid, "the new one")
        assert not warnings(daemon)


def test_socket_of_a_living_daemon_is_left_to_it(host):
    other = Network()
    try:
        with Daemon(host) as first, Daemon(other.host) as second:
            wait_until(lambda: warnings(second), "a warning")
            assert "another riptided answers there" in warnings(second)[0]
            assert status()["pid"] == first.pid
        assert not Path(PATH).exists()
    finally:
        other.close()


@pytest.fixture
def read_only():
    path = Path("/run/read-only")
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", path], check=True)
    yield
    subprocess.run(["umount", path], check=True)
    path.rmdir()


@pytest.mark.parametrize("path, named", [
    ("/run/file", "no socket"), ("/proc/riptide/control", "/proc/riptide/control"),
    ("/run/read-only/control", "Read-only"), ("/run/" + "x" * 120, "too long"),
], ids=["file", "missing", "read-only", "long"])
def test_without_a_place_it_goes_on_with_one_warning(net, read_only, path, named):
    Path("/run/file").write_text("mine")
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--control", path) as daemon:
        assert wait_window(net.host, "203.0.113.1")
        assert len(warnings(daemon)) == 1
        assert named in warnings(daemon)[0]
    assert Path("/run/file").read_text() == "mine"


def test_wrong_group_is_named(host):
    with Daemon(host, "--control-group", "nogroupofthatname") as daemon:
        wait_until(lambda: warnings(daemon), "a warning")
        assert "nogroupofthatname" in warnings(daemon)[0]


def test_none_is_no_socket(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--control", "none") as daemon:
        assert wait_window(net.host, "203.0.113.1")
        assert not Path(PATH).exists()
        assert not warnings(daemon)


# What it says.

def test_status_says_how_it_is(net):
    net.learned("203.0.113.1", 30)
    net.learned("2001:db8::1", 60)
    assert riptide_json(net.host, "status", check=False) == {"health": "not running"}
    with Daemon(net.host) as daemon:
        for address in ("203.0.113.1", "2001:db8::1"):
            wait_window(net.host, address)
        found = wait_until(lambda: (riptide_json(net.host, "status")), "an answer")
        assert (found["health"], found["reason"]) == ("ok", None)
        assert (found["pid"], found["interval_s"], found["policy"]) == (daemon.pid, 0.05, "paper")
        assert (found["connections"], found["destinations"], found["routes"]) == (2, 2, 2)
        assert found["messages"][0]["text"] in daemon.said()
        screen = net.host.run(RIPTIDE, "status").stdout
        assert len(screen.splitlines()) <= 24
        assert "2 connections, 2 destinations" in screen
        net.host.run(RIPTIDE, "pause")
        assert riptide_json(net.host, "status")["health"] == "paused"
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: status()["health"] == "ok", "the return")
        net.host.ip("rule", "del", "pref", "32766")
        off = wait_until(lambda: (found := riptide_json(net.host, "status"))["health"] == "off"
                         and found, "rules without a place")
        assert "lookup main" in off["reason"] and off["rules"]["ipv6"] is None


def test_watch_goes_on_until_interrupted(net):
    def start():
        process = net.host.start(RIPTIDE, "status", "--watch", "--json", stdout=writing,
                                 stderr=writing)
        os.close(writing)
        return process

    reading, writing = os.pipe()
    with Daemon(net.host), start() as process, os.fdopen(reading) as output:
        for _ in range(2):  # two screens
            assert any(line == "}\n" for line in output)
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 0


def test_watch_survives_the_daemon(net):
    reading, writing = os.pipe()
    with Daemon(net.host):
        process = net.host.start(RIPTIDE, "status", "--watch", stdout=writing, stderr=writing)
        os.close(writing)
        output = os.fdopen(reading)
        assert any("riptided     ok" in line for line in iter(output.readline, ""))
    assert any("not running" in line for line in iter(output.readline, ""))
    with Daemon(net.host):
        assert any("riptided     ok" in line for line in iter(output.readline, ""))
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0
    output.close()


def test_show_puts_kernel_and_daemon_side_by_side(net):
    net.learned("203.0.113.1", 30)
    net.learned("2001:db8::1", 60)
    with Daemon(net.host):
        for address in ("203.0.113.1", "2001:db8::1"):
            wait_window(net.host, address)
        found = riptide_json(net.host, "show")
        assert found["daemon_is_running"] and found["differences"] == 0
        assert {row["dst"]: row["initcwnd"] for row in found["routes"]} == windows(net.host)
        for row in found["routes"]:
            assert row["daemon"]["state"] == "applied"
            assert row["daemon"]["initcwnd"] == row["initcwnd"]
            assert row["daemon"]["connections"] == 1
        only = riptide_json(net.host, "show", "2001:db8::/32")
        assert [row["dst"] for row in only["routes"]] == ["2001:db8::1"]


def test_show_marks_differences(net):
    """A dry run writes nothing, so that whatever is in the kernel is not what it believes."""
    for last in (1, 2, 3):
        net.learned(f"203.0.113.{last}", 30)
    path = "/run/dry"
    process = net.host.start(RIPTIDED, "--dry-run", "--control", path)
    wait_until(lambda: os.path.exists(path), "the socket")
    wait_until(lambda: [row for row in ask({"request": "show"}, path)["routes"]
                        if row[1] == "applied"][2:], "three destinations")
    for dst, window in (("203.0.113.2", 77), ("203.0.113.9", 50)):
        net.host.ip("route", "add", dst, "via", "10.0.0.1", "table", TABLE, "proto", "230",
                    "initcwnd", window)
    found = riptide_json(net.host, "show", "--control", path)
    assert found["differences"] >= 3
    said = {row["dst"]: row["difference"] for row in found["routes"]}
    assert said["203.0.113.1"] == "the kernel does not have it"
    assert said["203.0.113.2"] == "the kernel has another window"
    assert said["203.0.113.9"] == "the daemon does not know it"
    assert "differs: the daemon does not know it" in \
        net.host.run(RIPTIDE, "show", "--control", path).stdout
    process.terminate()
    process.wait(10)


def test_show_without_a_daemon_is_the_kernels_side(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host) as daemon:
        window = wait_window(net.host, "203.0.113.1")
        daemon.kill()
    done = net.host.run(RIPTIDE, "show")
    assert done.stdout.splitlines()[1].split()[:2] == ["203.0.113.1", str(window)]
    assert "not running" in done.stderr
    found = riptide_json(net.host, "show")
    assert not found["daemon_is_running"] and found["routes"][0]["daemon"] is None
    net.host.run(RIPTIDE, "flush")


# Why.

def verdict(host, dst, *options):
    found = riptide_json(host, "explain", dst, *options)
    assert found["verdict"] in host.run(RIPTIDE, "explain", dst, *options).stdout
    return found


def test_explain_follows_a_window_from_connection_to_route(net):
    connections = [net.learned("203.0.113.1", cwnd) for cwnd in (30, 60)]
    mean = sum(connection.cwnd() for connection in connections) / 2
    with Daemon(net.host, "--cwnd-max", "25"):
        wait_window(net.host, "203.0.113.1")
        found = verdict(net.host, "203.0.113.1")
        window = found["window"]
        assert window["connections"] == found["look"]["connections"] == 2
        assert window["combined"] == window["smoothed"] == mean
        assert window["bounds"] == ["max"] and window["cwnd"] == 25
        for route in (found["route"], found["kernel"]):
            assert (route["initcwnd"], route["gateway"], route["dev"]) == (25, "10.0.0.1", "eth0")
        assert found["verdict"] == "connections start with 25 segments"


def test_explain_names_the_destination_of_a_host(net):
    net.learned("203.0.113.7", 30)
    with Daemon(net.host, "--aggregate", "203.0.113.0/24"):
        wait_window(net.host, "203.0.113.0/24")
        found = verdict(net.host, "203.0.113.200")
        assert found["destination"] == "203.0.113.0/24"
        assert found["look"]["connections"] == 1
        assert "connections start with" in found["verdict"]


@pytest.mark.parametrize("options, setup, dst, said", [
    ((), None, "203.0.113.5", "no connection to it is open"),
    (("--scope", "198.51.100.0/24"), None, "203.0.113.1", "outside of --scope"),
    (("--exclude", "203.0.113.1"), None, "203.0.113.1", "in --exclude"),
    (("--policy", "careful"), None, "203.0.113.3", "none of its 1 connections counts (unused 1"),
    ((), ("route", "add", "blackhole", "203.0.113.6"), "203.0.113.6", "left alone: "),
    ((), None, "10.0.0.10", "an address of this host"),
], ids=["unknown", "scope", "exclude", "unused", "blackhole", "own"])
def test_explain_says_which_rule_left_it_without_a_route(net, options, setup, dst, said):
    net.learned("203.0.113.1", 30)
    net.connect("203.0.113.3")
    if setup:
        net.host.ip(*setup)
    with Daemon(net.host, *options):
        wait_until(lambda: status()["round"], "a round")
        found = verdict(net.host, dst)
        assert said in found["verdict"]
        assert found["route"] is None and found["kernel"] is None


@pytest.mark.parametrize("text, dst", [
    ("[compute]\ncwnd-min = 90\n", "203.0.113.5"),
    ("[observe]\nscope = 198.51.100.0/24\n", "203.0.113.1"),
], ids=["unknown", "scope"])
def test_explain_shows_no_route_where_there_is_no_window(net, tmp_path, text, dst):
    path = tmp_path / "riptided.conf"
    path.write_text(text)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--config", path):
        wait_until(lambda: status()["round"], "a round")
        for control in ("/run/riptide/control", "none"):
            options = ("--config", path, "--control", control)
            look = verdict(net.host, dst, *options)["look"]
            assert look["window"] is None and look["route"] is None
            said = net.host.run(RIPTIDE, "explain", dst, *options).stdout
            assert "would be" not in said and "initcwnd" not in said


def test_explain_names_several_next_hops(net):
    net.host.ip("route", "add", "203.0.113.1", "nexthop", "via", "10.0.0.1", "nexthop", "via",
                "10.0.0.2")
    net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        wait_window(net.host, "203.0.113.1")
        assert verdict(net.host, "203.0.113.1")["kernel"]["dev"] is None
        said = net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
        assert said.count("via several next hops") == 2


def test_explain_of_what_is_left_alone_has_the_routers_reason(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        wait_window(net.host, "203.0.113.1")
        net.host.ip("route", "add", "unreachable", "203.0.113.1")
        wait_until(lambda: status()["left_alone"] == 1, "a destination that is left alone")
        found = verdict(net.host, "203.0.113.1")
        assert found["route"]["state"] == "left alone"
        assert found["route"]["reason"] in found["verdict"]


@pytest.mark.parametrize("dst, said", [
    ("203.0.113.1", "as it is configured it would give connections 40 segments"),
    ("203.0.113.5", "no connection to it is open"),
])
def test_explain_without_a_daemon_says_what_one_would_do(net, dst, said):
    connection = net.learned("203.0.113.1", 30)
    assert connection.cwnd() == 40
    for prefix in ((), AS_NOBODY):
        done = net.host.run(*prefix, RIPTIDE, "explain", dst)
        assert said in done.stdout
    found = verdict(net.host, dst)
    assert not found["daemon_is_running"] and found["window"] is None
    assert windows(net.host) == {} and not rules(net.host)


# What it does.

def test_hint_lowers_windows_and_passes(net):
    net.learned("203.0.113.1", 60)
    net.learned("198.51.100.1", 60)
    with Daemon(net.host) as daemon:
        for address in ("203.0.113.1", "198.51.100.1"):
            wait_until(lambda: windows(net.host).get(address, 0) >= 60, "a window")
        before = windows(net.host)
        riptide_json(net.host, "hint", "203.0.113.0/24", "--max", "20", "--for", "10min")
        wait_until(lambda: windows(net.host)["203.0.113.1"] == 20, "the hint")
        assert windows(net.host)["198.51.100.1"] == before["198.51.100.1"]
        assert verdict(net.host, "203.0.113.1")["window"]["bounds"] == ["hint_max"]
        said = net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--scale", "50%", "--for", "300ms")
        assert "windows times 0.5, but the minimum of 10 stays; an older hint" in said.stdout
        wait_until(lambda: windows(net.host)["203.0.113.1"] == before["203.0.113.1"] // 2, "half")
        wait_until(lambda: windows(net.host) == before, "the end of the hint")
        said = daemon.said()
    assert "windows at most 20\n" in said and "windows times 0.5\n" in said


def test_hint_below_the_minimum_says_that_this_stays(net, tmp_path):
    path = tmp_path / "riptided.conf"
    path.write_text("[prefix 203.0.113.0/24]\ncwnd-min = 12\n[prefix 203.0.113.1]\ncwnd-max = 20\n")
    with Daemon(net.host, "--config", path):
        for dst, cwnd_min in (("203.0.113.2", 12), ("203.0.113.1", 10), ("203.0.112.0/23", 10)):
            words = ("hint", dst, "--max", "5", "--for", "1s")
            assert riptide_json(net.host, *words)["cwnd_min"] == cwnd_min
            said = net.host.run(RIPTIDE, *words).stdout
            assert f"at most 5, but the minimum of {cwnd_min} stays" in said


@pytest.mark.parametrize("members, said", [
    ({"cwnd_max": 70000}, "cwnd_max"), ({"scale": 1.5}, "scale"), ({}, "scale"),
    ({"cwnd_max": 20, "for_ms": 0}, "for_ms"), ({"cwnd_max": 20, "for_ms": 10**12}, "for_ms"),
])
def test_hint_that_makes_no_sense_is_refused_with_a_line(net, members, said):
    with Daemon(net.host):
        answer = ask({"request": "hint", "dst": "203.0.113.1", "for_ms": 1000, **members})
        assert not answer["ok"] and said in answer["error"]


def test_pause_and_resume_while_rules_are_looked_at(net):
    """Somebody's rules come and go: whatever a look that is under way has seen, the end is right."""
    with Daemon(net.host):
        wait_until(lambda: len(rules(net.host)) == 2, "the rules")
        for n in range(100):
            net.host.start("ip", "rule", *(("add", "del")[n % 2], "pref", 100, "lookup", 100))
            ask({"request": "pause"})
            ask({"request": "resume"})
        wait_until(lambda: len(rules(net.host)) == 2, "the rules again")


def test_pause_is_off_at_once_and_resume_loses_nothing(net):
    net.learned("203.0.113.1", 30)
    net.learned("2001:db8::1", 30)
    with Daemon(net.host) as daemon:
        for address in ("203.0.113.1", "2001:db8::1"):
            wait_window(net.host, address)
        before = windows(net.host)
        assert riptide_json(net.host, "pause") == {"paused": True}
        assert rules(net.host) == []  # at once: the answer came after it
        assert net.connect("203.0.113.1").cwnd() == 10
        assert windows(net.host) == before
        # What moves meanwhile is followed.
        net.host.ip("route", "replace", "default", "via", "10.0.0.2")
        wait_until(lambda: routes(net.host)["203.0.113.1"]["gateway"] == "10.0.0.2", "the gateway")
        net.learned("203.0.113.2", 50)
        wait_window(net.host, "203.0.113.2")
        assert rules(net.host) == []
        assert riptide_json(net.host, "resume") == {"paused": False}
        wait_until(lambda: len(rules(net.host)) == 2, "the rules")
        assert net.connect("2001:db8::1").cwnd() == before["2001:db8::1"]
        wait_until(lambda: "on again" in daemon.said(), "a line in the log")
    assert rules(net.host) == []


def test_show_says_that_it_is_paused(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        wait_window(net.host, "203.0.113.1")
        assert riptide_json(net.host, "show")["daemon_is_paused"] is False
        assert "paused" not in net.host.run(RIPTIDE, "show").stdout
        net.host.run(RIPTIDE, "pause")
        assert riptide_json(net.host, "show")["daemon_is_paused"] is True
        first, header, *_ = net.host.run(RIPTIDE, "show").stdout.splitlines()
        assert first.startswith("paused: ") and "riptide resume" in first
        assert header.startswith("DESTINATION")
        net.host.run(RIPTIDE, "resume")
        assert riptide_json(net.host, "show")["daemon_is_paused"] is False
    assert riptide_json(net.host, "show")["daemon_is_paused"] is False


def test_state_goes_from_one_daemon_to_the_next(net):
    connection = net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        window = wait_window(net.host, "203.0.113.1")
        saved = riptide_json(net.host, "save", "/run/state")
        assert saved == {"file": "/run/state", "bytes": Path("/run/state").stat().st_size}
        assert Path("/run/state").stat().st_mode & 0o777 == 0o600
    net.connections.remove(connection)
    connection.close()
    with Daemon(net.host):
        assert riptide_json(net.host, "load", "/run/state")["loaded"] == 1
        assert wait_window(net.host, "203.0.113.1") == window


def test_load_takes_the_place_and_merge_joins(net):
    write_state("/run/old", {"203.0.113.1": 30, "203.0.113.2": 40}, age_s=100)
    write_state("/run/new", {"203.0.113.2": 50, "203.0.113.3": 60}, age_s=10)
    with Daemon(net.host):
        riptide_json(net.host, "load", "/run/new")
        wait_until(lambda: windows(net.host) == {"203.0.113.2": 50, "203.0.113.3": 60}, "new")
        counts = riptide_json(net.host, "merge", "/run/old")
        assert (counts["loaded"], counts["older"]) == (1, 1)
        wait_until(lambda: windows(net.host) == {"203.0.113.1": 30, "203.0.113.2": 50,
                                                 "203.0.113.3": 60}, "both, newer wins")
        assert riptide_json(net.host, "load", "/run/old")["loaded"] == 2
        wait_until(lambda: windows(net.host) == {"203.0.113.1": 30, "203.0.113.2": 40}, "old")


@pytest.mark.parametrize("how", ["missing", "directory", "empty", "garbage", "policy", "fifo"])
@pytest.mark.parametrize("command", ["load", "merge"])
def test_file_that_is_no_state_changes_nothing(net, command, how, tmp_path):
    path = tmp_path / "state"
    if how == "directory":
        path.mkdir()
    elif how == "fifo":
        os.mkfifo(path)
    elif how == "policy":
        write_state(path, {"203.0.113.9": 40}, policy=b"careful")
    elif how != "missing":
        path.write_bytes(b"" if how == "empty" else b"riptide\ngarbage" * 20)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host):
        window = wait_window(net.host, "203.0.113.1")
        assert str(path) in one_line(net.host.run(RIPTIDE, command, path, check=False))
        rounds = status()["round"]["number"]
        wait_until(lambda: status()["round"]["number"] > rounds + 1, "two rounds")
        assert windows(net.host) == {"203.0.113.1": window}


@pytest.mark.parametrize("how", ["fifo", "symlink", "device", "dangling"])
def test_save_replaces_nothing_but_files(net, how, tmp_path):
    path = tmp_path / "state"
    if how == "fifo":
        os.mkfifo(path)
    else:  # through a link of ours: what is in /dev belongs to all
        target = {"symlink": tmp_path / "other", "device": "/dev/full", "dangling": "/none"}[how]
        path.symlink_to(target)
    (tmp_path / "other").write_text("kept")
    before = path.lstat()
    with Daemon(net.host):
        said = one_line(net.host.run(RIPTIDE, "save", path, check=False))
    assert said == f"riptide: save: {path}: exists and is no regular file, so it is not replaced\n"
    assert path.lstat() == before
    assert (tmp_path / "other").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["other", "state"]


def test_save_to_a_full_disk_leaves_the_old_file(net):
    full = Path("/run/full")
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", full], check=True)
    try:
        state = full / "state"
        state.write_text("old")
        (full / "filler").write_bytes(bytes(4096 * 2))
        write_state("/run/state", many(1000))
        with Daemon(net.host):
            net.host.run(RIPTIDE, "load", "/run/state")
            done = net.host.run(RIPTIDE, "save", state, check=False)
            assert str(state) in one_line(done)
        assert state.read_text() == "old"
        assert sorted(path.name for path in full.iterdir()) == ["filler", "state"]
    finally:
        subprocess.run(["umount", full], check=True)


# Daemons that fail a client.

@pytest.fixture
def impostor():
    """Answers one client with the bytes that the test chooses."""
    threads = []

    def serve(answer):
        path = f"/run/impostor{len(threads)}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()

        def run():
            client, _ = listener.accept()
            with client, listener:
                client.recv(4096)
                client.sendall(answer)
                os.unlink(path)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return path

    yield serve
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("answer, said", [
    (b"", "ended before"), (b'{"ok":true,"health', "ended before"), (b"{}\n", "none"),
    (b"\x00\xff\n", "none"), (b'{"ok":false,"error":"no"}\n', "no"), (b"[" * 5000 + b"\n", "none"),
])
def test_answer_that_is_none_is_one_line(host, impostor, answer, said):
    done = host.run(RIPTIDE, "status", "--control", impostor(answer), check=False)
    assert said in one_line(done)


def test_show_goes_on_without_a_daemon_that_dies(net, impostor):
    path = impostor(b'{"routes":[["203.0.113.1","applied",3')
    done = net.host.run(RIPTIDE, "show", "--control", path)
    assert "ended before" in done.stderr and "kernel's side alone" in done.stderr

