# SPDX-License-Identifier: MIT
"""What a host does to a daemon: it stops it, runs out of files, of disk, of room for destinations."""

import resource
import signal
import subprocess
import time

from netns import RIPTIDE, RIPTIDED, Daemon, snapshot, wait_until, wait_window, windows

TTL_S = 0.3


def test_after_a_stop_of_ten_ttls_old_windows_go_and_new_ones_come(net):
    before = snapshot(net.host)
    gone = net.learned("203.0.113.1", 30)
    kept = net.learned("203.0.113.2", 20)
    with Daemon(net.host, "--ttl", f"{int(TTL_S * 1000)}ms", "--history-weight", "0") as daemon:
        wait_window(net.host, "203.0.113.1")
        wait_window(net.host, "203.0.113.2")
        daemon.process.send_signal(signal.SIGSTOP)
        net.reset(gone)
        kept.grow(60)
        time.sleep(10 * TTL_S)  # time must pass; nothing can be waited for
        daemon.process.send_signal(signal.SIGCONT)
        wait_until(lambda: windows(net.host) == {"203.0.113.2": kept.cwnd()}, "the new window alone")
        daemon.stop()
    assert snapshot(net.host) == before


def test_without_files_it_does_not_start_and_says_so(net):
    before = snapshot(net.host)
    net.learned("203.0.113.1", 20)
    for limit in range(3, 32):
        done = subprocess.run(
            ["ip", "netns", "exec", net.host.name, "prlimit", f"--nofile={limit}", RIPTIDED, "--once",
             "--policy", "paper"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, timeout=60, check=False)
        if done.returncode == 0:
            break
        assert snapshot(net.host) == before
        assert limit < 5 or "riptided" not in done.stderr or "Too many open files" in done.stderr
    assert limit > 5 and windows(net.host) == {"203.0.113.1": 20}
    net.host.run(RIPTIDE, "flush")


def test_files_that_run_out_later_do_not_stop_it(net):
    connection = net.learned("203.0.113.1", 20)
    with Daemon(net.host, "--history-weight", "0") as daemon:
        wait_window(net.host, "203.0.113.1")
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (4, 4))  # poll(2) asks for as many
        connection.grow(60)
        wait_until(lambda: windows(net.host) == {"203.0.113.1": connection.cwnd()}, "a new window")
        daemon.stop()
    assert windows(net.host) == {}
