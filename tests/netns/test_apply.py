# SPDX-License-Identifier: MIT
"""riptided --apply: by routes, per connection, by both, or what there is; and what its tools say."""

import contextlib
import json
import os
import signal
import socket
import time

import cgroups
import pytest
from connection import first_pace, tcp_info
from control import riptide_json, status, wait_rounds
from netns import RIPTIDE, RIPTIDED, Daemon, rules, snapshot, wait_until, wait_window


@pytest.fixture
def daemon(net, cgroup):
    """A function that starts a riptided on net.host, which gives windows as asked for."""
    @contextlib.contextmanager
    def start(apply, *words, **options):
        with Daemon(net.host, "--apply", apply, "--cgroup", cgroup, *words, **options) as one:
            yield one
    return start


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("apply, by, n_rules", [("connections", "connections", 0), ("both", "both", 2),
                                                ("auto", "connections", 0), ("routes", "routes", 2)])
def test_a_daemon_gives_what_it_has_learned(net, daemon, apply, by, n_rules, passive):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    before = snapshot(net.host)
    with daemon(apply, has_rules=n_rules > 0):
        wait_until(lambda: status()["round"] and status()["destinations"], "a round")
        assert (snapshot(net.host) == before) == (n_rules == 0)
        wait_until(lambda: net.connect("203.0.113.1", passive=passive).cwnd() == cwnd, "the window")
        assert status()["apply"]["by"] == by
        assert len(rules(net.host)) == n_rules
        assert (status()["apply"]["given"] > 0) == (by != "routes")
    assert net.connect("203.0.113.1").cwnd() == 10
    assert snapshot(net.host) == before


@pytest.mark.parametrize("apply", ["connections", "both"])
def test_peers_begin_with_cwnd_max_on_what_this_host_opens(net, daemon, apply):
    net.learned("203.0.113.1", 30)

    def first_window():
        return tcp_info(net.connect("203.0.113.1").far).snd_wnd_bytes // 1460
    assert first_window() < 50
    with daemon(apply, "--cwnd-max", 80, has_rules=apply == "both"):
        wait_until(lambda: first_window() == 80, "the first receive window")


def test_show_and_explain_say_that_no_route_gives_it(net, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with daemon("connections", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        shown = json.loads(net.host.run(RIPTIDE, "show", "--json").stdout)
        assert shown["differences"] == 0
        (row,) = shown["routes"]
        assert (row["daemon"]["state"], row["starts_with"]) == ("per connection", cwnd)
        assert f" {cwnd} " in net.host.run(RIPTIDE, "show").stdout
        explained = json.loads(net.host.run(RIPTIDE, "explain", "203.0.113.1", "--json").stdout)
        assert explained["route"]["state"] == "per connection"
        assert "per connection" in net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
        assert "program " in net.host.run(RIPTIDE, "status").stdout
        metrics = net.host.run(RIPTIDE, "metrics").stdout
        assert "\nriptide_program_in_place 1\n" in metrics
        assert 'riptide_rules_in_place{family="ipv4"} 0\n' in metrics
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 10, "the pause")
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "the end of it")


@pytest.mark.parametrize("apply", ["connections", "auto", "both"])
def test_verify_proves_it(net, cgroup, daemon, apply):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    if apply == "both":  # with nothing but the program
        net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 100)
        net.host.ip("rule", "add", "to", "203.0.113.0/24", "lookup", 100)
    with net.world.socket(socket.AF_INET) as server, daemon(apply, has_rules=apply == "both") as riptided:
        server.bind(("", 0))
        server.listen()
        words = (RIPTIDE, "verify", "203.0.113.1", server.getsockname()[1])
        wait_until(lambda: status()["destinations"], "a destination")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == cwnd, "the window")
        said = net.host.run(*words).stdout
        assert said.startswith(f"applied: 203.0.113.1 port {words[-1]} starts with {cwnd} segments")
        assert f"\n  program     gives {cwnd}\n" in said
        if apply != "both":
            net.host.run(RIPTIDE, "pause")
            assert ("starts with 10 segments: riptided gives nothing per connection: paused"
                    in net.host.run(*words, check=False).stdout)
            net.host.run(RIPTIDE, "resume")
            with riptided.stopped():
                assert (f"starts with {cwnd} segments: windows are given per connection by process {riptided.pid}, which "
                        "does not say how much") in net.host.run(*words, check=False).stdout
        cgroups.enter(cgroup.parent)
        done = net.host.run(*words, check=False)
        cgroups.enter(cgroup)
        assert done.returncode == 4
        assert (f"it started with 10, not the {cwnd} that riptided gives per connection: this command runs outside of "
                f"the cgroup {cgroup}, so its connections get nothing, and prove nothing of those in there") in done.stdout


