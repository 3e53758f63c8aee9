# SPDX-License-Identifier: MIT
"""A path MTU that the kernel has learned stays known: new connections send nothing too large."""

import contextlib
import socket

import pytest

from netns import (Connection, Daemon, Host, initcwnd, join, routes, tcp_info, wait_until, wait_window,
                   windows)

FAR = {4: "192.0.2.9", 6: "2001:db9::9"}
NEAR_IT = {4: "192.0.2.8", 6: "2001:db9::8"}
PREFIX = {4: "192.0.2.0/24", 6: "2001:db9::/48"}
LINK_BYTES, NARROW_BYTES = 1500, 1300
families = pytest.mark.parametrize("family", [4, 6], ids=["IPv4", "IPv6"])


@pytest.fixture
def far(net):
    """A host behind a narrow link of the world, which offers segments that are too large for it."""
    host = Host("far")
    join(net.world, "eth2", host, "eth0")
    net.world.sysctl("ipv4/ip_forward", 1)
    net.world.sysctl("ipv6/conf/all/forwarding", 1)
    net.world.batch(f"""
        link set eth2 mtu {NARROW_BYTES} up
        addr add 192.0.2.1/24 dev eth2
        addr add 2001:db9::1/64 dev eth2 nodad
    """)
    host.batch(f"""
        link set eth0 mtu {NARROW_BYTES} up
        addr add 192.0.2.9/24 dev eth0
        addr add 192.0.2.8/24 dev eth0
        addr add 2001:db9::9/64 dev eth0 nodad
        addr add 2001:db9::8/64 dev eth0 nodad
        route add default via 192.0.2.1 advmss 1460
        route add default via 2001:db9::1 advmss 1440
    """)
    wait_until(lambda: host.is_ready() and net.world.is_ready(), "links up")
    yield host
    host.close()


@pytest.fixture
def connect(net, far):
    opened = []

    def connect(family, addresses=FAR):
        opened.append(Connection(net.host, far, addresses[family]))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def learn_by_udp(host, address, n_bytes=NARROW_BYTES + 50):
    """Datagrams that are too large, until the host knows."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    level, mtu_discover = (41, 23) if ":" in address else (0, 10)
    with host.entered(), socket.socket(family, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(level, mtu_discover, 2)  # always: refused by this host once it knows
        udp.connect((address, 9))

        def is_refused():
            try:
                udp.send(bytes(n_bytes))
            except ConnectionRefusedError:
                pass
            except OSError:
                return True
            return False

        wait_until(is_refused, "too large")


def mtu_of(host, address):
    """What TCP would find: 0 where nothing but the link's counts."""
    return mtu_in(host.ip_json("route", "get", address, "ipproto", "tcp")[0])


def mtu_in(route):
    """The mtu of a route as ip -j prints it, 0 where it has none or that of its link."""
    found = next((metric["mtu"] for metric in route.get("metrics", []) if "mtu" in metric), 0)
    return 0 if found == LINK_BYTES else found


def starts_small(connection):
    """Whether the first flight fits the path."""
    mss_bytes = tcp_info(connection.near).mss_bytes
    connection.send(30 * mss_bytes)
    return mss_bytes < NARROW_BYTES and tcp_info(connection.near).retrans_segs == 0


@families
def test_without_riptide_the_first_flight_is_too_large(connect, family):
    assert not starts_small(connect(family))
    assert starts_small(connect(family))


@families
def test_what_was_learned_before_our_route_stays_known(net, connect, family):
    connect(family).grow(40)
    with Daemon(net.host):
        assert wait_window(net.host, FAR[family]) >= 40
        assert starts_small(connect(family))


@families
def test_what_was_learned_on_our_route_survives_a_new_window(net, connect, family):
    with Daemon(net.host, "--history-weight", "0"):
        connection = connect(family)
        assert wait_window(net.host, FAR[family]) == 10
        for cwnd in (20, 40, 80):
            connection.grow(cwnd)
            wait_until(lambda: windows(net.host)[FAR[family]] >= cwnd * 0.9, "the new window")
            assert starts_small(connect(family))


