# SPDX-License-Identifier: MIT
"""Arguments and results. Fields have the names and units of the C structs, whose headers
say more; durations that go in have no unit: a timedelta, or seconds. Windows are in segments.
"""

from __future__ import annotations

import enum
import functools
import os
from dataclasses import dataclass, fields
from datetime import timedelta
from operator import attrgetter
from socket import AF_INET
from typing import (TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Sequence, Tuple, TypedDict,
                    Union)

from ._native import ffi, lib
from ._values import Address, Duration, Network, PrefixLike, address, text, write

if TYPE_CHECKING:
    from ._agent import Agent
    from ._policy import Policy

#: One port, or the first and last of a range.
Ports = Union[int, Tuple[int, int]]


class Filter(enum.IntEnum):
    """The part of a scope that the kernel applies: it does not describe other sockets."""

    NONE = lib.RIPTIDE_FILTER_NONE
    PARTIAL = lib.RIPTIDE_FILTER_PARTIAL
    WHOLE = lib.RIPTIDE_FILTER_WHOLE


class RouteState(enum.IntEnum):
    """What became of a destination."""

    APPLIED = lib.RIPTIDE_ROUTE_APPLIED
    WITHDRAWN = lib.RIPTIDE_ROUTE_WITHDRAWN
    LEFT_ALONE = lib.RIPTIDE_ROUTE_LEFT_ALONE
    FAILED = lib.RIPTIDE_ROUTE_FAILED


class Backend(enum.IntEnum):
    """By what connections get their windows."""

    ROUTES = lib.RIPTIDE_ROUTES
    CONNECTIONS = lib.RIPTIDE_CONNECTIONS
    BOTH = lib.RIPTIDE_BOTH
    AUTO = lib.RIPTIDE_AUTO


class Bound(enum.IntFlag):
    """What bounded a window."""

    MIN = lib.RIPTIDE_BOUND_MIN
    MAX = lib.RIPTIDE_BOUND_MAX
    OVERRIDE_MIN = lib.RIPTIDE_BOUND_OVERRIDE_MIN
    OVERRIDE_MAX = lib.RIPTIDE_BOUND_OVERRIDE_MAX
    OVERRIDE_SCALE = lib.RIPTIDE_BOUND_OVERRIDE_SCALE
    HINT_SCALE = lib.RIPTIDE_BOUND_HINT_SCALE
    HINT_MAX = lib.RIPTIDE_BOUND_HINT_MAX
    BASE = lib.RIPTIDE_BOUND_BASE
    MANY_PATHS = lib.RIPTIDE_BOUND_MANY_PATHS


class EventKind(enum.IntEnum):
    """Kinds of an agent's events."""

    TICK = lib.RIPTIDE_AGENT_TICK
    ROUTE = lib.RIPTIDE_AGENT_ROUTE
    FAILED = lib.RIPTIDE_AGENT_FAILED
    RULES = lib.RIPTIDE_AGENT_RULES
    BACKEND = lib.RIPTIDE_AGENT_BACKEND
    DESTROY_EVENTS = lib.RIPTIDE_AGENT_DESTROY_EVENTS


def _view(name: str, reader: Callable[[Any], Any] | None = None) -> Any:
    """A field that is read from the C struct at its first use."""
    get = attrgetter(f"_c.{name}")
    if reader is None:
        return property(get)
    read: Callable[[Any], Any] = reader
    return property(lambda self: read(get(self)))