def test_a_destination_whose_route_is_left_alone_has_its_window_per_connection(net, cgroup, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    net.learned("203.0.113.2", 30)
    net.host.ip("rule", "add", "to", "203.0.113.1", "lookup", "100")
    net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 100)

    def said(*words):
        return net.host.run(RIPTIDE, *words).stdout
    with daemon("both"):
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == cwnd, "the window")
        wait_window(net.host, "203.0.113.2")
        explained = said("explain", "203.0.113.1")
        assert "\n  route        left alone: " in explained
        assert f"\n  program      initcwnd {cwnd}, paced as TCP does itself, over half a round trip\n" in explained
        assert (f"=> connections start with {cwnd} segments, given per connection; no route: left alone: "
                in explained)
        assert "\n  program      initcwnd " in said("explain", "203.0.113.2")
        assert f"connections start with {cwnd} segments, given per connection\n" in said("explain", "203.0.113.2")
        rows = {row["dst"]: row for row in riptide_json(net.host, "show")["routes"]}
        assert rows["203.0.113.1"]["daemon"]["state"] == "left alone"
        assert [rows[dst]["starts_with"] for dst in rows] == [cwnd, cwnd]
        assert " per connection; left alone: " in said("show")
        document = riptide_json(net.host, "explain", "203.0.113.1")
        assert document["program"] == {"cgroup": str(cgroup), "initcwnd": cwnd, "may_lower": False, "kept": None,
                                       "pacing_percent": 50, "reason": None, "holdout_percent": 0,
                                       "holdout_seed": document["program"]["holdout_seed"], "trial_percent": 0}
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: f"=> connections start with {cwnd} segments, given per connection; the route is not looked at: "
                   in said("explain", "203.0.113.2"), "rules without a place")
        net.host.run(RIPTIDE, "pause")
        assert f"initcwnd {cwnd}, paced as TCP does itself, over half a round trip, not at present: paused" in said("explain", "203.0.113.1")
        assert "given per connection" not in said("explain", "203.0.113.1")
    net.host.ip("rule", "del", "pref", 0, "lookup", "main")
    with daemon("routes"):
        wait_window(net.host, "203.0.113.2")
        assert riptide_json(net.host, "explain", "203.0.113.1")["program"] is None
        assert riptide_json(net.host, "show")["routes"][0]["starts_with"] in (None, 10)


def test_explain_says_where_a_larger_initcwnd_of_a_route_stays(net, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1", "initcwnd", cwnd + 5)

    def explain():
        return net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
    with daemon("connections", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        assert net.connect("203.0.113.1").cwnd() == cwnd + 5
        wait_until(lambda: status()["apply"]["kept"], "its counter")
        assert (f"=> connections start with {cwnd + 5} segments, their route's, which is no less than "
                f"the {cwnd} per connection\n" in explain())
        net.host.run(RIPTIDE, "hint", "203.0.113.1", "--max", "15", "--for", "1h")
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 15, "the hint")
        assert "=> connections start with 15 segments, given per connection\n" in explain()


def test_explain_says_which_of_both_windows_it_is(net, daemon, tmp_path):
    config = tmp_path / "riptided.conf"
    config.write_text("[compute]\ncwnd-max = 30\n")
    net.learned("203.0.113.1", 40)

    def explain():
        return net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
    with daemon("both", "--config", config) as riptided:
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 30, "the window")
        wait_window(net.host, "203.0.113.1")
        config.write_text("[compute]\ncwnd-max = 32\n")  # within a step of what the route has
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: net.connect("203.0.113.1").cwnd() == 32, "the larger window")
        assert "route        203.0.113.1 initcwnd 30 via" in explain()
        assert "=> connections start with 32 segments, given per connection\n" in explain()


