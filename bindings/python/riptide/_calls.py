# SPDX-License-Identifier: MIT
"""Calls of those functions that every stage of the library has: new, pop, next, get_stats."""

from __future__ import annotations

from typing import Any, Callable, Iterator, TypeVar

from ._errors import check, new_error
from ._handle import Use
from ._native import ffi, lib
from ._values import read_members

T = TypeVar("T")


def new_object(new: Callable[[Any, Any, Any], int], config: Any, free: Callable[[Any], Any]) -> Any:
    """Calls a riptide_*_new with a configuration. Errors: OSError.

    A signal's handler may raise as soon as the call returns: even then the object must have an
    owner that frees it, and never two.
    """
    made: list[Any] = []
    pointer = ffi.gc(ffi.new(ffi.typeof(new).args[0]), lambda pointer: made or free(pointer[0]))
    error = new_error()
    check(new(pointer, config, error), error)
    made.extend(map(ffi.gc, pointer[0:1], [free]))  # one step, which no signal interrupts
    return made[0]


def pop(use: Use, take: Callable[[Any, Any], int], read: Callable[[Any], T]) -> T:
    """Calls a riptide_*_pop and reads its result. Errors: AgainError."""
    pointer = ffi.new(ffi.typeof(take).args[1])
    with use as c:
        check(take(c, pointer))
        return read(pointer[0])


def pop_all(use: Use, take: Callable[[Any, Any], int], read: Callable[[Any], T]) -> Iterator[T]:
    """Pops until there is nothing more; other threads may use the object in between."""
    pointer = ffi.new(ffi.typeof(take).args[1])
    while True:
        with use as c:
            if take(c, pointer) == lib.RIPTIDE_E_AGAIN:
                return
            popped = read(pointer[0])
        yield popped


def walk(use: Use, step: Callable[[Any, Any, Any], int], read: Callable[[Any], T]) -> Iterator[T]:
    """Walks by a riptide_*_next; other threads may use the object in between."""
    cursor, item = ffi.new("uint32_t *"), ffi.new(ffi.typeof(step).args[2])
    while True:
        with use as c:
            if step(c, cursor, item) == lib.RIPTIDE_E_DONE:
                return
            found = read(item)
        yield found


def counters(use: Use, get: Callable[[Any, Any, int], None]) -> dict[str, Any]:
    """Reads the members of a riptide_*_get_stats by name."""
    stats = ffi.new(ffi.typeof(get).args[1])
    with use as c:
        get(c, stats, ffi.sizeof(stats[0]))
    return read_members(stats)
