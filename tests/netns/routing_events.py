# SPDX-License-Identifier: MIT
"""Random changes of a host's routing, as lines that a person could type. A line is an ip(8)
command, `ours: COMMAND` for another program's change of Riptide's rules or routes, `set PREFIX
CWND` for a window, `sysctl NAME VALUE`, or `wait SECONDS`. An event is a few lines that belong
together."""

import ipaddress

from routing_base import (BITS, ENCAPS, GROUPS, MAIN, MARKS, N_LINKS, OBJECTS, OUR_TABLE, PEERS,
                          TABLES, UID, VRF, VRF_INDEX, default_line, link_lines, mac, tunnel)


def defaults(n):
    """Lines that bring back what goes with the n-th link: the default routes with the first."""
    return [default_line(4), default_line(6)] if n == 0 else []


class Routing:
    """Draws events. Remembers the added objects, even if the kernel refused them."""

    def __init__(self, rng, dsts, kinds):
        """`kinds`: kinds of routes that the kernel has, from twins.probe_kinds."""
        self.rng = rng
        self.dsts = dsts
        self.has_one_gateway = rng.random() < 0.5  # of IPv6, where with others windows are off
        self.encaps = [kind for kind in kinds if kind in ENCAPS]
        self.routes = []   # (family, words of ip(8) that identify a route)
        self.rules = []
        self.nexthops = []
        self.users = {}    # the one route that may use an object: (family, key)
        self.missing = []  # lines that repair something later
        self.kinds = [
            (22, self.add_route), (10, self.delete_route), (6, self.replace_route),
            (8, self.add_rule), (7, self.delete_rule), (6, self.move_default),
            (6, self.nexthop), (2, self.delete_nexthop), (5, self.link_state), (2, self.link_gone),
            (4, self.address), (3, self.main_rule), (5, self.foreign_hand), (2, self.flush),
            (3, self.wg_quick), (6, self.window), (4, self.router_advertisement), (3, self.mtu),
            (6, self.neighbour), (0.2, self.expiry), (3, self.sysctl),
        ] + ([(3, self.vrf)] if "vrf" in kinds else [])

    def setup(self):
        """Lines of the routing with which a host may begin."""
        lines = [f"sysctl {family}/conf/all/ignore_routes_with_linkdown 1"
                 for family in ("ipv4", "ipv6") if self.chance(0.4)]
        if self.chance(0.6):
            for number in (*OBJECTS, *GROUPS):
                lines += self.nexthop(number)
        for _ in range(self.rng.randrange(12)):
            lines += self.rng.choice((self.add_route, self.add_route, self.add_rule, self.nexthop,
                                      self.router_advertisement))()
        if not self.has_one_gateway and self.chance(0.7):
            lines.append("sysctl ipv6/conf/all/forwarding 1")  # no gateway is avoided
        return lines

    def event(self):
        """Lines of an event. Damage is soon repaired, as it hides the effect of other events."""
        if self.missing and self.rng.random() < 0.4:
            return self.missing.pop(self.rng.randrange(len(self.missing)))
        draw = self.rng.random() * sum(weight for weight, _ in self.kinds)
        for weight, kind in self.kinds:
            draw -= weight
            if draw < 0:
                break
        return kind()

    def chance(self, share):
        return self.rng.random() < share

    def family(self):
        return self.rng.choice((4, 6))

    def peer(self, family):
        n = self.rng.randrange(N_LINKS)
        if family == 6 and self.has_one_gateway:
            return PEERS[6].format(0, 1), 0
        if family == 6 and self.chance(0.3):
            return f"fe80::{n + 1}", n
        return PEERS[family].format(n, self.rng.choice((1, 2, 3))), n

    def prefix(self, family):
        """A prefix around, equal to or inside one of our destinations, or the default."""
        if self.chance(0.2):
            return "default"
        net = ipaddress.ip_network(self.rng.choice(
            [dst for dst in self.dsts if (":" in dst) == (family == 6)]))
        length = net.prefixlen
        draw = self.rng.random()
        if draw < 0.5:
            shortest = 8 if family == 4 else 16
            length = self.rng.randrange(shortest, length + 1)
            net = net.supernet(new_prefix=length)
        elif draw < 0.7 and length < BITS[family]:
            length = self.rng.randrange(length, BITS[family] + 1)
            address = int(net.network_address) + self.rng.randrange(net.num_addresses)
            address -= address % (1 << (BITS[family] - length))
            net = type(net)((address, length))
        if family == 6 and self.has_one_gateway and net.prefixlen > 64:
            net = net.supernet(new_prefix=64)  # not inside that of a link
        return str(net)

    def hop(self, family):
        draw = self.rng.random()
        peer, n = self.peer(family)
        if draw < 0.45 or (family == 6 and self.has_one_gateway):
            return f"via {peer} dev eth{n}"
        if draw < 0.52:
            return f"via {peer}"
        if draw < 0.62:
            return f"dev eth{n}"
        if draw < 0.70:
            far = "192.0.2.77" if family == 4 else "2001:db8:ffff::77"
            return f"via {far} dev eth{n} onlink"
        if draw < 0.78 and family == 4:
            return f"via inet6 fe80::{n + 1} dev eth{n}"
        if draw < 0.90 or not self.encaps:
            return self.multipath(family)
        return tunnel(self.rng.choice(self.encaps), peer, n)

    def multipath(self, family):
        hops = []
        for _ in range(self.rng.randrange(2, 4)):
            peer, n = self.peer(family)
            hops.append(f"nexthop via {peer} dev eth{n} weight {self.rng.choice((1, 2, 5, 100))}")
        return " ".join(hops)

    def options(self, family, verb):
        words = []
        for share, text in (
                (0.12, f"mtu {self.rng.choice((1280, 1400, 1500, 9000))}"),
                (0.08, f"mtu lock {self.rng.choice((1300, 1450))}"),
                (0.08, f"advmss {self.rng.choice((500, 1200))}"),
                (0.05, "rto_min 50ms"), (0.05, "initcwnd 33"),
                (0.05, "initrwnd 44"), (0.02, "initcwnd lock 12"), (0.05, "quickack 1"),
                (0.04, "rtt 30ms"), (0.04, "window 20000"), (0.04, "hoplimit 33"),
                (0.04, "features ecn"), (0.03, "congctl reno"), (0.03, "cwnd lock 50"),
                (0.03, "reordering 5"), (0.02, "realms 3/4" if family == 4 else "")):
            # The kernel refuses an existing route, but gives it the mtu, and not to its caches.
            is_split = family == 6 and verb in ("append", "prepend") and text.startswith("mtu")
            if self.chance(share) and not is_split:
                words.append(text)
        if self.chance(0.15):
            n = self.rng.randrange(N_LINKS)
            words.append(f"src {PEERS[family].format(n, 10)}")
        if self.chance(0.1):
            words.append(f"proto {self.rng.choice(('static', 'bird', 'dhcp', 'ra'))}")
        if family == 6 and self.chance(0.15):
            words.append(f"pref {self.rng.choice(('low', 'medium', 'high'))}")
        # Adding an existing route changes its lifetime without notification, as advertisements do.
        if family == 6 and verb in ("replace", "change") and self.chance(0.2):
            words.append(f"expires {self.rng.choice((2, 300, 3600))}")
        return " ".join(words)

    def key(self, family):
        """What identifies a route: prefix, tos or source, metric, table."""
        words = [self.prefix(family)]
        if family == 4 and self.chance(0.1):
            words.append("tos 0x10")
        if family == 6 and self.chance(0.1):
            words.append("from fd00::/16")
        if self.chance(0.35):
            words.append(f"metric {self.rng.choice((0, 5, 50, 100, 1024, 2000))}")
        if self.chance(0.15):
            words.append(f"table {self.rng.choice(TABLES)}")
        return " ".join(words)

    def route(self, family, verb, key):
        draw = self.rng.random()
        if draw < 0.1:
            kind = self.rng.choice(("blackhole", "unreachable", "prohibit", "throw"))
            return f"ip -{family} route {verb} {kind} {key}"
        nhid = None
        if draw < 0.28 and verb in ("add", "replace", "change"):
            nhid = self.nhid(family, key)
        if nhid:
            tail = f"nhid {nhid}"
        else:
            tail = self.hop(family)
        # Several hops come last.
        line = f"ip -{family} route {verb} {key} {self.options(family, verb)} {tail}"
        return " ".join(line.split())

    def add_route(self):
        family = self.family()
        key = self.key(family)
        if self.routes and self.chance(0.3):
            family, key = self.rng.choice(self.routes)
        self.routes.append((family, key))
        verb = self.rng.choice(("add", "append", "append", "prepend"))
        return [self.route(family, verb, key)]

    def replace_route(self):
        if not self.routes:
            return self.add_route()
        family, key = self.rng.choice(self.routes)
        return [self.route(family, self.rng.choice(("replace", "change")), key)]

    def delete_route(self):
        if not self.routes:
            return self.move_default()
        family, key = self.routes.pop(self.rng.randrange(len(self.routes)))
        return [f"ip -{family} route del {key}"]

    def router_advertisement(self):
        """Routes as the kernel or a network manager adds them after advertisements."""
        peer, n = self.peer(6)
        if not self.has_one_gateway:
            peer = f"fe80::{n + 1}"
        return [f"ip -6 route {self.rng.choice(('add', 'append', 'replace'))} "
                f"{self.rng.choice(('default', self.prefix(6)))} via {peer} dev eth{n} "
                f"proto ra metric {self.rng.choice((100, 1024))} "
                "expires 1800 "
                f"pref {self.rng.choice(('low', 'medium', 'high'))}"]

    def expiry(self):
        """A route that expires: the kernel does not announce it."""
        peer, n = self.peer(6)
        return [f"ip -6 route replace {self.prefix(6)} via {peer} dev eth{n} metric 7 expires 1",
                "wait 2.2"]

    def move_default(self):
        family = self.family()
        if self.chance(0.2):
            self.missing.append([default_line(family)])
            return [f"ip -{family} route del default"]
        nhid = self.nhid(family, "default") if self.chance(0.4) else None
        if nhid:
            return [f"ip -{family} route replace default nhid {nhid}"]
        n, host = self.rng.randrange(N_LINKS), self.rng.choice((1, 2))
        if family == 6 and self.has_one_gateway:
            n, host = 0, 1
        return [default_line(family, "replace", n, host)]

    def nexthop(self, number=None):
        number = number or self.rng.choice((*OBJECTS, *GROUPS))
        if number in GROUPS:
            members = [n for n in GROUPS[number] if n in self.nexthops]
            if not members:
                return self.nexthop(GROUPS[number][0])
            members = self.rng.sample(members, self.rng.randrange(len(members)) + 1)
            group = "/".join(f"{n},{self.rng.choice((1, 3))}" for n in members)
            kind = " type resilient buckets 8" if self.chance(0.2) else ""
            line = f"ip nexthop replace id {number} group {group}{kind}"
        else:
            family = OBJECTS[number]
            peer, n = self.peer(family)
            tail = self.rng.choice((f"via {peer} dev eth{n}",) * 5 + (
                f"dev eth{n}", "blackhole", f"via {peer} dev eth{(n + 1) % N_LINKS} onlink",
                tunnel(self.rng.choice(self.encaps), peer, n) if self.encaps else f"dev eth{n}"))
            line = f"ip -{family} nexthop replace id {number} {tail}"
        if number not in self.nexthops:
            self.nexthops.append(number)
        return [line]

    def nhid(self, family, key):
        """An object for only this route, or None: routes of one object share the metrics of the
        first one looked up, so answers would not be comparable."""
        members = {n for group in GROUPS.values() for n in group}
        ids = [n for n in self.nexthops if n not in members
               and (family == 4 or n == 7 or OBJECTS.get(n) == 6)
               and self.users.get(n) in (None, (family, key))]
        if not ids:
            return None
        number = self.rng.choice(ids)
        self.users[number] = (family, key)
        return number

    def delete_nexthop(self):
        if not self.nexthops:
            return self.nexthop()
        number = self.rng.choice(self.nexthops)
        self.nexthops.remove(number)
        self.users.pop(number, None)
        return [f"ip nexthop del id {number}"]

    def selector(self, family):
        n = self.rng.randrange(N_LINKS)
        local = PEERS[family].format(n, 10)
        mark = self.rng.choice(MARKS)
        prefix = self.prefix(family)
        to = "all" if prefix == "default" else prefix
        return self.rng.choice((
            f"from {local}", f"fwmark {mark}", f"not fwmark {mark}", f"fwmark {mark}/0xff",
            "fwmark 0/0x20000000", "fwmark 0x40/0x40", "not ipproto tcp",
            f"oif eth{n}", f"uidrange {UID}-{UID + 5}", "uidrange 0-999", "iif lo", f"iif eth{n}",
            f"to {to}", "from all", "ipproto tcp", "ipproto udp", f"from {local} fwmark {mark}",
            "tos 0x10", "ipproto tcp dport 443", f"not from {local}"))

    def add_rule(self):
        family = self.family()
        priority = self.rng.choice((50, 100, 999, 20000, 32763, 32764, 32765, 32766, 32767, 33000,
                                    40000))
        gotos = tuple(f"goto {target}" for target in (32765, 32766, 33000, 40000))
        action = self.rng.choice((
            f"lookup {self.rng.choice(TABLES)}", f"lookup {self.rng.choice(TABLES)}",
            "lookup main", f"lookup main suppress_prefixlength {self.rng.choice((0, 8, 16, 24))}",
            f"lookup {self.rng.choice(TABLES)} suppress_prefixlength 0",
            self.rng.choice(gotos), self.rng.choice(gotos),
            self.rng.choice(("blackhole", "unreachable", "prohibit")),
            "lookup main suppress_ifgroup 0", "lookup default"))
        rule = f"pref {priority} {self.selector(family)} {action}"
        self.rules.append((family, rule))
        if self.chance(0.7):
            # Most rules are temporary.
            self.missing.append([f"ip -{family} rule del {rule}"])
        return [f"ip -{family} rule add {rule}"]

    def delete_rule(self):
        if not self.rules:
            return self.add_rule()
        family, rule = self.rules.pop(self.rng.randrange(len(self.rules)))
        return [f"ip -{family} rule del {rule}"]

    def wg_quick(self):
        """Sets up a tunnel for all traffic as wg-quick(8) does, or removes it."""
        family = self.family()
        lines = [f"route replace default dev eth3 table {TABLES[2]}",
                 f"rule add pref 32765 not fwmark {MARKS[1]} table {TABLES[2]}",
                 f"rule add pref 32764 table {MAIN} suppress_prefixlength 0"]
        back = [f"rule del table {TABLES[2]}", f"rule del table {MAIN} suppress_prefixlength 0"]
        self.missing.append([f"ip -{family} {line}" for line in back])
        return [f"ip -{family} {line}" for line in lines]

    def main_rule(self):
        family = self.family()
        self.missing.append([f"ip -{family} rule add pref 32766 lookup {MAIN}"])
        if self.chance(0.15):
            self.missing.append([f"ip -{family} rule add pref 32767 lookup default"])
            return [f"ip -{family} rule flush"]
        return [f"ip -{family} rule del pref 32766 lookup {MAIN}"]

    def link_state(self):
        n = self.rng.randrange(N_LINKS)
        name = self.rng.choice((f"eth{n}", f"eth{n}", f"far{n}"))
        back = [f"ip link set {name} up", link_lines(n)[-1]]
        if n == 0 and self.chance(0.7):
            back += defaults(n)
        self.missing.append(back)
        return [f"ip link set {name} down"]

    def link_gone(self):
        n = self.rng.randrange(N_LINKS)
        self.missing.append(link_lines(n) + defaults(n))
        return [f"ip link del eth{n}"]

    def vrf(self):
        """Moves a link to a VRF, with its addresses and their routes, or removes the VRF."""
        if self.chance(0.2):
            return [f"ip link del {VRF}"]
        n = self.rng.randrange(N_LINKS)
        self.missing.append([f"ip link set eth{n} nomaster", *link_lines(n)[-2:], *defaults(n)])
        return [f"ip link add {VRF} index {VRF_INDEX} type vrf table {TABLES[0]}",
                f"ip link set {VRF} up", f"ip link set eth{n} master {VRF}"]

    def address(self):
        family, n = self.family(), self.rng.randrange(N_LINKS)
        nodad = " nodad" if family == 6 else ""
        draw = self.rng.random()
        if draw < 0.4:
            length = 24 if family == 4 else 64
            own = f"{PEERS[family].format(n, 10)}/{length}"
            self.missing.append([f"ip -{family} addr add {own} dev eth{n}{nodad}"])
            return [f"ip -{family} addr del {own} dev eth{n}"]
        if draw < 0.5:
            self.missing.append(link_lines(n)[-2:])
            return [f"ip -{family} addr flush dev eth{n}"]
        dst = self.rng.choice([dst for dst in self.dsts
                               if (":" in dst) == (family == 6) and "/" not in dst])
        length = self.rng.choice((BITS[family], BITS[family] - 8))
        self.missing.append([f"ip -{family} addr del {dst}/{length} dev eth{n}"])
        return [f"ip -{family} addr add {dst}/{length} dev eth{n}{nodad}"]

    def mtu(self):
        """A link's MTU, or its IPv6 MTU alone, as set by advertisements without a notification."""
        n = self.rng.randrange(N_LINKS)
        if self.chance(0.25):
            return [f"sysctl ipv6/conf/eth{n}/mtu {self.rng.choice((1280, 1350, 1400, 1500))}"]
        # The largest exceeds the range of a route's mtu.
        return [f"ip link set eth{n} mtu {self.rng.choice((1280, 1400, 1500, 1500, 9000, 65535))}"]

    def neighbour(self):
        """A gateway is resolved, fails or is forgotten: the kernel's choice among routes depends
        on it."""
        peer, n = self.peer(self.family())
        if self.chance(0.2):
            return [f"ip neigh del {peer} dev eth{n}"]
        line = f"ip neigh replace {peer} dev eth{n} lladdr {mac(16 + n)} nud"
        if self.chance(0.6):
            return [f"{line} {self.rng.choice(('permanent', 'reachable', 'stale'))}"]
        # The kernel avoids a neighbour before it fails, and announces only the failure.
        return [f"{line} stale", f"{line} failed"]

    def sysctl(self):
        """Whether routes over links without carrier count, and whether the host forwards, which
        determines whether routes with a failed gateway are used."""
        family = self.family()
        link = self.rng.choice(("all", f"eth{self.rng.randrange(N_LINKS)}"))
        name = self.rng.choice(("ignore_routes_with_linkdown", "forwarding"))
        return [f"sysctl ipv{family}/conf/{link}/{name} {self.rng.randrange(2)}"]

    def foreign_hand(self):
        """Another program removes our rules or routes."""
        family = self.family()
        dst = self.rng.choice([dst for dst in self.dsts if (":" in dst) == (family == 6)])
        return ["ours: " + self.rng.choice((
            f"ip -{family} rule del lookup {OUR_TABLE}",
            f"ip -{family} rule del pref 32765 iif lo ipproto tcp",
            f"ip -{family} route flush table {OUR_TABLE}",
            f"ip -{family} route del {dst} table {OUR_TABLE}",
            f"ip -{family} route flush proto 230"))]

    def flush(self):
        family = self.family()
        self.missing.append([default_line(family)])
        if self.chance(0.25):
            self.missing.append([line for n in range(N_LINKS)
                                 for line in (f"ip link set eth{n} down", *link_lines(n)[2:])] + defaults(0))
            # Not `table all`: ip stops at routes with next-hop objects, whosever they are.
            return [f"ip -{family} route flush table {table}"
                    for table in (*TABLES, MAIN, "local")] + [f"ours: ip -{family} route flush "
                                                              f"table {OUR_TABLE}"]
        return [self.rng.choice((
            f"ip -{family} route flush table main",
            f"ip -{family} route flush dev eth{self.rng.randrange(N_LINKS)}",
            f"ip -{family} route flush proto static", f"ip -{family} route flush proto boot",
            f"ip -{family} route flush table {self.rng.choice(TABLES)}",
            f"ip -{family} route flush root {'198.18.0.0/15' if family == 4 else '2001:db8::/32'}",
            "ip nexthop flush"))]

    def window(self):
        lines = []
        for _ in range(self.rng.randrange(1, 20)):
            cwnd = self.rng.choice((0, 0, 10, self.rng.randrange(11, 101), 100))
            lines.append(f"set {self.rng.choice(self.dsts)} {cwnd}")
        return lines
