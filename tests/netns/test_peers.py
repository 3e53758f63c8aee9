# SPDX-License-Identifier: MIT
"""Forgery: of packets, of the claim of a namespace, of messages in the kernel's name."""

import itertools
import socket
import struct
import sys
from pathlib import Path

import pytest
from control import one_line
from netns import RIPTIDED, Daemon, observe, rules, wait_until, wait_window, windows
from programs import Driver

PEER, NEIGHBOUR = "203.0.113.1", "203.0.113.2"
IP_TRANSPARENT = 19  # with any source address


def test_a_forged_source_teaches_nothing(net):
    """Its handshake is never complete, so there is no connection to learn from."""
    forged = "192.0.2.66"
    cwnd = net.learned(PEER, 20).cwnd()
    with net.host.server() as listener, net.world.socket(socket.AF_INET) as forger:
        forger.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        forger.bind((forged, 0))  # where answers reach nobody
        forger.setblocking(False)
        forger.connect_ex(("10.0.0.10", listener.getsockname()[1]))
        wait_until(lambda: forged in net.host.run("ss", "-tnH", "state", "syn-recv").stdout,
                   "a connection half open")
        with Daemon(net.host):
            assert wait_window(net.host, PEER) == cwnd
            assert observe(net.host).keys() == windows(net.host).keys() == {PEER}


# A user, root of a namespace of its own, takes the ports of a PID and asks for the groups, then that PID
# starts a command.
SQUAT = """
import ctypes, os, resource, select, socket, sys
n, groups, pid, done = int(sys.argv[1]), os.stat("/proc/self/ns/pid").st_ino, os.getpid(), os.pipe()
if os.fork() == 0:
    life = os.pidfd_open(pid)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * n, 2 * n))
    os.setgid(65534), os.setgroups([]), os.setuid(65534)
    ctypes.CDLL(None).unshare(0x10000000)  # refused in a chroot, as on a bare Debian: then without the namespace
    taken = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_USERSOCK) for _ in range(n)]
    for i, one in enumerate(taken):
        one.bind((i << 22 | pid, 0))
        try:
            one.bind((i << 22 | pid, groups))
            os.write(done[1], b"claimed")
        except PermissionError:
            pass
    os.write(done[1], b"taken")
    select.select([life], [], [])
    os._exit(0)
os.close(done[1])
assert os.read(done[0], 9) == b"taken"
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("n_taken, holder", [(20, "process {}"), (1024, "a process that cannot be seen from here")],
                         ids=["some ports", "all ports"])
def test_no_user_without_privilege_holds_or_hinders_a_claim(net, n_taken, holder):
    with Daemon.learned(net, PEER, command=(sys.executable, "-IBc", SQUAT, n_taken, RIPTIDED)) as daemon:
        said = one_line(net.host.run(RIPTIDED, "--once", check=False))
        assert f"{holder.format(daemon.pid)} already manages this network namespace" in said
        daemon.kill()
        assert "removed: rules 2, routes 1\n" in net.host.run(RIPTIDED, "--flush").stderr
        assert not rules(net.host)


def test_who_listens_to_all_groups_of_netlink_holds_nothing(net):
    with net.host.entered(), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_USERSOCK) as monitor:
        monitor.bind((0, 0xffffffff))
        with Daemon(net.host):
            assert len(rules(net.host)) == 2


CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--propagation", "private",
             "sh", "-c", 'mkdir -p /run/riptide && mount -t tmpfs none /run/riptide && exec "$0" "$@"')


@pytest.mark.parametrize("first, second", [
    (lambda net: Driver(net.host, prefix=CONTAINER), ()), (lambda net: Daemon(net.host), CONTAINER),
], ids=["first", "second"])
def test_a_container_that_shares_the_network_alone_has_the_same_claim(net, first, second):
    """Its PIDs are others, and it has no /run/riptide of the host's."""
    with first(net):
        before = rules(net.host)
        said = one_line(net.host.run(*second, RIPTIDED, "--once", check=False))
        assert "a process that cannot be seen from here already manages this network namespace" in said
        done = net.host.run(*second, RIPTIDED, "--flush")
        assert "nothing removed: a process that cannot be seen from here " in done.stderr
        assert len(before) == 2 and rules(net.host) == before


def forge():
    """To each netlink socket of this namespace: the end of a dump, an error, a deleted rule and a
    deleted route, an overrun. Yields what becomes of each."""
    for line in Path("/proc/thread-self/net/netlink").read_text().splitlines()[1:]:
        _, bus, port, *_ = line.split()
        if int(bus) not in (0, 4) or port == "0":
            continue
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, int(bus)) as sender:
            for kind, sequence in itertools.product((3, 2, 33, 25, 4), range(50)):
                message = struct.pack("=IHHII", 36, kind, 0, sequence, int(port)) + bytes(20)
                try:
                    sender.sendto(message, (int(port), 0))
                    yield "taken"
                except ConnectionRefusedError:
                    yield "refused"


def test_what_another_process_says_in_the_kernels_name_changes_nothing(net, cgroup):
    """Root of a namespace can write to any netlink socket there, except ours."""
    with Daemon.learned(net, {PEER: 20}, "--apply", "both", "--cgroup", cgroup, "--holdout-percent", 1) as daemon:
        before = windows(net.host), rules(net.host)
        with net.host.entered():
            assert set(forge()) == {"refused"}
        net.learned(NEIGHBOUR, 20)
        # Its first sample may be from before it had grown; the mean then ends within two segments of its window.
        wait_until(lambda: windows(net.host).get(NEIGHBOUR, 0) > 10, "the window of a later connection")
        assert windows(net.host)[PEER] == before[0][PEER] and rules(net.host) == before[1]
        assert "windows off" not in daemon.said()
