# SPDX-License-Identifier: MIT
"""riptide show: windows; of one destination, from its connections to the kernel, or why it has none."""

import re
import time

import cgroups
import pytest
from control import ask, derived, labelled, riptide_json, rows_by_name, status, wait_given, whole
from netns import AS_NOBODY, BY_ROUTES, RIPTIDE, Daemon, add_wg_quick_rules, rules, wait_until, windows

V4, V6 = "203.0.113.1", "2001:db8::1"
ALWAYS_40 = "[prefix 203.0.113.0/24]\ncwnd-min = 40\ncwnd-max = 40\n"


def table(host, *options):
    """The rows by their headings, and the last line; none is wider than 80 columns."""
    lines = host.run(RIPTIDE, "show", *options).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    header = next(i for i, line in enumerate(lines) if line.startswith("DESTINATION "))
    return [dict(zip(lines[header].split(), line.split())) for line in lines[header + 1:-1]], lines[-1]


def test_list_has_those_first_that_save_most_and_totals(net):
    with Daemon.learned(net, {V4: 30, V6: 60, "198.51.100.1": 30}, *BY_ROUTES):
        found = windows(net.host)
        rows, total = table(net.host)
        assert [row["DESTINATION"] for row in rows] == [V6, "198.51.100.1", V4]
        assert {row["DESTINATION"]: int(row["WINDOW"]) for row in rows} == found
        assert {row["BY"] for row in rows} == {"routes"}
        assert total == "3 with a window; 0 without"
        (first, more), _ = table(net.host, "--top", "1")
        assert first["DESTINATION"] == V6 and list(more.values())[:3] == ["...", "2", "more"]
        shown, = rows_by_name(riptide_json(net.host, "show", "203.0.113.0/24"))
        assert (shown["dst"], shown["window"], shown["connections"], shown["by"]) == (V4, found[V4], 1, "routes")
        net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--off", "--for", "1h")
        wait_until(lambda: "2 with a window" in table(net.host)[1] or "; 1 without" in table(net.host)[1], "the hint")


def test_show_of_one_destination_has_a_line_for_each_step(net):
    with Daemon.learned(net, {V4: 60, "203.0.113.2": 30}, *BY_ROUTES, "--cwnd-max", "25"):
        found = riptide_json(net.host, "show", V4)
        assert (found["window"]["connections"], found["window"]["cwnd"]) == (1, 25)
        said = derived(net.host, V4)
        assert said.startswith(f"{V4}: connections start with 25 segments\n") and "  why " not in said
        steps = re.findall(r"^  (\w+)", said, re.M)
        assert steps == ["connections", "path", "computed", "bounds", "window", "route", "kernel", "open", "changes"]
        assert labelled("route", "25 segments\n") in said
        assert labelled("kernel", f"takes {V4} of table 7230, initcwnd 25\n") in said
        lines = net.host.run(*AS_NOBODY, RIPTIDE, "show", V4).stdout.splitlines()
        assert len(lines) <= 15 and max(map(len, lines)) <= 80
        net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--max", "20", "--for", "1h")
        bounds = labelled("bounds", "10 to 20, by the hint for 203.0.113.0/24")
        wait_until(lambda: bounds in derived(net.host, V4), "the hint")
        net.host.run(RIPTIDE, "pause")
        said = derived(net.host, V4)
        why = labelled("why", "paused\n")
        assert said.startswith(f"{V4}: connections start with 10 segments (the kernel's)\n{why}")
        assert labelled("route", "not given: paused\n") in said and net.connect(V4).cwnd() == 10
        assert net.host.run(RIPTIDE, "show").stdout.startswith(labelled("off", "paused, until riptide resume\n"))
        assert table(net.host)[1] == "2 with a learned window; 0 without"


def began(net):
    """{how: number} of the open connections to V4; those with a window also by that."""
    found = riptide_json(net.host, "show", V4)["open"]
    groups = {(group["how"], group["initcwnd"]): group["connections"] for group in found["began"]}
    assert sum(groups.values()) == min(found["connections"], 20)
    return groups


