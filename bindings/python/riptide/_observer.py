# SPDX-License-Identifier: MIT
"""Observe: samples of the open TCP connections of a network namespace."""

from __future__ import annotations

import errno
import importlib
import os
import select
from ipaddress import IPv4Address, IPv6Address
from socket import AF_INET
from typing import TYPE_CHECKING, Any, Dict, Iterator, Tuple

from ._calls import counters, new_object
from ._errors import check, has_more
from ._handle import Handle
from ._native import ffi, lib
from ._types import ObserverOptions, Sample
from ._values import Address, new_config

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Formats of memoryview.cast for the types that a column can have.
FORMATS = {"_Bool": "?", "uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q"}
ROW_BYTES = ffi.sizeof("struct riptide_row")
#: After this time without an answer of the kernel the dump is requested again.
SILENCE_MS = 1000


def _columns(struct: str, offset: int = 0) -> Iterator[Tuple[str, Any, int, int]]:
    """Name, format, offset and width of each number in a struct."""
    for name, field in ffi.typeof(struct).fields:
        at = offset + field.offset
        if field.type.cname in FORMATS:
            yield name, FORMATS[field.type.cname], at, ffi.sizeof(field.type)
        elif field.type.kind == "struct":
            yield from _columns(field.type.cname, at)


COLUMNS = tuple(column for column in _columns("struct riptide_row") if column[0] != "len")


class Columns(Dict[str, Any]):
    """{name: column}: figures of all connections, without a Python object for each connection.

    Names and units are those of Sample's fields. A column is a numpy array, or without numpy a
    memoryview, of shape (connections,) and the field's C type, bool or uint8 to uint64; a
    connection has the same index in all columns. They share one block of memory, with the stride of
    a row, which exists as long as any of them. The peer is `family` (AF_INET, AF_INET6) and 128
    bits, `dst_high` and `dst_low` (IPv4: only dst_low); address() joins them.
    """

    def __init__(self, rows: Any) -> None:
        # Each column refers to the buffer, that to this pointer, and its destructor to the rows.
        memory = ffi.gc(rows.rows, lambda _: rows)
        data = memoryview(ffi.buffer(memory, rows.n * ROW_BYTES) if rows.n else b"")
        views = {name: data.cast("B").cast(format)[offset // width::ROW_BYTES // width]
                 for name, format, offset, width in COLUMNS}
        try:
            numpy = importlib.import_module("numpy")
            super().__init__({name: numpy.asarray(view) for name, view in views.items()})
        except ImportError:
            super().__init__(views)

    def address(self, place: int) -> Address:
        """The peer of the connection with that index. Errors: IndexError."""
        low = int(self["dst_low"][place])
        if self["family"][place] == AF_INET:
            return IPv4Address(low)
        return IPv6Address(int(self["dst_high"][place]) << 64 | low)

    def copy(self) -> Columns:
        """A copy with the same columns."""
        other = Columns.__new__(Columns)
        other.update(self)
        return other


class Observer(Handle):
    """Dumps TCP connections that are established, or closing with data in flight.

    They are of the network namespace in which the constructor is called. dump() waits; an event
    loop calls start(), when fileno() is readable dispatch(), and pop() until AgainError or DoneError.

    Errors: OptionError, OSError, TypeError, ValueError and OverflowError for values that C cannot
    take.
    """

    def __init__(self, **options: Unpack[ObserverOptions]) -> None:
        keep: list[Any] = []
        config = new_config("struct riptide_observer_config *", options, keep)
        super().__init__(new_object(lib.riptide_observer_new, config, lib.riptide_observer_free))

    def fileno(self) -> int:
        """The fd to wait on for reading; it stays the same."""
        with self._use as c:
            return int(lib.riptide_observer_get_fd(c))

    def start(self) -> None:
        """Begins a dump. Errors: OSError (EBUSY: one is running; ETIMEDOUT: it was given up)."""
        with self._use as c:
            check(lib.riptide_observer_start(c))

    def dispatch(self) -> bool:
        """Reads at most one netlink buffer, with about 80 connections.

        Returns whether there may be more to do, as Agent.dispatch. Errors: OSError.
        """
        with self._use as c:
            return has_more(lib.riptide_observer_dispatch(c))

    def pop(self) -> Sample:
        """Returns the next sample of the buffer.

        Raises AgainError (dispatch again), DoneError (the dump is complete).
        """
        pointer, sample = ffi.new("struct riptide_sample **"), ffi.new("struct riptide_sample *")
        with self._use as c:
            check(lib.riptide_observer_pop(c, pointer))
            sample[0] = pointer[0][0]
        return Sample.of(sample[0], None)

    def dump(self) -> list[Sample]:
        """Dumps all connections and waits for the kernel; ends a running dump first.

        Errors, with the dump given up: OSError (ETIMEDOUT: the kernel does not answer).
        """
        rows = self._dump()
        return [Sample.of(rows.rows[i].sample, rows) for i in range(rows.n)]

    def dump_columns(self) -> Columns:
        """Dumps all connections as columns of numbers. Errors: as dump."""
        return Columns(self._dump())

    @property
    def events_error(self) -> OSError | None:
        """Why there are no destroy events, although they were requested; None: there are."""
        error = self.stats()["events_error"]
        return OSError(-error, os.strerror(-error)) if error else None

    def stats(self) -> dict[str, int]:
        """The counters of struct riptide_observer_stats, since the observer was made."""
        return counters(self._use, lib.riptide_observer_get_stats)

    def _dump(self) -> Any:
        with self._use as c:
            started = lib.riptide_observer_start(c)
            while started == -errno.EBUSY:  # start() began one, or a signal's handler ended dump()
                self._read_to_end(c)
                started = lib.riptide_observer_start(c)
            if started == -errno.ETIMEDOUT:  # the running dump did not go on, and was given up
                started = lib.riptide_observer_start(c)
            check(started)
            return self._read_to_end(c)

    def _read_to_end(self, c: Any) -> Any:
        """Reads the rest of the running dump, whose last buffer may have been read before."""
        rows = ffi.gc(ffi.new("struct riptide_rows *"), lib.riptide_rows_clear)
        readable = select.poll()
        readable.register(lib.riptide_observer_get_fd(c), select.POLLIN)
        while True:
            outcome = lib.riptide_rows_pop(rows, c)
            check(min(outcome, 0))
            if outcome == lib.RIPTIDE_E_DONE:
                return rows
            if readable.poll(SILENCE_MS):
                has_more(lib.riptide_observer_dispatch(c))
            else:  # the library gives up after a few requests
                asked = lib.riptide_observer_start(c)
                check(0 if asked == -errno.EBUSY else asked)


def observe(**options: Unpack[ObserverOptions]) -> list[Sample]:
    """Returns the open connections of this host. Needs no privilege.

    Leaves out those over loopback, or to the host's own addresses. Options and errors: as Observer.
    """
    with Observer(**options) as observer:
        return observer.dump()


def observe_columns(**options: Unpack[ObserverOptions]) -> Columns:
    """As observe(), as columns of numbers: pandas.DataFrame(riptide.observe_columns())."""
    with Observer(**options) as observer:
        return observer.dump_columns()