@families
def test_what_was_learned_on_one_path_is_not_taken_to_another(net, connect, family):
    """The route goes on which it was learned, and with it what the kernel alone would know."""
    prefix, gateways = {4: ("192.0.2.0/24", ("10.0.0.2", "10.0.0.1")),
                        6: ("2001:db9::/48", ("fd00::2", "fd00::1"))}[family]
    net.host.ip("route", "add", prefix, "via", gateways[0])
    with Daemon(net.host):
        connection = connect(family)
        wait_window(net.host, FAR[family])
        connection.grow(40)
        assert starts_small(connect(family))
        net.host.ip("route", "del", prefix)
        route = wait_until(lambda: routes(net.host)[FAR[family]]["gateway"] == gateways[1]
                           and routes(net.host)[FAR[family]], "the other path")
        assert mtu_in(route) == 0, route


@families
def test_what_was_learned_inside_a_prefix_stays_known(net, driver, connect, family):
    """Before our route goes in, when it is written anew and when it goes; its neighbours keep the
    MTU that they have."""
    connect(family).grow(20)
    for cwnd in (20, 40, 80, 0):
        driver.follow(f"set {PREFIX[family]} {cwnd}")
        assert windows(net.host).get(PREFIX[family], 0) == cwnd
        assert windows(net.host).get(FAR[family], 0) == cwnd
        assert mtu_of(net.host, FAR[family]) == NARROW_BYTES
        assert mtu_of(net.host, NEAR_IT[family]) == 0
        assert starts_small(connect(family))
    assert not windows(net.host)


@families
def test_what_was_learned_on_our_route_to_a_prefix_survives_a_new_window(net, driver, connect,
                                                                         family):
    driver.follow(f"set {PREFIX[family]} 20")
    assert not starts_small(connect(family))
    for cwnd in (40, 80):
        driver.follow(f"set {PREFIX[family]} {cwnd}")
        assert windows(net.host) == {PREFIX[family]: cwnd, FAR[family]: cwnd}
        assert mtu_of(net.host, NEAR_IT[family]) == 0
        assert starts_small(connect(family))


@families
@pytest.mark.parametrize("dsts", [FAR, PREFIX], ids=["host", "prefix"])
def test_what_udp_learns_later_is_known_by_the_next_round(net, driver, connect, dsts, family):
    """It does not see our table, so that it learns on main's route, of which nobody is told."""
    driver.follow(f"set {dsts[family]} 40")
    learn_by_udp(net.host, FAR[family])
    assert mtu_of(net.host, FAR[family]) == 0
    driver.quiet()
    assert mtu_of(net.host, FAR[family]) == NARROW_BYTES
    assert windows(net.host)[FAR[family]] == 40
    assert starts_small(connect(family))


@families
def test_host_of_a_prefix_that_is_asked_for_itself_is_its_own(net, driver, connect, family):
    connect(family).grow(20)
    driver.follow(f"set {PREFIX[family]} 40")
    driver.follow(f"set {FAR[family]} 60")
    assert windows(net.host) == {PREFIX[family]: 40, FAR[family]: 60}
    driver.follow(f"set {PREFIX[family]} 0")
    assert windows(net.host) == {FAR[family]: 60}
    assert starts_small(connect(family))


@families
def test_base_that_moves_takes_along_what_was_learned(net, driver, connect, family):
    """What a path through another gateway carries is not known."""
    connect(family).grow(20)
    driver.follow(f"set {PREFIX[family]} 40")
    assert mtu_of(net.host, FAR[family]) == NARROW_BYTES
    second = {4: "10.0.0.2", 6: "fd00::2"}[family]
    net.host.ip(f"-{family}", "route", "replace", "default", "via", second)
    wait_until(lambda: driver.quiet() and windows(net.host) == {PREFIX[family]: 40}, "no more")
    assert mtu_of(net.host, FAR[family]) == 0


