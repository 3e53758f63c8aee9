# SPDX-License-Identifier: MIT
"""riptided --apply: by routes, by the program, by both, or automatic; with which windows connections start."""

import time

import cgroups
import pytest
from connection import first_pace, tcp_info, transfer
from control import (add_experiment, derived, labelled, processor_s, riptide_json, status, wait_rounds, whole,
                     write_state)
from netns import BY_ROUTES, RIPTIDE, RIPTIDED, Daemon, routes, rules, snapshot, wait_until, wait_window, windows
from routing_ask import FIRST, PEER, families
from test_metrics import figures_of


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("apply, by, n_rules", [("program", "program", 0), ("both", "both", 2), ("auto", "both", 2)])
def test_a_daemon_gives_what_it_has_learned(net, daemon, apply, by, n_rules, passive):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    before = snapshot(net.host)
    with daemon(apply):
        wait_until(lambda: status()["round"] and status()["destinations"], "a round")
        assert (snapshot(net.host) == before) == (n_rules == 0)
        wait_until(lambda: net.starts("203.0.113.1", passive=passive) == cwnd, "the window")
        assert status()["apply"]["by"] == by
        assert len(rules(net.host)) == n_rules
    assert net.connect("203.0.113.1").cwnd() == 10
    assert snapshot(net.host) == before


@pytest.mark.usefixtures("large_first_windows")
@pytest.mark.parametrize("apply", ["program", "both"])
def test_peers_begin_with_cwnd_max_on_what_this_host_opens(net, daemon, apply):
    net.learned("203.0.113.1", 30)

    def first_window():
        return tcp_info(net.connect("203.0.113.1").far).snd_wnd_bytes // 1460
    assert first_window() < 50
    with daemon(apply, "--cwnd-max", 80):
        wait_until(lambda: first_window() == 80, "the first receive window")


@pytest.mark.parametrize("apply", ["program", "auto"])
def test_a_change_of_routes_keeps_no_processor_busy(net, daemon, apply):
    if apply == "auto":  # which tries routes, and goes on without
        net.host.ip("rule", "add", "pref", 32000, "iif", "lo", "lookup", "main")
        net.host.ip("rule", "del", "pref", 32766)
    with daemon(apply, has_rules=False, interval="250ms") as riptided:  # a round itself takes 20 ms in user mode
        net.host.ip("route", "add", "192.0.2.0/24", "dev", "lo")
        began_s, used_s = time.monotonic(), processor_s(riptided.pid)
        wait_rounds(4)
        assert processor_s(riptided.pid) - used_s < (time.monotonic() - began_s) / 4


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_program_that_somebody_takes_away_is_attached_again_with_a_line(net, cgroup, daemon, is_replaced):
    net.learned("203.0.113.1", 30)
    with daemon("program") as riptided:
        wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
        with cgroups.Links(riptided.pid) as program, cgroups.OtherProgram(cgroup) as other:
            if is_replaced:
                program.replace(other)
            else:
                program.detach()
        wait_until(lambda: "program: windows on again" in riptided.said(), "the line")
        assert "off: the program was detached from " in riptided.said()
        assert net.connect("203.0.113.1").cwnd() > 10


def test_once_is_for_routes(net, cgroup):
    done = net.host.run(RIPTIDED, "--apply", "program", "--cgroup", cgroup, "--once", check=False)
    assert done.returncode == 2 and "--once" in done.stderr, done.stderr
    net.learned("203.0.113.1", 30)
    done = net.host.run(RIPTIDED, "--apply", "program", "--cgroup", cgroup, "--once", "--dry-run", "--policy", "paper")
    assert "203.0.113.1" in done.stdout + done.stderr