@pytest.mark.parametrize("apply, paused", [
    ("connections", "riptided gives no window until `riptide resume` or a restart\n"),
    ("both", "riptided keeps its rules away, and gives no window per connection, until `riptide resume` or a "
             "restart; its routes are in table 7230, where nothing looks them up\n")])
def test_flush_pauses_windows_per_connection_and_says_so(net, daemon, apply, paused):
    net.learned("203.0.113.1", 30)
    with daemon(apply, has_rules=apply == "both"):
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "a window")
        assert net.host.run(RIPTIDE, "flush").stdout.endswith(f"\npaused: {paused}")
        assert net.connect("203.0.113.1").cwnd() == 10


@pytest.mark.parametrize("apply", ["connections", "auto"])
def test_a_change_of_routes_keeps_no_processor_busy(net, daemon, apply):
    with daemon(apply, has_rules=False) as riptided:
        def processor_s():
            times = open(f"/proc/{riptided.process.pid}/stat").read().rpartition(")")[2].split()
            return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

        net.host.ip("route", "add", "192.0.2.0/24", "dev", "lo")
        began_s, used_s = time.monotonic(), processor_s()
        wait_rounds(10)
        assert processor_s() - used_s < (time.monotonic() - began_s) / 4


@pytest.mark.parametrize("apply", ["connections", "both"])
def test_flush_names_who_goes_on_per_connection(net, daemon, apply):
    net.learned("203.0.113.1", 30)
    with daemon(apply, has_rules=apply == "both") as riptided:
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "a window")
        with riptided.stopped():
            done = net.host.run(RIPTIDE, "flush", check=False)
            assert done.returncode == 1
            assert done.stderr == (
                f"riptide: flush: process {riptided.pid} gives windows per connection until it ends (/run/riptide/control: "
                f"no answer within 5 s): kill -KILL {riptided.pid}; then, if it is riptided, `systemctl stop riptided`\n")
            assert net.connect("203.0.113.1").cwnd() > 10


def test_a_program_that_somebody_detaches_is_attached_again_with_a_line(net, daemon):
    net.learned("203.0.113.1", 30)
    with daemon("connections", has_rules=False) as riptided:
        wait_until(lambda: net.connect("203.0.113.1").cwnd() > 10, "a window")
        with cgroups.Maps(riptided.pid) as program:
            program.detach()
        wait_until(lambda: "windows per connection: on again" in riptided.said(), "the line")
        assert "off: somebody detached the program from " in riptided.said()
        assert net.connect("203.0.113.1").cwnd() > 10


def test_once_is_for_routes(net, cgroup):
    done = net.host.run(RIPTIDED, "--apply", "connections", "--cgroup", cgroup, "--once", check=False)
    assert done.returncode == 2 and "--once" in done.stderr, done.stderr
    net.learned("203.0.113.1", 30)
    done = net.host.run(RIPTIDED, "--apply", "connections", "--cgroup", cgroup, "--once", "--dry-run")
    assert "203.0.113.1" in done.stdout + done.stderr


def test_a_cgroup_that_is_not_there_yet_is_waited_for(net, tmp_path):
    done = net.host.run(RIPTIDED, "--apply", "connections", "--cgroup", tmp_path / "later", check=False)
    # The unit does not start what ends with 2 again.
    assert done.returncode == 1 and f"{tmp_path / 'later'} is not there" in done.stderr, done.stderr


def test_what_a_riptided_with_routes_left_goes_first(net, daemon):
    net.learned("203.0.113.1", 30)
    before = snapshot(net.host)
    with daemon("routes") as killed:
        wait_window(net.host, "203.0.113.1")
        killed.kill()
        assert snapshot(net.host) != before
        killed.process.returncode = 0  # it has ended, as asked for
        with daemon("connections", has_rules=False):
            assert snapshot(net.host) == before


