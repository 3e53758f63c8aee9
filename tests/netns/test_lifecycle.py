# SPDX-License-Identifier: MIT
"""Start, end and kill: what riptided leaves, and that it does not disturb other programs."""

import contextlib
import errno
import os
import re
import resource
import signal
import subprocess
import time

import cgroups
import pytest
from control import one_line, status, wait_rounds
from netns import (AS_NOBODY, BY_ROUTES, DEADLINE_S, PROTOCOL, RIPTIDE, RIPTIDED, TABLE,
                   WITHOUT_NET_ADMIN, Daemon, routes, rules, snapshot, wait_until, windows)
from programs import Driver, start_agent
from routing_ask import is_ours

PEERS = {"203.0.113.1": 20, "203.0.113.2": 40, "2001:db8::1": 60}


def learned(net):
    """A daemon that gives windows by routes to PEERS."""
    return Daemon.learned(net, PEERS, *BY_ROUTES)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_takes_back_all_that_carries_our_protocol(net, number):
    before = snapshot(net.host)
    with learned(net) as daemon:
        new = set(snapshot(net.host).splitlines()) - set(before.splitlines())
        assert len(new) == 5  # three routes, and rules with the same text in both families
        for line in new:
            assert f"proto {PROTOCOL} " in line + " "
        assert daemon.signal(number) == 0
    assert snapshot(net.host) == before


def test_flush_pauses_a_riptided_that_runs(net):
    with learned(net):
        done = net.host.run(RIPTIDE, "flush")
        # The figures count what it restores meanwhile once more.
        assert re.fullmatch(r"removed: rules \d+, routes \d+ in this network namespace\n"
                            "paused: riptided gives no window until `riptide resume`\n"
                            "  what it restored before that is counted twice; no rule leads to its routes\n",
                            done.stdout), done.stdout
        assert not done.stderr
        wait_until(lambda: windows(net.host).keys() == PEERS.keys(), "its routes again")
        wait_rounds()
        assert not rules(net.host)
        # Another program's rule looks up our table: without it nothing does.
        net.host.ip("rule", "add", "pref", 100, "lookup", TABLE)
        assert "\npaused: " in net.host.run(RIPTIDE, "flush").stdout
        wait_rounds()
        assert not rules(net.host)
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: len(rules(net.host)) == 2, "the rules again")