@pytest.fixture
def crowd(net, driver, far):
    """Routes to 1,500 hosts, 60 of which have learned, and to ten more which have: of one hop and
    window IPv4 routes share what was learned, and a dump repeats it for each."""
    far.batch("route add local 172.16.0.0/16 dev lo\nroute add local 192.0.3.0/24 dev lo")
    net.world.batch("route add 172.16.0.0/16 via 192.0.2.9\nroute add 192.0.3.0/24 via 192.0.2.9")
    many = [f"172.16.{n // 250}.{1 + n % 250}" for n in range(1500)]
    behind = [f"192.0.3.{n}" for n in range(1, 11)]  # in the dump, too
    driver.follow(*[f"set {dst} 40" for dst in many] + [f"set {dst} 50" for dst in behind])
    for dst in many[:60] + behind:
        connection = Connection(net.host, far, dst)
        assert not starts_small(connection)
        connection.close()
    return many, behind


def test_what_routes_share_is_read_once_and_the_rest_asked_for(net, driver, crowd):
    many, behind = crowd
    before = dict(driver.stats)
    after = driver.follow(*[f"set {dst} 80" for dst in many + behind])
    assert after["written"] - before["written"] == len(many + behind)
    assert after["resolved"] - before["resolved"] >= len(many + behind), "the dump was not cut"
    for dst in many[:60] + behind:
        assert mtu_of(net.host, dst) == NARROW_BYTES
    assert mtu_of(net.host, many[60]) == 0


def test_what_is_asked_for_is_not_taken_to_another_path(net, driver, crowd):
    """As what a dump tells: the route that is asked about is to be replaced."""
    dst = crowd[0][0]
    before = dict(driver.stats)
    net.host.ip("route", "add", dst, "via", "10.0.0.2")
    after = driver.quiet()
    assert after["resolved"] - before["resolved"] >= 2, "the dump was not cut"
    assert routes(net.host)[dst]["gateway"] == "10.0.0.2"
    assert mtu_of(net.host, dst) == 0


