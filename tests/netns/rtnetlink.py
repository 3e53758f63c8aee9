# SPDX-License-Identifier: MIT
"""Thousands of route queries, and their answers in a form that can be compared.

ip(8) needs a process for each query; here one write sends hundreds. Attributes are compared as
bytes, including unknown ones. Standard library only.
"""

import socket
import struct

from netns import TABLE, Closing

NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP, NLM_F_DUMP_INTR = 1, 0x300, 0x10
RTM_GETLINK = 18
RTM_GETADDR = 22
RTM_GETROUTE = 26
RTM_F_LOOKUP_TABLE, RTM_F_FIB_MATCH = 0x1000, 0x2000
RTN_UNICAST = 1
RT_TABLE_MAIN = 254
RTA_DST, RTA_SRC, RTA_OIF, RTA_PRIORITY = 1, 2, 4, 6
RTA_METRICS, RTA_MULTIPATH, RTA_ENCAP = 8, 9, 22
RTA_CACHEINFO, RTA_PREF = 12, 20
RTA_TABLE, RTA_MARK, RTA_UID, RTA_IP_PROTO, RTA_NH_ID = 15, 16, 25, 27, 30
RTNH_F_LINKDOWN = 0x10  # a link's state, not a property of its route
RTAX_LOCK, RTAX_MTU, RTAX_RTO_MIN, RTAX_INITCWND, RTAX_INITRWND = 1, 2, 13, 11, 14
ROUTE_MAX_MTU = 65535 - 15  # the kernel reduces larger values to this
IFLA_MTU, IFLA_AF_SPEC, IFLA_INET6_CONF, DEVCONF_MTU6 = 4, 26, 2, 2
OURS = (RTAX_RTO_MIN, RTAX_INITCWND, RTAX_INITRWND)

SOL_SOCKET_RCVBUFFORCE = 33
SOL_NETLINK, NETLINK_GET_STRICT_CHK = 270, 12
QUERIES_AT_ONCE = 500
CACHEINFO_HEADER = struct.pack("=HH", 36, RTA_CACHEINFO)
EXPIRES_AT = 4 + 8  # offset of rta_expires in the attribute
# 1/100 s: an event reaches one twin a moment later than the other, on a busy machine by
# seconds.
EXPIRES_SLACK = 1000
OURS_GOES = 100  # 1/100 s by which ours ends earlier than its base: ten seconds less EXPIRES_SLACK

u32 = struct.Struct("=I")


def attribute(kind, payload):
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + bytes(-len(data) % 4)


def attributes(data):
    """The attributes of a block: (type, payload)."""
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        yield kind & 0x3fff, data[at + 4:at + length]
        at += (length + 3) & ~3


def messages(data):
    """The messages of a datagram: (type, flags, bytes after the netlink header)."""
    at = 0
    while at + 16 <= len(data):
        length, kind, flags = struct.unpack_from("=IHH", data, at)
        yield kind, flags, data[at + 16:at + length]
        at += (length + 3) & ~3


def packed(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def query(address, is_fib_match, source=None, oif=None, mark=None, uid=None, protocol=6):
    """A RTM_GETROUTE for local TCP (or of no protocol) to `address`; Batch sets the sequence number."""
    dst = packed(address)
    family = socket.AF_INET if len(dst) == 4 else socket.AF_INET6
    # IPv6 always reports the table, and refuses this flag.
    flags = RTM_F_LOOKUP_TABLE if family == socket.AF_INET else 0
    if is_fib_match:
        flags |= RTM_F_FIB_MATCH
    body = attribute(RTA_DST, dst)
    if source:
        body += attribute(RTA_SRC, packed(source))
    for kind, value in ((RTA_OIF, oif), (RTA_MARK, mark), (RTA_UID, uid)):
        if value is not None:
            body += attribute(kind, u32.pack(value))
    if protocol:
        body += attribute(RTA_IP_PROTO, bytes([protocol]))
    header = struct.pack("=BBBBBBBBI", family, 8 * len(dst), 8 * len(dst) if source else 0,
                         0, 0, 0, 0, 0, flags)
    return header + body


class Batch:
    """Queries as sent to the kernel; number n has the sequence number n."""

    def __init__(self, queries):
        self.n = len(queries)
        messages = [struct.pack("=IHHII", 16 + len(body), RTM_GETROUTE, NLM_F_REQUEST, n, 0) + body
                    for n, body in enumerate(queries)]
        self.pieces = [(b"".join(messages[at:at + QUERIES_AT_ONCE]),
                        len(messages[at:at + QUERIES_AT_ONCE]))
                       for at in range(0, len(messages), QUERIES_AT_ONCE)]


class Rtnetlink(Closing):
    """A netlink socket in a host's namespace."""

    def __init__(self, host, groups=0):
        with host.entered():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, SOL_SOCKET_RCVBUFFORCE, 16 << 20)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)  # dumps of one table
        self.socket.bind((0, groups))
        self.socket.settimeout(60)
        self.buffer = bytearray(1 << 16)

    def close(self):
        self.socket.close()

    def ask(self, batch):
        """The answers to a batch, raw: bytes from the type of the message on."""
        answers = [None] * batch.n
        view = memoryview(self.buffer)
        for data, n in batch.pieces:
            self.socket.send(data)
            for _ in range(n):
                n_bytes = self.socket.recv_into(self.buffer)
                # Without sequence number and port, which depend on the query.
                answers[u32.unpack_from(view, 8)[0]] = bytes(view[4:6]) + bytes(view[16:n_bytes])
        return answers

    def send(self, kind, body, flags):
        header = struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | flags, 0, 0)
        self.socket.send(header + body)

    def request(self, kind, body, flags=0):
        """Sends a message that has one answer, and returns that."""
        self.send(kind, body, flags)
        return next(messages(self.socket.recv(1 << 16)))

    def dump(self, kind, body):
        """The messages of a dump, each as its bytes after the netlink header; repeated if changes
        interrupted it."""
        while True:
            self.send(kind, body, NLM_F_DUMP)
            found = []
            while not found or found[-1][0] not in (NLMSG_DONE, NLMSG_ERROR):
                found += messages(self.socket.recv(1 << 16))
            if not any(flags & NLM_F_DUMP_INTR for _, flags, _ in found):
                return [body for *_, body in found[:-1]]


