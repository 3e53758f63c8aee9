# SPDX-License-Identifier: MIT
"""The default, --apply auto: the program with routes beside it, or what works of the two."""

import pytest
from control import status, whole
from netns import RIPTIDE, RIPTIDED, Daemon, routes, wait_until

RESTARTS = "idle connections restart with a route's window (net.ipv4.tcp_slow_start_after_idle is not 0)"
STAYS = "idle connections keep their window (net.ipv4.tcp_slow_start_after_idle is 0)"


@pytest.mark.parametrize("after_idle, by, why", [(1, "both", RESTARTS), (0, "program", STAYS)])
def test_routes_are_beside_the_program_where_idle_connections_restart(net, cgroup, after_idle, by, why):
    net.host.sysctl("ipv4/tcp_slow_start_after_idle", after_idle)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--cgroup", cgroup, has_rules=by == "both") as riptided:
        wait_until(lambda: net.starts("203.0.113.1") > 10, "a window")
        assert (status()["apply"]["asked"], status()["apply"]["by"], bool(routes(net.host))) == ("auto", by, by == "both")
        assert riptided.said().count(f"riptided: --apply auto chose {by}: {why}\n") == 1
        assert status()["apply"]["why"] == why
        assert f'riptide_apply_info{{asked="auto",by="{by}"}} 1\n' in net.host.run(RIPTIDE, "metrics").stdout


@pytest.mark.parametrize("after_idle, beside", [(1, ", and by routes"), (0, "")], ids=["both", "program"])
def test_a_dry_run_of_one_round_says_what_auto_would_choose(net, cgroup, after_idle, beside):
    net.host.sysctl("ipv4/tcp_slow_start_after_idle", after_idle)
    cwnd = net.learned("203.0.113.1", 30).cwnd()
    said = net.host.run(RIPTIDED, "--dry-run", "--once", "--cgroup", cgroup, "--policy", "paper", "--prefix-len4", 24).stderr
    assert (f"windows would be given by the program{beside}, if the kernel takes the program, "
            "which a dry run does not load\n") in said
    assert f"would set 203.0.113.0/24 initcwnd {cwnd} " in said


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


def test_without_the_program_a_line_says_what_is_lost(net, cgroup, tmp_path):
    config = tmp_path / "riptided.conf"
    config.write_text("holdout-percent = 50\n")
    without = ("setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", "--")
    with Daemon(net.host, "--config", config, "--cgroup", cgroup, "--prefix-len6", 64, command=(*without, RIPTIDED)) as riptided:
        wait_until(lambda: status()["round"], "a round")
        assert (status()["apply"]["by"], status()["health"]) == ("routes", "ok")
        why = ("the program needs CAP_BPF and CAP_NET_ADMIN of the host; those of a user namespace are not enough; "
               "prefixes get no windows, as routes serve single addresses")
        line = f"--apply auto chose routes: {why}; no connection is held out"
        assert " ".join(net.host.run(RIPTIDE, "verdict").stdout.split()) == f"Not known. why {why}"
        assert f"start: windows by routes alone: {why}" in whole(net.host.run(RIPTIDE, "doctor", check=False).stdout)
        assert riptided.said().count(f"{line}\n") == 1 and status()["warning"] == line
