# SPDX-License-Identifier: MIT
"""riptided keeps the capabilities that it needs, and can gain no others."""

import subprocess

import pytest
from netns import BY_ROUTES, RIPTIDED, Daemon, routes, rules, wait_until, wait_window

NOBODY = 65534
NET_ADMIN = 1 << 12
BPF = 1 << 39
# As a service manager starts it: a user with one capability.
AS_SERVICE = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
              "--bounding-set=-all,+net_admin", "--inh-caps=-all,+net_admin",
              "--ambient-caps=-all,+net_admin", "--no-new-privs", "--")


def status(pid):
    """Credentials of a process."""
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {**{name: int(fields[name], 16) for name in ("CapEff", "CapPrm")},
            "uid": int(fields["Uid"].split()[0]), "NoNewPrivs": int(fields["NoNewPrivs"])}


@pytest.fixture
def state(tmp_path):
    """A path for the state, usable by any user."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.owner() == "root" and str(parent).startswith("/run/"):
            parent.chmod(0o755)
    return tmp_path / "state"


@pytest.mark.parametrize("command, uid", [((), 0), (AS_SERVICE, NOBODY)], ids=["root", "service"])
def test_one_capability_is_kept_and_enough_for_routes(net, state, command, uid):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, *BY_ROUTES, "--state", state, command=(*command, RIPTIDED)) as daemon:
        assert status(daemon.pid) == {"CapEff": NET_ADMIN, "CapPrm": NET_ADMIN, "uid": uid, "NoNewPrivs": 1}
        wait_window(net.host, "203.0.113.1")
        daemon.stop()
    assert not rules(net.host) and not routes(net.host)
    assert state.stat().st_size > 0 and state.stat().st_uid == uid


def test_windows_by_the_program_keep_the_second_capability(net, cgroup):
    with Daemon(net.host, "--apply", "program", "--cgroup", cgroup, has_rules=False) as daemon:
        wait_until(lambda: status(daemon.pid)["NoNewPrivs"] == 1, "privileges dropped")
        wait_until(lambda: status(daemon.pid)["CapPrm"] == NET_ADMIN | BPF, "two of them")


def test_dry_run_keeps_nothing(net):
    process = net.host.start(RIPTIDED, "--dry-run", "--interval", "50ms", stderr=subprocess.DEVNULL)
    wait_until(lambda: status(process.pid)["NoNewPrivs"] == 1, "privileges dropped")
    wait_until(lambda: (found := status(process.pid))["CapEff"] == found["CapPrm"] == 0, "no capability")