@dataclass(frozen=True, init=False)
class Sample:
    """What one connection says. A figure that the running kernel does not report is 0.

    Samples of one dump share its memory, which lives as long as one of them.
    """

    dst: Address = _view("dst", address)  #: the peer; IPv4-mapped peers are IPv4
    cookie: int = _view("cookie")  #: the kernel's number for this socket, unique until reboot
    cwnd: int = _view("cwnd")  #: congestion window, segments
    rtt_us: int = _view("rtt_us")  #: smoothed round trip time
    min_rtt_us: int = _view("min_rtt_us")  #: windowed minimum; 0: not measured
    mss_bytes: int = _view("mss_bytes")
    pmtu_bytes: int = _view("pmtu_bytes")
    segs_out: int = _view("segs_out")
    data_segs_out: int = _view("data_segs_out")  #: 0: the window was never used
    retrans_segs: int = _view("retrans_segs")  #: in the connection's life
    acked_bytes: int = _view("acked_bytes")  #: 1 after an active open that sent nothing
    delivery_rate_Bps: int = _view("delivery_rate_Bps")  #: bytes per second
    last_data_sent_ms: int = _view("last_data_sent_ms")  #: time since then
    ca_state: int = _view("ca_state")  #: 0 open to 4 loss
    app_limited: bool = _view("app_limited")  #: the application limited the delivery rate
    congestion_control: str = _view("congestion_control", text)  #: empty: not asked for, closed
    local_port: int = _view("local_port")
    remote_port: int = _view("remote_port")
    ifindex: int = _view("ifindex")  #: that the socket is bound to; 0: none
    mark: int = _view("mark")
    has_mark: bool = _view("has_mark")  #: the kernel shows marks only with CAP_NET_ADMIN
    closed: bool = _view("closed")  #: as it was when it closed; see destroy_events
    shown: bool = _view("shown")  #: closed, and a dump has shown it; destroy_events=2
    snd_wnd_bytes: int = _view("snd_wnd_bytes")  #: the peer's current receive window
    limited_us: int = _view("limited_us")  #: of busy_time_us, for the peer's window or our buffer
    busy_time_us: int = _view("busy_time_us")  #: with data under way

    def __init__(self, dst: PrefixLike, cwnd: int, **others: int | str) -> None:
        """From values; fields that are not named are 0. Errors: TypeError, ValueError, OverflowError."""
        c = ffi.new("struct riptide_sample *")
        write(c, {"dst": dst, "cwnd": cwnd, **others}, [])
        if c.dst.len != (32 if c.dst.family == AF_INET else 128):
            raise ValueError(f"dst: not the address of a host: {dst}")
        object.__setattr__(self, "_c", c[0])

    @classmethod
    def of(cls, c: Any, memory: Any) -> Sample:
        """One that reads a struct riptide_sample, in memory that it keeps."""
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
        """Smallest round trip time; 0 where it was not measured."""
        return timedelta(microseconds=self.min_rtt_us)


@dataclass(frozen=True)
class Estimate:
    """What is known of one destination. Popped, it is a change: cwnd 0 withdraws the window.

    Points in time are CLOCK_BOOTTIME.
    """

    dst: Network
    samples: int  #: connections seen in the last tick that saw any; up to 65535
    combined: float  #: their windows as one, segments
    smoothed: float  #: with history, segments, unbounded
    cwnd: int  #: the result, segments; 0: the time to live passed
    updated_ns: int
    expires_ns: int
    rto_min_us: int  #: for the route; 0: leave it alone
    cwnd_max: int  #: upper bound in effect for it, hints included, segments
    may_lower: bool  #: losses or a hint took it down: for Router.set
    pmtu_bytes: int  #: smallest path MTU of a host's open connections; 0: not known
    min_rtt_us: int  #: smallest round trip time, as its policy explains it; 0: unknown
    pacing_percent: int  #: of a round trip, for the first flight; 0: not set; 2**32 - 1: at once
    receive_window: int  #: the first one: 1: auto, 2: off
    base_cwnd: int  #: its window without ours, segments; 0: unknown


@dataclass(frozen=True)
class Evidence:
    """A policy's evidence about a path; members are zero where it has none of that kind."""

    capacity: float  #: segments that the path delivers in its smallest round trip
    burst: float  #: segments at once that it was seen to take
    sharers: int  #: connections that open together
    pacing_percent: int  #: as in Estimate
    brake: float  #: 1: none; after losses what fits, as a share of the capacity
    min_rtt_us: int
    max_rtt_us: int


class LeftOut(NamedTuple):
    """How many connections a policy left out of a tick, by its reason; up to 65535 each."""

    unused: int  #: never filled their window, which is the one that they were given
    idle: int  #: do not send at present: their windows are of another time
    unmeasured: int  #: limited by the application, or not measured by the kernel


