# SPDX-License-Identifier: MIT
"""riptide.fleet.sums, without an engine."""

import math
import json
import sys

import pytest
from netns import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "bindings/python/riptide"))  # imported without the C extension
from fleet import sums  # noqa: E402


def test_sums_of_two_are_those_of_both():
    assert sums.add({"n": 8.0, "cost": -2.0}, {"n": 4.0, "again": 0.5}) == {"n": 12, "cost": -2, "again": 0.5}


def test_half_is_left_after_the_half_life():
    assert sums.share_left(7200, 3600) == 0.25 and sums.share_left(0, 3600) == sums.share_left(-5, 3600) == 1


@pytest.mark.parametrize("wrong", [{"n": math.nan}, {"n": math.inf}, {"n": -1e31}, {"": 1.0}, {"n" * 33: 1.0}, {"²n": 1.0}, {"a b": 1.0},
                                   {f"n{i}": 1.0 for i in range(4097)}])
def test_sums_that_no_host_may_add(wrong):
    with pytest.raises(ValueError, match="sums: "):
        sums.Outbox().put("10.0.0.1", wrong)


@pytest.mark.parametrize("text", [None, b"", b"{", b"[]", b"7", b'{"at":1}', b'{"at":"x","sums":{}}', b'{"at":1,"sums":[1]}',
                                  b'{"at":1,"sums":{"n":null}}', b'{"at":1,"sums":{"n":1e999}}', b'{"at":NaN,"sums":{}}',
                                  b'\xff', b"[" * 100000, b'{"at":1,"sums":{"n":1e31}}', b'{"at":1,"sums":{"\xff":1}}',
                                  b'{"at":1,"sums":{"n":1},"seq":"5"}', b'{"at":1,"sums":{"n":"5"}}'])
def test_what_no_host_writes_is_nothing(text):
    assert sums.read(text) is None
    assert sums.others(sums.read(text), None, 0, 60) == {}


def test_others_are_all_less_oneself_each_faded_since_its_own_time():
    site, own = sums.Held(60_000, {"n": 10.0, "cost": 3.0}), sums.Held(0, {"n": 8.0, "cost": 6.0})
    assert sums.others(site, own, 120_000, 60) == {"n": 5 - 2}  # no cost is left
    assert sums.others(site, None, 120_000, 60) == {"n": 5, "cost": 1.5}
    assert sums.others(None, own, 120_000, 60) == {}


def test_each_prefix_has_its_turn():
    prefixes = [f"10.0.0.{i}" for i in range(100)]
    turns = [sums.turn(prefixes, number, 6) for number in range(6)]
    assert sorted(sum(turns, [])) == sorted(prefixes) and max(map(len, turns)) < 50
    assert sums.turn(prefixes, 7, 6) == turns[1]


def test_a_batch_stays_until_it_is_confirmed():
    outbox = sums.Outbox()
    assert outbox.batch(1000) == (0, {})
    outbox.put("10.0.0.1", {"n": 1.0})
    first = outbox.batch(1000)
    assert first == (1000, {"10.0.0.1": {"n": 1.0}})
    outbox.put("10.0.0.1", {"n": 2.0})
    outbox.put("10.0.0.2", {"n": 3.0})
    assert outbox.batch(2000) == first and len(outbox) == 2
    outbox.confirm([])
    assert sums.Outbox(json.loads(json.dumps(outbox.save()))).batch(2000) == first
    outbox.confirm(["10.0.0.1", "10.0.0.9"])
    outbox.put("10.0.0.1", {"n": 2.0})
    assert outbox.batch(900) == (1001, {"10.0.0.1": {"n": 4.0}, "10.0.0.2": {"n": 3.0}})
    outbox.confirm(["10.0.0.2"])
    assert outbox.batch(3000) == (1001, {"10.0.0.1": {"n": 4.0}})
    outbox.confirm(["10.0.0.1"])
    assert outbox.batch(3000)[1] == {} and len(outbox) == 0
