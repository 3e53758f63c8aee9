# SPDX-License-Identifier: MIT
"""Arguments and results. Fields have the names and units of the C structs, whose headers explain
them; duration arguments have no unit: a timedelta, or seconds. Windows are in segments.
"""

from __future__ import annotations

import enum
import functools
import os
from dataclasses import dataclass, fields
from datetime import timedelta
from operator import attrgetter
from socket import AF_INET
from typing import Any, Callable, Iterable, NamedTuple, Sequence, Tuple, TypedDict, Union

from ._native import ffi, lib
from ._values import Address, Duration, Network, PrefixLike, address, text, write

#: One port, or the first and last of a range.
Ports = Union[int, Tuple[int, int]]


class Arm(enum.Enum):
    """Whether a connection gets the window of its destination."""

    WINDOW = lib.RIPTIDE_ARM_WINDOW
    HOLDOUT = lib.RIPTIDE_ARM_HOLDOUT  #: it keeps the kernel's own window


class RouteState(enum.IntEnum):
    """The state of a destination's route or window."""

    APPLIED = lib.RIPTIDE_ROUTE_APPLIED
    WITHDRAWN = lib.RIPTIDE_ROUTE_WITHDRAWN
    LEFT_ALONE = lib.RIPTIDE_ROUTE_LEFT_ALONE
    FAILED = lib.RIPTIDE_ROUTE_FAILED


class Backend(enum.IntEnum):
    """The backends that give windows to connections."""

    AUTO = lib.RIPTIDE_AUTO
    ROUTES = lib.RIPTIDE_ROUTES
    PROGRAM = lib.RIPTIDE_PROGRAM
    BOTH = lib.RIPTIDE_BOTH


class EventKind(enum.IntEnum):
    """Kinds of an agent's events."""

    TICK = lib.RIPTIDE_AGENT_TICK
    WINDOW = lib.RIPTIDE_AGENT_WINDOW
    FAILED = lib.RIPTIDE_AGENT_FAILED
    RULES = lib.RIPTIDE_AGENT_RULES
    BACKEND = lib.RIPTIDE_AGENT_BACKEND
    DESTROY_EVENTS = lib.RIPTIDE_AGENT_DESTROY_EVENTS


def _view(name: str, reader: Callable[[Any], Any] | None = None) -> Any:
    """A field that is read from the C struct when it is used."""
    get = attrgetter(f"_c.{name}")
    if reader is None:
        return property(get)
    read: Callable[[Any], Any] = reader
    return property(lambda self: read(get(self)))


@dataclass(frozen=True, init=False)
class Sample:
    """The kernel's data on one connection. Figures that this kernel does not report are 0.

    Samples of one dump share its memory, which exists as long as any of them.
    """

    dst: Address = _view("dst", address)  #: the peer; IPv4-mapped peers are IPv4
    cookie: int = _view("cookie")  #: the kernel's number for this socket, unique until reboot
    cwnd: int = _view("cwnd")  #: congestion window, segments
    rtt_us: int = _view("rtt_us")  #: smoothed round trip time
    min_rtt_us: int = _view("min_rtt_us")  #: windowed minimum; 0: not measured
    mss_bytes: int = _view("mss_bytes")
    pmtu_bytes: int = _view("pmtu_bytes")
    data_segs_out: int = _view("data_segs_out")  #: 0: the window was never used
    retrans_segs: int = _view("retrans_segs")  #: in the connection's life
    acked_bytes: int = _view("acked_bytes")  #: 1 after an active open that sent nothing
    delivery_rate_Bps: int = _view("delivery_rate_Bps")  #: bytes per second
    last_data_sent_ms: int = _view("last_data_sent_ms")  #: time since then
    app_limited: bool = _view("app_limited")  #: the application limited the delivery rate
    local_port: int = _view("local_port")
    remote_port: int = _view("remote_port")
    closed: bool = _view("closed")  #: as it was when it closed; see destroy_events
    shown: bool = _view("shown")  #: by an earlier dump
    busy_time_us: int = _view("busy_time_us")  #: time with unacknowledged data
    ssthresh_segs: int = _view("ssthresh_segs")  #: slow start threshold

    def __init__(self, dst: PrefixLike, cwnd: int, **others: int | str) -> None:
        """Fields that are not named are 0. Errors: TypeError, ValueError, OverflowError."""
        c = ffi.new("struct riptide_sample *")
        write(c, {"dst": dst, "cwnd": cwnd, **others}, [])
        if c.dst.len != (32 if c.dst.family == AF_INET else 128):
            raise ValueError(f"dst: not the address of a host: {dst}")
        object.__setattr__(self, "_c", c[0])

    @classmethod
    def of(cls, c: Any, memory: Any) -> Sample:
        """A sample that reads a struct riptide_sample, and keeps its memory."""
        self = object.__new__(cls)
        self.__dict__["_c"] = c
        self.__dict__["_memory"] = memory
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return functools.partial(Sample, **values), ()

    @property
    def c(self) -> Any:
        """The struct riptide_sample itself."""
        return self.__dict__["_c"]

    @property
    def rtt(self) -> timedelta:
        """Smoothed round trip time."""
        return timedelta(microseconds=self.rtt_us)

    @property
    def min_rtt(self) -> timedelta:
        """Smallest round trip time; 0: not measured."""
        return timedelta(microseconds=self.min_rtt_us)