def test_another_pacing_is_in_force_at_once(path, cgroup, tmp_path):
    connect, near, _ = path
    config = tmp_path / "riptided.conf"
    config.write_text("[apply]\npacing-percent = 100\n")
    learned = connect(congestion="cubic")
    learned.grow(30)
    with Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--config", config,
                has_rules=False) as riptided:
        def pace():
            connection = connect(congestion="cubic")
            found = connection.cwnd(), first_pace(connection, 5000)
            connection.close()
            return found

        wait_until(lambda: pace()[0] > 10 and pace()[1] < 1.05, "pacing over a round trip")
        config.write_text("[apply]\npacing-percent = 50\n")
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "100 -> 50" in riptided.said(), "the reload")
        cwnd, windows_a_round_trip = pace()
        assert cwnd > 10 and windows_a_round_trip > 1.15
    learned.close()


@pytest.mark.parametrize("options", [("--apply", "connections"), ("--apply", "routes"),
                                     ("--apply", "connections", "--all-netns")])
def test_a_reload_goes_by_the_cgroup_and_not_by_its_name(net, cgroup, tmp_path, options):
    config = tmp_path / "riptided.conf"
    config.write_text(f"[apply]\ncgroup = {cgroup}\n")
    with Daemon(net.host, *options, "--config", config, has_rules="routes" in options) as riptided:
        for other, line in ((f"{cgroup}/", f"SIGHUP: read {config} again: nothing has changed"),
                            (cgroup.parent, f"{config}:2: cgroup: {cgroup.parent}; it cannot change from {cgroup}")):
            config.write_text(f"[apply]\ncgroup = {other}\n")
            riptided.process.send_signal(signal.SIGHUP)
            wait_until(lambda: line in riptided.said(), line)


def test_careful_paces_where_a_burst_has_lost(path, cgroup):
    connect, near, _ = path
    # What a dump has seen open does not count when it closes: most are to begin and end between two.
    with Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--policy", "careful",
                "--interval", "1s", has_rules=False):
        def pacing():
            connection = connect(congestion="cubic")
            connection.send(150_000)
            connection.near.close()  # a reset would forget its counters
            connection.far.close()
            program = riptide_json(near, "explain", "10.9.2.1")["program"]
            return program and program["pacing_percent"]

        bulk = connect(congestion="cubic")
        bulk.send(3_000_000)  # of which the path's capacity is known
        assert status()["apply"]["paced"] == 0
        assert 50 <= wait_until(pacing, "pacing", deadline_s=30) <= 100
        wait_until(lambda: pacing() and status()["apply"]["paced"], "a paced connection")
        bulk.close()


def test_careful_cuts_what_has_lost_where_the_kernel_paces_nothing(path, cgroup, preload):
    connect, near, _ = path
    without_tai = preload("""
        #include <dlfcn.h>
        #include <errno.h>
        #include <linux/bpf.h>
        #include <sys/syscall.h>
        long syscall(long number, long a, long b, long c)
        {
            long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
            const union bpf_attr *attr = (const union bpf_attr *)b;

            if (number == SYS_bpf && a == BPF_PROG_LOAD && attr->insn_cnt == 3) {
                errno = EINVAL;
                return -1;
            }
            return next(number, a, b, c);
        }
    """)
    # As in the test before this one.
    with Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--policy", "careful", "--interval", "1s",
                has_rules=False, command=("env", without_tai, RIPTIDED)):
        seen = [0]

        def is_cut():
            connection = connect(congestion="cubic")
            connection.send(150_000)
            connection.near.close()
            connection.far.close()
            program = riptide_json(near, "explain", "10.9.2.1")["program"]
            assert not program or program["pacing_percent"] == 0
            seen.append(program["initcwnd"] if program else 0)
            return seen[-1] < max(seen)

        bulk = connect(congestion="cubic")
        bulk.send(3_000_000)
        wait_until(is_cut, "a cut", deadline_s=30)
        bulk.close()