def test_a_cgroup_that_is_not_there_yet_is_waited_for_and_what_is_none_is_refused(net, tmp_path):
    """Routes in its place would serve all of the host; where it is not there yet, a line says so."""
    later = tmp_path / "later"
    done = net.host.run(RIPTIDED, "--apply", "program", "--cgroup", later, check=False)
    # The unit does not restart a daemon that ends with 2.
    assert done.returncode == 1 and f"{later} is not there" in done.stderr, done.stderr
    done = net.host.run(RIPTIDED, "--check", "--cgroup", tmp_path, check=False)
    assert done.returncode == 2 and f"{tmp_path} is no directory of cgroup2" in done.stderr
    with Daemon(net.host, "--cgroup", later) as riptided:
        assert f"is not there: make it first; {OF_ALL}\n" in riptided.said()


@pytest.mark.parametrize("fixed", [0, 8], ids=["rolling", "fixed"])
def test_a_refusal_of_the_verifier_is_said_in_its_words_and_is_no_wrong_option(net, daemon, cgroup, preload, fixed):
    """The last helper called does not exist. fixed: BPF_LOG_FIXED, as before Linux 6.4, which has no other."""
    broken = preload("""
        #include <dlfcn.h>
        #include <linux/bpf.h>
        #include <sys/syscall.h>
        long syscall(long number, long a, long b, long c)
        {
            long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
            union bpf_attr *attr = (union bpf_attr *)b;

            if (number == SYS_bpf && a == BPF_PROG_LOAD) {
                struct bpf_insn *call = (struct bpf_insn *)attr->insns + attr->insn_cnt - 1;

                while (call->code != (BPF_JMP | BPF_CALL))
                    call--;
                call->imm = 9999;
                attr->log_level |= attr->log_level ? FIXED : 0;
                if (attr->log_level && next(number, a, b, c) < 0 && !*(char *)attr->log_buf)
                    attr->log_level &= ~FIXED;
            }
            return next(number, a, b, c);
        }
    """.replace("FIXED", str(fixed)))
    done = net.host.run("env", broken, RIPTIDED, "--apply", "program", "--cgroup", cgroup, check=False)
    said = "the kernel refuses the program: invalid func unknown#9999\n"
    assert done.stderr.endswith(f"cannot start: {said}")
    assert done.returncode == 1
    done = net.host.run("env", broken, RIPTIDE, "doctor")
    assert f"windows by routes alone: {said.strip()}" in " ".join(done.stdout.split())
    with daemon("auto", command=("env", broken, RIPTIDED)) as riptided:
        assert status()["apply"]["by"] == "routes"
        assert f"{said.strip()}; {OF_ALL}\n" in riptided.said() + "\n"


def test_rules_that_a_riptided_with_routes_left_go_beside_routes_of_others(net, daemon):
    """Of our protocol, so that our routes cannot be told from theirs and stay."""
    with Daemon.learned(net, "203.0.113.1", *BY_ROUTES) as killed:
        killed.kill()
        net.host.ip("route", "add", "198.51.100.0/24", "via", "10.0.0.1", "proto", "230")
        with daemon("program"):
            assert rules(net.host) == []


@pytest.mark.parametrize("apply", ["program", "both", "auto", "routes"])
def test_before_linux_5_15_there_are_routes_alone(net, any_kernels_cgroup, preload, apply):
    old = preload(cgroups.refusing("ENOPROTOOPT", "level == SOL_SOCKET && name == 71 /* SO_NETNS_COOKIE */",
                                   "int getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)"))
    why = "the program needs Linux 5.15" + f"; {OF_ALL}" * (apply == "auto")
    command, cgroup = ("env", old, RIPTIDED), ("--cgroup", any_kernels_cgroup)
    options = ("--apply", apply, *(cgroup if apply != "routes" else ()))
    net.learned("203.0.113.1", 30)
    if apply in ("program", "both"):
        done = net.host.run(*command, *options, check=False)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"riptided: error: cannot start: {why}")
        assert rules(net.host) == []
        return
    with Daemon(net.host, *options, command=command) as riptided:
        wait_window(net.host, "203.0.113.1")
        assert (status()["apply"]["by"], status()["health"]) == ("routes", "ok")
        assert (f"--apply auto chose routes: {why}\n" in riptided.said()) == (apply == "auto")


