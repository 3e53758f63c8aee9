"""riptided beside others: numbers of ours that somebody else uses are refused by name."""

import pytest

from netns import MARK, PROTOCOL, RIPTIDED, TABLE, Daemon, routes, rules, wait_until


def refusal(host, *options):
    done = host.run(RIPTIDED, "--once", *options, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("theirs, options, words", [
    (f"route add unreachable {{net}} table {TABLE}", (), ("table 7230", "choose another table")),
    (f"rule add pref 100 to {{net}} lookup {TABLE}", (), ("table 7230", "priority 100")),
    (f"rule add pref 100 fwmark {MARK:#x} lookup 100", (), (f"mark {MARK:#x}", "priority 100")),
    (f"rule add pref 100 to {{net}} lookup 100 proto {PROTOCOL}", (), ("protocol 230", "100")),
    (f"route add unreachable {{net}} proto {PROTOCOL}", (), ("protocol 230", "main")),
    ("rule add pref 32765 to {net} lookup 100", ("--rule-priority", "32765"),
     ("rule priority 32765", "choose another")),
], ids=["routes-in-table", "rule-to-table", "mark", "rule-protocol", "route-protocol", "priority"])
def test_number_in_use_is_refused_by_name(net, family, theirs, options, words):
    net.host.ip(f"-{family}", *theirs.format(
        net={4: "198.51.100.0/24", 6: "2001:db8:99::/48"}[family]).split())
    before = net.host.ip("rule") + net.host.ip("-6", "rule")
    said = refusal(net.host, *options)
    for word in words:
        assert word in said
    assert net.host.ip("rule") + net.host.ip("-6", "rule") == before
    assert net.host.ip(f"-{family}", "route", "show", "table", "all").count("198.51.100.0/24" if
                       family == 4 else "2001:db8:99::/48") == ("route" in theirs)


def test_other_numbers_live_beside_them(net):
    net.host.ip("route", "add", "unreachable", "198.51.100.0/24", "table", TABLE)
    net.learned("203.0.113.1", 30)
    with Daemon(net.host, "--protocol", "231", "--mark", "0x99", table=7231):
        wait_until(lambda: "203.0.113.1" in routes(net.host, 7231), "our route in table 7231")
        assert len(rules(net.host, TABLE)) == 0
    assert "198.51.100.0/24" in routes(net.host)


def test_leftovers_of_a_predecessor_with_another_mark_go(net):
    with Daemon(net.host, "--mark", "0x99") as daemon:
        daemon.kill()
    with Daemon(net.host):
        assert "0x99" not in net.host.ip("rule") + net.host.ip("-6", "rule")