def test_a_fast_open_whose_handshake_measures_nothing_is_paced_by_what_others_have_measured(path, cgroup):
    connect, near, far = path
    near.sysctl("ipv4/tcp_fastopen", 0x603)  # all listeners, without a cookie
    far.sysctl("ipv4/tcp_fastopen", 0x5)
    learned = connect(congestion="cubic")
    with Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--policy", "bdp",
                has_rules=False), near.socket(socket.AF_INET) as server, far.socket(socket.AF_INET) as client:
        learned.grow(60)
        wait_until(lambda: (riptide_json(near, "explain", "10.9.2.1")["window"] or {}).get("cwnd", 0) > 10,
                   "a window")
        server.bind(("", 0))
        server.listen()
        client.bind(("10.9.2.1", 0))
        client.sendto(b"data", socket.MSG_FASTOPEN, ("10.9.1.1", server.getsockname()[1]))
        accepted, _ = server.accept()
        with accepted:
            assert tcp_info(accepted).cwnd > 10
            assert (status()["apply"]["given"], status()["apply"]["paced"]) == (1, 1)
    learned.close()


def test_auto_takes_routes_where_the_program_cannot_load(net, daemon):
    without = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    with daemon("auto", command=(*without, RIPTIDED)) as started:
        wait_until(lambda: status()["round"], "a round")
        assert status()["apply"]["by"] == "routes"
        assert "CAP_BPF" in status()["apply"]["reason"]
        assert len(rules(net.host)) == 2
        assert "not per connection: a program per connection needs CAP_BPF" in started.said()
        why = "by routes, not per connection: a program per connection needs CAP_BPF and CAP_NET_ADMIN"
        assert f"\n  apply        {why}\n" in net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
        assert (f"a riptided runs and its rules are in place: {why}"
                in net.host.run(RIPTIDE, "doctor", check=False).stdout)


def test_connections_alone_are_refused_where_the_program_cannot_load(net, cgroup):
    with cgroups.OtherProgram(cgroup, is_alone=True):
        done = net.host.run(RIPTIDED, "--apply", "connections", "--cgroup", cgroup, check=False)
    assert done.returncode == 1 and f"--cgroup: {cgroup}: somebody else's program" in done.stderr


def test_explain_says_that_it_is_given_per_connection_and_when_not(net, cgroup, daemon):
    cwnd = net.learned("203.0.113.1", 30).cwnd()

    def explain():
        return net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
    with daemon("connections", "--pacing-percent", "40", has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        assert f"=> connections start with {cwnd} segments, given per connection\n" in explain()
        assert "  route        none: the window is given per connection\n" in explain()
        assert f"  program      initcwnd {cwnd}, paced as TCP does itself, over half a round trip" in explain()
        net.host.run(RIPTIDE, "pause")
        wait_until(lambda: "given per connection, not at present: paused\n" in explain(), "the pause")
        assert ("=> nothing at present, per connection: paused; connections start with 10 segments\n"
                in explain())
    below = cgroup / "below"
    below.mkdir()
    with Daemon(net.host, "--apply", "connections", "--cgroup", below, has_rules=False):
        wait_until(lambda: status()["destinations"], "a destination")
        below.rmdir()
        gone = f"cgroup: {below} is gone; connections get windows again when it is made anew"
        wait_until(lambda: f"=> nothing at present, per connection: {gone}; connections start " in explain(), "the end of it")
        assert f"given per connection, not at present: {gone}\n" in explain()


def test_connections_alone_name_the_capability_that_they_lack(net, cgroup):
    prefix = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    done = net.host.run(*prefix, RIPTIDED, "--apply", "connections", "--cgroup", cgroup, check=False)
    assert done.returncode == 1
    assert "cannot start: a program per connection needs CAP_BPF and CAP_NET_ADMIN" in done.stderr


@pytest.mark.parametrize("apply", ["connections", "auto"])
def test_a_dry_run_says_what_it_would_give_per_connection(net, cgroup, apply):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    with Daemon(net.host, "--apply", apply, "--cgroup", cgroup, "--dry-run", has_rules=False) as one:
        wait_until(lambda: "would set" in one.said(), "a window")
        assert f"would set 203.0.113.1 initcwnd {cwnd} " in one.said()
        assert ") per connection\n" in one.said()
        assert "next hops" not in one.said()


def test_one_of_both_that_is_off_is_a_reason_two_are_off(net, cgroup):
    below = cgroup / "below"
    below.mkdir()
    gone = f"cgroup: {below} is gone; connections get windows again when it is made anew"
    with Daemon(net.host, "--apply", "both", "--cgroup", below) as riptided:
        wait_until(lambda: status()["health"] == "ok", "a round")
        below.rmdir()
        wait_until(lambda: status()["reason"], "the end of it")
        assert status()["health"] == "ok"
        assert status()["reason"] == f"windows are given by routes alone: {gone}"
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: status()["health"] == "off", "both off")
        net.host.ip("rule", "del", "pref", 0, "lookup", "main")
        below.mkdir()
        wait_until(lambda: not status()["reason"], "both again")
        assert riptided.said().count("per connection: off: ") == 1
        assert "windows per connection: on again" in riptided.said()
    with Daemon(net.host, "--apply", "both", "--cgroup", below):
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: status()["reason"], "rules without a place")
        assert status()["health"] == "ok"
        assert status()["reason"].startswith("windows are given per connection alone: ")