def test_show_says_how_open_connections_began(net, cgroup, daemon, preload):
    """The one from which the window was learned is older than it; those that open after a hint have a smaller one."""
    cwnd = 40
    net.learned(V4, 30)
    with daemon("program", "--holdout-percent", "50", config=ALWAYS_40):
        wait_given(V4)
        wait_until(lambda: net.connect(V4) and {("program", cwnd), ("holdout", None)} <= began(net).keys(), "both arms")
        before = began(net)
        assert before.keys() == {("program", cwnd), ("holdout", None), ("unknown", None)}
        assert before["unknown", None] == 1
        net.host.run(RIPTIDE, "hint", V4, "--max", "15", "--for", "1h")
        wait_until(lambda: riptide_json(net.host, "show", V4)["program"]["initcwnd"] == 15, "the hint")
        wait_until(lambda: net.connect(V4) and ("program", 15) in began(net), "one with 15")
        cgroups.enter(cgroup.parent)
        net.connect(V4)
        cgroups.enter(cgroup)
        found = began(net)
        assert (found["program", cwnd], found["unknown", None]) == (before["program", cwnd], 1)
        assert found["outside", None] == found["program", 15] == 1
        n, held_out = sum(found.values()), found["holdout", None]
        assert labelled("open", f"{n} connections: {before['program', cwnd]} began with {cwnd} by the program, 1 with 15 "
                        f"by the program, {held_out} held out, 1 not in the cgroup, 1 not known\n"
                        ) in derived(net.host, V4)
        hidden = preload(cgroups.refusing("EACCES", "family == AF_NETLINK && protocol == 4 /* NETLINK_SOCK_DIAG */",
                                          "int socket(int family, int type, int protocol)"))
        said = net.host.run("env", hidden, RIPTIDE, "show", V4).stdout
        assert "\n  program " in said and "\n  open " not in said


def test_show_asks_about_20_open_connections(net):
    with Daemon.learned(net, {V4: 30}, *BY_ROUTES, config=ALWAYS_40):
        for _ in range(24):
            net.connect(V4)
        assert began(net)["routes", 40] in (19, 20)  # one of the 25 is older than the route
        assert re.search("^  open +25 connections; of 20: (19|20) began with 40 by the route", derived(net.host, V4), re.M)


def test_connection_older_than_its_route_is_not_said_to_have_its_window(net):
    net.learned(V4, 30)
    learned_s = time.monotonic()
    # riptided compares an age of the moment before it was asked: it has to be larger than that takes.
    wait_until(lambda: time.monotonic() - learned_s > 1, "an age")
    with Daemon(net.host, *BY_ROUTES, config=ALWAYS_40):
        wait_given(V4)
        assert began(net) == {("unknown", None): 1}
        net.connect(V4)
        line = labelled("open", "2 connections: 1 began with 40 by the route, 1 not known\n")
        assert line in derived(net.host, V4)


def test_only_what_is_known_to_have_begun_without_a_window_is_said_to(net, cgroup, daemon):
    """Not after a restart, which forgets with what those before it began; nor inside and outside alike in a pause."""
    net.learned(V4, 30)
    with daemon("program", "--holdout-percent", "0", config=ALWAYS_40):
        wait_given(V4)
        for _ in range(3):
            net.connect(V4)
        assert began(net) == {("program", 40): 3, ("unknown", None): 1}
    with daemon("program", "--holdout-percent", "0", config=ALWAYS_40):
        wait_given(V4)
        assert began(net) == {("unknown", None): 4}
        net.host.run(RIPTIDE, "pause")
        net.connect(V4)
        cgroups.enter(cgroup.parent)
        net.connect(V4)
        cgroups.enter(cgroup)
        assert began(net) == {("unknown", None): 4, ("without", None): 1, ("outside", None): 1}
        assert "1 not in the cgroup, 1 with the kernel's window, 4 not known" in whole(derived(net.host, V4))


def test_request_about_an_opening_needs_a_cookie_and_by_routes_times(net):
    """A connection whose times are not said may be older than its route."""
    with Daemon.learned(net, {V4: 30}, *BY_ROUTES, config=ALWAYS_40):
        assert ask({"request": "opened", "dst": V4})["error"] == "opened: cookie is missing"
        times = {"busy_time_us": 0, "last_data_sent_ms": 0}
        for more, by in ((times, "routes"), ({}, None)):
            assert ask({"request": "opened", "dst": V4, "cookie": 1, **more})["by"] == by


