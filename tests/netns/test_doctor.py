# SPDX-License-Identifier: MIT
"""riptide doctor: for each check a host that it reports, and one that it does not.

tests/unit/test_doctor.c tests kinds of queues that some kernels lack."""

import json
import os
import subprocess

import pytest
from control import one_line, said_json, verdict
from netns import (AS_NOBODY, BY_ROUTES, REPOSITORY, RIPTIDE, RIPTIDED, TABLE, Daemon,
                   add_wg_quick_rules, rules, snapshot, wait_until, wait_window)
from programs import Program, start_agent

SCHEMA = json.loads((REPOSITORY / "docs/schema/doctor.json").read_text())
CHECKS = SCHEMA["properties"]["findings"]["items"]["properties"]["check"]["enum"]
STATUS = {"ok": 0, "note": 0, "warning": 3, "error": 4}


def doctor(host, *options, prefix=()):
    """{check: finding}, after checking schema, verdict and exit status."""
    done = host.run(*prefix, RIPTIDE, "doctor", "--json", *options, check=False)
    document = said_json(done, "doctor")
    assert done.stderr == ""
    findings = document["findings"]
    worst = max((finding["severity"] for finding in findings), key=list(STATUS).index)
    assert document["verdict"] == worst
    assert done.returncode == STATUS[worst]
    assert [finding["check"] for finding in findings] == CHECKS
    for finding in findings:
        assert (finding["remedy"] is None) == (finding["severity"] == "ok"), finding
    return {finding["check"]: finding for finding in findings}


def find(host, check, *options):
    return doctor(host, *options)[check]


def severity(host, check, *options):
    return find(host, check, *options)["severity"]


def test_verdict_is_the_exit_status(host):
    host.sysctl("ipv4/tcp_rmem", "4096 2000000 6291456")
    host.sysctl("ipv4/tcp_congestion_control", "bbr")
    assert host.run(RIPTIDE, "doctor").returncode == 0
    host.sysctl("ipv4/tcp_slow_start_after_idle", 0)
    finding = find(host, "idle-restart")
    assert finding["severity"] == "note"
    assert "tcp_slow_start_after_idle = 0" in finding["evidence"]
    host.sysctl("ipv4/tcp_congestion_control", "reno")
    host.ip("link", "add", "eth9", "type", "veth", "peer", "name", "eth8")
    host.ip("link", "set", "eth9", "up")
    host.run("tc", "qdisc", "add", "dev", "eth9", "root", "pfifo")
    assert host.run(RIPTIDE, "doctor", check=False).returncode == 3
    host.ip("rule", "add", "fwmark", "1", "lookup", str(TABLE))
    assert host.run(RIPTIDE, "doctor", check=False).returncode == 4
    assert severity(host, "numbers", "--table", "7231") == "ok"
    done = host.run("prlimit", "--nofile=4", RIPTIDE, "doctor", check=False)
    assert one_line(done) == "riptide: doctor: Too many open files\n"


def test_daemon_is_found_or_not(net):
    assert find(net.host, "daemon")["summary"].startswith("no riptided runs")
    before = snapshot(net.host)
    with Daemon(net.host) as daemon:
        findings = doctor(net.host, prefix=AS_NOBODY)
        assert f"process {daemon.pid};" in findings["daemon"]["evidence"]
        for check in ("daemon", "numbers", "rules"):
            assert findings[check]["severity"] == "ok"
        daemon.kill()
    finding = find(net.host, "daemon")
    assert finding["severity"] == "warning"
    assert "riptide flush" in finding["remedy"]
    net.host.run(RIPTIDE, "flush")
    assert severity(net.host, "daemon") == "note"
    assert snapshot(net.host) == before