@pytest.mark.parametrize("apply", ["program", "both"])
def test_careful_paces_where_a_burst_has_lost(path, cgroup, apply):
    connect, near, _ = path
    with Daemon(near, "--apply", apply, "--cgroup", cgroup, "--policy", "careful") as riptided:
        def program(name):
            transfer(connect, 150_000)
            window = riptide_json(near, "show", "10.9.2.1")["program"]
            return window and window[name]

        assert 50 <= wait_until(lambda: program("pacing_percent"), "pacing") <= 100
        wait_rounds(2)  # the kernel has it at the end of the round
        one = connect(congestion="cubic")
        assert first_pace(near, one.near) < 1.05
        one.close()
        paced = program("initcwnd")
        wait_until(lambda: program("initcwnd") > max(paced, 24), "a larger window")
        if apply == "both":  # nothing paces a route's window without the program
            assert labelled("route", "24 segments, unpaced: at most 24\n") in derived(near, "10.9.2.1")
        known = riptide_json(near, "show", "10.9.2.1")["window"]["cwnd"]
        with cgroups.Links(riptided.pid) as links:  # attached again: nothing is learned anew
            links.detach()
        wait_until(lambda: "program: windows on again" in riptided.said(), "the line")
        assert riptide_json(near, "show", "10.9.2.1")["window"]["cwnd"] == known


def test_careful_cuts_what_has_lost_where_the_kernel_paces_nothing(path, cgroup, preload):
    connect, near, _ = path
    without_tai = preload(cgroups.refusing_bpf(
        "EINVAL", "a == BPF_PROG_LOAD && ((const union bpf_attr *)b)->insn_cnt == 3"))
    with Daemon(near, "--apply", "program", "--cgroup", cgroup, "--policy", "careful",
                command=("env", without_tai, RIPTIDED)):
        seen = [0]

        def is_cut():
            transfer(connect, 150_000)
            program = riptide_json(near, "show", "10.9.2.1")["program"]
            assert not program or program["pacing_percent"] == 0
            seen.append(program["initcwnd"] if program else 0)
            return seen[-1] < max(seen)

        wait_until(is_cut, "a cut")


def test_health_is_ok_with_one_backend_off_and_off_with_both_off(net, cgroup):
    below = cgroup / "below"
    below.mkdir()
    gone = f"{below} is not there: make it first"
    with Daemon(net.host, "--apply", "both", "--cgroup", below) as riptided:
        wait_until(lambda: status()["health"] == "ok", "a round")
        below.rmdir()
        wait_until(lambda: status()["reason"], "the end of it")
        assert status()["health"] == "ok"
        assert status()["reason"] == f"windows are given by routes only: {gone}"
        for family, health in (("-4", "degraded"), ("-6", "off")):
            net.host.ip(family, "rule", "add", "pref", 0, "lookup", "main")
            wait_until(lambda: status()["health"] == health, "its windows off")
        for family in ("-4", "-6"):
            net.host.ip(family, "rule", "del", "pref", 0, "lookup", "main")
        below.mkdir()
        wait_until(lambda: not status()["reason"], "both again")
        assert riptided.said().count("program: windows off: ") == 1
        assert "program: windows on again" in riptided.said()
    with Daemon(net.host, "--apply", "both", "--cgroup", below):
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: status()["reason"], "rules without a place")
        assert status()["health"] == "ok"
        assert status()["reason"].startswith("windows are given by the program only: ")


def test_the_sockets_of_the_unit_are_enough(net, daemon, preload):
    """RestrictAddressFamilies= of riptided.service."""
    restricted = preload(cgroups.refusing("EAFNOSUPPORT", "family != AF_NETLINK && family != AF_UNIX",
                                          "int socket(int family, int type, int protocol)"))
    with daemon("program", command=("env", restricted, RIPTIDED)):
        wait_until(lambda: status()["round"], "a round")
        assert status()["apply"]["by"] == "program"


