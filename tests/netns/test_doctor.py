# SPDX-License-Identifier: MIT
"""riptide doctor on hosts with problems."""

import json
import re

import pytest
from control import labelled
from netns import AS_NOBODY, RIPTIDE, RIPTIDED, Daemon, wait_until
from programs import start_agent


def findings(host, prefix=()):
    """{check: (kind, finding, remedy)}."""
    done = host.run(*prefix, RIPTIDE, "doctor", "--json", check=False)
    found = {row["check"]: (row["kind"], row["what"], row["do"]) for row in json.loads(done.stdout)["findings"]}
    assert done.returncode == (4 if "PROBLEM" in [kind for kind, _, _ in found.values()] else 0)
    return found


def doctor(host, prefix=()):
    """The findings of a host that stays as it is meanwhile, by both outputs."""
    found = findings(host, prefix)
    kinds = [kind for kind, _, _ in found.values()]
    said = host.run(*prefix, RIPTIDE, "doctor", "-v", check=False)
    lines = said.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and said.stderr == ""
    assert lines[-1].startswith(f"{kinds.count('PROBLEM')} problem")
    assert f"{kinds.count('advice')} advice, {kinds.count('passed')} checks passed" in lines[-1]
    assert all((kind == "passed") == (remedy == "") for kind, _, remedy in found.values())
    return found


def test_problems_and_advice_alone_are_printed(net):
    found = doctor(net.host, prefix=AS_NOBODY)
    said = net.host.run(RIPTIDE, "doctor").stdout
    assert all((f" {check}: " in said) == (kind != "passed") for check, (kind, _, _) in found.items())
    assert found["daemon"][0] == "advice" and "(riptide doctor -v lists them)" in said
    with Daemon.learned(net, "203.0.113.1") as daemon:
        assert doctor(net.host)["daemon"] == ("passed", "", "")
        net.host.run(RIPTIDE, "pause")
        assert doctor(net.host)["daemon"] == (
            "advice", "PAUSED. New connections start without windows", "riptide resume")
        net.host.run(RIPTIDE, "resume")
        wait_until(lambda: findings(net.host)["daemon"][0] == "passed", "the end of the pause")
        daemon.kill()
    kind, what, do = doctor(net.host)["daemon"]
    assert kind == "PROBLEM" and "it has left rules or routes in this network namespace" in what
    assert labelled("do", f"{do}\n") in net.host.run(RIPTIDE, check=False).stdout


def test_agent_that_embeds_the_library_is_no_riptided(net):
    agent = start_agent(net.host)
    who = f"process {agent.pid} manages this network namespace: an agent that embeds the library,"
    assert who in doctor(net.host)["daemon"][1]
    said = " ".join(net.host.run(RIPTIDE, check=False).stdout.split())
    assert who in said
    assert said.endswith(" do if it is riptided, name its socket (--control), or, if that is gone, restart it")


def test_rules_of_others(net):
    host = net.host
    host.ip("rule", "add", "lookup", "99", "pref", "40000")  # behind `lookup main`
    assert doctor(host)["rules"][0] == "passed"
    host.ip("-6", "rule", "add", "fwmark", "7", "lookup", "100", "pref", "500")
    kind, what, do = doctor(host)["rules"]
    assert kind == "advice" and "IPv6 priority 500 lookup 100" in what and "del" not in do
    host.ip("-6", "rule", "del", "pref", "500")
    host.ip("rule", "add", "lookup", "main", "pref", "900")  # ours would be directly before it
    assert doctor(host)["rules"][0] == "passed"