@pytest.mark.parametrize("options, dst, why", [
    ((), "203.0.113.5", "no connection to it has counted yet"),
    (("--scope", "198.51.100.0/24"), V4, "it is outside the scope"),
    (("--exclude", V4), V4, "it is excluded"),
    (("--remote-port", "1"), V4, "no connection to it with ports of the scope has counted yet"),
    (BY_ROUTES, "10.0.1.10", "it is an address of this host"),
    ((), "169.254.1.1", "it is a link-local, multicast or broadcast address"),
    ((), "127.0.0.1", "it is an address of this host"),
], ids=["unknown", "scope", "exclude", "ports", "own", "link-local", "loopback"])
def test_missing_condition_is_named(net, options, dst, why):
    net.learned(V4, 30)
    with Daemon(net.host, *options):
        wait_until(lambda: status()["round"], "a round")
        assert labelled("why", f"{why}\n") in derived(net.host, dst)


def test_window_that_has_expired_is_named(net):
    with Daemon.learned(net, {V4: 30}, *BY_ROUTES, "--ttl", "300ms"):
        net.reset(net.connections[0])
        why = labelled("why", "no connection to it has counted within its time to live\n")
        wait_until(lambda: why in derived(net.host, V4), "its end")


@pytest.mark.parametrize("backend", ["routes", "program"])
def test_hint_that_holds_a_window_back_is_named(net, daemon, backend):
    net.learned(V4, 30)
    with daemon(backend):
        wait_given(V4)
        net.host.run(RIPTIDE, "hint", V4, "--max", "10", "--for", "1h")
        wait_until(lambda: labelled("why", f"windows are held back for {V4}\n") in derived(net.host, V4), "the hint")
        assert labelled("do", "riptide hint lists hints\n") in derived(net.host, V4)
        assert table(net.host)[1] == "0 with a window; 1 without"


def test_hint_or_section_that_is_off_is_named_before_anything_is_learned(net):
    with Daemon(net.host, config="[prefix 198.51.100.0/24]\noff = yes\n"):
        net.host.run(RIPTIDE, "hint", "203.0.113.0/24", "--off", "--for", "1h")
        for dst, prefix, remedy in ((V4, "203.0.113.0/24", "riptide hint lists hints"),
                                    ("198.51.100.1", "198.51.100.0/24",
                                     "change that section of the file, and restart riptided")):
            said = derived(net.host, dst)
            assert labelled("why", f"windows are off for {prefix}\n") in said
            assert labelled("do", f"{remedy}\n") in said


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.10", "::1"])
def test_addresses_of_the_host_are_of_table_local(net, daemon, address):
    with daemon("program"):  # with routes our rules part the tables
        assert labelled("kernel", f"takes {address} of table 255, ") in derived(net.host, address)


def test_destination_that_lost_its_place_is_named(net):
    with Daemon.learned(net, {V4: 30}, *BY_ROUTES, "--max-destinations", "1"):
        net.reset(net.connections[0])
        net.learned("198.51.100.1", 30)
        wait_until(lambda: "198.51.100.1" in windows(net.host), "the other one")
        said = derived(net.host, V4)
    assert labelled("why", "another destination has its place, as the table is full\n") in said
    assert labelled("do", "a larger max-destinations\n") in said


def test_path_that_is_too_short_is_named(net):
    net.learned(V4, 30)
    with Daemon(net.host, "--min-rtt", "10s"):
        why = labelled("why", "its round trips are too short\n")
        said = wait_until(lambda: why in (said := derived(net.host, V4)) and said, "a round")
        assert labelled("do", "a smaller min-rtt\n") in said
        assert windows(net.host) == {} and table(net.host)[1] == "0 with a window; 1 without"


def test_destination_without_a_route_of_the_kernel(net):
    net.host.ip("route", "add", "blackhole", "203.0.113.6")
    with Daemon(net.host):
        why = labelled("why", "the kernel has no route: ")
        assert derived(net.host, "203.0.113.6").startswith(f"203.0.113.6: no connection can start\n{why}")