# Of 24 segments over 100 ms, also of a connection that opens with ten.
IN_WHICH_FLIGHTS_END = "400ms"


@pytest.mark.parametrize("backend", ["program", "both"])
@pytest.mark.parametrize("is_suspended", [False, True], ids=["paused", "suspended"])
def test_first_flights_are_not_judged_without_windows(path, cgroup, tmp_path, backend, is_suspended):
    connect, near, _ = path
    state = tmp_path / "state"
    if is_suspended:
        write_state(state, {})
        add_experiment(state, phase=1, suspended=1, until_ns=time.time_ns() + 3600 * 10**9, wait_ns=3600 * 10**9,
                       shown_ns=5)
    options = "--apply", backend, "--cgroup", cgroup, "--policy", "careful", "--state", state
    with Daemon(near, *options, interval=IN_WHICH_FLIGHTS_END, has_rules=backend == "both" and not is_suspended,
                config="") as riptided:
        started = f"policy careful, {0.2 if is_suspended else 5} % held out"
        wait_until(lambda: started in riptided.said(), "the start")
        if not is_suspended:
            near.run(RIPTIDE, "pause")
        assert windows_behind_transfers(connect, near) == {24}
        if not is_suspended:
            near.run(RIPTIDE, "resume")
            wait_until(lambda: window_behind_a_transfer(connect, near) > 24, "a larger window")
    if is_suspended:
        with Daemon(near, *options, "--holdout-percent", 0):
            wait_until(lambda: not status()["apply"]["suspended_s"], "windows")
            wait_until(lambda: window_behind_a_transfer(connect, near) > 24, "a larger window")


def window_behind_a_transfer(connect, near, *options):
    """A transfer that a busy machine closes late has been idle, and gives no window: then behind another one."""
    def window():
        transfer(connect, 60_000)
        wait_rounds(2, *options[1:])
        return (riptide_json(near, "show", "10.9.2.1", *options)["window"] or {}).get("cwnd")
    return wait_until(window, "a window")


def windows_behind_transfers(connect, near, *options):
    """For longer than a raise needs, four flights in four seconds."""
    end = time.monotonic() + 6
    found = set()
    while time.monotonic() < end:
        found.add(window_behind_a_transfer(connect, near, *options))
    return found


def test_first_flights_are_not_judged_without_the_rule(path):
    connect, near, _ = path
    with Daemon(near, "--apply", "routes", "--policy", "careful", interval=IN_WHICH_FLIGHTS_END):
        near.ip("rule", "add", "pref", 0, "lookup", "main")
        wait_until(lambda: status()["health"] == "degraded", "the rule away")
        wait_rounds(1)
        assert windows_behind_transfers(connect, near) == {24}
        near.ip("rule", "del", "pref", 0, "lookup", "main")
        wait_until(lambda: window_behind_a_transfer(connect, near) > 24, "a larger window")


def test_connections_from_a_pause_that_close_within_two_rounds_after_it_had_no_window(net):
    with Daemon(net.host, *BY_ROUTES, "--policy", "careful", interval="1s"):
        with net.learned("203.0.113.1").busy():  # what has been idle for 0.2 s is no evidence
            wait_window(net.host, "203.0.113.1")

        def opened():
            figures = figures_of(net.host.run(RIPTIDE, "metrics").stdout)
            return [figures[f"riptide_connections_total{{opened={how}}}"] for how in ("without", "with_window")]

        net.host.run(RIPTIDE, "pause")
        wait_rounds(2)
        paused = net.learned("203.0.113.1")
        net.host.run(RIPTIDE, "resume")
        wait_rounds(1)
        net.finish(paused)
        wait_until(lambda: opened() == [1, 0], "its end")
        wait_until(lambda: net.short("203.0.113.1") or opened()[1] > 0, "one with a window")