class LeftOut(NamedTuple):
    """How many connections a policy left out of a tick, by reason; up to 65535 each."""

    unused: int  #: they never filled their window, which is still the initial one
    idle: int  #: they do not send at present, so their windows are outdated
    unmeasured: int  #: limited by the application, or not measured by the kernel


@dataclass(frozen=True)
class Estimate:
    """The window of one destination, and why. When popped it is a change: cwnd 0 withdraws it.

    Points in time are CLOCK_BOOTTIME; figures that are not known, or not by this policy, are 0.
    """

    dst: Network
    cwnd: int  #: segments; 0: its time to live has passed, a hint is off, or no sample counted
    samples: int  #: connections that counted in the last tick with any; up to 65535
    left_out: LeftOut  #: others of that tick
    updated_ns: int  #: below 0: of a state, before this boot
    smoothed: float  #: the policy's result, with history, before bounds, segments
    may_lower: bool  #: losses or a hint have lowered it: for Applier.set
    cwnd_min: int  #: bounds in force for it, hints included, segments
    cwnd_max: int
    base_cwnd: int  #: the window of its base route, segments
    hint: Network | None  #: sets cwnd_max, 0: disables the window; else the longest without an end
    min_rtt_us: int  #: smallest round trip time
    pacing_percent: int  #: of a round trip, for the first flight; 0: not set; 2**32 - 1: at once
    fitting: int  #: "careful": flights that filled the window and fit, less lossy ones
    wait: int  #: at which `fitting` raises the window
    against: int  #: how much lossy flights speak against the window; at 16 it is too large
    rto_min_us: int  #: for the route; 0: unchanged
    pmtu_bytes: int  #: smallest path MTU of a host's open connections


@dataclass(frozen=True)
class LoadCounts:
    """How many destinations of a state were loaded, or why not."""

    loaded: int  #: loaded
    expired: int  #: their time to live has passed
    skipped: int  #: damaged; not newer than the present one; or none with these options


@dataclass(frozen=True)
class Change:
    """A figure without and with windows, and its change with a 95 % interval.

    The interval is valid even if read after each connection.
    """

    held_out: float
    with_window: float
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """The effect of windows: closed connections with a window, compared with those held out."""

    connections: int
    held_out: int
    time: Change  #: geometric mean, in smallest round trip times; change -0.25: a quarter less
    retransmitted: Change  #: mean share of segments; change 0.01: one more of 100
    halves: Change  #: time of a half of those held out against the other: about 0; all 0: too few
    reason: str  #: empty; what a verdict waits for, or why it is not valid, is in the error


