# SPDX-License-Identifier: MIT
"""Policy rules of others go on as without us, and ours stand where they belong."""

import itertools

import pytest
from netns import Daemon, wait_until
from routing_ask import OTHER, PEER, SECOND, SOURCES, families, wait_none, wait_ours, way


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


@families
@pytest.mark.parametrize("rule", ["pref 100 from {source}", "pref 100 to {peer}",
                                  "pref 100 fwmark 1", "pref 32765 to {peer}",
                                  "pref 32765 fwmark 1"])
def test_rule_of_others_is_respected_when_it_comes_and_by_a_start(net, family, rule):
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
    before = ways(net.host, family)
    assert len(set(map(str, before.values()))) > 2
    with Daemon(net.host):
        wait_ours(net.host, OTHER[family])
        assert ways(net.host, family) == before
        if " to " in rule:
            wait_none(net.host, PEER[family])