def test_flush_names_a_riptided_that_does_not_answer(net):
    with learned(net) as daemon:
        with daemon.stopped():
            flush = net.host.start(RIPTIDE, "flush", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            wait_until(lambda: not rules(net.host), "no rules")
            assert flush.poll() is None, "it removes them before it waits for an answer"
            said, _ = flush.communicate(timeout=DEADLINE_S)
            assert flush.returncode == 1 and not rules(net.host) and not routes(net.host)
        assert max(map(len, said.splitlines())) <= 80
        assert " ".join(said.split()) == (
            f"removed: rules 2, routes 3 in this network namespace but process {daemon.pid} "
            "manages this network namespace, and may restore all of them, or give windows by its "
            "program: no answer within 5 s at /run/riptide/control "
            f"do systemctl stop riptided (without systemd: kill -KILL {daemon.pid}); then riptide flush")
        wait_until(lambda: len(rules(net.host)) == 2, "all of it back")


# Only CAP_NET_ADMIN: neither root nor in the group of --control-group.
ONE_CAPABILITY = (*AS_NOBODY[:-1], "--inh-caps", "+net_admin", "--ambient-caps", "+net_admin", "--")


def daemon_with(*options):
    return lambda net: Daemon(net.host, *BY_ROUTES, *options)


@pytest.mark.parametrize("manager, prefix, command, why", [
    (daemon_with("--control", "none"), (), (), "no riptided at /run/riptide"),
    (daemon_with(), (), ("--control", "none"), "no riptided at /run/riptide-none/control"),
    (daemon_with(), (), ("--control", "/dev/null"), "no riptided at /dev/null"),
    (daemon_with(), ONE_CAPABILITY, (), "only root and the group of --control-group may ask for that"),
    (lambda net: contextlib.nullcontext(start_agent(net.host)), (), (), ""),
], ids=["none", "unasked", "elsewhere", "not allowed", "agent"])
def test_flush_names_who_cannot_be_asked(net, manager, prefix, command, why):
    with manager(net) as holder:
        done = net.host.run(*prefix, RIPTIDE, "flush", *command, check=False)
        assert done.stdout.startswith("removed: rules ")
        said = " ".join(done.stdout.split())
        assert done.returncode == 1 and f"process {holder.pid} manages" in said and why in said
        kill = f"without systemd: kill -KILL {holder.pid}"
        assert f"do stop its service ({kill}); then riptide flush" in said
        wait_until(lambda: len(rules(net.host)) == 2, "the rules again")


def test_flush_leaves_a_riptided_of_another_namespace_alone(net):
    """Its socket is at the path for this namespace."""
    with Daemon(net.host, *BY_ROUTES):
        expected = snapshot(net.host)
        done = net.world.run(RIPTIDE, "flush", check=False)
        assert (done.returncode, done.stdout) == (1, "removed: rules 0, routes 0 in this network namespace\n")
        assert "this namespace: riptide --control /run/riptide/control pause, or" in " ".join(done.stderr.split())
        with Daemon(net.world, *BY_ROUTES, "--control", "none") as other:
            done = net.world.run(RIPTIDE, "flush", check=False)
            assert done.returncode == 1 and f"process {other.pid} manages" in done.stdout
            assert "does not serve this namespace" in " ".join(done.stdout.split())
        assert snapshot(net.host) == expected
    net.world.run(RIPTIDE, "flush")


def leave(net, table=7300, priority=32765):
    """As a riptided leaves them that was killed: in each family a rule and a route."""
    for family, peer, gateway, length in ((4, "203.0.113.1", "10.0.0.1", 31),
                                          (6, "2001:db8::1", "fd00::1", 127)):
        net.host.ip(f"-{family}", "rule", "add", "priority", priority, "iif", "lo", "ipproto", "tcp",
                    "protocol", PROTOCOL, "lookup", table, "suppress_prefixlength", length)
        net.host.ip(f"-{family}", "route", "add", peer, "via", gateway, "table", table,
                    "proto", PROTOCOL, "initcwnd", 40)


@pytest.mark.parametrize("command", [(RIPTIDE, "flush"), (RIPTIDED, "--flush"), None],
                         ids=["riptide", "riptided", "start"])
@pytest.mark.parametrize("table", [TABLE, 7300])
@pytest.mark.parametrize("priority", [32765, 32000])
def test_what_a_dead_one_left_goes_and_what_is_not_ours_stays(net, tmp_path, command, table, priority):
    """A killed riptided's rules and routes are known by their shape, whatever of its numbers was edited since."""
    net.host.batch("""
        rule add pref 100 to 198.51.100.0/24 lookup 100
        route add 198.51.100.0/24 via 10.0.0.2 table 100 initcwnd 40
        route add 198.51.100.0/25 via 10.0.0.2 proto 42
        nexthop add id 7 via 10.0.0.2 dev eth0
    """)
    before = snapshot(net.host)
    leave(net, table, priority)
    left = "rules 2, routes 2"
    if command:
        done = net.host.run(*command)
        assert f"removed: {left}" in done.stdout + done.stderr
        done = net.host.run(*command)
        assert "removed: rules 0, routes 0" in done.stdout + done.stderr
    else:
        (tmp_path / "state").write_text("of another program")
        with Daemon(net.host, *BY_ROUTES, "--state", tmp_path / "state") as daemon:
            assert f"removed what one that was killed had left: {left}; " in daemon.said()
            assert "no destinations loaded" in daemon.said()
            assert len(rules(net.host)) == 2
    assert snapshot(net.host) == before


def refusing_request(error, kind, which):
    """C that refuses requests to rtnetlink of that type (RTM_...) where the condition on `n`
    earlier ones of it holds."""
    is_of_type = f"length > 20 && ((const unsigned short *)bytes)[2] == {kind}"
    is_its_turn = f"({{ static int n; int is_it = {which}; n++; is_it; }})"
    return cgroups.refusing(error, f"{is_of_type} && {is_its_turn}",
                            "ssize_t sendto(int fd, const void *bytes, size_t length, int flags, "
                            "const struct sockaddr *to, socklen_t n_to)")


def test_a_second_pass_knows_the_table_of_a_rule_that_the_first_one_removed(net, preload):
    before = snapshot(net.host)
    leave(net)
    refused = preload(refusing_request("ENOBUFS", 25, "n == 0"))  # RTM_DELROUTE
    done = net.host.run("env", refused, RIPTIDED, "--flush")
    assert "removed: rules 2, routes 2\n" in done.stderr
    assert snapshot(net.host) == before


def test_a_rule_that_cannot_be_deleted_does_not_keep_the_routes(net, preload):
    leave(net)
    refused = preload(refusing_request("EACCES", 33, "n >= 0"))  # RTM_DELRULE
    done = net.host.run("env", refused, RIPTIDED, "--flush", check=False)
    assert done.returncode == 1 and "Permission denied" in done.stderr
    assert f"proto {PROTOCOL}" not in net.host.ip("-6", "route", "show", "table", "all")


def without(kind, *families):
    """C of a kernel whose dumps of that type lack these families: it is asked for AppleTalk, which it does lack."""
    lacks = " || ".join(f"*family == {family}" for family in families)
    return refusing_request("0", kind, f"({{ char *family = (char *)bytes + 16; if ({lacks}) *family = 5; 0; }})")


def test_a_kernel_without_ipv6_has_windows_by_routes(net, preload):
    net.host.ip("route", "flush", "table", "main")
    net.host.ip("route", "add", "default", "dev", "eth0")  # the last one of a dump, and the first one of another
    with Driver(net.host, prefix=("env", preload(without(26, 10)))) as driver:  # RTM_GETROUTE
        driver.follow("set 203.0.113.1 40")
        assert is_ours(net.host, "203.0.113.1")


def test_a_kernel_without_policy_routing_gets_no_routes(net, preload):
    """It has one table of a family, main, whatever number a route says."""
    with Driver(net.host, "unstarted", prefix=("env", preload(without(34, 2, 10)))) as driver:  # RTM_GETRULE
        assert int(driver.call("start", "start")) == errno.EOPNOTSUPP
    with Driver(net.host, prefix=("env", preload(without(34, 10)))) as driver:
        driver.follow("set 203.0.113.1 40", "set 2001:db8::1 40")
        assert is_ours(net.host, "203.0.113.1")
        assert driver.routes["2001:db8::1"] == (
            "route 2001:db8::1 left alone 40 this kernel has no policy routing for its family")
        assert "initcwnd" not in net.host.ip("-6", "route", "show", "table", "all")


def test_window_is_withdrawn_when_its_time_to_live_passes(net):
    peers = {"203.0.113.1": 30, "203.0.113.2": 30}
    with Daemon.learned(net, peers, "--ttl", "300ms", "--log-level", "debug") as daemon:
        net.reset(net.connections[0])
        wait_until(lambda: "203.0.113.1" not in windows(net.host), "withdrawal")
        assert "203.0.113.2" in windows(net.host)
        assert net.connect("203.0.113.1").cwnd() == 10
        wait_until(lambda: "203.0.113.1: withdrawn: no connection to it has counted within its time to live\n"
                   in daemon.said(), "a line")
        net.host.ip("route", "add", "203.0.113.9", "via", "10.0.0.1", "table", TABLE, "proto", PROTOCOL)
        wait_until(lambda: "203.0.113.9" not in windows(net.host), "that of nobody to go")


def test_beside_a_riptided_that_runs_others_name_it_and_leave_it_alone(net):
    """systemd calls the stop hook even if the start failed, as another one runs."""
    with learned(net) as first:
        before = snapshot(net.host)
        assert one_line(net.host.run(RIPTIDED, check=False)) == (
            f"riptided: error: cannot start: process {first.pid} answers at /run/riptide/control: another riptided "
            "needs a network namespace, --control, --state and --metrics of its own\n")
        assert one_line(net.host.run(RIPTIDED, "--control", "none", check=False)) == (
            f"riptided: error: cannot start: process {first.pid} already manages this network "
            "namespace; stop it first\n")
        done = net.host.run(RIPTIDED, "--flush")
        assert f"nothing removed: process {first.pid} manages this" in done.stderr
        done = net.host.run(*AS_NOBODY, RIPTIDED, "--dry-run", "--once", "--policy", "paper")
        for peer, cwnd in windows(net.host).items():  # a dry run beside it needs no privilege
            assert re.search(rf"{re.escape(peer)}\b.*initcwnd {cwnd}\b", done.stderr)
        assert snapshot(net.host) == before
        wait_rounds()


def test_start_many_networks(net, tmp_path):
    """Destinations in a /24 each cost what those of few /24s cost: nothing walks all /24s for each."""
    def processor_s(addresses):
        state = tmp_path / "state"
        state.write_text(f"riptide state 2 saved_ns={time.time_ns()}\n"
                         + "".join(f"{address} cwnd=48 samples=3 age_ns=12\n" for address in addresses))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        net.host.run(RIPTIDED, "--dry-run", "--once", "--apply", "routes", "--state", state, "--max-destinations", 262144,
                     "--ttl", "1h", "--log-level", "error", "--control", "none")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    numbers = range(40000)
    together = processor_s(f"20.0.{i >> 8}.{i & 255}" for i in numbers)
    assert processor_s(f"20.{i >> 8}.{i & 255}.7" for i in numbers) < 3 * together


def test_router_without_its_claim_writes_nothing_and_keeps_what_it_was_asked_for(net):
    def is_still(router):
        return int(router.call("dispatch", "dispatched")) < 100 and not routes(net.host)

    with Driver(net.host, "unstarted") as router:
        router.send(["set 203.0.113.1 40", "set 198.51.100.0/24 30"])
        assert is_still(router)
        with Driver(net.host):
            assert int(router.call("start", "start")) == errno.EBUSY
            router.send(["set 203.0.113.2 50", "set 198.51.100.0/24 0"])
            net.host.ip("route", "add", "192.0.2.0/24", "via", "10.0.0.2")
            assert is_still(router)
        wait_until(lambda: int(router.call("start", "start")) == 0, "the claim")
        router.quiet()
        assert windows(net.host) == {"203.0.113.1": 40, "203.0.113.2": 50}
        assert int(router.call("stop", "stop")) == 0
        assert not routes(net.host)


def test_what_was_stopped_says_so_and_does_not_start_again(net):
    for how in "started", "unstarted":
        with Driver(net.host, *([how] if how == "unstarted" else [])) as router:
            assert int(router.call("stop", "stop")) == 0
            # Its fd is readable: the loop notices by itself.
            router.answer(f"error serve: {os.strerror(errno.ESHUTDOWN)}")
            assert router.process.wait(DEADLINE_S) == 1
        assert not rules(net.host) and not routes(net.host)


def test_stop_hook_reads_no_file(net, tmp_path):
    before = snapshot(net.host)
    with Daemon.learned(net, "203.0.113.1", table=99) as daemon:
        daemon.kill()
    (tmp_path / "riptided.conf").write_text("no sense\n")
    done = net.host.run(RIPTIDED, "--flush", "--config", tmp_path / "riptided.conf")
    assert "removed: rules 2, routes 1\n" in done.stderr
    assert snapshot(net.host) == before
    # A wrong command line is the user's mistake.
    for table in "x", "254":
        assert "table" in one_line(net.host.run(RIPTIDED, "--flush", "--table", table, check=False), 2)


@pytest.mark.parametrize("prefix", [AS_NOBODY, WITHOUT_NET_ADMIN], ids=["nobody", "root-without"])
def test_without_cap_net_admin_one_line_names_it(net, prefix):
    net.host.ip("rule", "add", "iif", "lo", "ipproto", "tcp", "protocol", PROTOCOL, "lookup", TABLE,
                "suppress_prefixlength", 31)
    for is_left in True, False:
        before = snapshot(net.host)
        for command in ((RIPTIDED,), (RIPTIDED, "--once"), (RIPTIDED, "--flush"), (RIPTIDE, "flush")):
            line = one_line(net.host.run(*prefix, *command, check=False))
            assert "needs CAP_NET_ADMIN: run it as root" in line
            assert ("AmbientCapabilities=" in line) == ("flush" not in str(command))
        assert snapshot(net.host) == before
        if is_left:
            net.host.run(RIPTIDE, "flush")


@pytest.mark.parametrize("apply", ["routes", "program", "both"])
def test_a_pause_and_a_hint_outlive_a_restart_and_a_crash(net, daemon, tmp_path, apply):
    state, peer = tmp_path / "state", "203.0.113.1"
    net.learned(peer, 60)

    def started(**more):
        return daemon(apply, "--state", state, **more)

    with started():
        wait_until(lambda: net.starts(peer) > 15, "a window")
        net.host.run(RIPTIDE, "hint", peer, "--max", "15", "--for", "1h")
        net.host.run(RIPTIDE, "pause")
    for is_killed in (False, True):
        with started(has_rules=False) as riptided:
            assert net.starts(peer) == 10 and rules(net.host) == []
            assert "riptided: started, paused until `riptide resume`, version " in riptided.said()
            assert " held out, hints: 1\n" in riptided.said()
            wait_rounds()
            assert (status()["health"], status()["in_force_percent"], net.starts(peer)) == ("paused", 0, 10)
            if is_killed:
                riptided.kill()
    with started(has_rules=False):
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: net.starts(peer) == 15, "the window by the hint")
    with started() as riptided:
        assert "paused" not in riptided.said()
        wait_until(lambda: net.starts(peer) == 15, "the window by the hint")
        net.host.run(RIPTIDE, "hint", peer, "--remove")
        wait_until(lambda: net.starts(peer) > 15, "a window without the hint")
    assert "paused" not in state.read_text() and "hint=" not in state.read_text()