def test_status_of_connections_alone_has_no_rules_or_routes(net, daemon):
    with daemon("connections", has_rules=False):
        wait_until(lambda: status()["round"], "a round")
        said = net.host.run(RIPTIDE, "status").stdout
        assert "\n  rules " not in said and "\n  routes " not in said
        assert "\n  program " in said and "\n  learned " in said
    with daemon("both"):
        said = net.host.run(RIPTIDE, "status").stdout
        assert "\n  rules " in said and "\n  routes " in said


def test_the_sockets_of_the_unit_are_enough(net, daemon, preload):
    """RestrictAddressFamilies= of riptided.service."""
    restricted = preload("""
        #include <dlfcn.h>
        #include <errno.h>
        #include <sys/socket.h>
        int socket(int family, int type, int protocol)
        {
            int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");

            if (family == AF_NETLINK || family == AF_UNIX)
                return next(family, type, protocol);
            errno = EAFNOSUPPORT;
            return -1;
        }
    """)
    with daemon("connections", command=("env", restricted, RIPTIDED), has_rules=False):
        wait_until(lambda: status()["round"], "a round")
        assert status()["apply"]["by"] == "connections"


def test_a_share_is_held_out_and_reload_changes_it(net, cgroup, tmp_path):
    config = tmp_path / "riptided.conf"
    text = "[observe]\ndestroy-events = yes\n[compute]\npolicy = paper\n[apply]\n"
    config.write_text(text + "holdout-percent = 50\n")
    net.learned("203.0.113.1", 30)
    with net.world.socket(socket.AF_INET) as server, \
            Daemon(net.host, "--apply", "connections", "--cgroup", cgroup, "--config", config, "--policy", "paper",
                   has_rules=False) as riptided:
        server.bind(("", 0))
        server.listen(100)

        def windows(n):
            connections = [net.connect("203.0.113.1") for _ in range(n)]
            found = {each.cwnd() for each in connections}
            for each in connections:
                each.close()
                net.connections.remove(each)
            return found
        wait_until(lambda: max(windows(5)) > 10, "the window")
        assert len(windows(30)) > 1 and 10 in windows(30)
        apply = status()["apply"]
        assert apply["holdout_percent"] == 50 and apply["held_out"] >= 1
        assert ", 50 % of connections held out" in net.host.run(RIPTIDE, "explain", "203.0.113.1").stdout
        assert f" {apply['held_out']} connections, 50 % of those" in net.host.run(RIPTIDE, "status").stdout
        assert 'result="held_out"}' in net.host.run(RIPTIDE, "metrics").stdout
        for _ in range(5):
            net.host.run(RIPTIDE, "verify", "203.0.113.1", server.getsockname()[1])
        config.write_text(text + "holdout-percent = 0\n")
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "50 -> 0" in riptided.said(), "the reload")
        n_held_out = status()["apply"]["held_out"]
        assert 10 not in windows(30)
        assert (status()["apply"]["holdout_percent"], status()["apply"]["held_out"]) == (0, n_held_out)