def test_first_rule_that_would_change_the_hosts_routing_is_refused(net):
    """Table local and main are one trie until then: docs/operations.md, "Side effects"."""
    def is_by_main():
        return " via 10.0.0.1 " in net.host.ip("route", "get", "198.51.100.200")
    net.host.ip("route", "add", "local", "198.51.100.0/24", "dev", "lo")
    net.host.ip("route", "add", "198.51.100.128/25", "via", "10.0.0.1")
    kind, what, _ = doctor(net.host)["start"]
    done = net.host.run(RIPTIDED, "--apply", "routes", "--policy", "paper", check=False)
    assert done.returncode == 1 and is_by_main()
    said = "no longer uses 198.51.100.128/25 of main, which is inside a prefix of type local"
    logged = " ".join(done.stderr.replace("riptided: error: ", "").split())  # of more than 160 columns
    assert kind == "advice" and said in logged
    assert ("windows by program alone: no routes: our rules would be the first of this namespace, "
            f"after which the kernel {said}") in what
    # With any other rule routing has changed: ours changes no more.
    net.host.ip("rule", "add", "pref", "40000", "lookup", "main")
    assert not is_by_main() and doctor(net.host)["start"][0] == "passed"


def doctor_with(host, path, text, before="true"):
    """What it prints in a mount namespace whose /etc has this file alone. The programs are at another place there."""
    script = f"""mount -t tmpfs none /mnt && cp {RIPTIDE} /mnt && mount -t tmpfs none /run && mount -t tmpfs none /etc &&
        mkdir -p $(dirname $1) && {before} && printf "$0" >$1 && exec /mnt/riptide doctor -v"""
    done = host.run("unshare", "-m", "sh", "-c", script, text, path, check=False)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("text, removes", [
    ("", True),
    ("[Network]\nManageForeignRoutes=no\n", True),
    ("[Network]\nManageForeignRoutingPolicyRules = off\nManageForeignRoutes=TRUE\n", True),
    ("[Network]\nManageForeignRoutes = on\nManageForeignRoutes=OFF\nManageForeignRoutingPolicyRules=no\n", False),
], ids=["default", "rules", "routes", "neither"])
def test_networkd_that_removes_foreign_rules_and_routes(host, text, removes):
    assert doctor(host)["networkd"][0] == "passed"
    said = doctor_with(host, "/etc/systemd/networkd.conf", text,
                       before="mkdir -p /run/systemd/netif && >/run/systemd/netif/state")
    assert ("PROBLEM networkd: systemd-networkd removes our rules or routes" in said) == removes


CONF = "/etc/riptide/riptided.conf"


@pytest.mark.parametrize("text, said", [
    ("table = 254\n", f"PROBLEM start: {CONF}: table: 254 is the kernel's own; choose another "),
    ("apply = program\ncgroup = /none\n", f"PROBLEM start: {CONF}: cgroup: /none is not there: make it first "),
    ("rules = no\n", f"PROBLEM start: {CONF}:1: rules: unknown key "),
    ("apply = routes\n", "passed start "),
], ids=["table", "cgroup", "mistake", "routes"])
def test_start_is_tried_by_the_configuration(host, text, said):
    assert said in doctor_with(host, CONF, text)


@pytest.mark.parametrize("prefix, kind, said", [
    (("setpriv", "--bounding-set", "-net_admin"), "PROBLEM", "no process here can have CAP_NET_ADMIN"),
    (("setpriv", "--bounding-set", "-bpf"), "advice", "no process here can have CAP_BPF"),
    (("unshare", "-Urn"), "advice", "^windows by routes alone: .*those of a user namespace are not enough"),
], ids=["net_admin", "bpf", "user namespace"])
def test_what_a_container_lacks_is_named(host, prefix, kind, said):
    if host.run(*prefix, "true", check=False).returncode:
        pytest.skip("no user namespace can be made here: a chroot")
    found, what, _ = findings(host, prefix)["start"]
    assert found == kind and re.search(said, what)


def test_idle_connections_that_keep_their_window(host):
    host.sysctl("ipv4/tcp_slow_start_after_idle", 0)
    assert doctor(host)["idle-restart"][:2] == ("advice", "idle connections keep their window, however old")


def test_receiver_and_fast_open(net):
    """Their remedies are commands, which solve the problem."""
    net.host.sysctl("ipv4/tcp_fastopen", 0x203)
    found = doctor(net.host)
    assert (found["receiver"][0], found["fastopen"][0]) == ("advice", "PROBLEM")
    for check in ("receiver", "fastopen"):
        net.host.run("sh", "-c", found[check][2].replace("sysctl -w", "sysctl -qw"))
        assert doctor(net.host)[check][0] == "passed"