def test_daemon_that_is_paused_is_a_note_and_one_that_hangs_or_has_no_place_an_error(net):
    control = ("--control", "/run/other")
    with Daemon(net.host, *BY_ROUTES, *control) as daemon:
        net.host.run(RIPTIDE, "pause", *control)
        finding = find(net.host, "daemon", *control)
        assert finding["severity"] == "note"
        assert "paused" in finding["summary"] and "riptide resume" in finding["remedy"]
        assert severity(net.host, "daemon") == "error"  # no daemon answers there
        net.host.run(RIPTIDE, "resume", *control)
        wait_until(lambda: severity(net.host, "daemon", *control) == "ok", "the rules")
        with daemon.stopped():
            finding = find(net.host, "daemon", *control)
        assert finding["severity"] == "error"
        assert "does not answer" in finding["summary"]
        assert "no answer within" in finding["evidence"]
        assert f"kill -CONT {daemon.pid}," in finding["remedy"]
        assert severity(net.host, "daemon", *control) == "ok"
        net.host.ip("rule", "delete", "lookup", "main")
        wait_until(lambda: "IPv4: windows disabled" in daemon.said(), "the daemon to notice")
        findings = doctor(net.host, *control)
        assert findings["daemon"]["severity"] == findings["numbers"]["severity"] == "error"
        assert "rules for IPv4" in findings["daemon"]["summary"]
        assert "no unconditional rule `lookup main`" in findings["numbers"]["summary"]


def test_agent_that_embeds_the_library_is_no_riptided(net, host):
    """Nor is it to explain."""
    net.learned("203.0.113.1", 40)
    agent = start_agent(net.host)
    who = (f"process {agent.pid} manages this network namespace (an agent that embeds the library, or a riptided that --control does not reach)")
    window = wait_window(net.host, "203.0.113.1")
    found = verdict(net.host, "203.0.113.1")
    assert found["verdict"] == f"{who}; connections start with {window} segments"
    assert found["holder"] == agent.pid and not found["daemon_is_running"]
    for options in (), ("--control", "none"):
        finding = find(net.host, "daemon", *options)
        assert finding["severity"] == "ok"
        assert finding["summary"] == f"{who} and its rules are in place"
    with Daemon(host):  # a daemon of another namespace
        host.run(RIPTIDE, "pause")
        assert find(net.host, "daemon")["summary"].startswith(f"process {agent.pid} manages")
    net.host.ip("rule", "delete", "lookup", "main")
    finding = wait_until(lambda: (found := find(net.host, "daemon"))["severity"] == "error" and found,
                         "the agent to notice")
    assert finding["summary"].startswith(f"process {agent.pid} manages")
    assert "riptided" not in finding["remedy"]


def test_agent_that_embeds_the_library_gives_windows_by_the_program(net, cgroup):
    net.host.sysctl("ipv4/tcp_congestion_control", "reno")
    hidden = ("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", "--")
    agent = Program(net.host, "containers", "--cgroup", cgroup, f"/run/netns/{net.host.name}")
    assert agent.line() == "ready"
    findings = doctor(net.host)
    assert findings["daemon"]["summary"].startswith(f"process {agent.pid} manages")
    assert findings["daemon"]["summary"].endswith(" and gives windows by the program")
    for check in ("daemon", "rules", "receiver", "pacing"):
        assert findings[check]["severity"] == "ok", findings[check]
    finding = doctor(net.host, prefix=hidden)["daemon"]
    assert finding["severity"] == "note" and "or it gives windows by the program" in finding["summary"]
    assert finding["remedy"].startswith("run it as root")
    agent.end()


def test_rules_of_others(host):
    """Between ours and main they are an error, elsewhere a note."""
    assert severity(host, "rules") == "ok"
    host.ip("rule", "add", "fwmark", "1", "lookup", "100", "pref", "32760")
    assert severity(host, "numbers") == "ok"
    host.ip("rule", "del", "pref", "32760")
    host.ip("-6", "rule", "add", "fwmark", "7", "lookup", "100", "pref", "500")
    finding = find(host, "rules")
    assert finding["severity"] == "note"
    assert "IPv6 priority 500 lookup 100" in finding["evidence"]