@dataclass(frozen=True)
class Route:
    """One destination, with its route or window in the kernel."""

    dst: Network
    state: RouteState
    initcwnd: int  #: segments
    base_initcwnd: int  #: segments, of the base route; 0: not set, or unknown
    error: int  #: -errno if FAILED
    reason: str  #: one line if LEFT_ALONE or FAILED
    backend: Backend  #: ROUTES or PROGRAM, which has reported this


@dataclass(frozen=True)
class Window:
    """One destination: its window and why, and what the kernel has of it."""

    dst: Network
    estimate: Estimate | None  #: None: the destination is forgotten
    route: Route | None  #: by routes; None: there is none
    program: Route | None  #: by the program; None: there is none


@dataclass(frozen=True)
class Tick:
    """One round of an agent."""

    started_ns: int  #: CLOCK_BOOTTIME
    finished_ns: int
    interval_ns: int
    samples: int  #: connections that counted, both open and closed
    overflow: int  #: refused: max_destinations or max_windows was reached
    observe_cpu_ns: int


@dataclass(frozen=True)
class AgentEvent:
    """An event of an agent: `kind` decides which other fields are set."""

    kind: EventKind
    tick: Tick | None  #: TICK
    window: Window | None  #: WINDOW
    outcome: Route | None  #: WINDOW; its route or program
    family: int  #: RULES
    reason: str | None  #: FAILED, RULES, BACKEND, DESTROY_EVENTS; None: they are back


@dataclass(frozen=True)
class Scope:
    """The connections to learn from; an empty field sets no condition.

    The longest prefix that contains a destination decides. Ports are a list: (80, 443) means two
    ports, [(80, 443)] all from 80 to 443.
    """

    learn: Iterable[PrefixLike] = ()
    exclude: Iterable[PrefixLike] = ()
    local_ports: Iterable[Ports] = ()
    remote_ports: Iterable[Ports] = ()


@dataclass(frozen=True)
class Hint:
    """Other bounds for destinations within `dst`; 0: the general value.

    Without an end they replace the general ones. With an end they only lower windows, by cwnd_max
    or off.
    """

    dst: PrefixLike
    cwnd_min: int = 0  #: segments; without an end only
    cwnd_max: int = 0  #: segments
    off: bool = False  #: no windows
    until_ns: int = 0  #: the end, CLOCK_BOOTTIME; 0: never


class ObserverOptions(TypedDict, total=False):
    """struct riptide_observer_config."""

    scope: Scope  # default: everything
    destroy_events: int  # closed ones: True, False, -1: if an agent needs them


class EstimatorOptions(TypedDict, total=False):
    """struct riptide_estimator_config."""

    policy: str  # "careful"
    history_weight: float  # of "paper": the moving average, 0 to below 1; 0.5
    cwnd_min: int  # 10
    cwnd_max: int  # 100
    ttl: Duration  # how long a window stays without new samples; 90 s
    prefix_len4: int  # prefix length of a destination; 32
    prefix_len6: int  # 128
    max_destinations: int  # 16384
    rto_min_floor: Duration  # smallest rto_min, 1 ms to 60 s; 0: rto_min is unchanged


class ApplierOptions(TypedDict, total=False):
    """struct riptide_applier_config."""

    backend: int  # a Backend; AUTO
    max_windows: int  # 16384
    table: int  # 7230
    dry_run: bool  # resolve base routes, write nothing; False
    pacing: bool  # whether first flights are spread over a part of the round trip; True
    holdout_percent: int  # of connections keep the kernel's window; 0
    holdout_seed: int  # of the draw; 0
    cgroup: str | os.PathLike[str]  # whose connections the program serves; all of the host


class AgentOptions(TypedDict, total=False):
    """struct riptide_agent_config."""

    interval: Duration  # from 10 ms to an hour; 1 s
    observer: ObserverOptions
    estimator: EstimatorOptions
    applier: ApplierOptions
    max_share: float  # of one core, for dumps, 0 to 1; 0.05; 0: the interval is fixed
    state: str | os.PathLike[str]  # loaded at the start, saved at the stop; no file