@dataclass(frozen=True)
class Explanation:
    """The steps to a window, figure by figure; or, with cwnd 0, the samples that were left out."""

    dst: Network
    policy: str
    samples: int  #: counted in the last tick that saw any
    left_out: LeftOut  #: of that tick
    combined: float  #: segments
    smoothed: float  #: segments, unbounded
    is_drop: bool  #: the drop guard discarded history
    bounds: Bound  #: those that bit
    override: Network | None  #: of the hint without an end that decides
    cwnd_min: int  #: bounds that hold for it, segments
    cwnd_max: int
    override_scale: float  #: 1: none
    override_pacing_percent: int  #: 0: none
    hint_scale: float  #: 1: none
    hint_cwnd_max: int  #: segments; 0: none
    base_cwnd: int  #: what its connections start with without us, segments; 0: unknown
    cwnd: int  #: the result, segments; 0: there is none
    rto_min_us: int  #: 0: left alone
    updated_ns: int  #: CLOCK_BOOTTIME
    expires_ns: int
    evidence: Evidence


@dataclass(frozen=True)
class LoadCounts:
    """What became of the destinations of a state."""

    loaded: int  #: taken over
    skipped: int  #: lines that are damaged, or cut off at the end
    expired: int  #: their time to live has passed
    older: int  #: ours is as new or newer
    regrouped: int  #: no destination under our prefix lengths, aggregates and scope
    overflow: int  #: max_destinations was reached


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval, which stays valid however often it is read."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """What windows have done, by connections that have closed, against those held out."""

    connections: int
    held_out: int
    time: Interval  #: -0.25: a quarter less time
    rounds_saved: Interval  #: smallest round trip times; above 0 is less
    again: Interval  #: 0.01: of 100 segments one more was sent again
    share: Interval  #: held out, of all that count; holdout_percent / 100 not within: void


@dataclass(frozen=True)
class Route:
    """One destination, with its route or window in the kernel."""

    dst: Network
    state: RouteState
    initcwnd: int  #: segments
    initrwnd: int  #: segments; 0: not set by the route
    base_initcwnd: int  #: segments, of the route without us; 0: not set, not known
    gateway: Address | None  #: None: on link, or several next hops
    ifindex: int  #: 0: several next hops
    error: int  #: -errno where FAILED
    reason: str  #: one line where LEFT_ALONE or FAILED
    backend: Backend  #: ROUTES or CONNECTIONS: whose outcome it is


@dataclass(frozen=True)
class FlushCounts:
    """What flush() removed."""

    rules: int
    routes: int


@dataclass(frozen=True)
class Tick:
    """One round of an agent."""

    started_ns: int  #: CLOCK_BOOTTIME
    finished_ns: int
    samples: int  #: connections that counted, open and closed
    destinations: int
    changes: int  #: windows that were given to the router
    overflow: int  #: refused: max_destinations or max_routes was reached
    closed: int  #: of samples, those that closed since the last round
    closed_lost: int
    observe_cpu_ns: int
    closed_cpu_ns: int
    interval_ns: int
    late_ns: int
    observe_mean_ns: int


@dataclass(frozen=True)
class AgentEvent:
    """An event of an agent: `kind` decides which other fields are set."""

    kind: EventKind
    tick: Tick | None  #: TICK
    route: Route | None  #: ROUTE
    estimate: Estimate | None  #: ROUTE; None: the destination is forgotten
    error: OSError | None  #: FAILED, DESTROY_EVENTS; None: they are back
    family: int  #: RULES
    reason: str | None  #: RULES, BACKEND; None: they are back
    backend: Backend | None  #: BACKEND; ROUTE: the route's


@dataclass(frozen=True)
class Scope:
    """The connections to learn from; an empty field sets no condition.

    Of the prefixes, the longest that holds a destination decides. Ports are a list: (80, 443) in
    its place are two ports, and [(80, 443)] all from 80 to 443.
    """

    learn: Iterable[PrefixLike] = ()
    exclude: Iterable[PrefixLike] = ()
    local_ports: Iterable[Ports] = ()
    remote_ports: Iterable[Ports] = ()


@dataclass(frozen=True)
class Hint:
    """What is different for the destinations within `dst`; None, and 0, is as for all others."""

    dst: PrefixLike
    cwnd_min: int | None = None  #: segments; without an end alone
    cwnd_max: int | None = None
    policy: str | Policy | None = None  #: without an end alone
    scale: float | None = None  #: factor on the window, up to 1
    pacing_percent: int | None = None  #: of a round trip, up to 100; 2**32 - 1: at once; without an end alone
    receive_window: int | None = None  #: 1: auto, 2: off; without an end alone
    until_ns: int | None = None  #: CLOCK_BOOTTIME; it only lowers then


class ObserverOptions(TypedDict, total=False):
    """struct riptide_observer_config."""

    scope: Scope  # default: everything
    max_restarts: int  # how often an interrupted dump begins anew; 3
    congestion_control: bool  # ask for the name as well; True
    destroy_events: int  # closed connections too: True, False, 2: those shown as well, -1: as a policy needs
    events_buffer_bytes: int  # for those; 32 MB
    netns_fd: int  # an fd on the network namespace; -1: the thread's


class EstimatorOptions(TypedDict, total=False):
    """struct riptide_estimator_config."""

    policy: str | Policy  # "careful"
    history_weight: float  # of "paper": the moving average, 0 to below 1; 0.5
    cwnd_min: int  # 10
    cwnd_max: int  # 100
    ttl: Duration  # how long a window lives without new samples; 90 s
    prefix_len4: int  # what counts as one destination; 32
    prefix_len6: int  # 128
    aggregates: Sequence[PrefixLike]  # none
    max_destinations: int  # 16384
    hash_seed: int  # random where peers are not trusted; 0
    drop_share: float  # the drop guard, 0 to 1; 1: never
    hints: Sequence[Hint]  # without an end; none
    capacity_fraction: float  # of policy "careful"; 0.5
    evidence: Duration  # "careful", "bdp": highest of the last ...; 60 s
    pacing_rtt_min: Duration  # "careful": paths that may be paced; 0: none
    rto_min_floor: Duration  # 1 ms to 60 s; 0: rto_min is left alone
    receive_window: int  # the first one of connections that this host opens: 1: auto, 2: off; 1


class RouterOptions(TypedDict, total=False):
    """struct riptide_router_config."""

    table: int  # 7230
    protocol: int  # 230
    rule_priority: int  # 0: directly before the rule `lookup main`
    mark: int  # 0x72697074
    cwnd_max: int  # base routes with a smaller initrwnd get it; 100
    step_segments: int  # a window that moved by no more is not rewritten; 2
    step_percent: int  # 10
    max_routes: int  # 16384
    hash_seed: int  # 0
    dry_run: bool  # resolve base routes, write nothing; False
    netns_fd: int  # -1: the thread's


class AgentOptions(TypedDict, total=False):
    """struct riptide_agent_config."""

    interval: Duration  # from 10 ms to an hour; 1 s
    observer: ObserverOptions
    estimator: EstimatorOptions
    router: RouterOptions
    max_share: float  # of one core that dumps may take, 0 to 1; 0.05; 0: the interval stays as it is
    netns_fd: int  # of observer and router; -1: as they say
    apply: int  # a Backend; ROUTES
    cgroup: str | os.PathLike[str]  # whose connections the program serves; all of the host
    pacing_percent: int  # of a round trip, over which first flights leave; 50
    pacing_rtt_min: Duration  # shorter paths are not paced; 5 ms
    program_of: Agent  # of another namespace, whose program and cgroup serve this one as well
    holdout_percent: int  # of connections keep the kernel's window, with apply CONNECTIONS; 0
    holdout_seed: int  # draws them; 0
    trial_percent: int  # have a smaller window, as many a larger one; windows go where these do better; 0
    step_back_percent: int  # more time, or points sent again, by which windows step back; 2; 0: never
    step_back_wait: Duration  # until they are tried again, the first time; 10 min
    again_price: float  # per cent of time that a point sent again is worth, 0 to 10; 1
    holdout_turn: Duration  # with routes alone: hold out destinations for so long each; 0: none
