# SPDX-License-Identifier: MIT
"""Records seeds for the fuzzers from the real kernel: record.py FOLDER, as root in a sandbox.

In network namespaces it makes sockets, routes, rules, links, addresses, neighbours and next hops of
each kind that this kernel has, and writes what the kernel says of them to FOLDER/TARGET/kernel_*.
Of messages that have the same attributes one is kept. `./dev fuzz --record` runs it.
"""

import contextlib
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "netns"))

from netns import Network, wait_until  # noqa: E402
from rtnetlink import attribute, attributes, query  # noqa: E402

NETLINK_SOCK_DIAG, NETLINK_ROUTE = 4, 0
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
TCPDIAG_GETSOCK = 18
RTM_NEWLINK, RTM_DELLINK = 16, 17
RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE, RTM_GETRULE = 24, 25, 26, 34
NLMSG_ERROR, NLMSG_DONE = 2, 3
SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, NETLINK_GET_STRICT_CHK = 270, 1, 12
NETLINK_CAP_ACK, NETLINK_EXT_ACK = 10, 11
NLM_F_ACK = 4
# LINK, NEIGH, addresses, routes, rules, netconf, next hops
RTNETLINK_GROUPS = (1, 3, 5, 7, 8, 9, 11, 19, 24, 25, 32)
DESTROY_GROUPS = (1, 3)  # SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY
HEADER_BYTES = {16: 16, 17: 16, 20: 8, 21: 8, 24: 12, 25: 12, 28: 12, 29: 12, 32: 12, 33: 12,
                80: 4, 81: 4, 104: 8, 105: 8, 18: 72}

