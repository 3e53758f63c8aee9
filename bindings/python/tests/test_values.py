"""What goes in and what comes out, and what bad input raises: no kernel."""

from __future__ import annotations

import dataclasses
import errno
import math
import pickle
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Any

import pytest

import riptide
from riptide._errors import OUTCOMES
from riptide._native import ffi, lib
from riptide._values import duration_ns


def sample(**values: Any) -> riptide.Sample:
    given: dict[str, Any] = {"dst": "203.0.113.7", "cwnd": 20, **values}
    return riptide.Sample(**given)


def test_prefixes_go_in_as_text_or_objects_and_come_out_as_networks() -> None:
    with riptide.Estimator(prefix_len4=24) as estimator:
        peers: list[riptide.PrefixLike] = [
            "203.0.113.7", IPv4Address("203.0.113.7"), "::ffff:203.0.113.7"]
        for peer in peers:
            assert estimator.group(peer) == IPv4Network("203.0.113.0/24")
        peers = ["2001:db8::7", IPv6Address("2001:db8::7"), IPv6Network("2001:db8::7")]
        for peer in peers:
            assert estimator.group(peer) == IPv6Network("2001:db8::7/128")


@pytest.mark.parametrize("text", [
    "", "x", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.1\0", "fe80::1%eth0", "１0.0.0.1", "10.0.0.1 ",
    "a" * 10_000, "\ud800"])
def test_text_that_is_no_prefix_is_a_value_error(text: Any) -> None:
    with riptide.Estimator() as estimator, pytest.raises(ValueError):
        estimator.find(text)


@pytest.mark.parametrize("value", [None, 7, b"10.0.0.1", ["10.0.0.1"], object()])
def test_what_is_no_prefix_at_all_is_a_type_error(value: Any) -> None:
    with riptide.Estimator() as estimator, pytest.raises(TypeError):
        estimator.find(value)


def test_durations_are_exact() -> None:
    assert duration_ns(timedelta(days=1, microseconds=1)) == 86_400_000_001_000
    assert duration_ns(0.05) == 50_000_000
    assert duration_ns(90) == 90_000_000_000


@pytest.mark.parametrize("value, error", [
    (-1, ValueError), (math.nan, ValueError), (math.inf, ValueError),
    (timedelta(seconds=-1), ValueError), ("1", TypeError), (None, TypeError), (True, TypeError),
])
def test_bad_durations(value: Any, error: Any) -> None:
    with pytest.raises(error):
        riptide.Estimator(ttl=value)


@pytest.mark.parametrize("options, error", [
    ({"ttl": 1e30}, OverflowError),
    ({"cwnd_max": 1 << 32}, OverflowError),
    ({"cwnd_max": -1}, OverflowError),
    ({"cwnd_max": 1.5}, TypeError),
    ({"cwnd_max": "100"}, TypeError),
    ({"cwnd_max": None}, TypeError),
    ({"cwnd_maximum": 100}, TypeError),
    ({"size": 8}, TypeError),
    ({"ttl_ns": 90}, TypeError),
    ({"policy": "papyrus"}, ValueError),
    ({"policy": "päper"}, ValueError),
    ({"policy": "paper\0"}, ValueError),
    ({"policy": 7}, TypeError),
    ({"aggregates": 7}, TypeError),
    ({"aggregates": ["10.0.0.1/8"]}, ValueError),
    ({"aggregates": [None]}, TypeError),
    ({"overrides": [{"dst": "10.0.0.0/8"}]}, TypeError),
    ({"overrides": [riptide.Override("10.0.0.0/8", cwnd_max=1 << 40)]}, OverflowError),
    ({"paced": "yes"}, TypeError),
    ({"history_weight": "a half"}, TypeError),
])
def test_bad_options_raise_what_python_would(options: Any, error: Any) -> None:
    with pytest.raises(error):
        riptide.Estimator(**options)


PORTS: list[Any] = ["ssh", None]


