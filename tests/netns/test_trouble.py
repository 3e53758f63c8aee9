# SPDX-License-Identifier: MIT
"""Trouble on a host: the daemon is stopped, files or disk space run out, a place is missing. A line
reports it, and the daemon continues if it can."""

import contextlib
import os
import re
import resource

import pytest
from cgroups import mounted
from control import riptide_json, wait_rounds, whole
from netns import (BY_ROUTES, RIPTIDE, RIPTIDED, Daemon, routes, rules, wait_until, wait_window, windows)

WARNING = {"--state": "warning: state not saved: ", "--metrics": "warning: metrics not saved: "}
AGAIN = {"--state": "state saved again", "--metrics": "metrics saved again"}


@contextlib.contextmanager
def full_disk(directory):
    """A file system of one page, which is in use."""
    with mounted(directory, "tmpfs", "size=4k"):
        (directory / "filler").write_bytes(bytes(4096))
        yield


@contextlib.contextmanager
def missing(directory):
    directory.rmdir()
    try:
        yield
    finally:
        directory.mkdir(exist_ok=True)


@pytest.mark.parametrize("option", WARNING)
@pytest.mark.parametrize("trouble, reason", [
    (full_disk, "No space left on device"),
    (missing, "No such file or directory"),
    (lambda directory: mounted(directory, "tmpfs", "ro"), "Read-only file system"),
], ids=["full disk", "missing directory", "read-only"])
def test_file_that_cannot_be_written_is_said_once_and_so_is_its_end(net, tmp_path, option, trouble, reason):
    directory = tmp_path / "place"
    directory.mkdir()
    path = directory / "file"
    begin, again = f"{WARNING[option]}{path}: ", AGAIN[option]
    net.learned("203.0.113.1", 30)
    with contextlib.ExitStack() as stack:
        stack.enter_context(trouble(directory))
        with Daemon(net.host, option, path, interval="10ms") as daemon:
            wait_until(lambda: daemon.lines(begin), "a line about the file")
            for n in (1, 2):
                net.learned(f"203.0.113.{n}", 30)
                wait_window(net.host, f"203.0.113.{n}")
            (line,) = daemon.lines(begin)
            assert re.search(rf"{begin}([a-z ]+: )?{reason}(;|$)", line)
            if option == "--state":
                answer = riptide_json(net.host, "resume")
                assert not answer["is_kept"] and reason in answer["reason"]
                for command in ("status", "pause", "resume"):
                    lines = net.host.run(RIPTIDE, command).stdout.splitlines()
                    assert all(len(line) <= 80 or str(path) in line for line in lines)
                assert f"  state        not saved: {answer['reason']}\n" in whole(net.host.run(RIPTIDE).stdout)
                assert f"resumed; a restart may pause again: {answer['reason']}" == " ".join(
                    net.host.run(RIPTIDE, "resume").stdout.split())
                net.host.run(RIPTIDE, "hint", "203.0.113.1", "--max", "12")
                assert f"a restart may bring it back: {answer['reason']}" in " ".join(
                    net.host.run(RIPTIDE, "hint", "203.0.113.1", "--remove").stdout.split())
                found = {row["check"]: row for row in riptide_json(net.host, "doctor")["findings"]}
                assert answer["reason"] in found["state"]["what"] and found["state"]["kind"] == "advice"
            stack.close()
            if option == "--state":
                assert riptide_json(net.host, "resume")["is_kept"] and path.exists()  # before the answer
                assert "  state  " not in net.host.run(RIPTIDE).stdout
            else:
                wait_until(path.exists, "a file")
                wait_until(lambda: daemon.lines(again), "the line")
            daemon.stop()
            assert len(daemon.lines(again)) == 1
        assert not rules(net.host) and not routes(net.host)
    assert {file.name for file in directory.iterdir()} == ({"file", "file.history"} if option == "--state" else set())


