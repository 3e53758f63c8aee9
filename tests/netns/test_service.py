# SPDX-License-Identifier: MIT
"""riptided under a service manager: its messages to it, its unit, its log."""

import functools
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

import pytest
from control import many, status, write_state
from netns import (AS_NOBODY, BUILD, BY_ROUTES, DEADLINE_S, IS_SANITIZED, RIPTIDE, RIPTIDED, Closing, Daemon,
                   run, wait_until, wait_window, windows)

WATCHDOG_S = 0.2


class Manager(Closing):
    """The service manager's end: a socket whose name is a path, or abstract."""

    def __init__(self, host, name, **environment):
        self.messages = []
        with host.entered():  # as an abstract name is per namespace
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.socket.setblocking(False)
        environment["NOTIFY_SOCKET"] = name
        self.command = ["env", *(f"{key}={value}" for key, value in environment.items()), RIPTIDED]

    def close(self):
        self.socket.close()

    def hear(self):
        """All messages until now, as lines."""
        while True:
            try:
                self.messages += self.socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.messages

    def wait(self, line):
        wait_until(lambda: line in self.hear(), f"{line!r} among {self.messages}")

    def wait_pets(self, n):
        """Waits for n more watchdog messages."""
        heard = self.hear().count("WATCHDOG=1")
        wait_until(lambda: self.hear().count("WATCHDOG=1") >= heard + n, f"{n} signs of life")

    def is_silent(self, duration_s):
        """Whether no message arrives for that time."""
        heard = len(self.hear())
        time.sleep(duration_s)
        return len(self.hear()) == heard


def goes_on(net, address):
    net.learned(address, 30)
    wait_window(net.host, address)


@pytest.fixture
def managed(net, tmp_path):
    """A manager whose socket is a path, with a watchdog."""
    with Manager(net.host, str(tmp_path / "notify"), WATCHDOG_USEC=int(WATCHDOG_S * 1e6)) as manager:
        yield manager


@pytest.mark.parametrize("name", ["{}/notify", "@{}/notify"], ids=["path", "abstract"])
def test_ready_is_said_once_when_the_first_routes_are_there_and_stopping_last(net, tmp_path, name):
    for address in ("203.0.113.1", "203.0.113.1", "2001:db8::1"):
        net.learned(address, 30)
    with Manager(net.host, name.format(tmp_path)) as manager:
        with Daemon(net.host, command=manager.command):
            manager.wait("READY=1")
            assert windows(net.host).keys() == {"203.0.113.1", "2001:db8::1"}
            goes_on(net, "203.0.113.2")
        assert manager.hear().count("READY=1") == 1
        assert manager.messages[-1] == "STOPPING=1"


@pytest.mark.parametrize("interval, us", [("50ms", 250_000), ("1h", 3_600_200_000)])
def test_watchdog_is_notified_each_round_and_its_timeout_follows_the_interval(net, managed, interval, us):
    with Daemon(net.host, command=managed.command, interval=interval):
        managed.wait(f"WATCHDOG_USEC={us}")
        assert interval == "1h" or managed.wait_pets(2) is None


# The kernel's answers never arrive: the loop runs, but no round ends.
STUCK = """
    #include <stdlib.h>
    #include <sys/epoll.h>
    #include <sys/stat.h>
    int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
    {
        struct stat flag;
        return stat(getenv("STUCK"), &flag) == 0 ? 0 : epoll_pwait(fd, events, n, timeout, NULL);
    }
"""


def test_watchdog_hears_nothing_of_a_stopped_daemon_or_a_round_that_does_not_end(net, managed, tmp_path, preload):
    """Although its loop runs and handles signals."""
    flag = tmp_path / "stuck"
    command = [managed.command[0], preload(STUCK), f"STUCK={flag}", *managed.command[1:]]
    with Daemon(net.host, command=command) as daemon:
        managed.wait_pets(1)
        with daemon.stopped():
            wait_until(lambda: managed.is_silent(WATCHDOG_S), "the last words from before")
            assert managed.is_silent(2 * WATCHDOG_S)
        managed.wait_pets(1)
        flag.touch()
        wait_until(lambda: managed.is_silent(2 * WATCHDOG_S), "no sign of life")
        assert status()["health"]  # the loop turns
        flag.unlink()
        managed.wait_pets(1)


def test_watchdog_of_another_process_is_not_petted(net, managed):
    managed.command[1:1] = ["WATCHDOG_PID=1"]
    with Daemon(net.host, command=managed.command):
        managed.wait("READY=1")
        assert managed.is_silent(WATCHDOG_S)
    assert "WATCHDOG=1" not in managed.hear()


def test_manager_that_is_gone_or_never_reads_does_no_harm(net, managed):
    managed.command.insert(-1, "WATCHDOG_USEC=2000")  # the manager's queue is full soon
    with Daemon(net.host, command=managed.command):
        goes_on(net, "203.0.113.1")
        managed.close()
        goes_on(net, "203.0.113.2")