CHANGES = """
link set eth1 mtu 1400
link set eth1 down
link set eth1 up
address add fd00:0:0:1::10/64 dev eth1 nodad
address add 10.9.0.1 peer 10.9.0.2 dev eth1
address del 10.9.0.1 peer 10.9.0.2 dev eth1
address add fd00:9::1/64 dev eth1 nodad
address del fd00:9::1/64 dev eth1
link add veth9 type veth peer name veth8
link add br9 type bridge
link add vrf9 type vrf table 99
link add dummy9 type dummy
link add gre9 type gre local 10.0.0.10 remote 10.0.0.1
link add vlan9 link eth0 type vlan id 9
link set lo mtu 65000
neighbour add 10.0.0.77 lladdr 02:00:00:00:00:01 dev eth0
neighbour add fd00::77 lladdr 02:00:00:00:00:01 dev eth0
neighbour change fd00::77 dev eth0 nud failed
neighbour del fd00::77 dev eth0
nexthop add id 5 via 10.0.0.1 dev eth0
nexthop add id 6 via 10.0.1.1 dev eth1
nexthop add id 7 group 5/6
nexthop add id 8 via fd00::1 dev eth0
nexthop add id 9 blackhole
route add 198.18.0.0/24 via 10.0.0.2
route add 198.18.1.0/24 via 10.0.0.2 src 10.0.0.10 metric 50 mtu lock 1400 initcwnd 20 initrwnd 30
route add 198.18.2.0/24 nexthop via 10.0.0.1 weight 3 nexthop via 10.0.1.1 weight 5
route add 198.18.3.0/24 via inet6 fd00::1 dev eth0
route add 198.18.4.0/24 via 10.77.0.1 dev eth0 onlink
route add 198.18.5.0/24 dev eth0 scope link proto 99
route add 198.18.6.0/24 nhid 5
route add 198.18.7.0/24 nhid 7
route add 198.18.8.0/24 via 10.0.0.1 congctl reno rto_min 50ms advmss 1200 rtt 5ms quickack 1
route add 198.18.9.0/24 tos 0x10 via 10.0.0.1
route add 198.18.10.0/24 via 10.0.0.1 features ecn window 9000 reordering 5 hoplimit 9 cwnd lock 9
route add 198.18.11.0/24 via 10.0.0.1 realm 5
route add 198.18.12.0/24 encap ip id 5 dst 10.0.0.9 via 10.0.0.1
route add 198.18.14.0/24 via 10.0.0.1 initcwnd lock 10
route add blackhole 198.18.16.0/24
route add unreachable 198.18.17.0/24
route add prohibit 198.18.18.0/24
route add throw 198.18.19.0/24
route add local 198.18.20.0/24 dev lo
route add broadcast 198.18.21.255 dev eth0 table local
route add 198.18.22.0/24 via 10.0.0.1 table 7230 proto 230 initcwnd 40
route add 198.18.23.0/24 via 10.0.0.1 table 100
route replace 198.18.0.0/24 via 10.0.0.1
route add 2001:db8:1::/48 via fd00::2 pref high
route add 2001:db8:2::/48 via fd00::2 src fd00::10 metric 9 mtu lock 1400 initcwnd 20 initrwnd 30
route add 2001:db8:3::/48 nexthop via fd00::1 nexthop via fd00:0:0:1::1
route add 2001:db8:4::/48 via fd00::2 expires 100
route add 2001:db8:5::/48 nhid 8
route add 2001:db8:6::/48 encap seg6 mode encap segs fd00::2 via fd00::1
route add 2001:db8:7::/48 encap ioam6 trace prealloc type 0x800000 ns 0 size 12 via fd00::1
route add 2001:db8:8::/48 from fd00::/16 via fd00::1
route add blackhole 2001:db8:9::/48
route add unreachable 2001:db8:a::/48
route add 2001:db8:b::/48 via fd00::1 congctl reno rto_min 50ms
route add local 2001:db8:c::/48 dev lo
route add 2001:db8:d::/48 via fd00::1 expires 0
rule add priority 100 fwmark 7/0xff lookup 100
rule add priority 101 from 10.0.0.0/24 to 198.18.0.0/15 iif eth0 lookup 100
rule add priority 102 oif eth1 ipproto udp sport 5-9 dport 53 lookup 100
rule add priority 103 uidrange 5-9 lookup 100
rule add priority 104 goto 200
rule add priority 105 not from 10.0.0.0/8 blackhole
rule add priority 106 lookup main suppress_prefixlength 0
rule add priority 107 lookup main suppress_ifgroup 5
rule add priority 108 tos 0x10 lookup 100
rule add priority 109 tun_id 9 lookup 100
rule add priority 110 l3mdev
rule add priority 200 nop
rule add priority 201 unreachable
rule add priority 202 prohibit
rule add priority 32765 iif lo ipproto tcp lookup 7230 suppress_prefixlength 31 protocol 230
-6 rule add priority 100 fwmark 7/0xff lookup 100
-6 rule add priority 101 from fd00::/16 to 2001:db8::/32 lookup 100
-6 rule add priority 32765 iif lo ipproto tcp lookup 7230 suppress_prefixlength 127 protocol 230
"""

ENDINGS = """
link del br9
link del veth9
rule del priority 110
route del 198.18.5.0/24
nexthop del id 5
link set eth1 down
"""

SYSCTLS = (("ipv4/conf/eth0/ignore_routes_with_linkdown", 1), ("ipv4/conf/default/forwarding", 1),
           ("ipv4/ip_forward", 1), ("ipv6/conf/eth0/forwarding", 1))

DESTINATIONS = [f"198.18.{n}.9" for n in range(24)] + [f"2001:db8:{n:x}::9" for n in range(1, 14)]
DESTINATIONS += ["10.0.0.9", "10.0.0.10", "10.0.0.255", "127.0.0.1", "224.0.0.5", "8.8.8.8",
                 "fd00::9", "fd00::10", "fe80::9", "ff02::1", "::1", "2001:db8:ff::9"]


