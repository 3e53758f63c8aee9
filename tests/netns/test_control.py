# SPDX-License-Identifier: MIT
"""The control socket: where it is, whom riptided answers, and whom riptide believes."""

import contextlib
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from control import PATH, one_line, status, write_state
from netns import (AS_NOBODY, DEADLINE_S, RIPTIDE, RIPTIDED, Daemon, Network, rules, wait_until,
                   wait_window, windows)

GROUP = 4711
CHANGES = [("hint", "203.0.113.1", "--max", "20", "--for", "1s"),
           ("hint", "203.0.113.1", "--remove"), ("pause",), ("resume",),
           ("save", "/run/state"), ("load", "/run/state"), ("merge", "/run/state")]


def warnings(daemon):
    return [line for line in daemon.said().splitlines() if "warning: no control socket" in line]


@pytest.mark.parametrize("command", [("status",), ("hint",), *CHANGES], ids=lambda command: command[0])
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


def test_everybody_reaches_it_whatever_the_umask(host):
    with Daemon(host):
        assert Path(PATH).stat().st_mode & 0o777 == 0o666
    assert not Path(PATH).exists()
    process = host.start("sh", "-c", f"umask 077; rmdir /run/riptide; exec {RIPTIDED}")
    wait_until(Path(PATH).exists, "the socket")
    assert Path(PATH).stat().st_mode & 0o777 == 0o666
    host.run(*AS_NOBODY, RIPTIDE, "status")
    process.terminate()
    assert process.wait(DEADLINE_S) == 0


def answers_as(pid):
    with contextlib.suppress(ConnectionRefusedError):
        return status()["pid"] == pid


def test_socket_of_a_dead_daemon_is_replaced(host):
    with Daemon(host) as daemon:
        wait_until(Path(PATH).exists, "the socket")
        daemon.kill()
    assert Path(PATH).is_socket()
    with Daemon(host) as daemon:
        wait_until(lambda: answers_as(daemon.pid), "the new one")
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