def test_first_flights_are_not_judged_in_a_dry_run(path):
    connect, near, _ = path
    options = "--control", "/run/dry"
    with Daemon(near, *options, "--dry-run", "--apply", "routes", "--policy", "careful", interval=IN_WHICH_FLIGHTS_END,
                has_rules=False):
        assert windows_behind_transfers(connect, near, *options) == {24}


def test_round_hands_over_what_has_changed(net, cgroup):
    with Daemon(net.host, "--apply", "program", "--cgroup", cgroup, "--log-level", "debug") as daemon:
        net.learned("203.0.113.1", 20)
        wait_until(lambda: " by the program (" in daemon.said(), "a window")
        wait_rounds(4)  # its samples, too, may change
        before = daemon.said().count(" by the program (")
        wait_rounds(4)
        assert daemon.said().count(" by the program (") == before


# The default, --apply auto: the program with routes beside it, or what works of the two.
OF_ALL = "routes serve all of the host, not its cgroup alone"
RESTARTS = f"idle connections restart with a route's window (net.ipv4.tcp_slow_start_after_idle is not 0); {OF_ALL}"
STAYS = "idle connections keep their window (net.ipv4.tcp_slow_start_after_idle is 0)"


@pytest.mark.parametrize("after_idle, by, why", [(1, "both", RESTARTS), (0, "program", STAYS)])
def test_routes_are_beside_the_program_where_idle_connections_restart(net, cgroup, after_idle, by, why):
    """A dry run says that they would be."""
    net.host.sysctl("ipv4/tcp_slow_start_after_idle", after_idle)
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    done = net.host.run(RIPTIDED, "--dry-run", "--once", "--cgroup", cgroup, "--policy", "paper",
                        "--prefix-len4", 24)
    said = " ".join(done.stderr.split())
    assert f"--apply auto chose {by}: {why} riptided: " in said
    assert f"203.0.113.0/24: would be applied: initcwnd {cwnd} " in said
    with Daemon(net.host, "--cgroup", cgroup, has_rules=by == "both") as riptided:
        wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
        apply = status()["apply"]
        assert (apply["asked"], apply["by"], apply["why"]) == ("auto", by, why)
        assert bool(routes(net.host)) == (by == "both")
        assert riptided.said().count(f"riptided: --apply auto chose {by}: {why}\n") == 1


def test_routes_that_cannot_start_leave_the_program_alone(net, cgroup):
    """Both at the operator's word are refused."""
    net.learned("203.0.113.1", 30)
    net.host.ip("rule", "add", "pref", 32000, "iif", "lo", "lookup", "main")
    net.host.ip("rule", "del", "pref", 32766)
    done = net.host.run(RIPTIDED, "--apply", "both", "--cgroup", cgroup, check=False)
    refusal = done.stderr.splitlines()[-1].partition("cannot start: ")[2]
    assert done.returncode == 1 and "lookup main" in refusal
    with Daemon(net.host, "--cgroup", cgroup, has_rules=False) as riptided:
        wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
        assert (status()["apply"]["by"], status()["health"]) == ("program", "ok")
        assert f"--apply auto chose program: no routes: {refusal}\n" in riptided.said()


def test_without_the_program_a_line_says_what_is_lost(net, cgroup):
    without = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    with Daemon(net.host, "--cgroup", cgroup, "--prefix-len6", 64, command=(*without, RIPTIDED),
                config="holdout-percent = 50\n") as riptided:
        wait_until(lambda: status()["round"], "a round")
        assert (status()["apply"]["by"], status()["health"]) == ("routes", "ok")
        why = ("the program needs CAP_BPF and CAP_NET_ADMIN of the host; those of a user namespace are not enough; "
               f"{OF_ALL}; prefixes get no windows, as routes serve single addresses")
        line = f"--apply auto chose routes: {why}"
        said = " ".join(net.host.run(RIPTIDE, "verdict").stdout.split())
        assert said == ("Not known. why no connection is held out, which needs windows by the "
                        "program (--apply), and --holdout-percent")
        found = whole(net.host.run(RIPTIDE, "doctor", check=False).stdout)
        assert f"start: windows by routes alone: {why}" in found
        assert riptided.said().count(f"{line}\n") == 1
        document = riptide_json(net.host, "verdict")
        assert (document["verdict"], document["time"]) == ("unknown", None)
        assert "  effect " not in net.host.run(RIPTIDE).stdout