class Netlink:
    """A netlink socket of a host, whose messages are kept as they are."""

    def __init__(self, host, protocol, groups=()):
        with host.entered():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)
        self.socket.bind((0, 0))
        for group in groups:
            self.socket.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
        self.socket.settimeout(2)

    def receive(self):
        """One datagram as the targets want it: sequence numbers and ports count from ours on."""
        data = bytearray(self.socket.recv(1 << 16))
        for at, _, _ in messages(data):
            data[at + 8:at + 16] = bytes(8)
        return bytes(data)

    def ask(self, kind, body, is_dump=True):
        """The datagrams of the answer."""
        flags = NLM_F_REQUEST | (NLM_F_DUMP if is_dump else 0)
        self.socket.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        found = [self.receive()]
        while is_dump and not any(kind in (NLMSG_DONE, NLMSG_ERROR)
                                  for data in found for _, _, kind in messages(data)):
            found.append(self.receive())
        return found

    def rest(self):
        """What waits to be read."""
        self.socket.setblocking(False)
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self.receive())
        return found


def messages(data):
    """Where each message of a datagram begins, its length and type."""
    at = 0
    while at + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        yield at, length, kind
        at += (length + 3) & ~3


def split(datagrams):
    for data in datagrams:
        for at, length, _ in messages(data):
            yield data[at:at + length] + bytes(-length % 4)


def shape(message):
    """What makes a message different from others for a parser: its type and attributes."""
    kind = struct.unpack_from("=H", message, 4)[0]
    start = 16 + HEADER_BYTES.get(kind, 12)
    return (kind, message[16], tuple((number, len(payload) if len(payload) < 5 else 5)
                                     for number, payload in attributes(message[start:])))


class Folder:
    """The seeds of one target."""

    def __init__(self, path, target):
        self.path = path / target
        self.path.mkdir(parents=True, exist_ok=True)
        for old in self.path.glob("kernel_*"):
            old.unlink()
        self.shapes = set()

    def add(self, data, of=None):
        """Keeps it unless one of that shape is there."""
        if of is not None and of in self.shapes:
            return
        self.shapes.add(of if of is not None else data)
        (self.path / f"kernel_{len(self.shapes):02}").write_bytes(data)


def diag_request(states=0xffff, family=0):
    body = struct.pack("=BBBB", family, 0, 0, 1 << 1 | 1 << 3) + bytes(48)
    return body + struct.pack("=II", states, 0)


def open_connections(network):
    """One of each kind that describes itself in another way; returns those of the host alone."""
    network.connect("198.51.100.1")
    network.connect("198.51.100.2", congestion="reno").send(100000)
    network.connect("203.0.113.1", passive=True).send(3000)
    network.connect("198.51.100.3", mapped=True).send(1)
    network.connect("2001:db8::1").send(50000)
    marked = network.connect("198.51.100.4").near
    marked.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 5)
    bound = network.connect("198.51.100.5").near
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
    gateway = next(address["local"] for address in network.world.ip_json("addr", "show", "eth0")[0]
                   ["addr_info"] if address["scope"] == "link")
    network.connect(f"{gateway}%eth0").send(9)
    waiting = network.connect("203.0.113.2")  # in TIME_WAIT
    network.connections.remove(waiting)
    waiting.near.close()
    waiting.far.close()
    listener = network.host.socket(socket.AF_INET6)
    listener.bind(("", 0))
    listener.listen()
    own = [network.host.socket(family) for family in (socket.AF_INET6, socket.AF_INET)]
    with network.host.entered():
        own[0].connect(("::1", listener.getsockname()[1]))
        own[1].connect(("10.0.0.10", listener.getsockname()[1]))
    return [listener, *own]


def answer(how, datagrams):
    """An input of fuzz/answer.c: these datagrams in answer to what `how` asks."""
    return how + b"".join(b"\0" + struct.pack(">H", len(data)) + data for data in datagrams)


def is_at_end(end):
    with contextlib.suppress(BlockingIOError):
        return end.recv(1) == b""
    return False


