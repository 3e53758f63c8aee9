# SPDX-License-Identifier: MIT
"""Policy rules of others go on as without us, and ours stand where they belong."""

import itertools

import pytest
from netns import PROTOCOL, Daemon, rules, wait_until, windows
from routing_ask import OTHER, PEER, SECOND, SOURCES, ask, families, wait_none, wait_ours, way


def queries(family):
    """What a host may ask for: (destination, words)."""
    sources = [()] + [("from", source) for source in SOURCES[family]]
    marks = [(), ("mark", "1")]
    protocols = [("ipproto", "tcp"), ("ipproto", "udp")]
    for dst, *words in itertools.product((PEER[family], OTHER[family]), sources, marks, protocols):
        yield dst, tuple(itertools.chain(*words))


def ways(host, family):
    return {query: way(host, query[0], *query[1]) for query in queries(family)}


def policy(rule, family):
    """Sends what the rule matches to table 100, whose route is known by its mtu."""
    return (f"route add default via {SECOND[family]} table 100 mtu 1333\n"
            f"rule add {rule.format(peer=PEER[family], source=SOURCES[family][1])} lookup 100")


def matches(rule, family, query):
    dst, words = query
    return ("from" in rule and SOURCES[family][1] in words
            or "to" in rule and dst == PEER[family]
            or "fwmark" in rule and "mark" in words)


RULES = ["pref 100 from {source}", "pref 100 to {peer}", "pref 100 fwmark 1",
         "pref 32765 to {peer}", "pref 32765 fwmark 1"]


@families
@pytest.mark.parametrize("rule", RULES)
def test_policy_routing_goes_on_as_without_us(net, family, rule):
    for peer in (PEER[family], OTHER[family]):
        net.learned(peer, 30)
    net.host.routing(family, policy(rule, family))
    before = ways(net.host, family)
    assert len(set(map(str, before.values()))) > 2
    with Daemon(net.host):
        wait_ours(net.host, OTHER[family])
        assert ways(net.host, family) == before
        if " to " in rule:
            wait_none(net.host, PEER[family])


@families
@pytest.mark.parametrize("rule", RULES)
def test_rule_that_comes_later_is_respected_before_the_next_round(net, family, rule):
    for peer in (PEER[family], OTHER[family]):
        net.learned(peer, 30)
    with Daemon(net.host, interval="1h"):
        for peer in (PEER[family], OTHER[family]):
            wait_ours(net.host, peer)
        net.host.routing(family, policy(rule, family))
        wait_until(lambda: all(("mtu 1333" in str(answer)) == matches(rule.split(), family, query)
                               for query, answer in ways(net.host, family).items()),
                   "the new rule")
        wait_ours(net.host, OTHER[family])


@families
def test_tcp_that_goes_through_another_table_is_left_alone(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        net.host.routing(family, policy("pref 100 ipproto tcp", family))
        wait_until(lambda: PEER[family] not in windows(net.host), "no route")
        assert f"via {SECOND[family]} " in ask(net.host, PEER[family], "ipproto", "tcp")


@families
def test_rules_stand_directly_before_main(net, family):
    with Daemon(net.host):
        found = net.host.ip(f"-{family}", "rule").splitlines()
        main = next(n for n, rule in enumerate(found) if rule.endswith("lookup main"))
        assert found[main - 1] in rules(net.host)
        assert "from all iif lo ipproto tcp lookup" in found[main - 1]


@families
def test_rules_stand_directly_before_main_where_others_stand_already(net, family):
    net.host.routing(family, f"rule add pref 32765 to {PEER[family]} lookup 100")
    with Daemon(net.host):
        found = net.host.ip(f"-{family}", "rule").splitlines()
        main = next(n for n, rule in enumerate(found) if rule.endswith("lookup main"))
        assert found[main - 1] in rules(net.host)
        assert "lookup 100" in next(rule for rule in reversed(found[:main])
                                    if f"proto {PROTOCOL}" not in rule)


@families
def test_rule_that_somebody_removed_comes_back(net, family):
    net.learned(PEER[family], 30)
    with Daemon(net.host, interval="1h"):
        wait_ours(net.host, PEER[family])
        before = net.host.ip(f"-{family}", "rule")
        priority = rules(net.host)[0].split(":")[0]
        for _ in range(before.count(f"proto {PROTOCOL}")):
            net.host.ip(f"-{family}", "rule", "del", "pref", priority)
            wait_until(lambda: net.host.ip(f"-{family}", "rule") == before, "our rules")
            wait_ours(net.host, PEER[family])