# TCP_INFO of new connections; the owner's own windows are where destinations begin, and the least that they get.


@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("addresses, mapped", [
    (("203.0.113.1", "203.0.113.2", "203.0.113.3"), False),
    (("203.0.113.1", "203.0.113.2", "203.0.113.3"), True),
    (("2001:db8::1", "2001:db8::2", "2001:db8::3"), False),
], ids=["IPv4", "mapped", "IPv6"])
def test_new_connection_starts_with_the_learned_window_of_its_own_destination(net, addresses, mapped, passive):
    """Windows of destinations behind one gateway do not mix."""
    first, second, third = addresses
    small, large = net.learned(first, 20).cwnd(), net.learned(second, 60).cwnd()
    assert 20 <= small < large <= 100
    assert net.starts(first, passive=passive, mapped=mapped) == 10
    with Daemon(net.host, *BY_ROUTES):
        assert (wait_window(net.host, first), wait_window(net.host, second)) == (small, large)
        for address, cwnd in ((first, small), (second, large), (third, 10)) * 2:
            assert net.connect(address, passive=passive, mapped=mapped).cwnd() == cwnd, address


def tune(net, family, cwnd, dst="default"):
    net.host.ip(f"-{family}", "route", "replace", dst, "via", FIRST[family],
                *(("initcwnd", cwnd) if cwnd else ()))


@families
def test_host_tuned_by_its_owner_is_not_slowed_down(net, family):
    """Otherwise its first window would be 24."""
    tune(net, family, 32)
    connection = net.learned(PEER[family], 30)
    connection.send(3_000_000)  # too much to be evidence about a first flight
    with connection.busy(), Daemon(net.host, *BY_ROUTES, "--policy", "careful") as daemon:
        wait_until(lambda: status()["left_alone"] == 1, "a destination left alone")
        assert windows(net.host) == {}
        assert net.connect(PEER[family]).cwnd() == 32
        reason = "the initcwnd of its base route is no smaller"
        assert f"left alone: {reason}\n" in daemon.said() and " initcwnd 24" not in daemon.said()
        said = derived(net.host, PEER[family])
        assert said.startswith(f"{PEER[family]}: connections start with 32 segments\n  why          {reason}\n")
        assert "\n  do  " not in said  # it has as much
        assert reason in " ".join(net.host.run(RIPTIDE, "show").stdout.split())
        wait_until(lambda: riptide_json(net.host, "show", PEER[family])["window"]["cwnd"] >= 32, "its window")
        wait_until(lambda: riptide_json(net.host, "show", PEER[family])["window"]["base_cwnd"] == 32, "its base")


@families
def test_window_follows_a_base_that_changes(net, family):
    cwnd = net.learned(PEER[family], 30).cwnd()
    with Daemon(net.host, *BY_ROUTES):
        assert wait_window(net.host, PEER[family]) == cwnd
        tune(net, family, cwnd)
        wait_until(lambda: windows(net.host) == {}, "no route for what the base does")
        tune(net, family, cwnd // 2)
        assert wait_window(net.host, PEER[family]) == cwnd
        tune(net, family, cwnd + 100)
        wait_until(lambda: windows(net.host) == {}, "no route below the base")
        # At first the base's former window, until the next round knows that it has gone.
        tune(net, family, 0)
        wait_until(lambda: windows(net.host) == {PEER[family]: cwnd}, "the learned window")
