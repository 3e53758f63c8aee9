# SPDX-License-Identifier: MIT
"""Observe: samples of the open TCP connections of a network namespace."""

from __future__ import annotations

import errno
import select
from typing import Any, Iterator, Unpack

from ._convert import UNITS, network, plain, read
from ._errors import check
from ._handle import LoopHandle
from ._native import ffi, lib
from ._structs import ObserverConfig, ObserverStats, Sample

SAMPLE = ffi.typeof("struct riptide_sample")
SAMPLE_BYTES = ffi.sizeof(SAMPLE)
#: numpy's types of the members that are numbers.
FORMATS = {"_Bool": "?", "uint16_t": "u2", "uint32_t": "u4", "uint64_t": "u8"}
#: After this time without an answer of the kernel the dump is requested again.
SILENCE_MS = 1000


class Observer(LoopHandle[Sample, ObserverStats]):
    """Dumps TCP connections that are established, or closing with data in flight.

    They are of the network namespace in which the constructor is called. Needs no privilege. dump()
    waits; an event loop calls start(), and when fileno() is readable dispatch() and pop(), until
    DoneError.

    Options: ObserverConfig. Errors: OptionError and other OSErrors; TypeError, ValueError and
    OverflowError for values that C cannot take.
    """

    _stage = "observer"

    def __init__(self, **options: Unpack[ObserverConfig]) -> None:
        super().__init__(options)

    def start(self) -> None:
        """Begins a dump. Errors: OSError (EBUSY: one is running; ETIMEDOUT: it was given up)."""
        check(self._call("start"))

    def dump(self) -> list[Sample]:
        """Dumps all connections and waits for the kernel; ends a running dump first.

        Errors, with the dump given up: OSError (ETIMEDOUT: the kernel does not answer).
        """
        rows = self._dump()
        array = ffi.from_buffer("struct riptide_sample[]", rows)
        return [read(row) for row in array]

    def _dump(self) -> bytearray:
        with self._use as c:
            started = lib.riptide_observer_start(c)
            while started == -errno.EBUSY:  # start() began one, or a signal's handler ended dump()
                _read_to_end(c)
                started = lib.riptide_observer_start(c)
            if started == -errno.ETIMEDOUT:  # the running dump did not go on, and was given up
                started = lib.riptide_observer_start(c)
            check(started)
            return _read_to_end(c)


def _read_to_end(c: Any) -> bytearray:
    """Reads the rest of the running dump, whose last buffer may have been read before."""
    rows = bytearray()
    popped = ffi.new("struct riptide_sample **")
    readable = select.poll()
    readable.register(lib.riptide_observer_get_fd(c), select.POLLIN)
    while True:
        while (outcome := lib.riptide_observer_pop(c, popped)) == 0:
            rows += ffi.buffer(popped[0], SAMPLE_BYTES)
        check(min(outcome, 0))
        if outcome == lib.RIPTIDE_E_DONE:
            return rows
        if readable.poll(SILENCE_MS):
            check(min(lib.riptide_observer_dispatch(c), 0))
        else:  # the library gives up after a few requests
            asked = lib.riptide_observer_start(c)
            check(0 if asked == -errno.EBUSY else asked)


def _places(struct: Any) -> Iterator[tuple[str, str, int]]:
    """Name, format and offset of each member that is a number, or an enum."""
    for name, field in struct.fields:
        number = "uint32_t" if field.type.kind == "enum" else field.type.cname
        if number in FORMATS:
            yield name, FORMATS[number], field.offset


def _columns(rows: bytearray) -> dict[str, Any]:
    """The columns of rows of struct riptide_sample."""
    import numpy  # not all need it, and it takes longer to load than a look at the connections

    places = [*_places(SAMPLE), ("dst", f"V{ffi.sizeof('struct riptide_prefix')}",
                                 dict(SAMPLE.fields)["dst"].offset)]
    names, formats, offsets = zip(*places)
    table = numpy.frombuffer(rows, numpy.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": SAMPLE_BYTES}))
    found = {plain(name): table[name] / UNITS[name[-3:]] if plain(name) != name else table[name]
             for name in names}
    packed, places_of = numpy.unique(table["dst"], return_inverse=True)
    peers = numpy.empty(len(packed), dtype=object)
    peers[:] = [network(peer.tobytes()) for peer in packed]
    return {**found, "dst": peers[places_of]}


def observe(**options: Unpack[ObserverConfig]) -> list[Sample]:
    """Returns the open connections of this host. Needs no privilege.

    Leaves out those over loopback, or to the host's own addresses. Options and errors: as Observer.
    """
    with Observer(**options) as observer:
        return observer.dump()


def observe_columns(**options: Unpack[ObserverConfig]) -> dict[str, Any]:
    """As observe(), as columns: {member of Sample: numpy array of shape (connections,)}.

    Numbers have their C type, bool or uint16 to uint64; times are float64, in seconds; `dst` is an
    array of objects, one network for all connections of a destination. Needs numpy.
    """
    with Observer(**options) as observer:
        return _columns(observer._dump())