# As systemd does it, by libseccomp: any call but the named ones fails with EPERM.
FILTERED = """
import ctypes, os, sys
calls, command = sys.argv[1].split(","), sys.argv[2:]
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
calls_of = ctypes.c_void_p(library.seccomp_init(0x00050001))
for call in calls:
    number = library.seccomp_syscall_resolve_name(call.encode())
    assert number < 0 or library.seccomp_rule_add(calls_of, 0x7fff0000, number, 0) == 0, call
assert library.seccomp_load(calls_of) == 0
os.execv(command[0], command)
"""


@functools.lru_cache(maxsize=None)
def calls_of(name):
    """The system calls of a group (@...), or the one of that name."""
    if not name.startswith("@"):
        return {name}
    group = run("systemd-analyze", "syscall-filter", name).stdout.splitlines()
    words = [line.strip() for line in group if line.startswith("    ") and not line.strip().startswith("#")]
    return set().union(*map(calls_of, words))


def values(key):
    """Those of all lines with the key."""
    return re.findall(rf"^{key}=(.*)$", (BUILD / "cli/riptided.service").read_text(), re.MULTILINE)


def as_unit(*command):
    """The command with these rights and no other."""
    capabilities = " ".join(values("AmbientCapabilities")).split()
    kept = ",".join(["-all", *(f"+{name[4:].lower()}" for name in capabilities)])
    allowed = set()
    for line in values("SystemCallFilter"):
        calls = set().union(*map(calls_of, line.lstrip("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return (*AS_NOBODY[:-1], "--inh-caps", kept, "--ambient-caps", kept, "--bounding-set", kept,
            "--no-new-privs", "--", sys.executable, "-IBc", FILTERED, ",".join(sorted(allowed)),
            *map(str, command))


needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")


@pytest.fixture(params=["riptided.service"])
def unit(tmp_path, request):
    """The unit, with the paths of the built programs."""
    text = (BUILD / "cli" / request.param).read_text()
    path = tmp_path / request.param
    path.write_text(re.sub(r"=/\S+/riptided\b", f"={RIPTIDED}", text))
    path.chmod(0o644)  # whatever the umask
    return path


@needs_systemd
@pytest.mark.parametrize("unit", ["riptided.service", "riptided@.service"], indirect=True)
def test_unit_is_what_systemd_understands_and_hardened(unit):
    assert run("systemd-analyze", "verify", "--man=no", unit).stderr == ""
    said = run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit).stdout
    score = float(re.search(r"exposure level .*: ([\d.]+)", said).group(1))
    print(f"systemd-analyze security: {score}")
    assert score <= 1.5


@needs_systemd
@pytest.mark.skipif(IS_SANITIZED, reason="the search for leaks needs more rights")
@pytest.mark.parametrize("apply", ["routes", "auto"])
def test_rights_of_the_unit_are_enough(net, request, apply):
    """Its capabilities and system calls; a kernel without windows by the program has the first alone."""
    options = ("--cgroup", request.getfixturevalue("open_cgroup")) if apply == "auto" else ()
    with Daemon.learned(net, "203.0.113.1", "--apply", apply, "--control", "none", *options,
                        command=as_unit(RIPTIDED)) as daemon:
        assert "cannot" not in daemon.said()
        assert ("--apply auto chose both: " in daemon.said()) == (apply == "auto")
        daemon.stop()
    assert not windows(net.host)


def test_unit_stops_with_a_flush_and_has_two_capabilities(unit):
    lines = unit.read_text().splitlines()
    assert {"Type=notify", f"ExecStopPost={RIPTIDED} --flush", "AmbientCapabilities=CAP_NET_ADMIN CAP_BPF",
            "CapabilityBoundingSet=CAP_NET_ADMIN CAP_BPF",
            "RuntimeDirectory=riptide", "StateDirectory=riptide"} <= set(lines)
    # TCP follows a change late if riptided does: so it runs before others, is not the first to
    # be killed, and if it hangs it is ended within seconds, and its routes removed.
    values = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    assert int(values["CPUWeight"]) > 100 and "CPUQuota" not in values
    assert int(values["OOMScoreAdjust"]) < 0
    assert re.fullmatch(r"([1-9]|10)s", values["WatchdogSec"])


def test_an_instance_has_its_own_namespace_and_files():
    options = "--config /etc/riptide/%i.conf --control /run/riptide-%i/control"
    lines = (BUILD / "cli" / "riptided@.service").read_text().splitlines()
    assert {"NetworkNamespacePath=/run/netns/%i", "RuntimeDirectory=riptide-%i",
            "StateDirectory=riptide-%i"} <= set(lines)
    assert all(line.endswith(f" {options}") for line in lines if re.match(r"Exec\w+=/\S+/riptided\b", line))


def test_state_is_kept_where_the_unit_says_unless_the_file_says_more(net, tmp_path):
    """In its StateDirectory=, as systemd passes it to the process."""
    other = tmp_path / "other"
    command = ("env", f"STATE_DIRECTORY={tmp_path}/unit:/nowhere", RIPTIDED)
    (tmp_path / "unit").mkdir()
    for text, kept in (("", tmp_path / "unit/state"), (f"state = {other}\n", other),
                       ("state = none\n", None)):
        with Daemon(net.host, command=command, config=text):
            pass
        found = {path for path in (tmp_path / "unit/state", other) if path.exists()}
        assert found == ({kept} if kept else set())
        for path in found:
            path.unlink()


# Its log: levels, fields of the journal, the length of lines.

STORM = 300


def said_to(host, journal, *options):
    """riptided's output to a file, which JOURNAL_STREAM names or not."""
    with tempfile.TemporaryFile("a+") as log:
        stat = os.fstat(log.fileno())
        inode = stat.st_ino if journal else stat.st_ino + 1
        host.start("env", f"JOURNAL_STREAM={stat.st_dev}:{inode}", RIPTIDED, "--once", "--policy",
                   "paper", *options, stderr=log).wait(DEADLINE_S)
        log.seek(0)
        return log.read().splitlines()


def test_others_than_the_journal_get_names_of_levels(net):
    """As where a container has inherited the journal's stream, and not its socket."""
    net.learned("203.0.113.1", 30)
    for is_journal in (False, True):
        lines = said_to(net.host, is_journal)
        assert all(line.startswith("riptided: ") for line in lines), lines
        assert any(line.startswith("riptided: warning: ") for line in lines)


def test_routes_are_named_by_debug_and_a_dry_run_alone(net):
    write_state("/run/state", many(STORM))
    options = (*BY_ROUTES, "--state", "/run/state")
    for level, n_lines in (("info", 0), ("debug", STORM)):
        with Daemon(net.host, *options, "--log-level", level) as daemon:
            wait_until(lambda: status()["routes"] == STORM, "all routes")
            daemon.stop()
            assert len(daemon.lines(" initcwnd ")) == n_lines
    said = net.host.run(RIPTIDED, *options, "--dry-run", "--once", "--policy", "paper").stderr
    assert said.count(" initcwnd ") == STORM


@pytest.fixture
def journal():
    """The journal's socket; an earlier one of this mount namespace is hidden."""
    path = Path("/run/systemd/journal")
    path.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        (path / "socket").unlink(missing_ok=True)
        receiver.bind(str(path / "socket"))
        receiver.settimeout(DEADLINE_S)
        yield receiver
    (path / "socket").unlink()


def test_journal_gets_fields(net, journal):
    net.learned("203.0.113.1", 30)
    assert said_to(net.host, True, "--log-level", "debug", "--state", "/none/state") == []
    lines = []
    while not lines or "stay, unmaintained" not in lines[-1]["MESSAGE"]:
        lines.append(dict(line.split("=", 1) for line in journal.recv(4096).decode().splitlines()))
    assert {line["SYSLOG_IDENTIFIER"] for line in lines} == {"riptided"}
    (window,) = [line for line in lines if line.get("RIPTIDE_EVENT") == "applied"]
    assert (window["RIPTIDE_DESTINATION"], window["PRIORITY"]) == ("203.0.113.1", "7")
    assert f": initcwnd {window['RIPTIDE_WINDOW']} " in window["MESSAGE"]
    (unsaved,) = [line for line in lines if line.get("RIPTIDE_EVENT") == "not saved"]
    assert unsaved["RIPTIDE_REASON"] in unsaved["MESSAGE"] and "No such file" in unsaved["RIPTIDE_REASON"]
    (start,) = [line for line in lines if line.get("RIPTIDE_EVENT") == "start"]
    assert start["MESSAGE"].endswith(": windows by routes to all destinations, policy paper, 0 % held out, hints: 0")
    to_journal = "sh", "-c", 'JOURNAL_STREAM=$(stat -Lc %d:%i /dev/fd/2) exec "$@"', "sh", RIPTIDED
    with Daemon(net.host, command=to_journal):
        net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--max", "20")
        while b"RIPTIDE_EVENT=hint\nRIPTIDE_DESTINATION=203.0.113.0/24\nRIPTIDE_WINDOW=20" not in journal.recv(4096):
            pass


def test_no_line_is_wider_than_159_columns(net, tmp_path):
    path = tmp_path / ("x" * 60) / "state"
    done = net.host.run(RIPTIDED, "--once", "--policy", "paper", "--state", path, check=False)
    assert max(map(len, done.stderr.splitlines())) <= 159 and "\n  " in done.stderr
