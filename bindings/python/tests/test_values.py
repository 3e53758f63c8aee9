# SPDX-License-Identifier: MIT
"""What goes in and what comes out, and which errors there are: no kernel."""

from __future__ import annotations

import errno
import pickle
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

import pytest

import riptide
from riptide import _convert, _structs
from riptide._errors import OUTCOMES
from riptide._native import ffi, lib

V4, V6 = IPv4Network("203.0.113.7"), IPv6Network("2001:db8::7")


def test_a_destination_is_a_network_whatever_it_is_given_as() -> None:
    v4: list[riptide.PrefixLike] = ["203.0.113.7", "::ffff:203.0.113.7", "203.0.113.7/32", V4,
                                    IPv4Address("203.0.113.7")]
    v6: list[riptide.PrefixLike] = ["2001:db8::7", V6, IPv6Address("2001:db8::7")]
    with riptide.Estimator(policy="paper") as estimator:
        estimator.add(riptide.Sample(V4, cwnd=20))
        estimator.add(riptide.Sample(V6, cwnd=20))
        estimator.tick()
        assert [estimator.find(dst).dst for dst in v4 + v6] == [V4] * 5 + [V6] * 3
        assert {change.dst for change in estimator.pop_all()} == {V4, V6}


@pytest.mark.parametrize("seconds, unit, number", [
    (0.05, "_ns", 50_000_000), (90, "_ns", 90 * 10**9), (1e-9, "_us", 1), (0.001001, "_ms", 2)])
def test_times_are_seconds(seconds: float, unit: str, number: int) -> None:
    assert _convert.count("ttl", seconds, unit) == number


def structs() -> list[Any]:
    """Each struct of the headers that has a NamedTuple, and is not for the library alone."""
    types = [ffi.typeof(f"struct {name}") for name in ffi.list_types()[1]]
    return [type_ for type_ in types if type_.cname != "struct riptide_scope" and hasattr(
        getattr(_structs, _convert.class_name(type_), None), "_make")]


@pytest.mark.parametrize("struct", structs(), ids=str)
def test_each_struct_is_read_whole(struct: Any) -> None:
    """All zero is the class with its defaults, but for a tuple of as many as in C."""
    read = _convert.read(ffi.new(f"{struct.cname} *"))
    assert list(read._fields) == [
        _convert.plain(name) for name, _ in struct.fields if name != "reserved"]
    for name, value in read._asdict().items():
        default = type(read)._field_defaults.get(name)
        assert value == default or isinstance(value, tuple), name


def test_a_sample_goes_into_c_and_comes_back() -> None:
    sample = riptide.Sample(V6, cookie=1 << 60, cwnd=20, rtt=0.0125, last_data_sent=1.5,
                            delivery_rate_Bps=7, local_port=443, closed=True)
    c = _convert.new_struct("sample", sample, riptide.Sample, "struct riptide_sample *")
    assert (c.rtt_us, c.last_data_sent_ms) == (12500, 1500)
    assert _convert.read(c) == sample == pickle.loads(pickle.dumps(sample))


@pytest.mark.parametrize("make, name, options", [
    (riptide.Estimator, "history_weight", {"history_weight": 1.0}),
    (riptide.Estimator, "ttl", {"ttl": 0}),
    (riptide.Applier, "table", {"table": 254}),
    (riptide.Agent, "interval", {"interval": 0.001}),
    (riptide.Agent, "estimator.ttl", {"estimator": {"ttl": 0}}),
])
def test_a_refused_option_is_named(make: Any, name: str, options: Any) -> None:
    with pytest.raises(riptide.OptionError, match=rf"^\[Errno 22\] [\w.]*{name}: ") as caught:
        make(**options)
    assert caught.value.errno == errno.EINVAL and caught.value.index is None
    assert caught.value.field.endswith(name)


def test_a_refused_element_has_its_index() -> None:
    with pytest.raises(riptide.OptionError) as caught:
        riptide.Observer(scope=riptide.Scope(local_ports=[80, (9, 1)]))
    assert (caught.value.field, caught.value.index) == ("observer.scope.local_ports[]", 1)


def test_each_outcome_has_an_exception() -> None:
    numbers = ffi.typeof("enum riptide_outcome").elements
    assert set(OUTCOMES) == set(numbers) - {lib.RIPTIDE_E_MORE, lib.RIPTIDE_E_LEFT_OUT}
    for number in OUTCOMES:
        word = numbers[number].replace("RIPTIDE_E_", "").capitalize()
        assert OUTCOMES[number] is getattr(riptide, f"{word}Error")


def test_dunder_all_lists_every_public_name() -> None:
    assert set(riptide.__all__) == {name for name in vars(riptide) if name[0].isalnum()}
    assert set(_structs.__all__) < set(riptide.__all__)


@pytest.mark.parametrize("name", ["cwnd_maximum", "ttl_ns", "size"])
def test_an_unknown_option_is_told_with_those_that_there_are(name: str) -> None:
    options: Any = {name: 5}
    with pytest.raises(TypeError, match=f"no option '{name}'; there are: policy, ") as caught:
        riptide.Estimator(**options)
    known = str(caught.value).split("there are: ")[1].split(", ")
    assert set(known) == set(riptide.EstimatorConfig.__annotations__)
    with pytest.raises(TypeError, match=f"no option 'applier.{name}'"):
        riptide.Agent(applier=options)
