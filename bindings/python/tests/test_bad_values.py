# SPDX-License-Identifier: MIT
"""What is not allowed, for each argument there is: one line that names the argument, no crash."""

from __future__ import annotations

import errno
import math
from datetime import timedelta
from functools import partial
from typing import Any, Callable, Iterator

import pytest

import riptide
from riptide import Hint, Sample, Scope


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


WRONG_TYPES: list[Any] = [None, b"1", [], {}, object(), Unprintable(), 1j]
TYPE: Any = [(value, TypeError) for value in WRONG_TYPES]
NO_NUMBER: Any = [*TYPE, ("1", TypeError)]


def integer(bits: int) -> Any:
    return [*NO_NUMBER, (1.5, TypeError), (math.nan, TypeError), (-1, OverflowError),
            (1 << bits, OverflowError), (10 ** 5000, OverflowError)]


#: By the kind of an argument: bad values, and what they raise.
KINDS: dict[str, Any] = {
    "uint8": integer(8), "uint16": integer(16), "uint32": integer(32), "uint64": integer(64),
    "time": [bad for bad in integer(64) if bad[0] is not None],  # None: now
    "float": [*NO_NUMBER, (10 ** 400, OverflowError), (math.nan, OSError), (-math.inf, OSError)],
    "number": [bad for bad in NO_NUMBER if bad[0] is not None] + [
        (math.nan, ValueError), (math.inf, ValueError)],
    "bool": [*NO_NUMBER, (2, OverflowError), (-1, OverflowError)],
    "auto": [*NO_NUMBER, (3, OSError), (-2, OSError), (128, OSError), (1 << 31, OverflowError)],
    "duration": [*NO_NUMBER, (True, TypeError), (-1, ValueError), (-math.inf, ValueError),
                 (math.nan, ValueError), (timedelta(seconds=-1), ValueError),
                 (-1e300, ValueError), (1e300, OverflowError), (timedelta.max, OverflowError),
                 (1e30, OverflowError), (10 ** 5000, OverflowError)],
    "prefix": [*TYPE, (7, TypeError), ("", ValueError), ("10.0.0.1\0", ValueError),
               ("10.0.0.1/8", ValueError), ("10.0.0.0/33", ValueError), ("１0.0.0.1", ValueError),
               ("\ud800", ValueError), ("a\nb", ValueError), ("x" * 100_000, ValueError)],
    "prefixes": [(None, TypeError), (7, TypeError), ([None], TypeError), (b"10.0.0.1", TypeError),
                 ([b"10.0.0.1"], TypeError), ("x", ValueError), (["10.0.0.1/8"], ValueError)],
    "ports": [(80, TypeError), (b"x", TypeError), (bytearray(b"x"), TypeError),
              (None, TypeError), (["443"], TypeError), ("443", TypeError),
              ([None], TypeError), ([1.5], TypeError), ([()], ValueError),
              ([(1, 2, 3)], ValueError), ([-1], OverflowError), ([65536], OverflowError),
              ([(1, 65536)], OverflowError)],
    "name": [*TYPE, (7, TypeError), ("papyrus", ValueError), ("päper", ValueError),
             ("paper\0", ValueError), ("", ValueError), ("x" * 100_000, ValueError)],
    "path": [(None, TypeError), (5, TypeError), ([], TypeError), ("\ud800", ValueError), ("a\0b", ValueError)],
    "path": [bad for bad in TYPE if bad[0] != b"1"] + [
        (7, TypeError), ("a\0b", ValueError), (b"a\0b", ValueError), ("\ud800", ValueError)],
    "state": [(None, TypeError), ("text", TypeError), (7, TypeError), ([], TypeError),
              (memoryview(b"abcd")[::2], ValueError)],
    "scope": [*TYPE, (7, TypeError), (Scope, TypeError), (Hint("10.0.0.0/8"), TypeError)],
    "options": [(None, TypeError), (7, TypeError), ("x", TypeError), ([("scope", 1)], TypeError)],
    "function": [*TYPE, ("f", TypeError)],
    "sample": [*TYPE, ("sample", TypeError), (Sample, TypeError)],
}

SAMPLE = {"dst": "prefix", "local_port": "uint16", "remote_port": "uint16", "acked_bytes": "uint64",
          "delivery_rate_Bps": "uint64", "busy_time_us": "uint64", "cookie": "uint64",
          **dict.fromkeys(["app_limited", "closed", "shown"], "bool")}
OBSERVER = {"scope": "scope", "destroy_events": "auto"}
ESTIMATOR = {
    "policy": "name",
    "prefix_len4": "uint8", "prefix_len6": "uint8",
    **dict.fromkeys(["cwnd_min", "cwnd_max", "max_destinations"], "uint32"),
    **dict.fromkeys(["ttl", "rto_min_floor"], "duration"),
    "history_weight": "float"}
APPLIER = {"dry_run": "bool",
           "pacing": "bool", "cgroup": "path", "backend": "uint32",
           **dict.fromkeys(["table", "max_windows", "holdout_percent",
                            "holdout_seed"], "uint32")}
