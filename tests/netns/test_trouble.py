# SPDX-License-Identifier: MIT
"""riptided where something is missing: one line that says what, and it goes on where it can."""

import contextlib
import os
import re
import subprocess

import pytest
from netns import (AS_NOBODY, RIPTIDED, WITHOUT_NET_ADMIN, Daemon, routes, rules, wait_until,
                   wait_window, windows)


def lines_about(daemon, text):
    return [line for line in daemon.said().splitlines() if text in line]


@contextlib.contextmanager
def full_disk(directory):
    """A file system of one page, which is taken."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "full", directory], check=True)
    try:
        (directory / "filler").write_bytes(bytes(4096))
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


@contextlib.contextmanager
def read_only(directory):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "read-only", directory], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


@contextlib.contextmanager
def missing(directory):
    directory.rmdir()
    try:
        yield
    finally:
        directory.mkdir(exist_ok=True)


@pytest.mark.parametrize("trouble, reason", [
    (full_disk, "No space left on device"), (read_only, "Read-only file system"),
    (missing, "No such file or directory")], ids=["full disk", "read-only", "missing directory"])
def test_state_that_cannot_be_kept_is_said_once(net, tmp_path, trouble, reason):
    directory = tmp_path / "state"
    directory.mkdir()
    state = directory / "file"
    net.learned("203.0.113.1", 30)
    with trouble(directory):
        with Daemon(net.host, "--state", state) as daemon:
            wait_window(net.host, "203.0.113.1")
            wait_until(lambda: lines_about(daemon, "not kept"), "a line about the state")
            net.learned("203.0.113.2", 30)
            wait_window(net.host, "203.0.113.2")
            daemon.stop()
            (line,) = lines_about(daemon, "not kept")
        assert re.fullmatch(rf"riptided: warning: state not kept: {state}: [a-z ]+: {reason}", line)
        assert not rules(net.host) and not routes(net.host)
        assert not list(directory.glob("file*")) if directory.exists() else True


# Says that it was called.
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
    net.learned("203.0.113.1", 30)
    command = ("env", preload(FSYNC), RIPTIDED)
    with Daemon(net.host, "--state", path, "--metrics", tmp_path / "metrics",
                command=command) as daemon:
        wait_window(net.host, "203.0.113.1")
        wait_until(path.exists, "a state")
        assert "fsync" not in daemon.said()
        daemon.stop()
        assert daemon.said().count("fsync") == 2, "the file and its directory"


def test_state_that_can_be_kept_again_is_said(net, tmp_path):
    directory = tmp_path / "state"
    with Daemon(net.host, "--state", directory / "file") as daemon:
        wait_until(lambda: lines_about(daemon, "not kept"), "a line about the state")
        directory.mkdir()
        daemon.stop()
        assert lines_about(daemon, f"state kept again: {directory}/file")
    assert (directory / "file").stat().st_size > 0


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/none")],
                         ids=["fifo", "symlink"])
def test_state_replaces_nothing_but_files(net, tmp_path, make):
    path = tmp_path / "state"
    make(path)
    before = path.lstat()
    with Daemon(net.host, "--state", path) as daemon:
        wait_until(lambda: lines_about(daemon, "not kept"), "a line about the state")
        daemon.stop()
        (line,) = lines_about(daemon, "not kept")
    assert f"{path}: exists and is no regular file" in line
    assert path.lstat() == before
    assert os.listdir(tmp_path) == ["state"]


def test_state_of_somebody_else_names_the_reason(net, tmp_path):
    tmp_path.chmod(0o755)
    with Daemon(net.host, "--state", tmp_path / "file", "--user", "nobody") as daemon:
        wait_until(lambda: lines_about(daemon, "Permission denied"), "a line about the state")


def test_read_only_run_does_no_harm(net):
    """In a mount namespace of its own, where nothing can be written below /run."""
    shell = "mount -o remount,bind,ro /run && ! touch /run/x 2>/dev/null && exec \"$@\""
    command = ("unshare", "--mount", "sh", "-c", shell, "sh", RIPTIDED)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, command=command):
        wait_window(net.host, "203.0.113.1")


def test_second_daemon_names_the_first_and_leaves_it_alone(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host) as daemon:
        wait_window(net.host, "203.0.113.1")
        before = windows(net.host)
        done = net.host.run(RIPTIDED, check=False)
        assert done.returncode == 1
        assert done.stderr == (f"riptided: error: cannot start: process {daemon.pid} already "
                               "manages this network namespace; stop it first\n")
        assert windows(net.host) == before


@pytest.mark.parametrize("prefix", [AS_NOBODY, WITHOUT_NET_ADMIN], ids=["nobody", "root without"])
@pytest.mark.parametrize("options", [(), ("--once",), ("--flush",)], ids=" ".join)
def test_missing_privilege_is_one_line(host, prefix, options):
    done = host.run(*prefix, RIPTIDED, *options, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "needs CAP_NET_ADMIN: run it as root, or" in done.stderr


def test_log_on_a_full_disk_does_no_harm(net):
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, command=("sh", "-c", 'exec "$@" 2>/dev/full', "sh", RIPTIDED)):
        wait_window(net.host, "203.0.113.1")
