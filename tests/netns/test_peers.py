# SPDX-License-Identifier: MIT
"""Forgery: of packets, of the name that claims a namespace, of messages in the kernel's name.
"""

import socket
import struct
import sys

from netns import (AS_NOBODY, RIPTIDE, RIPTIDED, Daemon, checksum, observe, rules, wait_until,
                   wait_window, windows)

PEER, NEIGHBOUR = "203.0.113.1", "203.0.113.2"


def forge_syn(world, source, target, port):
    """Sends a SYN from a forged address, whose answers reach no host."""
    addresses = socket.inet_aton(source) + socket.inet_aton(target)

    def segment(check):
        return struct.pack("!HHIIBBHHH", 40000, port, 1, 0, 0x50, 0x02, 65535, check, 0)

    pseudo = addresses + struct.pack("!BBH", 0, socket.IPPROTO_TCP, 20)
    with world.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW,
                                        socket.IPPROTO_RAW) as raw:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 40, 1, 0, 64, socket.IPPROTO_TCP, 0)
        raw.sendto(header + addresses + segment(checksum(pseudo + segment(0))), (target, 0))


def test_a_forged_source_teaches_nothing(net):
    """Its handshake is never complete, so there is no connection to learn from."""
    forged = "192.0.2.66"
    net.learned(PEER, 20)
    with net.host.socket(socket.AF_INET) as listener:
        listener.bind(("", 0))
        listener.listen()
        forge_syn(net.world, forged, "10.0.0.10", listener.getsockname()[1])
        wait_until(lambda: forged in net.host.run("ss", "-tnH", "state", "syn-recv").stdout,
                   "a connection half open")
        with Daemon(net.host):
            assert wait_window(net.host, PEER) == 20
            assert observe(net.host).keys() == windows(net.host).keys() == {PEER}


def test_who_takes_our_name_keeps_us_from_starting_and_is_named(net):
    """Any process can take the abstract name first: that only prevents the start, with an error
    that names it."""
    holder = net.host.start(*AS_NOBODY, sys.executable, "-IBc", """
import socket, time
name = socket.socket(socket.AF_UNIX)
name.bind("\\0riptide.router")
name.listen()
time.sleep(60)
""")
    wait_until(lambda: "@riptide.router" in net.host.run("ss", "-xlH").stdout, "the name")
    done = net.host.run(RIPTIDED, "--once", check=False)
    assert done.returncode == 1 and f"process {holder.pid} already manages" in done.stderr
    assert not rules(net.host)


# To each netlink socket of riptided: the end of a dump, an error, a deleted rule and a deleted
# route, an overrun.
FORGE = """
import socket, struct
for line in list(open("/proc/net/netlink"))[1:]:
    _, bus, port, *_ = line.split()
    if int(bus) not in (0, 4) or port == "0":
        continue
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, int(bus)) as sender:
        for kind in (3, 2, 33, 25, 4):
            for sequence in range(50):
                message = struct.pack("=IHHII", 36, kind, 0, sequence, int(port)) + bytes(20)
                try:
                    sender.sendto(message, (int(port), 0))
                    print("taken")
                except ConnectionRefusedError:
                    print("refused")
"""


def malformed(host):
    text = host.run(RIPTIDE, "metrics").stdout
    return sum(float(line.split()[1]) for line in text.splitlines()
               if line.startswith("riptide_malformed_messages_total"))


def test_what_another_process_says_in_the_kernels_name_changes_nothing(net, cgroup):
    """Root of a namespace can write to any netlink socket there, except ours."""
    with Daemon.learned(net, {PEER: 20}, "--apply", "both", "--cgroup", cgroup, "--holdout-percent", 1) as daemon:
        before = windows(net.host), rules(net.host)
        assert set(net.host.run(sys.executable, "-IBc", FORGE).stdout.split()) == {"refused"}
        connection = net.learned(NEIGHBOUR, 20)
        wait_until(lambda: wait_window(net.host, NEIGHBOUR) == connection.cwnd(), "the window of the connection")
        assert malformed(net.host) == 0
        assert windows(net.host)[PEER] == before[0][PEER] and rules(net.host) == before[1]
        assert "windows disabled" not in daemon.said()
