# SPDX-License-Identifier: MIT
"""The control socket: its place, clients that riptided serves, answers that riptide accepts."""

import socket
import subprocess
from pathlib import Path

import pytest
from cgroups import mounted
from control import PATH, one_line, status, wait_rounds
from netns import AS_NOBODY, DEADLINE_S, RIPTIDE, RIPTIDED, Daemon, rules, wait_until, windows

GROUP = 4711
CHANGES = [("hint", "203.0.113.1", "--max", "20", "--for", "1s"),
           ("hint", "203.0.113.1", "--remove"), ("pause",), ("resume",)]
WARNING = "warning: no control socket"


def test_no_daemon_is_a_status_of_its_own(host):
    for command in (("metrics",), ("hint",), *CHANGES):
        assert "no riptided at " in one_line(host.run(RIPTIDE, *command, check=False), status=3)


def test_others_read_and_change_nothing(net):
    with Daemon.learned(net, "203.0.113.1"):
        before = windows(net.host)
        for command in CHANGES:
            assert "only root and the group" in one_line(net.host.run(*AS_NOBODY, RIPTIDE, *command, check=False))
            assert net.host.run(*AS_NOBODY, RIPTIDE, "status").stdout.startswith("riptide: working")
            wait_rounds()
            assert (windows(net.host), len(rules(net.host))) == (before, 2), command


@pytest.mark.parametrize("group, member", [
    (GROUP, ("--regid", GROUP, "--clear-groups")),
    (GROUP, ("--regid", "nogroup", "--groups", f"999,{GROUP},1000")),
    ("adm", ("--regid", "nogroup", "--groups", "adm")),
], ids=["first", "others", "by name"])
def test_the_group_may_change_things(net, group, member):
    with Daemon(net.host, "--control-group", group):
        net.host.run("setpriv", "--reuid", "nobody", *member, "--", RIPTIDE, "pause")
        wait_until(lambda: not rules(net.host), "the pause")
        assert "only root" in one_line(net.host.run(*AS_NOBODY, RIPTIDE, "resume", check=False))


def test_socket_of_a_dead_daemon_is_replaced_and_beside_a_living_one_none_starts(host, net, tmp_path):
    """The second would write over the state of the first, and remove its metrics."""
    files = tmp_path / "state", tmp_path / "metrics"
    options = "--state", files[0], "--metrics", files[1]
    with Daemon(host) as daemon:
        daemon.kill()
    assert Path(PATH).is_socket()
    with Daemon(host, *options) as first:
        assert status()["pid"] == first.pid and not first.lines(WARNING)
        wait_until(lambda: all(path.exists() for path in files), "its files")
        before = files[0].stat().st_ino
        for more in ((), ("--once", "--apply", "routes")):
            said = one_line(net.host.run(RIPTIDED, *options, *more, check=False))
            assert said == (f"riptided: error: cannot start: process {first.pid} answers at {PATH}: another riptided "
                            "needs a network namespace, --control, --state and --metrics of its own\n")
        assert (not rules(net.host), files[0].stat().st_ino, files[1].exists()) == (True, before, True)
        assert status()["pid"] == first.pid
        for harmless in (("--dry-run", *options), ()):
            net.host.run(RIPTIDED, "--once", *harmless)
        net.host.run(RIPTIDE, "flush", check=False)
    assert not Path(PATH).exists()


@pytest.mark.parametrize("option, value, named", [
    ("--control", "/run/file", "not a socket"),
    ("--control", "/proc/riptide/control", "/proc/riptide/control"),
    ("--control", "{}/control", "Read-only"),
    ("--control", "/run/" + "x" * 120, "too long"),
    ("--control", "none", None),
    ("--control-group", "nogroupofthatname", "nogroupofthatname"),
], ids=["file", "missing", "read-only", "long", "none", "group"])
def test_without_a_place_it_goes_on_with_one_warning(net, tmp_path, option, value, named):
    Path("/run/file").write_text("mine")
    Path(PATH).unlink(missing_ok=True)  # of a riptided that an earlier test killed
    with mounted(tmp_path, "tmpfs", "ro"), \
            Daemon.learned(net, "203.0.113.1", option, value.format(tmp_path)) as daemon:
        assert len(daemon.lines(WARNING)) == (named is not None)
        assert named is None or named in daemon.said()
        assert not Path(PATH).exists()
    assert Path("/run/file").read_text() == "mine"


@pytest.mark.parametrize("answer, said", [
    (b"", "has no end"), (b'{"ok":true,"health', "has no end"), (b"{}\n", "malformed"),
    (b"\xff\n", "malformed"), (b'{"ok":false,"error":"no"}\n', "no"), (b"[" * 5000 + b"\n", "malformed")])
def test_answer_that_is_none_is_one_line(host, tmp_path, answer, said):
    """Another program answers instead of riptided."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control"))
        listener.listen()
        asking = host.start(RIPTIDE, "status", "--control", tmp_path / "control", text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with listener.accept()[0] as client:
            client.recv(4096)
            client.sendall(answer)
        out, errors = asking.communicate(timeout=DEADLINE_S)
    assert said in one_line(subprocess.CompletedProcess((), asking.returncode, out, errors))
