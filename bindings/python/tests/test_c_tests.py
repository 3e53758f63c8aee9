# SPDX-License-Identifier: MIT
"""The unit tests of lib/compute, read from their C files and run through the bindings: both must
agree on every figure.
"""

from __future__ import annotations

import dataclasses
import errno
import math
import re
from typing import Any

import pytest

import riptide
from c_tests import Interpreter, Struct, Unsupported, load
from conftest import REPOSITORY
from riptide._errors import OUTCOMES
from riptide._native import lib

UNIT = REPOSITORY / "tests" / "unit"
DEFINES = {"S": "1000000000", "MS": "1000000", "RIPTIDE_NEVER_NS": str(lib.RIPTIDE_NEVER_NS),
           "UINT64_MAX": str(2**64 - 1), "UINT32_MAX": str(2**32 - 1), "NAN": "nan()",
           "INFINITY": "infinity()", "ESTIMATOR": "struct riptide_estimator"}


def outcome(function: Any, *arguments: Any, **named: Any) -> Any:
    """What C would have returned."""
    try:
        function(*arguments, **named)
        return 0
    except riptide.OutcomeError as error:
        return next(number for number, cls in OUTCOMES.items() if cls is type(error))
    except OSError as error:
        return -(error.errno or 0)


def fill(target: Any, value: Any) -> Any:
    """Copies a dataclass to a C struct's namespace."""
    values = value if isinstance(value, dict) else {
        field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    vars(target).update({name: text(part) for name, part in values.items()})
    if hasattr(value, "evidence"):
        target.evidence = fill(Struct(), value.evidence)
    return target


def text(value: Any) -> Any:
    """A network as C's tests write it."""
    if hasattr(value, "network_address"):
        whole = value.prefixlen == value.max_prefixlen
        return str(value.network_address if whole else value)
    return value


def options(config: Any) -> Any:
    """Estimator's options out of a struct riptide_estimator_config."""
    given = {}
    for name, value in vars(config).items():
        if name == "hints":
            overrides = value if isinstance(value, list) else [value]
            given[name] = [riptide.Hint(**vars(override)) for override in overrides]
        elif name == "aggregates":
            given[name] = value if isinstance(value, list) else [value]
        elif name.endswith(("_ns", "_us")):
            given[name[:-3]] = value / {"_ns": 1e9, "_us": 1e6}[name[-3:]]
        elif not name.startswith("n_"):
            given[name] = value
    return given


def estimator_of(config: Any) -> Any:
    return riptide.Estimator(**options(config))


def add(estimator: Any, sample: Any) -> Any:
    if not isinstance(sample.dst, str) or "/" in sample.dst:
        raise Unsupported("a sample that no host could be")
    return outcome(estimator.add, riptide.Sample(**vars(sample)))


def pop(estimator: Any) -> Any:
    (change,) = estimator.changes()
    return fill(Struct(), change)


def assert_equal(a: Any, b: Any) -> Any:
    assert a == b


def assert_pop(estimator: Any, dst: Any, cwnd: Any) -> Any:
    change = pop(estimator)
    assert (change.dst, change.cwnd) == (dst, cwnd)


def pop_into(estimator: Any, reference: Any) -> Any:
    try:
        change = fill(Struct(), estimator.pop())
        if isinstance(reference, Struct):
            vars(reference).update(vars(change))
        else:
            reference.scope[reference.name] = change
        return 0
    except riptide.AgainError:
        return lib.RIPTIDE_E_AGAIN


def find(estimator: Any, dst: Any, estimate: Any) -> Any:
    try:
        fill(estimate, estimator.find(dst))
        return 0
    except riptide.UnknownError:
        return lib.RIPTIDE_E_UNKNOWN


def explain(estimator: Any, dst: Any, explanation: Any, _: Any) -> Any:
    try:
        fill(explanation, estimator.explain(dst))
        return 0
    except riptide.UnknownError:
        return lib.RIPTIDE_E_UNKNOWN


def found(estimator: Any, dst: Any) -> Any:
    estimate = Struct()
    find(estimator, dst, estimate)
    return estimate


def explained(estimator: Any) -> Any:
    return fill(Struct(), estimator.explain("192.0.2.1"))


def add_hint(estimator: Any, hint: Any, _: Any) -> Any:
    if isinstance(hint, list):
        hint = Struct(**dict(zip(("dst", "cwnd_max", "scale", "until_ns"), hint)))
    return outcome(estimator.add_hint, hint.dst, min(hint.until_ns / 1e9, 1e9), scale=hint.scale,
                   cwnd_max=hint.cwnd_max, now_ns=0)


LIBRARY = {
    **{name: getattr(lib, name) for name in dir(lib) if name.isupper()},
    "UINT64_C": int, "nan": lambda: math.nan, "infinity": lambda: math.inf,
    "true": 1, "false": 0, "NULL": None, **vars(errno),
    "config_of": lambda: Struct(policy="paper"), "estimator_of": estimator_of, "prefix_of": str,
    "config_of_policy": lambda policy: Struct(policy=policy), "estimator_of_config": estimator_of,
    "estimator_of_policy": lambda policy: riptide.Estimator(policy=policy),
    "prefix_of_text": str, "find_host": found, "explain": explained,
    "add_cwnd": lambda estimator, cwnd: assert_equal(
        add(estimator, Struct(dst="192.0.2.1", cwnd=cwnd)), 0),
    "learn": lambda estimator, cwnd, now_ns: (
        add(estimator, Struct(dst="192.0.2.1", cwnd=cwnd)), estimator.tick(now_ns)),
    "cwnd_of": lambda estimator: found(estimator, "192.0.2.1").cwnd,
    "pop_one": pop, "assert_pop": assert_pop,
    "assert_no_change": lambda estimator: assert_equal(list(estimator.changes()), []),
    "assert_int_equal": assert_equal, "assert_string_equal": assert_equal,
    "assert_true": lambda a: assert_equal(bool(a), True),
    "assert_false": lambda a: assert_equal(bool(a), False),
    "riptide_prefix_equal": lambda a, b: a == b,
    "assert_in_range": lambda a, low, high: assert_equal(low <= a <= high, True), "fmax": max,
    "riptide_policy_find": str,
    "riptide_estimator_add": add, "riptide_estimator_add_hint": add_hint,
    "riptide_estimator_remove_hint":
        lambda estimator, dst: outcome(estimator.remove_hint, dst) or 0,
    "riptide_estimator_find": find, "riptide_estimator_explain": explain,
    "riptide_estimator_tick": lambda estimator, now_ns: outcome(estimator.tick, now_ns),
    "riptide_estimator_pop": pop_into,
    "riptide_estimator_discard": riptide.Estimator.discard,
    "riptide_estimator_free": riptide.Estimator.close,
    "riptide_estimator_get_stats": lambda estimator, stats, _: fill(stats, estimator.stats()),
}


#: They look at bytes, at tables, defaults or functions of C, or at values that no Sample can have.
ONLY_IN_C = {
    "base_is_the_least_unless_something_lowers_it",
    "base_that_makes_a_window_lower_is_told",
    "base_goes_below_an_override_and_with_its_destination",
    "a_base_is_begun_with_and_left_for_losses",
    "base_goes_with_the_window_where_only_an_explanation_stays",
    "a_cut_ends_at_the_lower_bound",
    "defaults_are_careful_and_the_papers_bounds",
    "window_is_rounded_to_the_nearest_segment",
    "peers_are_grouped_by_prefix_length",
    "impossible_samples_are_refused_and_counted",
    "policy_result_that_is_no_number_is_left_out",
    "functions_of_a_host_get_its_pointer",
    "overrides_are_refused_by_name",
    "hints_are_refused_by_name_and_bounded_in_number",
    "walk_sees_each_hint_in_force",
    "hint_without_end_takes_the_place_of_what_is_for_all",
    "samples_that_are_all_left_out_are_explained",
    "tables_are_complete",
    "options_are_refused_by_name",
    "counts_need_their_arrays",
    "scope_of_a_reconfiguration_needs_its_arrays",
    "walk_sees_each_window_once",
    "peer_belongs_to_its_destination",
}


def cases() -> Any:
    for name in ("estimator", "bound", "careful", "careful_losses", "policy", "evidence",
                 "explain"):
        path = UNIT / f"test_{name}.c"
        functions = load(path, DEFINES)
        for test in re.findall(r"^TEST\((\w+)\)", path.read_text(), re.MULTILINE):
            if test not in ONLY_IN_C:
                yield pytest.param(functions, test, id=f"{name}-{test}")


@pytest.mark.parametrize("functions, test", cases())
def test_bindings_agree(functions: Any, test: Any) -> None:
    Interpreter(functions, LIBRARY).call(test)