class Route:
    """A parsed answer. Two are equal if local TCP cannot distinguish them, except for windows;
    `table` and `dst` identify the route, `links` its devices. `without_mtu` is the same without its
    mtu."""

    __slots__ = ("error", "table", "type", "dst", "windows", "likeness", "mtu", "links",
                 "without_mtu", "is_fib_match")

    def __init__(self, raw, is_fib_match):
        kind = struct.unpack_from("=H", raw)[0]
        self.error = self.table = self.type = self.dst = self.mtu = self.without_mtu = None
        self.is_fib_match = is_fib_match
        self.windows = {}
        self.links = set()
        if kind == NLMSG_ERROR:
            self.error = -struct.unpack_from("=i", raw, 2)[0]
            self.likeness = ("error", self.error)
            return
        family, dst_len, src_len, tos, self.table, _, scope, self.type, flags = \
            struct.unpack_from("=BBBBBBBBI", raw, 2)
        found = []
        metrics = dst = b""
        for attr, payload in attributes(raw[14:]):
            if attr == RTA_TABLE:
                self.table = u32.unpack(payload)[0]
            elif attr == RTA_DST:
                dst = payload
                if not is_fib_match:
                    found.append((attr, payload))
            elif attr == RTA_METRICS:
                metrics = tuple(self._metrics(payload))
                self.mtu = dict(metrics).get(RTAX_MTU)
            elif attr == RTA_MULTIPATH:
                found.append((attr, tuple(_hops(payload))))
                self.links.update(hop[2] for hop in found[-1][1])
            elif attr == RTA_NH_ID:
                continue  # the id of an object, whose hops are listed as well
            elif attr == RTA_PREF and not is_fib_match:
                continue  # for an IPv6 multipath route, that of the first cached hop
            elif attr == RTA_ENCAP:
                # Some processors, and user mode, align attributes of 64 bits by empty ones before
                # them.
                found.append((attr, tuple(pair for pair in attributes(payload) if pair[1])))
            else:
                found.append((attr, payload))
                if attr == RTA_OIF:
                    self.links.add(u32.unpack(payload)[0])
        self.dst = (family, dst, dst_len)

        # Without table, protocol and matched prefix, which differ between our route and its base.
        def likeness(metrics):
            return (family, src_len, tos, scope, self.type, flags & ~RTNH_F_LINKDOWN,
                    tuple(sorted([*found, (RTA_METRICS, metrics)] if metrics else found)))

        self.likeness = likeness(metrics)
        if self.table == TABLE:
            self.without_mtu = likeness(tuple(metric for metric in metrics
                                              if metric[0] != RTAX_MTU))

    def is_like(self, base, mtus):
        """Whether it is equal except for windows. Our route sets the MTU that its base takes from
        its links, or none if they differ. `mtus`: the present link_mtus."""
        if self.table != TABLE or base.mtu is not None or base.error is not None:
            return self.likeness == base.likeness
        family = base.likeness[0]
        own = {mtus.get((family, index), 0) for index in base.links}
        expected = own.pop() if len(own) == 1 else 0
        if not 0 < expected <= ROUTE_MAX_MTU:
            expected = None
        # This is one of several hops, and others may have another MTU.
        is_said = self.mtu == expected or (self.mtu is None and not self.is_fib_match)
        return is_said and self.without_mtu == base.likeness

    def _metrics(self, block):
        """The metrics that we do not set; those that we set are added to `windows`."""
        for metric, payload in attributes(block):
            value = u32.unpack(payload)[0] if len(payload) == 4 else payload
            if metric == RTAX_LOCK:
                for ours in OURS:
                    value &= ~(1 << ours)
                if value:
                    yield metric, value
            elif metric in OURS:
                self.windows[metric] = value
            else:
                yield metric, value

    def __str__(self):
        if self.error is not None:
            return f"error {self.error}"
        family, dst, dst_len = self.dst
        name = socket.inet_ntop(family, dst) if dst else "default"
        described = [(attr, payload.hex() if isinstance(payload, bytes) else payload)
                     for attr, payload in self.likeness[6]]
        return (f"{name}/{dst_len} table {self.table} type {self.type} scope {self.likeness[3]} "
                f"flags {self.likeness[5]:#x} attributes {described}")