@pytest.mark.parametrize("family, dst, subnet, hop", [
    ("-4", "203.0.113.1", "203.0.113.0/24", "10.0.0.1"),
    ("-6", "2001:db8::1", "2001:db8::/64", "fd00::1"),
])
def test_rule_that_takes_tcp_around_our_table_is_a_warning(net, family, dst, subnet, hop):
    with Daemon.learned(net, {dst: 40}, *BY_ROUTES):
        priority = add_wg_quick_rules(net.host)
        wait_until(lambda: len(rules(net.host)) == 2, "our rules")
        rule = f"priority {priority} lookup main"
        finding = find(net.host, "rules")  # it does not take the default route
        assert finding["severity"] == "note" and rule in finding["evidence"]
        net.host.ip(family, "route", "add", subnet, "via", hop, "initcwnd", "17")
        finding = wait_until(lambda: (found := find(net.host, "rules"))["severity"] == "warning" and found,
                             "a warning")
        assert finding["summary"] == ("a rule of another program makes TCP skip our table: connections to 1 of 1 "
                                      "destinations start with the base route's window")
        assert finding["evidence"] == f"riptided: TCP does not use 1 of 1 routes; before ours: IPv4 {rule}, IPv6 {rule}"
        assert net.connect(dst).cwnd() == 17
        net.host.run(RIPTIDE, "pause")
        assert severity(net.host, "rules") == "note"


def test_first_rule_that_would_change_the_hosts_routing_is_refused(net):
    """Table local and main are one trie until then: docs/operations.md, "Side effects"."""
    def is_by_main():
        return " via 10.0.0.1 " in net.host.ip("route", "get", "198.51.100.200")
    net.host.ip("route", "add", "local", "198.51.100.0/24", "dev", "lo")
    net.host.ip("route", "add", "198.51.100.128/25", "via", "10.0.0.1")
    finding = find(net.host, "numbers")
    done = net.host.run(RIPTIDED, "--apply", "routes", "--policy", "paper", check=False)
    assert done.returncode == 1 and is_by_main()
    said = "no longer uses 198.51.100.128/25 of main, which is inside a prefix of type local"
    assert finding["severity"] == "error" and said in finding["summary"] and said in done.stderr
    # With any other rule routing has changed: ours changes no more.
    net.host.ip("rule", "add", "pref", "40000", "lookup", "main")
    assert not is_by_main() and severity(net.host, "numbers") == "ok"
    with Daemon(net.host, "--apply", "routes"):
        assert not is_by_main()


def networkd(root, **files):
    """Makes /etc and /usr/lib below a root. Files: {path with _ for /: text}."""
    for directory, text in files.items():
        path = root / directory.replace("_", "/") / "systemd"
        for name, content in text.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(content)
    (root / "run/systemd/netif").mkdir(parents=True)
    (root / "run/systemd/netif/state").write_text("")


OFF = "[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n"


def test_networkd_that_removes_foreign_routes_is_a_warning(host, tmp_path):
    assert severity(host, "networkd", "--root", tmp_path) == "ok"
    networkd(tmp_path)
    finding = find(host, "networkd", "--root", tmp_path)
    assert finding["severity"] == "warning"
    assert "our rules and routes" in finding["summary"]
    # The remedy is a command: it solves the problem.
    command = finding["remedy"].partition(" && ")[0].replace(" /etc", f" {tmp_path}/etc")
    subprocess.run(["sh", "-c", command], check=True)
    assert severity(host, "networkd", "--root", tmp_path) == "ok"