def test_rule_that_comes_before_ours_is_named(net):
    net.host.ip("route", "add", "203.0.113.0/24", "via", "10.0.0.1")
    net.host.ip("route", "add", "2001:db8::/64", "via", "fd00::1", "initcwnd", 17)
    with Daemon.learned(net, dict.fromkeys((V4, V6, "198.51.100.1"), 40), *BY_ROUTES):
        add_wg_quick_rules(net.host)
        wait_until(lambda: len(rules(net.host)) == 2, "our rules")
        for address, starts in ((V4, 10), (V6, 17)):
            assert net.connect(address).cwnd() == starts
            said = derived(net.host, address)
            assert said.startswith(f"{address}: connections start with {starts} segments")
            assert "connections take another table than ours: 254 (main)\n" in said
            assert labelled("do", "let that rule match fewer connections (ip rule), or") in said
        wait_until(lambda: table(net.host)[1] == "1 with a window; 2 without", "both")
        said = net.host.run(RIPTIDE, "show").stdout
        assert len(re.findall(r" -\n +a rule sends it to another table\n", said)) == 2
        assert said.startswith("DESTINATION ")
        window = windows(net.host)["198.51.100.1"]
        assert derived(net.host, "198.51.100.1").startswith(f"198.51.100.1: connections start with {window} segments\n")


def test_prefix_is_about_the_one_destination_that_it_belongs_to(net, cgroup):
    net.learned("198.51.100.1", 30)
    with Daemon(net.host, "--prefix-len4", "22", "--apply", "program", "--cgroup", cgroup):
        wait_until(lambda: riptide_json(net.host, "show", "198.51.100.0/22")["program"], "a window")
        assert labelled("part of", "198.51.100.0/22\n") in derived(net.host, "198.51.100.0/24")
        assert table(net.host, "198.51.96.0/21")[0][0]["DESTINATION"] == "198.51.100.0/22"


def test_connections_that_do_not_count_are_counted(net):
    connections = [net.connect("203.0.113.3") for _ in range(2)]
    with Daemon(net.host, "--policy", "careful") as daemon:
        wait_until(lambda: riptide_json(net.host, "show", "203.0.113.3")["window"], "a round")
        with daemon.stopped():  # no round sees only one of them closed
            for connection in connections:
                net.reset(connection)
        said = derived(net.host, "203.0.113.3")
        assert labelled("why", "no connection to it has counted yet\n") in said
        assert re.search(r"^  connections  0 counted, \d+\.\d s ago; left out: 2 unused$", said, re.M)


def test_evidence_of_careful_is_on_the_path(net):
    connection = net.learned(V4, 60)
    with Daemon(net.host, "--policy", "careful"), connection.busy():
        said = wait_until(lambda: "first flights" in (said := derived(net.host, V4)) and said, "evidence")
    assert re.search(r"^  path         round trip [\d.]+ ms; first flights that fit: \d of the 4 for a raise; "
                     r"evidence of losses: \d+, and with 16 it is paced or shrinks$", said, re.M)


def test_a_section_in_force_is_named_with_its_own_remedy(net):
    sections = "policy = paper\n[prefix 203.0.113.0/24]\noff = yes\n[prefix 198.51.100.0/24]\ncwnd-max = 20\n"
    net.learned(V4, 40)
    net.learned("198.51.100.1", 40)
    with Daemon(net.host, *BY_ROUTES, config=sections):
        net.host.run(RIPTIDE, "hint", "198.51.100.0/24", "--max", "30")  # lowers nothing
        bounds = labelled("bounds", "10 to 20, by the section for 198.51.100.0/24\n")
        wait_until(lambda: bounds in derived(net.host, "198.51.100.1"), "the section")
        why = labelled("why", "windows are off for 203.0.113.0/24\n")
        said = wait_until(lambda: why in (said := derived(net.host, V4)) and said, "the other one")
        assert labelled("do", "change that section of the file, and restart riptided\n") in said


def test_window_of_the_program_prevails_and_is_named(net, daemon):
    cwnd = net.learned(V4, 30).cwnd()
    net.host.ip("rule", "add", "to", V4, "lookup", "100")
    net.host.ip("route", "add", "default", "via", "10.0.0.1", "table", 100)
    with daemon("both", "--holdout-percent", "20"):
        wait_until(lambda: f"{V4}: connections start with {cwnd} segments\n" in derived(net.host, V4), "the window")
        said = derived(net.host, V4)
        assert "\n  route        left alone: " in said
        assert f"\n  program      {cwnd} segments, 20 % of connections held out\n" in said
        assert table(net.host)[0][0]["BY"] == "program"
        net.host.run(RIPTIDE, "pause")
        said = derived(net.host, V4)
        assert "\n  why          paused\n" in said and "\n  program      not given: paused\n" in said