@pytest.mark.parametrize("apply, events, percent", [("connections", "yes", 20), ("auto", "yes", 20), ("connections", "no", 0),
                                                    ("both", "yes", 0)])
def test_none_is_held_out_where_that_would_show_nothing(net, daemon, apply, events, percent):
    with daemon(apply, f"--destroy-events={events}", "--holdout-percent", "20", has_rules=apply == "both"):
        wait_until(lambda: status()["round"], "a round")
        assert status()["apply"]["holdout_percent"] == percent


@pytest.mark.parametrize("apply, percent", [("connections", 5), ("auto", 5), ("both", 0), ("routes", 0)])
def test_five_percent_are_held_out_by_default(net, daemon, tmp_path, apply, percent):
    config = tmp_path / "riptided.conf"
    config.write_text("")
    with daemon(apply, "--config", config, "--policy", "careful", has_rules=apply in ("both", "routes")):
        assert status()["apply"]["holdout_percent"] == percent


def test_books_have_each_end_of_both_arms(path, cgroup, tmp_path):
    connect, near, _ = path
    config = tmp_path / "riptided.conf"
    state = tmp_path / "state"
    config.write_text("[apply]\nholdout-percent = 50\n")

    def started():
        return Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--policy", "careful", "--config", config,
                      "--state", state, interval="100ms", has_rules=False)

    def books():
        effect = status()["apply"]["effect"]
        return {"window": effect["connections"], "holdout": effect["held_out"]}
    with started() as riptided:
        assert books() == {"window": 0, "holdout": 0}
        bulk = connect(congestion="cubic")
        bulk.send(1_000_000)
        wait_until(lambda: status()["destinations"] and status()["round"]["number"] > 12, "a window")
        held_out = status()["apply"]["held_out"]
        n = 12

        def opened():
            connection = connect(congestion="cubic")
            connection.send(60_000)
            return connection

        def end(connection):
            connection.near.close()
            connection.far.close()
        for _ in range(n):  # each open for many dumps
            end(opened())
        wait_until(lambda: sum(books().values()) == n, "all ends")
        assert books()["holdout"] == status()["apply"]["held_out"] - held_out
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "again" in riptided.said(), "the reload")
        of_both = books()
        assert sum(of_both.values()) == n
    with started() as riptided:
        assert books() == of_both
        assert f"destinations taken over: 1, expired: 0, others: 0; outcomes of connections: {n}\n" in riptided.said()
        assert " skipped 0," in near.run(RIPTIDE, "load", state).stdout
        older = opened()
        config.write_text("[apply]\nholdout-percent = 40\n")
        riptided.process.send_signal(signal.SIGHUP)
        wait_until(lambda: sum(books().values()) == 0, "new books")
        end(older)  # which had another share
        wait_rounds(12)
        assert sum(books().values()) == 0
        end(opened())
        wait_until(lambda: sum(books().values()) == 1, "its end")
    one = "window bytes=32768 rtt_us=100000 control=loss n=1 n_again=0 time=1024,1048576 again=0,0\n"
    for holdout, trial, n in ((40, 0, 2), (40, 2, 0), (40, 2, 1), (40, 0, 0), (50, 0, 0)):
        config.write_text(f"[apply]\nholdout-percent = {holdout}\ntrial-percent = {trial}\n")
        state.write_text(state.read_text().replace("riptide books 1\n", "riptide books 1\n" + one))
        with started():
            assert sum(books().values()) == n
    bulk.close()


def test_first_flights_are_not_judged_in_a_pause(path, cgroup):
    connect, near, _ = path

    def window_behind_a_transfer():
        connection = connect(congestion="cubic")
        connection.send(60_000)
        connection.near.close()
        connection.far.close()
        wait_rounds(2)
        return riptide_json(near, "explain", "10.9.2.1")["window"]["cwnd"]
    with Daemon(near, "--apply", "connections", "--cgroup", cgroup, "--policy", "careful", has_rules=False):
        near.run(RIPTIDE, "pause")
        assert [window_behind_a_transfer() for _ in range(4)] == [24] * 4
        near.run(RIPTIDE, "resume")
        wait_rounds(4)
        assert max(window_behind_a_transfer() for _ in range(4)) > 24