@pytest.mark.parametrize("files, verdict, word", [
    ({"etc": {"networkd.conf": OFF, "networkd.conf.d/50-a.conf":
              "[Network]\nManageForeignRoutes=yes\n"}}, "warning", "our routes"),
    ({"etc": {"networkd.conf": "[DHCP]\nManageForeignRoutes=no\n# ManageForeignRoutes=no\n",
              "networkd.conf.d/a.conf": "ManageForeignRoutingPolicyRules=no\n"}}, "warning", "rules and routes"),
    ({"etc": {"networkd.conf.d/a.conf": OFF, "networkd.conf.d/b.conf":
              "[Network]\nManageForeignRoutes=perhaps\n"}}, "ok", "Routes=no"),
    ({"etc": {"networkd.conf.d/a.conf": "[Network]\nManageForeignRoutes=off\n"}, "usr_lib": {
        "networkd.conf.d/b.conf": "[Network]\nManageForeignRoutingPolicyRules = TRUE\n"}}, "warning", "our rules "),
], ids=["drop-in wins", "elsewhere", "no boolean", "last name"])
def test_networkd_configuration_is_read_as_networkd_does(host, tmp_path, files, verdict, word):
    networkd(tmp_path, **files)
    finding = find(host, "networkd", "--root", tmp_path)
    assert finding["severity"] == verdict
    assert word in finding["summary"] + finding["evidence"]


def test_destinations_that_are_left_alone(net):
    assert severity(net.host, "destinations") == "ok"
    net.connect("203.0.113.1")
    assert severity(net.host, "destinations") == "ok"
    # Two routes of one metric, of which only the kernel can choose.
    net.host.ip("route", "add", "198.51.100.0/24", "nexthop", "via", "10.0.0.1",
                "nexthop", "via", "10.0.1.1")
    net.host.ip("route", "add", "blackhole", "203.0.113.9")
    net.connect("203.0.113.2")
    net.host.ip("route", "add", "table", "100", "203.0.113.2", "via", "10.0.1.1")
    net.host.ip("rule", "add", "to", "203.0.113.2", "lookup", "100")
    finding = find(net.host, "destinations")
    assert finding["severity"] == "note"
    assert "1 of 2 destinations" in finding["summary"]
    # The reason comes from the daemon.
    done = net.host.run(RIPTIDED, "--dry-run", "--once", "--policy", "paper")
    reason = finding["evidence"].partition("the first is 203.0.113.2: ")[2]
    assert reason
    assert f"203.0.113.2: left alone: {reason}" in done.stderr


@pytest.mark.parametrize("family, dst, hop, text", [
    ("-4", "203.0.113.1", "10.9.9.9", "Nexthop has invalid gateway"),
    ("-6", "2001:db8::1", "fd00:9::9", "No route to host"),
])
def test_routes_that_the_kernel_refuses(net, family, dst, hop, text):
    """A default route works on without the route to its gateway's link, and cannot be copied."""
    net.world.ip(family, "addr", "add", hop, "dev", "eth0")
    net.host.ip(family, "route", "add", hop, "dev", "eth0")
    net.host.ip(family, "route", "replace", "default", "via", hop, "dev", "eth0")
    net.host.ip(family, "route", "del", hop, "dev", "eth0")
    net.learned(dst, 30)
    with Daemon(net.host, *BY_ROUTES):
        finding = wait_until(lambda: (found := find(net.host, "destinations"))["severity"] == "warning" and found, "it")
        assert finding["summary"] == ("the kernel refuses the routes to 1 of 1 destinations: they start with the window "
                                      "of their own route")
        assert finding["evidence"] == f"riptided's show; the first is {dst}: {text}"
        net.host.ip(family, *finding["remedy"].replace("GATEWAY", hop).replace("LINK", "eth0").partition(",")[0].split()[1:])
        wait_until(lambda: severity(net.host, "destinations") == "ok", "the route")
        assert net.connect(dst).cwnd() >= 30