def record_sockets(network, answers):
    opened = open_connections(network)
    diag = Netlink(network.host, NETLINK_SOCK_DIAG)
    events = Netlink(network.host, NETLINK_SOCK_DIAG, DESTROY_GROUPS)

    dumped = diag.ask(TCPDIAG_GETSOCK, diag_request())
    for end in opened:
        end.close()
    for address, n_bytes in (("198.51.100.6", 9000), ("2001:db8::2", 9000), ("198.51.100.7", 0)):
        connection = network.connect(address)
        network.connections.remove(connection)
        connection.send(n_bytes)
        connection.far.close()
        wait_until(lambda: is_at_end(connection.near), "the end of the stream")
        connection.near.close()
    for message in split(dumped + events.rest()):
        if len(message) >= 16 + 72:
            answers.add(answer(b"\1", [message]), shape(message))


def change(host, commands):
    for command in commands.strip().splitlines():
        words = command.split()
        if words[0] == "route" and any(":" in word for word in words[2:4]):
            words.insert(0, "-6")
        done = host.run("ip", *words, check=False)
        if done.returncode:
            print(f"left out: ip {command}: {done.stderr.strip().splitlines()[0]}")


def record_routes(host, routes):
    asker = Netlink(host, NETLINK_ROUTE)
    for destination in DESTINATIONS:
        found, = asker.ask(RTM_GETROUTE, query(destination, True), is_dump=False)
        if struct.unpack_from("=H", found, 4)[0] != NLMSG_ERROR:
            routes.add(found, shape(found))


def record_refusals(host, answers):
    """What the kernel says to a batch, with its words and without, and to dumps."""
    for words in (0, 1):
        asker = Netlink(host, NETLINK_ROUTE)
        for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK):
            asker.socket.setsockopt(SOL_NETLINK, option, words)
        for body in (struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0, 254, 230, 0, 1, 0),
                     struct.pack("=BBBBBBBBI", socket.AF_INET6, 129, 0, 0, 254, 230, 0, 1, 0),
                     struct.pack("=BBBBBBBBIHHI", socket.AF_INET, 0, 0, 0, 99, 230, 0, 1, 0, 8, 4, 999),
                     query("198.18.16.9", True), b""):
            for kind in (RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE):
                asker.socket.send(struct.pack("=IHHII", 16 + len(body), kind,
                                              NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
                found = [asker.receive()]
                found += asker.rest()
                asker.socket.settimeout(2)
                answers.add(answer(b"\0", found), tuple(len(data) for data in found))
        for family in (socket.AF_INET, socket.AF_INET6, 99):
            dumped = asker.ask(RTM_GETRULE, struct.pack("=B11x", family))
            answers.add(answer(b"\1", dumped), (words, family))


def record_routing(network, folder, answers):
    host = network.host
    notices = Netlink(host, NETLINK_ROUTE, RTNETLINK_GROUPS)
    events, routes = Folder(folder, "event"), Folder(folder, "route")
    change(host, CHANGES)
    record_routes(host, routes)
    record_refusals(host, answers)
    for name, value in SYSCTLS:
        host.sysctl(name, value)
    change(host, ENDINGS)
    told = list(split(notices.rest()))
    events.add(b"".join(message for message in told
                        if struct.unpack_from("=H", message, 4)[0] in (RTM_NEWLINK, RTM_DELLINK)))
    for message in told:
        events.add(message, shape(message))
        if struct.unpack_from("=H", message, 4)[0] in (RTM_NEWROUTE, RTM_DELROUTE):
            routes.add(message, shape(message))


def main():
    folder = Path(sys.argv[1])
    answers = Folder(folder, "answer")
    network = Network()
    try:
        record_sockets(network, answers)
        record_routing(network, folder, answers)
    finally:
        network.close()
    for path in sorted(folder.iterdir()):
        found = list(path.glob("kernel_*"))
        if found:
            print(f"{path.name}: {len(found)} seeds, {sum(f.stat().st_size for f in found)} bytes")


if __name__ == "__main__":
    main()
