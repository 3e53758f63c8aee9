# SPDX-License-Identifier: MIT
"""The kinds of functions that every stage of the library has, and how to call them."""

from __future__ import annotations

from typing import Any, Callable, Iterator, TypeVar

from ._errors import check, new_error
from ._handle import Use
from ._native import ffi, lib

T = TypeVar("T")


def new_object(new: Callable[[Any, Any, Any], int], config: Any, free: Callable[[Any], Any]) -> Any:
    """What a riptide_*_new makes of a configuration. Errors: OSError.

    A signal that came meanwhile is handled as soon as it returns: the object must have an owner by
    then, and never two.
    """
    made: list[Any] = []
    pointer = ffi.gc(ffi.new(ffi.typeof(new).args[0]), lambda pointer: made or free(pointer[0]))
    error = new_error()
    check(new(pointer, config, error), error)
    made.extend(map(ffi.gc, pointer[0:1], [free]))  # one step
    return made[0]


def pop(use: Use, take: Callable[[Any, Any], int], read: Callable[[Any], T]) -> T:
    """What a riptide_*_pop gives. Errors: AgainError."""
    pointer = ffi.new(ffi.typeof(take).args[1])
    with use as c:
        check(take(c, pointer))
        return read(pointer[0])


def pop_all(use: Use, take: Callable[[Any, Any], int], read: Callable[[Any], T]) -> Iterator[T]:
    """The same until there is nothing more; others may use the object in between."""
    pointer = ffi.new(ffi.typeof(take).args[1])
    while True:
        with use as c:
            if take(c, pointer) == lib.RIPTIDE_E_AGAIN:
                return
            popped = read(pointer[0])
        yield popped


def walk(use: Use, step: Callable[[Any, Any, Any], int], read: Callable[[Any], T]) -> Iterator[T]:
    """What a riptide_*_next walks over; others may use the object in between."""
    cursor, item = ffi.new("uint32_t *"), ffi.new(ffi.typeof(step).args[2])
    while True:
        with use as c:
            if step(c, cursor, item) == lib.RIPTIDE_E_DONE:
                return
        yield read(item)


def counters(use: Use, get: Callable[[Any, Any, int], None]) -> dict[str, int]:
    """The struct of counters that a riptide_*_get_stats fills."""
    stats = ffi.new(ffi.typeof(get).args[1])
    with use as c:
        get(c, stats, ffi.sizeof(stats[0]))
    return {name: getattr(stats, name) for name, _ in ffi.typeof(stats).item.fields}