def test_receiver(net):
    net.host.sysctl("ipv4/tcp_rmem", "4096 131072 33554432")
    net.connect("203.0.113.1")
    finding = find(net.host, "receiver")
    assert finding["severity"] == "note"
    assert "44 segments, not 100" in finding["summary"]
    lines = net.host.run(RIPTIDE, "doctor", check=False).stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("note     receiver"))
    assert "read: net.ipv4.tcp_rmem = 4096 131072 33554432" in lines[at + 1]
    assert 'do:   sysctl -w net.ipv4.tcp_rmem="4096 292000 33554432"' in lines[at + 2]
    # The remedy is a command, whose values suffice and lower nothing.
    net.host.run("sh", "-c", finding["remedy"].partition(" (")[0])
    finding = find(net.host, "receiver")
    assert finding["severity"] == "ok"
    assert finding["evidence"] == "net.ipv4.tcp_rmem = 4096 292000 33554432"
    assert severity(net.host, "receiver", "--cwnd-max", "101") == "note"


def test_pacing(net):
    net.host.sysctl("ipv4/tcp_congestion_control", "reno")
    finding = find(net.host, "pacing")
    assert finding["severity"] == "warning"
    assert "reno" in finding["evidence"]
    assert severity(net.host, "pacing", "--cwnd-max", "10") == "ok"
    net.host.run("tc", "qdisc", "add", "dev", "eth0", "root", "pfifo")
    finding = find(net.host, "pacing")
    assert "eth0, of the default route, has queue pfifo" in finding["evidence"]
    assert "tc qdisc replace dev eth0 root fq" in finding["remedy"]
    net.host.sysctl("ipv4/tcp_congestion_control", "bbr")
    assert severity(net.host, "pacing") == "ok"


def test_windows_by_the_program_need_no_rule_or_route(net, cgroup):
    net.host.sysctl("ipv4/tcp_congestion_control", "reno")
    below = cgroup / "below"
    below.mkdir()
    net.learned("203.0.113.1", 40)
    net.host.ip("rule", "add", "pref", 100, "fwmark", 7, "lookup", "main")
    apply = ("--apply", "program", "--cgroup", below)
    with Daemon(net.host, *apply, has_rules=False) as riptided:
        wait_until(lambda: severity(net.host, "daemon") == "ok", "the daemon")
        findings = doctor(net.host)
        assert findings["daemon"]["summary"] == "a riptided runs and gives windows by the program"
        for check in ("rules", "networkd", "destinations", "receiver", "pacing"):
            assert findings[check]["severity"] == "ok", findings[check]
        assert "by riptided" in findings["pacing"]["summary"]
        assert findings["receiver"]["summary"] == (
            "this host's first receive window is 44 segments; where it opens the connection to a known peer, the "
            "program asks the kernel for 100, which Linux 6.18 gives and 6.1 does not")
        idle = findings["idle-restart"]
        assert idle["severity"] == "note" and "not ours" in idle["summary"]
        assert idle["remedy"] == ("riptided --apply both, or sysctl -w "
                                  "net.ipv4.tcp_slow_start_after_idle=0")
        with riptided.stopped():
            findings = doctor(net.host)
            assert findings["daemon"]["summary"] == ("a riptided runs and does not answer: its windows by the program stay in force, "
                                                     "and none is learned or withdrawn")
            assert findings["pacing"]["severity"] == "ok"
        below.rmdir()
        wait_until(lambda: severity(net.host, "daemon") == "error", "the end of it")
        gone = find(net.host, "daemon")
        assert f"{below} is not there: make it first" in gone["summary"]
        assert gone["remedy"] == ("remove that cause (make a missing cgroup again); riptided then continues")
        assert severity(net.host, "pacing") == "warning"
    below.mkdir()
    with Daemon(net.host, *apply, "--pacing", "off", has_rules=False):
        assert severity(net.host, "pacing") == "warning"
    with Daemon(net.host, *apply, "--policy", "careful", has_rules=False):
        assert find(net.host, "pacing")["summary"].startswith("first flights are paced after a loss")
    with Daemon(net.host, "--apply", "both", "--cgroup", below):
        findings = doctor(net.host)
        for check in ("daemon", "pacing", "idle-restart"):
            assert findings[check]["severity"] == "ok", findings[check]
        assert findings["rules"]["severity"] == "note"
        below.rmdir()
        off = wait_until(lambda: (found := find(net.host, "daemon"))["severity"] == "warning" and found, "the end of the program")
        assert off["summary"].startswith("a riptided runs and its rules are in place: by routes, not by the program: cgroup: ")