@pytest.mark.parametrize("option", WARNING)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/none")], ids=["fifo", "symlink"])
def test_nothing_but_files_is_replaced(net, tmp_path, make, option):
    path = tmp_path / "state"
    make(path)
    def found():  # without the time of the last access
        return path.lstat().st_mode, path.lstat().st_ino, path.lstat().st_mtime_ns
    before = found()
    with Daemon(net.host, option, path) as daemon:
        said = f"{WARNING[option]}{path}: exists and is no regular file"
        wait_until(lambda: daemon.lines(said), "a line about the file")
        daemon.stop()
        assert len(daemon.lines(said)) == 1
    assert found() == before
    assert os.listdir(tmp_path) == ["state"]


# Reports that it was called.
FSYNC = """
    #include <unistd.h>
    int fsync(int fd)
    {
        (void)fd;
        return write(STDERR_FILENO, "fsync\\n", 6) == 6 ? 0 : -1;
    }
"""


def test_rounds_do_not_wait_for_a_disk_and_the_end_does(net, tmp_path, preload):
    path = tmp_path / "state"
    with Daemon.learned(net, "203.0.113.1", "--state", path, "--metrics", tmp_path / "metrics",
                        command=("env", preload(FSYNC), RIPTIDED)) as daemon:
        wait_until(path.exists, "a state")
        assert "fsync" not in daemon.said()
        daemon.stop()
        assert daemon.said().count("fsync") == 2, "the file and its directory"


@pytest.mark.parametrize("command", [
    ("unshare", "--mount", "sh", "-c",
     "mount -o remount,bind,ro /run && ! touch /run/x 2>/dev/null && exec \"$@\"", "sh", RIPTIDED),
    ("sh", "-c", 'exec "$@" 2>/dev/full', "sh", RIPTIDED),
], ids=["read-only /run", "log on a full disk"])
def test_what_cannot_be_written_does_no_harm(net, command):
    with Daemon.learned(net, "203.0.113.1", command=command):
        pass


@contextlib.contextmanager
def many_routes_change(host):
    """Makes many routes, whose link changes all the time during the `with`."""
    host.batch("link add idle0 type veth peer name idle1\nlink set idle1 up\n"
               "addr add 10.9.9.1/24 dev idle0\nlink set idle0 up\n"
               + "".join(f"route add 20.{n >> 16}.{n >> 8 & 255}.{n & 255} dev idle0\n" for n in range(140_000)))
    with host.running("sh", "-c", "while ip link set idle0 mtu 1400 && ip link set idle0 mtu 1500; do :; done"):
        yield


def test_rounds_go_on_while_many_routes_change_and_the_rules_return(net):
    net.learned("203.0.113.1", 30)
    changes = contextlib.ExitStack()
    changes.enter_context(many_routes_change(net.host))
    with changes, Daemon(net.host, *BY_ROUTES, interval="200ms", has_rules=False) as daemon:
        wait_rounds(7)
        changes.close()
        wait_until(lambda: len(rules(net.host)) == 2 and windows(net.host), "rules and routes")
        assert daemon.is_running()


@pytest.mark.parametrize("command", [(RIPTIDE, "doctor"), (RIPTIDED, *BY_ROUTES, "--once", "--interval", "200ms")],
                         ids=["doctor", "once"])
def test_a_command_ends_while_many_routes_change(net, command):
    """--once ends with its rules in place."""
    with many_routes_change(net.host):
        net.host.run(*command)
        assert len(rules(net.host)) == (2 if "--once" in command else 0)


def test_files_that_run_out_later_do_not_stop_it(net):
    connection = net.learned("203.0.113.1", 20)
    with Daemon(net.host) as daemon:
        wait_window(net.host, "203.0.113.1")
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (4, 4))  # poll(2) needs that many
        connection.grow(60)
        wait_until(lambda: windows(net.host)["203.0.113.1"] > 40, "a new window")
        daemon.stop()
    assert windows(net.host) == {}