def test_round_looks_at_main_in_little_time(net, driver, capsys):
    """What it costs where main has as many routes as are still looked at."""
    n_routes = 65000
    net.host.batch("".join(f"route add 20.{n >> 8}.{n & 255}.0/24 via 10.0.0.1\n"
                           for n in range(n_routes)))
    driver.follow(f"set {PREFIX[4]} 40")

    def cpu_ms():
        with open(f"/proc/{driver.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    before = cpu_ms()
    for _ in range(20):
        driver.quiet()
    a_round_ms = (cpu_ms() - before) / 20
    with capsys.disabled():
        print(f"\na round looks at {n_routes} routes of main for learned paths in "
              f"{a_round_ms:.1f} ms of processor time")
    assert a_round_ms < 50


@families
def test_what_another_route_shares_is_not_taken_for_what_was_learned(net, connect, driver, family):
    """Routes of the same hop and metrics share what was learned on one of them, also after it went
    another way: the kernel then still tells it of that host."""
    host_bits, gateway = {4: ("32", "10.0.0.2"), 6: ("128", "fd00::2")}[family]
    driver.follow(f"set {FAR[family]} 20", f"set {NEAR_IT[family]} 20")
    connect(family).grow(40)
    assert starts_small(connect(family))
    net.host.ip("route", "add", f"{FAR[family]}/{host_bits}", "via", gateway)
    driver.quiet()
    assert mtu_in(routes(net.host)[FAR[family]]) == 0
    driver.follow(f"set {FAR[family]} 60")
    route = routes(net.host)[FAR[family]]
    assert initcwnd(route) == 60 and mtu_in(route) == 0, route


def test_mtu_that_another_route_of_main_has_is_learned_on_ours(net, connect):
    net.host.ip("route", "add", "198.18.0.0/16", "via", "10.0.0.1", "mtu", NARROW_BYTES)
    with Daemon(net.host, "--history-weight", "0"):
        connection = connect(4)
        assert wait_window(net.host, FAR[4]) == 10
        for cwnd in (20, 40):
            connection.grow(cwnd)
            wait_until(lambda: windows(net.host)[FAR[4]] >= cwnd * 0.9, "the new window")
            assert starts_small(connect(4))


def test_path_that_must_fragment_is_left_alone(net, driver, far):
    """Below min_pmtu the kernel locks what it learns: packets may be fragmented, not so by a copy."""
    net.world.ip("link", "set", "eth2", "mtu", "500")
    learn_by_udp(net.host, FAR[4])
    assert "mtu lock" in net.host.ip("route", "get", FAR[4])
    driver.follow(f"set {FAR[4]} 40")
    assert windows(net.host) == {}
    assert "mtu lock" in net.host.ip("route", "get", FAR[4], "ipproto", "tcp")


@pytest.mark.parametrize("dsts", [["192.0.2.0/24"], ["192.0.2.0/24", "192.0.0.0/16"],
                                  ["192.0.0.0/16", FAR[4]]], ids=["prefix", "nested", "host"])
def test_path_that_must_fragment_leaves_all_alone_that_would_hold_it(net, driver, far, dsts):
    """Without a route of its own the host would take that of the next wider prefix."""
    learn_by_udp(net.host, FAR[4])
    driver.follow(*[f"set {dst} 40" for dst in dsts])
    assert windows(net.host) == {dst: 40 for dst in {*dsts, FAR[4]}}
    net.world.ip("link", "set", "eth2", "mtu", "500")
    learn_by_udp(net.host, FAR[4], 600)
    assert "mtu lock" in net.host.ip("route", "get", FAR[4])
    driver.quiet()
    assert "mtu lock" in net.host.ip("route", "get", FAR[4], "ipproto", "tcp")
    assert windows(net.host) == {}


def test_prefix_is_not_left_alone_for_a_path_that_its_host_has_left(net, driver, far):
    """Another route of that hop still has what was learned, and a dump tells it of the host."""
    net.world.ip("link", "set", "eth2", "mtu", "500")
    for prefix in (f"{FAR[4]}/32", "198.18.0.0/16"):
        net.host.ip("route", "add", prefix, "via", "10.0.0.2")
    learn_by_udp(net.host, FAR[4])
    assert "mtu lock" in net.host.ip("route", "get", FAR[4])
    net.host.ip("route", "del", f"{FAR[4]}/32")
    assert "mtu lock" not in net.host.ip("route", "get", FAR[4])
    driver.follow(f"set {PREFIX[4]} 40")
    assert windows(net.host) == {PREFIX[4]: 40}


def exceed_the_mtu(host):
    """Datagrams that are too large for the mtu of the route to FAR, until the kernel has learned it."""
    with host.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(0, 10, 3)  # probing: whatever is known
        udp.connect((FAR[4], 9))

        def is_told():
            with contextlib.suppress(ConnectionRefusedError):
                udp.send(bytes(NARROW_BYTES + 50))
            return "expires" in host.ip("route", "get", FAR[4])

        wait_until(is_told, "an exception")


def test_mtu_of_another_route_of_main_is_not_taken_for_what_was_learned(net, driver, far):
    """What is too large for the mtu of a route makes the kernel learn that very mtu on it; routes of
    one hop and metrics share that, and it is told of a host that has left them for another."""
    for prefix in (f"{FAR[4]}/32", "192.0.2.64/26"):
        net.host.ip("route", "add", prefix, "via", "10.0.0.1", "mtu", NARROW_BYTES)
    exceed_the_mtu(net.host)
    net.host.ip("route", "del", f"{FAR[4]}/32")
    assert mtu_of(net.host, FAR[4]) == 0
    driver.follow(f"set {FAR[4]} 40")
    driver.quiet()
    driver.follow(f"set {FAR[4]} 60")
    assert windows(net.host) == {FAR[4]: 60}
    assert mtu_of(net.host, FAR[4]) == 0


def test_what_is_learned_while_a_destination_is_left_alone_is_not_kept(net, driver, far):
    """It is of a route that need not be the base that the destination gets at last."""
    rule = ("to", FAR[4], "ipproto", "tcp", "lookup", "100")
    net.host.ip("route", "add", "default", "via", "10.0.0.2", "table", "100")
    net.host.ip("route", "add", FAR[4], "via", "10.0.0.1", "mtu", NARROW_BYTES)
    net.host.ip("rule", "add", *rule)
    driver.follow(f"set {FAR[4]} 40")
    assert windows(net.host) == {}
    exceed_the_mtu(net.host)
    driver.quiet()
    net.host.ip("route", "del", FAR[4])
    net.host.ip("rule", "del", *rule)
    driver.quiet()
    assert windows(net.host) == {FAR[4]: 40}
    assert mtu_of(net.host, FAR[4]) == 0
