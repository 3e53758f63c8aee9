# SPDX-License-Identifier: MIT
"""What goes in and what comes out, and what bad input raises: no kernel."""

from __future__ import annotations

import dataclasses
import errno
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
    with riptide.Estimator(prefix_len4=24, policy="paper") as estimator:
        for dst in ("203.0.113.1", "2001:db8::7"):
            estimator.add(sample(dst=dst))
        estimator.tick()
        peers: list[riptide.PrefixLike] = [
            "203.0.113.7", IPv4Address("203.0.113.7"), "::ffff:203.0.113.7"]
        for peer in peers:
            assert estimator.find(peer).dst == IPv4Network("203.0.113.0/24")
        peers = ["2001:db8::7", IPv6Address("2001:db8::7"), IPv6Network("2001:db8::7")]
        for peer in peers:
            assert estimator.find(peer).dst == IPv6Network("2001:db8::7/128")


def test_durations_are_exact() -> None:
    assert duration_ns("ttl", timedelta(days=1, microseconds=1)) == 86_400_000_001_000
    assert duration_ns("ttl", 0.05) == 50_000_000
    assert duration_ns("ttl", 90) == 90_000_000_000


def test_what_the_library_refuses_is_an_oserror_that_names_the_option() -> None:
    cases: list[tuple[Any, str, dict[str, float]]] = [
        (riptide.Estimator, "history_weight", {"history_weight": 1.0}),
        (riptide.Observer, "destroy_events", {"destroy_events": 2}),
        (riptide.Applier, "table", {"table": 254}),
        (riptide.Agent, "interval", {"interval": 0.001}),
    ]
    for make, name, options in cases:
        with pytest.raises(OSError, match=name) as caught:
            make(**options)
        assert caught.value.errno == errno.EINVAL


def test_each_errno_has_the_subclass_that_python_gives_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        riptide.Control(tmp_path / "nothing").status()
    with riptide.Agent(state=tmp_path) as agent:
        with pytest.raises(riptide.OptionError, match="not replaced before") as refused:
            agent.save()
        assert (refused.value.errno, refused.value.field) == (errno.EINVAL, "state")


def test_each_outcome_has_an_exception() -> None:
    numbers = ffi.typeof("enum riptide_outcome").elements
    assert set(OUTCOMES) == set(numbers) - {lib.RIPTIDE_E_MORE, lib.RIPTIDE_E_LEFT_OUT}
    for number in OUTCOMES:
        word = numbers[number].replace("RIPTIDE_E_", "").capitalize()
        assert OUTCOMES[number] is getattr(riptide, f"{word}Error")


def test_sample_has_each_field_of_the_struct() -> None:
    fields = {field.name for field in dataclasses.fields(riptide.Sample)}
    assert fields == {name for name, _ in ffi.typeof("struct riptide_sample").fields} - {"reserved"}


@pytest.mark.parametrize("cls, struct", [
    (riptide.Estimate, "riptide_estimate"), (riptide.LoadCounts, "riptide_load_counts"), (riptide.Route, "riptide_route"),
    (riptide.Window, "riptide_window"),
    (riptide.Tick, "riptide_tick"), (riptide.AgentEvent, "riptide_agent_event"),
    (riptide.Verdict, "riptide_verdict"), (riptide.Change, "riptide_change"),
])
def test_dataclasses_have_each_field_of_their_structs(cls: Any, struct: Any) -> None:
    fields = {field.name for field in dataclasses.fields(cls)}
    assert fields == ({name for name, _ in ffi.typeof(f"struct {struct}").fields}
                      - {"config", "user", "reserved"})


@pytest.mark.parametrize("options, stage", [
    (riptide.ObserverOptions, "observer"), (riptide.EstimatorOptions, "estimator"),
    (riptide.ApplierOptions, "applier"), (riptide.AgentOptions, "agent"),
])
def test_options_are_all_that_the_configurations_have(options: Any, stage: Any) -> None:
    names = [name for name, _ in ffi.typeof(f"struct riptide_{stage}_config").fields]
    expected = {name[:-3] if name.endswith(("_ns", "_us")) else name for name in names}
    expected -= {"size", "reserved", *(name for name in names if name.startswith("n_"))}
    assert set(options.__annotations__) == expected


def test_sample_is_a_frozen_value() -> None:
    one = sample(rtt_us=1500, closed=True)
    assert one == sample(rtt_us=1500, closed=True) != sample()
    assert len({one, sample(rtt_us=1500, closed=True)}) == 1
    assert one.dst == ip_address("203.0.113.7") and one.rtt == timedelta(microseconds=1500)
    assert pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(one, cwnd=30) == sample(cwnd=30, rtt_us=1500, closed=True)
    assert "cwnd=20" in repr(one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, "cwnd", 21)


def test_sample_of_a_whole_network_is_refused() -> None:
    with pytest.raises(ValueError, match="dst: not the address of a host"):
        sample(dst="203.0.113.0/24")


def test_version_is_that_of_the_headers() -> None:
    assert riptide.__version__ == ffi.string(lib.RIPTIDE_VERSION).decode()
    assert lib.RIPTIDE_VERSION_NUMBER == int.from_bytes(
        bytes(int(word) for word in riptide.__version__.split(".")), "big")


def test_all_is_complete() -> None:
    public = {name for name in vars(riptide) if name[0].isalnum()}
    assert set(riptide.__all__) == public


@pytest.mark.parametrize("name", ["cwnd_maximum", "ttl_ns", "size"])
def test_unknown_option_is_told_with_those_that_there_are(name: str) -> None:
    options: dict[str, Any] = {name: 5}
    with pytest.raises(TypeError, match=f"no option '{name}'; there are: policy, ") as caught:
        riptide.Estimator(**options)
    known = str(caught.value).split("there are: ")[1].split(", ")
    assert set(known) == set(riptide.EstimatorOptions.__annotations__)
    with pytest.raises(TypeError, match=f"no option 'applier.{name}'"):
        riptide.Agent(applier={name: 5})  # type: ignore[misc]
    with pytest.raises(TypeError, match=f"no option '{name}'"):
        sample(**options)
