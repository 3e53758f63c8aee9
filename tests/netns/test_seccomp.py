# SPDX-License-Identifier: MIT
"""The system calls that riptided has given up, tried from within it: see forbidden.c."""

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest
from netns import BUILD, DEADLINE_S, MOUNTED, RIPTIDED, Daemon, wait_until, wait_window

pytestmark = pytest.mark.skipif(not (BUILD / "cli/seccomp/seccomp_filter.h").exists(),
                                reason="built without, as sanitizers need it")

# A kernel that has no filters, or somebody's filter that forbids them.
REFUSING = """
    #include <dlfcn.h>
    #include <errno.h>
    #include <stdarg.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    long syscall(long number, ...)
    {
        long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
        va_list more;
        va_start(more, number);
        long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long);
        long d = va_arg(more, long), e = va_arg(more, long);
        va_end(more);
        return number == SYS_seccomp ? (errno = EINVAL, -1) : next(number, a, b, c, d, e);
    }
    int prctl(int option, ...)
    {
        va_list more;
        va_start(more, option);
        unsigned long value = va_arg(more, unsigned long);
        va_end(more);
        return option == PR_SET_SECCOMP ? (errno = EINVAL, -1)
                                        : (int)syscall(SYS_prctl, (long)option, value, 0L, 0L, 0L);
    }
"""

# What the C library does where it finds memory overwritten.
ABORTING = """
    #include <signal.h>
    #include <stdlib.h>
    static void on_signal(int number)
    {
        (void)number;
        abort();
    }
    __attribute__((constructor)) static void begin(void)
    {
        signal(SIGUSR1, on_signal);
    }
"""


def is_filtered(pid):
    return "Seccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text()


def attempts(path, when):
    """{attempt: errno} of the latest time."""
    found = {}
    for line in path.read_text().splitlines():
        begin, _, rest = line.partition(" ")
        if begin == when and rest != "over":
            name, _, code = rest.rpartition(" ")
            found[name] = int(code)
    return found


@pytest.fixture
def intruder(tmp_path):
    """The words that start riptided with somebody else's code in it, and where that code reports."""
    report = tmp_path / "report"
    return report, ("env", f"LD_PRELOAD={MOUNTED}/tests/netns/forbidden.so", f"FORBIDDEN={report}",
                    RIPTIDED)


def try_again(daemon, report):
    """Has the intruder try everything once more."""
    n = report.read_text().count("running over\n")
    os.kill(daemon.pid, signal.SIGUSR1)
    wait_until(lambda: report.read_text().count("running over\n") > n, "all attempts")


def test_what_it_does_not_need_is_refused(net, intruder):
    report, command = intruder
    with Daemon(net.host, command=command) as daemon:
        wait_until(lambda: is_filtered(daemon.pid), "the filter")
        try_again(daemon, report)
        before, after = attempts(report, "starting"), attempts(report, "running")
        assert before.keys() == after.keys() and len(after) > 30
        assert {name for name, code in before.items() if code == errno.EPERM} == set()
        assert {name for name, code in after.items() if code != errno.EPERM} == set()
        net.learned("203.0.113.1", 30)
        wait_window(net.host, "203.0.113.1")


@pytest.mark.skipif(not Path("/proc/self/loginuid").exists(), reason="a kernel without audit")
def test_what_is_refused_is_in_the_kernels_log(net, intruder):
    report, command = intruder
    with open("/dev/kmsg", "rb", buffering=0) as log, \
            Daemon(net.host, command=command) as daemon:
        os.lseek(log.fileno(), 0, os.SEEK_END)
        os.set_blocking(log.fileno(), False)
        wait_until(lambda: is_filtered(daemon.pid), "the filter")

        def is_said():
            """The kernel leaves lines out where there are many: so more than once."""
            try_again(daemon, report)
            lines = iter(log.read, None)
            return any(b"type=1326" in line and b'comm="riptided"' in line for line in lines)
        wait_until(is_said, "a record of type 1326 (SECCOMP)")


def test_it_can_still_abort(net, preload):
    process = net.host.start("env", preload(ABORTING), RIPTIDED, stderr=subprocess.DEVNULL)
    wait_until(lambda: is_filtered(process.pid), "the filter")
    process.send_signal(signal.SIGUSR1)
    assert process.wait(DEADLINE_S) == -signal.SIGABRT


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--user", "nobody")], ids=" ".join)
def test_it_is_on_by_default(net, options):
    process = net.host.start(RIPTIDED, *options, stderr=subprocess.DEVNULL)
    wait_until(lambda: is_filtered(process.pid), "the filter")


def test_where_it_cannot_be_had_it_is_said_and_the_daemon_goes_on(net, preload):
    with Daemon(net.host, command=("env", preload(REFUSING), RIPTIDED)) as daemon:
        net.learned("203.0.113.1", 30)
        wait_window(net.host, "203.0.113.1")
        assert not is_filtered(daemon.pid)
        assert "warning: system calls are not filtered: Invalid argument\n" in daemon.said()