def test_with_both_what_no_route_gives_is_given_by_the_program(net, cgroup):
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    net.learned("203.0.113.2", 30)
    net.host.ip("route", "add", "203.0.113.1", "via", "10.0.0.1", "table", "100")
    with Daemon(net.host, "--apply", "both", "--cgroup", cgroup):
        for dst in ("203.0.113.1", "203.0.113.2"):
            wait_window(net.host, dst)
        net.host.ip("rule", "add", "pref", "100", "to", "203.0.113.1", "lookup", "100")
        wait_until(lambda: severity(net.host, "destinations") == "note", "the rule")
        findings = doctor(net.host)
        assert net.connect("203.0.113.1").cwnd() == cwnd
        assert findings["destinations"]["summary"] == ("1 of 2 destinations of open connections are left alone: they have no "
                                                       "route, and windows by the program only")
        assert findings["rules"]["severity"] == "note"
        add_wg_quick_rules(net.host)
        net.host.ip("route", "add", "203.0.113.2", "via", "10.0.0.1")
        taken = wait_until(lambda: (found := find(net.host, "rules"))["summary"].startswith("a rule of another program makes TCP") and found,
                           "that")
        assert taken["severity"] == "note" and taken["summary"].endswith("destinations have their window by the program only")
        net.host.ip("rule", "add", "pref", 0, "lookup", "main")
        finding = wait_until(lambda: (found := find(net.host, "daemon"))["severity"] == "warning" and found, "rules without a place")
        assert finding["summary"].endswith("connections have windows by the program only")


def test_what_cannot_load_is_not_recommended(net, cgroup):
    net.host.sysctl("ipv4/tcp_congestion_control", "reno")
    without = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    assert "--apply auto" in find(net.host, "pacing")["remedy"]
    with Daemon(net.host, "--apply", "auto", "--cgroup", cgroup, command=(*without, RIPTIDED)):
        finding = find(net.host, "pacing")
        assert "needs CAP_BPF" in finding["evidence"]
        assert "root fq" in finding["remedy"] and "--apply" not in finding["remedy"]


def test_a_link_name_is_no_command_and_controls_no_terminal(net):
    name = os.fsdecode(b"a;\x1b[1m`b`\xc2\x9b$")
    net.host.sysctl("ipv4/tcp_congestion_control", "reno")
    net.host.ip("link", "add", name, "type", "veth", "peer", "name", "far")
    net.host.run("tc", "qdisc", "add", "dev", name, "root", "pfifo")
    for link in name, "far":
        net.host.ip("link", "set", link, "up")
    for family in ("-4", "-6"):
        net.host.ip(family, "route", "replace", "default", "dev", name)
    finding = find(net.host, "pacing")
    assert "a???1m?b????, of the default route, has queue pfifo" in finding["evidence"]
    assert finding["remedy"].startswith("tc qdisc replace dev a???1m?b???? root fq (")


@pytest.mark.parametrize("family", [4, 6])
def test_the_link_of_the_default_route_is_the_one_that_counts(net, family):
    net.host.sysctl("ipv4/tcp_congestion_control", "reno")
    net.host.run("tc", "qdisc", "add", "dev", "eth0", "root", "pfifo")
    net.host.run("tc", "qdisc", "add", "dev", "eth1", "root", "pfifo")
    net.host.ip("route", "del", "default")
    net.host.ip("-6", "route", "del", "default")
    net.host.ip(f"-{family}", "route", "add", "default", "dev", "eth1")
    finding = find(net.host, "pacing")
    assert "eth1, of the default route, has queue pfifo" in finding["evidence"]
    assert "tc qdisc replace dev eth1 root fq" in finding["remedy"]