def _hops(block):
    """The hops of a route, without the state of their links."""
    at = 0
    while at + 8 <= len(block):
        length, flags, weight, index = struct.unpack_from("=HBBi", block, at)
        yield flags & ~RTNH_F_LINKDOWN, weight, index, block[at + 8:at + length]
        at += (length + 3) & ~3


class Reader:
    """Parses raw answers. Keeps the results, as most answers occur again."""

    def __init__(self):
        self.seen = {}

    def read(self, raw, is_fib_match):
        """The route, and the time until it expires (1/100 s; 0: never)."""
        at = raw.find(CACHEINFO_HEADER, 14)
        expires = 0
        if at >= 0:
            # Usage counts and times differ between queries; as with RTA_PREF, only the
            # route itself shows when it ends.
            if is_fib_match:
                expires = struct.unpack_from("=i", raw, at + EXPIRES_AT)[0]
            raw = raw[:at] + raw[at + 36:]
        key = (raw, is_fib_match)
        route = self.seen.get(key)
        if route is None:
            if len(self.seen) > 200000:
                self.seen.clear()
            route = self.seen[key] = Route(raw, is_fib_match)
        return route, expires


def link_mtus(link):
    """The MTUs of a host's links: {(family, index): bytes}."""
    found = {}
    for message in link.dump(RTM_GETLINK, bytes(16)):
        index = struct.unpack_from("=i", message, 4)[0]
        got = dict(attributes(message[16:]))
        found[socket.AF_INET, index] = u32.unpack(got[IFLA_MTU])[0]
        ipv6 = dict(attributes(got.get(IFLA_AF_SPEC, b""))).get(socket.AF_INET6)
        if ipv6:
            settings = dict(attributes(ipv6))[IFLA_INET6_CONF]
            found[socket.AF_INET6, index] = u32.unpack_from(settings, 4 * DEVCONF_MTU6)[0]
    return found


def is_alike(with_us, without_us, mtus):
    """Whether two results of Reader.read are the same way for TCP. Windows may differ only if the
    route is ours. `mtus`: the link_mtus of the host."""
    ours, base = with_us[0], without_us[0]
    if ours is not base and (not ours.is_like(base, mtus) or
                             (ours.table != TABLE and ours.windows != base.windows)):
        return False
    # Our routes have no lifetime: each is removed before its base route ends.
    a, b = with_us[1], without_us[1]
    if ours.table == TABLE:
        return b == 0 or b >= OURS_GOES
    return a == b or (a > 0 and (b == 0 or a <= b + EXPIRES_SLACK))


class Ways(Closing):
    """The ways of TCP and of UDP from a host to addresses. Our rules select TCP alone, so without
    other rules by protocol each difference is Riptide's."""

    def __init__(self, host, addresses):
        self.link = Rtnetlink(host)
        self.reader = Reader()
        self.asked = [(address, is_fib_match) for address in addresses for is_fib_match in (True, False)]
        self.batches = [Batch([query(*asked, protocol=protocol) for asked in self.asked])
                        for protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP)]

    def close(self):
        self.link.close()

    def read(self):
        """(address, TCP's answer, UDP's) of each query; answers are those of Reader.read."""
        tcp, udp = ([self.reader.read(raw, is_fib_match)
                     for raw, (_, is_fib_match) in zip(self.link.ask(batch), self.asked)]
                    for batch in self.batches)
        return [(address, ours, base) for (address, _), ours, base in zip(self.asked, tcp, udp)]

    def differences(self):
        """Those that differ otherwise than by our windows."""
        mtus = link_mtus(self.link)
        return [way for way in self.read() if not is_alike(*way[1:], mtus)]


def routes_of_table(link, table=TABLE):
    """{(family, dst, length): [(priority, initcwnd, protocol)]} of a table, both families, without
    expired routes that the kernel has not yet removed."""
    found = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 0, 0, 0, 0, 0) \
            + attribute(RTA_TABLE, u32.pack(table))
        for message in link.dump(RTM_GETROUTE, body):
            dst_len, protocol = message[1], message[5]
            got = dict(attributes(message[12:]))
            if u32.unpack(got[RTA_TABLE])[0] != table:
                continue
            if RTA_CACHEINFO in got and struct.unpack_from("=i", got[RTA_CACHEINFO], 8)[0] < 0:
                continue
            metrics = dict(attributes(got.get(RTA_METRICS, b"")))
            found.setdefault((family, got.get(RTA_DST, b""), dst_len), []).append(
                (u32.unpack(got.get(RTA_PRIORITY, bytes(4)))[0],
                 u32.unpack(metrics.get(RTAX_INITCWND, bytes(4)))[0], protocol))
    return found