@pytest.mark.parametrize("make, options", [
    (riptide.Observer, {"scope": {"learn": []}}),
    (riptide.Observer, {"scope": riptide.Scope(local_ports=PORTS[:1])}),
    (riptide.Observer, {"scope": riptide.Scope(local_ports=PORTS[1:])}),
    (riptide.Agent, {"estimator": 7}),
    (riptide.Agent, {"router": {"estimator": {}}}),
])
def test_options_of_the_wrong_type(make: Any, options: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        make(**options)


def test_what_the_library_refuses_is_an_oserror_that_names_the_option() -> None:
    cases: list[tuple[Any, str, dict[str, float]]] = [
        (riptide.Estimator, "history_weight", {"history_weight": 1.0}),
        (riptide.Observer, "slices", {"slices": 65}),
        (riptide.Router, "table", {"table": 254}),
        (riptide.Agent, "interval", {"interval": 0.001}),
    ]
    for make, name, options in cases:
        with pytest.raises(OSError, match=name) as caught:
            make(**options)
        assert caught.value.errno == errno.EINVAL


def test_each_errno_has_the_subclass_that_python_gives_it(tmp_path: Path) -> None:
    with riptide.Estimator() as estimator:
        with pytest.raises(FileNotFoundError, match="nothing"):
            estimator.load(tmp_path / "nothing")
        with pytest.raises(IsADirectoryError):
            estimator.save(tmp_path)
        with pytest.raises(ValueError):
            estimator.save("a\0b")
        with pytest.raises(TypeError):
            estimator.save(7)  # type: ignore[arg-type]


def test_each_outcome_has_an_exception() -> None:
    numbers = ffi.typeof("enum riptide_outcome").elements
    assert set(OUTCOMES) == set(numbers)
    for number, name in numbers.items():
        word = name.replace("RIPTIDE_E_", "").capitalize()
        assert OUTCOMES[number] is getattr(riptide, f"{word}Error")


def test_sample_has_each_field_of_the_struct() -> None:
    fields = {field.name for field in dataclasses.fields(riptide.Sample)}
    assert fields == {name for name, _ in ffi.typeof("struct riptide_sample").fields}


@pytest.mark.parametrize("cls, struct", [
    (riptide.Estimate, "riptide_estimate"), (riptide.Explanation, "riptide_explanation"),
    (riptide.LoadCounts, "riptide_load_counts"), (riptide.Route, "riptide_route"),
    (riptide.Rule, "riptide_rule"), (riptide.FlushCounts, "riptide_flush_counts"),
    (riptide.Tick, "riptide_tick"), (riptide.AgentEvent, "riptide_agent_event"),
    (riptide.PolicyInput, "riptide_policy_input"),
])
def test_dataclasses_have_each_field_of_their_structs(cls: Any, struct: Any) -> None:
    fields = {field.name for field in dataclasses.fields(cls)}
    assert fields == {name for name, _ in ffi.typeof(f"struct {struct}").fields} - {"config"}


def test_evidence_has_each_field_of_its_struct() -> None:
    evidence = dict(ffi.typeof("struct riptide_explanation").fields)["evidence"].type
    fields = [field.name for field in dataclasses.fields(riptide.Evidence)]
    assert fields == [name for name, _ in evidence.fields]


@pytest.mark.parametrize("options, stage", [
    (riptide.ObserverOptions, "observer"), (riptide.EstimatorOptions, "estimator"),
    (riptide.RouterOptions, "router"), (riptide.AgentOptions, "agent"),
])
def test_options_are_all_that_the_configurations_have(options: Any, stage: Any) -> None:
    names = [name for name, _ in ffi.typeof(f"struct riptide_{stage}_config").fields]
    expected = {name[:-3] if name.endswith("_ns") else name for name in names}
    expected -= {"size", *(name for name in names if name.startswith("n_"))}
    assert set(options.__annotations__) == expected


def test_sample_is_a_frozen_value() -> None:
    one = sample(rtt_us=1500, congestion_control="cubic", closed=True)
    assert one == sample(rtt_us=1500, congestion_control="cubic", closed=True) != sample()
    assert len({one, sample(rtt_us=1500, congestion_control="cubic", closed=True)}) == 1
    assert one.dst == ip_address("203.0.113.7") and one.rtt == timedelta(microseconds=1500)
    assert pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(one, cwnd=30) == sample(cwnd=30, rtt_us=1500, closed=True,
                                                       congestion_control="cubic")
    assert "cwnd=20" in repr(one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, "cwnd", 21)


@pytest.mark.parametrize("values, error", [
    ({"dst": "203.0.113.0/24"}, ValueError), ({"dst": None}, TypeError),
    ({"cwnd": -1}, OverflowError), ({"cwnd": 1 << 32}, OverflowError), ({"cwnd": "1"}, TypeError),
    ({"congestion_control": "x" * 16}, ValueError), ({"congestion_control": "ü"}, ValueError),
    ({"congestion_control": "a\0b"}, ValueError), ({"congestion_control": 7}, TypeError),
    ({"local_port": 65536}, OverflowError), ({"nothing": 1}, TypeError),
])
def test_bad_samples(values: Any, error: Any) -> None:
    with pytest.raises(error):
        sample(**values)


def test_version_is_that_of_the_headers() -> None:
    assert riptide.__version__ == ffi.string(lib.RIPTIDE_VERSION).decode()


def test_all_is_complete() -> None:
    public = {name for name in vars(riptide) if name[0].isalnum()}
    assert set(riptide.__all__) <= public


@pytest.mark.parametrize("options", [{"n_aggregates": 5}, {"n_overrides": 3}, {"size": 8}])
def test_what_counts_a_list_is_no_option(options: Any) -> None:
    with pytest.raises(TypeError, match="no option") as caught:
        riptide.Estimator(**options)
    assert ", n_" not in str(caught.value) and "size" not in str(caught.value).split("there")[1]
