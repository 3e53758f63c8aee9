# SPDX-License-Identifier: MIT
"""The host whose routing changes: its links, its addresses, the destinations of its connections. No
host is on the links: no packet is ever sent, only routes are queried."""

import ipaddress

MARKS = ("0x64", "0xca6c")
UID = 1000
TABLES = (100, 101, 51820)
N_LINKS = 4
OUR_TABLE = 7230
VRF, VRF_INDEX = "vrf0", 40
MAIN = "main"

PEERS = {4: "10.0.{}.{}", 6: "fd00:0:0:{}::{}"}
BITS = {4: 32, 6: 128}

# Next-hop objects.
OBJECTS = {1: 4, 2: 4, 3: 4, 4: 6, 5: 6, 8: 4, 9: 6, 10: 6}  # their families
GROUPS = {6: (3, 8), 7: (5, 9)}  # their members, which no route uses alone

ENCAPS = {
    "ip": "encap ip id 5 dst 10.0.0.1",
    "ip6": "encap ip6 id 5 dst fd00::1",
    "seg6": "encap seg6 mode encap segs fd00::99",
    "mpls": "encap mpls 100",
}


def tunnel(kind, peer, n):
    """The next hop through a tunnel, in the syntax of ip(8)."""
    return f"{ENCAPS[kind]} via {peer} dev eth{n}"


def mac(n):
    return f"02:00:00:00:00:{n:02x}"


def link_lines(n):
    """Lines that make a link and its far end, always with the same index and addresses."""
    return [f"ip link add eth{n} index {11 + n} address {mac(n)} type veth "
            f"peer name far{n} index {21 + n} address {mac(16 + n)}",
            f"ip link set far{n} addrgenmode none",
            f"ip link set far{n} up",
            f"ip link set eth{n} up",
            f"ip -4 addr add 10.0.{n}.10/24 dev eth{n}",
            f"ip -6 addr add fd00:0:0:{n}::10/64 dev eth{n} nodad"]


def default_line(family, verb="replace", n=0, host=1):
    return f"ip -{family} route {verb} default via {PEERS[family].format(n, host)} dev eth{n}"


def base_lines():
    """Lines that make the host before the first event."""
    # Until a rule besides the first two was added, the kernel ignores the IPv6 rules, even if
    # `lookup main` was deleted (fib6_rule_lookup). Any further rule ends that, also ours.
    return ([line for n in range(N_LINKS) for line in link_lines(n)]
            + [default_line(4, "add"), default_line(6, "add"),
               "ip -6 rule add pref 1 lookup main", "ip -6 rule del pref 1"])


def destinations(rng, n_hosts):
    """Hosts and prefixes, as text, of both families."""
    found = []
    for family in (4, 6):
        hosts = set()
        while len(hosts) < n_hosts:
            if family == 4:
                net, low = rng.choice((("198.18.0", 256), ("198.18.1", 256), ("198.18.9", 256),
                                       ("198.19.7", 64),
                                       ("203.0.113", 32), ("10.0.1", 40), ("10.0.2", 30)))
                hosts.add(f"{net}.{rng.randrange(20, low) if low < 256 else rng.randrange(low)}")
            else:
                net, low = rng.choice((("2001:db8:0:0", 256), ("2001:db8:0:1", 256),
                                       ("2001:db8:7:0", 64), ("2a00:1::", 32),
                                       ("fd00:0:0:1", 40), ("fd00:0:0:2", 30)))
                separator = "" if net.endswith("::") else "::"
                hosts.add(f"{net}{separator}{rng.randrange(0x20, 0x20 + low):x}")
        found += sorted(hosts)
    found += ["198.18.8.0/24", "198.18.9.16/28", "198.18.64.0/18", "198.18.9.0/24", "10.0.3.64/26",
              "203.0.112.0/23", "192.0.2.0/31",
              "2001:db8:8::/64", "2001:db8:9::/120", "2001:db8:8000::/33", "2001:db8:9::/48",
              "fd00:0:0:3:1::/80", "2a00::/24", "2001:db8:a::/127"]
    return found


def addresses_of(rng, dst):
    """The addresses that are queried for a destination; of a prefix some, including its edges."""
    net = ipaddress.ip_network(dst)
    if net.num_addresses == 1:
        return [str(net.network_address)]
    edges = {net[0], net[-1], net[1], net[rng.randrange(net.num_addresses)]}
    return [str(address) for address in sorted(edges)]
