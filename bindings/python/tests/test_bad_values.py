# SPDX-License-Identifier: MIT
"""What is not allowed, for each argument there is: one line that names the argument, no crash."""

from __future__ import annotations

import errno
import math
from ipaddress import ip_network
from typing import Any, Callable, Iterator

import pytest

import riptide
from riptide import Hint, Sample, Scope, Wanted


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


TYPE: Any = [(value, TypeError) for value in (None, b"1", [], {}, object(), Unprintable(), 1j)]
NO_NUMBER: Any = [*TYPE, ("1", TypeError)]


def integer(bits: int) -> Any:
    return [*NO_NUMBER, (1.5, TypeError), (math.nan, TypeError), (-1, OverflowError),
            (1 << bits, OverflowError), (10 ** 5000, OverflowError)]


#: By the type of a member in C: bad values, and what they raise.
KINDS: dict[str, Any] = {
    **{f"uint{bits}_t": integer(bits) for bits in (8, 16, 32, 64)},
    "int32_t": [*NO_NUMBER, (1 << 31, OverflowError)],
    "double": [*NO_NUMBER, (10 ** 400, OverflowError), (math.nan, OSError), (-math.inf, OSError)],
    "_Bool": [*NO_NUMBER, (2, OverflowError), (-1, OverflowError)],
    "time": [*NO_NUMBER, (True, TypeError), (-1, ValueError), (-math.inf, ValueError),
             (math.inf, ValueError), (math.nan, ValueError), (-1e300, ValueError),
             (1e300, OverflowError), (1e30, OverflowError), (10 ** 5000, OverflowError)],
    "now": [("1", TypeError), (-1, ValueError), (math.nan, ValueError), (1e30, OverflowError)],
    "struct riptide_prefix": [
        *TYPE, (7, TypeError), ("", ValueError), ("10.0.0.1\0", ValueError),
        ("10.0.0.1/8", ValueError), ("10.0.0.0/33", ValueError), ("１0.0.0.1", ValueError),
        ("\ud800", ValueError), ("a\nb", ValueError), ("x" * 100_000, ValueError)],
    "struct riptide_prefix *": [
        (None, TypeError), (7, TypeError), ([None], TypeError), (b"10.0.0.1", TypeError),
        ([b"10.0.0.1"], TypeError), ("x", ValueError), (["10.0.0.1/8"], ValueError)],
    "struct riptide_port_range *": [
        (80, TypeError), (b"x", TypeError), (bytearray(b"x"), TypeError), (None, TypeError),
        (["443"], TypeError), ("443", TypeError), ([None], TypeError), ([1.5], TypeError),
        ([()], ValueError), ([(1, 2, 3)], ValueError), ([-1], OverflowError),
        ([65536], OverflowError), ([(1, 65536)], OverflowError)],
    "struct riptide_policy *": [
        *TYPE, (7, TypeError), ("papyrus", ValueError), ("päper", ValueError),
        ("paper\0", ValueError), ("", ValueError), ("x" * 100_000, ValueError)],
    "char *": [bad for bad in TYPE if bad[0] != b"1"] + [
        (7, TypeError), ("a\0b", ValueError), (b"a\0b", ValueError), ("\ud800", ValueError)],
    "state": [(None, TypeError), ("text", TypeError), (7, TypeError), ([], TypeError),
              (memoryview(b"abcd")[::2], ValueError)],
    "struct riptide_scope": [*TYPE, (7, TypeError), (Scope, TypeError), (Hint("10.0.0.0/8"), TypeError)],
    "struct riptide_scope *": [*TYPE, (7, TypeError), (Scope, TypeError), (Scope(learn=["x"]), ValueError)],
    "options": [(None, TypeError), (7, TypeError), ("x", TypeError), ([("scope", 1)], TypeError)],
    "struct": [*TYPE, (Scope(), TypeError), (Sample, TypeError)],
}


HOST_SAMPLE = Sample(ip_network("10.0.0.1"), cwnd=1)
HINT, WANTED = Hint("10.0.0.1"), Wanted("10.0.0.1")


def in_estimator(method: str, *arguments: Any) -> Any:
    with riptide.Estimator() as estimator:
        return getattr(estimator, method)(*arguments)


def in_agent(method: str, *arguments: Any) -> Any:
    with riptide.Agent() as agent:
        return getattr(agent, method)(*arguments)


def in_applier(method: str, *arguments: Any) -> Any:
    with riptide.Applier() as applier:
        return getattr(applier, method)(*arguments)


def members(struct: str, call: Callable[..., Any]) -> Iterator[Any]:
    """A call for each member that may be named, with what its type in C does not take."""
    from riptide._convert import plain
    from riptide._native import ffi

    fields = dict(ffi.typeof(f"struct riptide_{struct}").fields)
    for name, field in fields.items():
        kind = "time" if plain(name) != name else field.type.cname
        if field.type.kind == "enum":
            kind = "uint32_t"
        elif kind.endswith("_config *"):
            kind = "options"
        if name not in ("size", "reserved") and not (name.startswith("n_") and name[2:] in fields):
            yield lambda bad, name=plain(name): call(**{name: bad}), plain(name), kind


def calls() -> Iterator[Any]:
    """Each call with one argument left open, the argument's name, and its kind."""
    prefix = "struct riptide_prefix"
    yield from members("sample", lambda **bad: in_estimator("add", HOST_SAMPLE._replace(**bad)))
    yield from members("hint", lambda **bad: in_estimator("set_hint", HINT._replace(**bad)))
    yield from members("wanted", lambda **bad: in_applier("set", WANTED._replace(**bad)))
    yield from members("scope", lambda **bad: riptide.Agent(observer={"scope": Scope(**bad)}))
    yield from members("observer_config", riptide.Observer)
    yield from members("estimator_config", riptide.Estimator)
    yield from members("applier_config", riptide.Applier)
    yield from members("agent_config", riptide.Agent)
    for call in in_estimator, in_agent:
        yield lambda bad, call=call: call("add", bad), "sample", "struct"
        yield lambda bad, call=call: call("set_hint", bad), "hint", "struct"
        yield lambda bad, call=call: call("find", bad), "dst", prefix
        yield lambda bad, call=call: call("remove_hint", bad), "dst", prefix
    yield lambda bad: in_applier("set", bad), "wanted", "struct"
    yield lambda bad: in_agent("annotate", bad, 7), "peer", prefix
    yield lambda bad: in_estimator("tick", bad), "now", "now"
    yield lambda bad: in_estimator("save", None, bad), "realtime", "now"
    yield lambda bad: in_estimator("load", bad), "state", "state"
    yield lambda bad: in_estimator("load", b"", bad), "now", "now"
    yield lambda bad: riptide.observe(scope=bad), "scope", "struct riptide_scope"
    yield lambda bad: riptide.flush(table=bad), "table", "uint32_t"


CASES = [pytest.param(call, name, kind, id=f"{number}-{name}")
         for number, (call, name, kind) in enumerate(calls())]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("call, name, kind", CASES)
def test_bad_value_is_told_in_one_line_that_names_the_argument(
        call: Any, name: str, kind: str) -> None:
    for value, expected in KINDS[kind]:
        said = f"{type(value).__name__} for {name}"
        with pytest.raises(expected) as raised:
            call(value)
            pytest.fail(said)
        line = str(raised.value)
        assert name in line and "\n" not in line and len(line) < 250, f"{said}: {line}"
        assert not isinstance(raised.value, OSError) or raised.value.errno == errno.EINVAL, said
