# SPDX-License-Identifier: MIT
"""The privileges that riptided keeps, and that they suffice."""

import contextlib
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
    """Credentials of a process: {name: a number, or a list}."""
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    found = {name: int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapInh")}
    found.update({name: [int(n) for n in fields[name].split()]
                  for name in ("Uid", "Gid", "Groups", "NoNewPrivs")})
    return found


@contextlib.contextmanager
def account(name, number, tmp_path):
    """The host has that account within this `with`."""
    passwd = tmp_path / "passwd"
    with open("/etc/passwd") as file:
        lines = [line for line in file if not line.startswith(f"{name}:")]
    passwd.write_text("".join(lines) + f"{name}:x:{number}:{number}::/:/bin/false\n")
    subprocess.run(["mount", "--bind", passwd, "/etc/passwd"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "/etc/passwd"], check=True)


def live_through(net, daemon, state):
    """Runs a daemon with these rights: writes routes, withdraws them, saves the state."""
    connection = net.learned("203.0.113.1", 30)
    wait_window(net.host, "203.0.113.1")
    assert "not kept" not in daemon.said()
    daemon.stop()
    assert not rules(net.host) and not routes(net.host)
    assert state.stat().st_size > 0
    assert "not kept" not in daemon.said()
    connection.close()
    net.connections.remove(connection)


@pytest.fixture
def state(tmp_path):
    """A path for the state, usable by any user."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.owner() == "root" and str(parent).startswith("/run/"):
            parent.chmod(0o755)
    return tmp_path / "state"


@pytest.mark.parametrize("name, command, number", [("other", (), 0), ("riptide", (), 4711), ("riptide", AS_SERVICE, NOBODY)],
                         ids=["root", "riptide", "service"])
def test_one_capability_is_kept_and_enough_for_routes(net, state, tmp_path, name, command, number):
    """As root, as the user that it becomes, and as the user of a service manager."""
    with account(name, 4711, tmp_path), Daemon(
            net.host, *BY_ROUTES, "--state", state, command=(*command, RIPTIDED)) as daemon:
        found = status(daemon.pid)
        assert found["CapEff"] == NET_ADMIN
        assert found["CapPrm"] == NET_ADMIN or command
        assert found["CapInh"] == 0 or command
        assert found["NoNewPrivs"] == [1] and found["Uid"] == [number] * 4
        if number and not command:
            assert found["Gid"] == [number] * 4 and found["Groups"] == []
        live_through(net, daemon, state)
        assert state.stat().st_uid == number


@pytest.mark.parametrize("name, number", [("other", 0), ("riptide", 4711)])
def test_windows_by_the_program_keep_the_second_capability(net, cgroup, tmp_path, name, number):
    with account(name, 4711, tmp_path), Daemon(
            net.host, "--apply", "program", "--cgroup", cgroup, has_rules=False) as daemon:
        wait_until(lambda: status(daemon.pid)["NoNewPrivs"] == [1], "privileges dropped")
        found = status(daemon.pid)
        assert found["CapPrm"] == found["CapEff"] == NET_ADMIN | BPF
        assert found["Uid"] == [number] * 4


def test_dry_run_keeps_nothing(net):
    process = net.host.start(RIPTIDED, "--dry-run", "--interval", "50ms",
                             stderr=subprocess.DEVNULL)
    wait_until(lambda: status(process.pid)["NoNewPrivs"] == [1], "privileges dropped")
    found = status(process.pid)
    assert found["CapEff"] == found["CapPrm"] == 0