SCOPE = {"learn": "prefixes", "exclude": "prefixes", "local_ports": "ports",
         "remote_ports": "ports"}

HINT = {"cwnd_min": "uint32", "cwnd_max": "uint32", "off": "bool", "until_ns": "uint64"}


def a_sample(**bad: Any) -> Sample:
    given: dict[str, Any] = {"dst": "10.0.0.1", "cwnd": 1, **bad}
    return Sample(**given)


def in_estimator(method: str, *arguments: Any, **named: Any) -> Any:
    with riptide.Estimator() as estimator:
        getattr(estimator, method)(*arguments, **named)


def in_applier(method: str, *arguments: Any, **named: Any) -> Any:
    with riptide.Applier() as applier:
        getattr(applier, method)(*arguments, **named)


def in_agent(method: str, *arguments: Any, **named: Any) -> Any:
    with riptide.Agent() as agent:
        getattr(agent, method)(*arguments, **named)


def each(call: Callable[..., Any], kinds: dict[str, Any]) -> Iterator[Any]:
    for name, kind in kinds.items():
        yield call, name, kind


def calls() -> Iterator[Any]:
    """Each call with one argument left open, the argument's name, and its kind."""
    estimator, applier, agent = in_estimator, in_applier, in_agent
    yield from each(a_sample,
                    {name: SAMPLE.get(name, "uint32") for name in Sample.__annotations__})
    yield from each(riptide.Observer, OBSERVER)
    yield from each(riptide.Estimator, ESTIMATOR)
    yield from each(riptide.Applier, APPLIER)
    yield from each(riptide.Agent, {"interval": "duration", "max_share": "float",
                                    "observer": "options", "estimator": "options",
                                    "applier": "options", "state": "path"})
    yield from each(lambda **bad: riptide.Observer(scope=Scope(**bad)), SCOPE)
    yield from each(lambda **bad: riptide.Agent(observer={"scope": Scope(**bad)}), SCOPE)
    hint_calls: list[Callable[[Hint], Any]] = [
        partial(estimator, "set_hint"), partial(agent, "set_hint")]
    for take in hint_calls:
        yield lambda bad, take=take: take(Hint(bad)), "dst", "prefix"
        yield from each(lambda take=take, **bad: take(Hint("10.0.0.0/8", **bad)), HINT)
    for call in estimator, agent:
        yield lambda bad, call=call: call("set_hint", bad), "hint", [*TYPE, (Scope(), TypeError)]
    yield lambda bad: estimator("add", bad), "sample", "sample"
    for call in estimator, agent:
        yield lambda bad, call=call: call("find", bad), "dst", "prefix"
    yield lambda bad: agent("arm_of", bad, 7), "peer", "prefix"
    yield lambda bad: agent("arm_of", "10.0.0.1", bad), "cookie", "time"
    yield lambda bad: estimator("tick", bad), "now_ns", "time"
    yield lambda bad: estimator("save", bad), "now_ns", "time"
    yield lambda bad: estimator("save", None, bad), "realtime_ns", "time"
    yield lambda bad: estimator("load", bad), "state", "state"
    yield lambda bad: estimator("load", b"", bad), "now_ns", "time"
    yield lambda bad: estimator("load", b"", None, bad), "realtime_ns", "time"
    yield lambda bad: applier("set", bad, 20), "dst", "prefix"
    yield lambda bad: applier("set", "10.0.0.1", bad), "initcwnd", "uint32"
    yield lambda bad: applier("set", "10.0.0.1", 20, bad), "cwnd_max", "uint32"
    yield lambda bad: applier("set", "10.0.0.1", 20, 20, bad), "rto_min", "duration"
    yield lambda bad: applier("set", "10.0.0.1", bad), "initcwnd", [(70000, riptide.InvalidError)]
    yield lambda bad: riptide.explain(bad), "dst", "prefix"
    yield lambda bad: riptide.explain("10.0.0.1", bad), "observer", [
        bad for bad in KINDS["options"] if bad[0] is not None]
    functions: list[Any] = [riptide.observe, riptide.observe_columns]
    for function in functions:
        yield from each(function, {"scope": "scope"})
    yield from each(riptide.flush, {"table": "uint32"})


CASES = [pytest.param(call, name, kind, id=f"{number}-{name}")
         for number, (call, name, kind) in enumerate(calls())]


def raised_by(call: Callable[..., Any], name: str, value: Any) -> Any:
    """The exception of a call, whose open argument is given by name where it takes names alone."""
    is_named = call.__code__.co_flags & 8 if hasattr(call, "__code__") else True
    try:
        call(**{name: value}) if is_named else call(value)
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("call, name, kind", CASES)
def test_bad_value_is_told_in_one_line_that_names_the_argument(
        call: Any, name: str, kind: Any) -> None:
    for value, expected in KINDS[kind] if isinstance(kind, str) else kind:
        error = raised_by(call, name, value)
        said = f"{type(value).__name__} for {name}: {error!r}"
        assert isinstance(error, expected), said
        line = str(error)
        assert name in line and "\n" not in line and len(line) < 250, said
        assert not isinstance(error, OSError) or error.errno == errno.EINVAL, said
