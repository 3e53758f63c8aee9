# SPDX-License-Identifier: MIT
"""Apply: gives windows to the kernel, and changes nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

from ._calls import counters, new_object, pop, pop_all
from ._errors import InvalidError, check, has_more, new_error
from ._handle import KernelHandle
from ._native import ffi, lib
from ._types import Backend, Route, ApplierOptions, RouteState
from ._values import Duration, PrefixLike, duration_us, new_config, read, text, write

if TYPE_CHECKING:
    from typing_extensions import Unpack

CONFIG = "struct riptide_applier_config *"


def read_route(c: Any) -> Route:
    return read(Route, c, state=RouteState, backend=Backend)


def _stop(c: Any, _: Any) -> int:
    return int(lib.riptide_applier_stop(c))


class Applier(KernelHandle):
    """Gives windows by routes, by the program, or by both. Needs CAP_NET_ADMIN.

    Call start(), then set(); and whenever fileno() is readable dispatch(), which carries out the
    requests. close() removes rules and routes, unless told to leave them.

    Errors: OptionError and other OSErrors, TypeError, ValueError, OverflowError.
    """

    def __init__(self, **options: Unpack[ApplierOptions]) -> None:
        config = new_config(CONFIG, options, [])
        super().__init__(new_object(lib.riptide_applier_new, config, lib.riptide_applier_free))

    def close(self, leave_routes: bool = False) -> None:
        """Removes rules and routes and frees the applier. After an OSError it is closed as well."""
        self._close(_stop, leave_routes)

    def fileno(self) -> int:
        """The fd to wait on for reading; it stays the same."""
        with self._use as c:
            return int(lib.riptide_applier_get_fd(c))

    def start(self) -> None:
        """Claims the namespace, removes what a killed predecessor left, installs the rules.

        Errors: OSError (EPERM: CAP_NET_ADMIN; EBUSY: another applier holds this namespace; EEXIST:
        another program uses our table; EOPNOTSUPP: no place for a rule;
        EALREADY: it was started before; ESHUTDOWN: it was stopped).
        """
        self._start(lib.riptide_applier_start)

    def stop(self) -> None:
        """Removes rules and routes; the applier cannot start again. Errors: OSError."""
        self._stop(_stop)

    def set(self, dst: PrefixLike, initcwnd: int, cwnd_max: int = 0, rto_min: Duration = 0,
            may_lower: bool = False, pmtu_bytes: int = 0, pacing_percent: int = 0,
            rtt: Duration = 0, receive_bytes: int = 0, base_cwnd: int = 0) -> None:
        """Requests a window for connections to dst, in segments; 0 withdraws it.

        The route never has more than cwnd_max segments; 0: no bound. rto_min is the smallest
        retransmission timeout, which the kernel rounds up to ms; 0: unchanged. A window up to the
        base route's initcwnd gets no route, unless may_lower is set. pmtu_bytes is the path MTU
        that connections to a host have found, 0: unknown; below its link's there is no route.

        For the program: pacing_percent, 1 to 100, of a round trip over which the first flight
        leaves, 0: as configured; rtt, the path's smallest round trip time, 0: the handshake's;
        base_cwnd, the base route's initcwnd, which held out connections keep, 0: the kernel's 10.
        receive_bytes is the first receive window of connections that this host opens, 0: the
        kernel's.
        Errors: FullError (max_windows), InvalidError (above 65535 segments, 100 percent or 60 s).
        """
        wanted = ffi.new("struct riptide_wanted *")
        write(wanted, {"dst": dst, "initcwnd": initcwnd, "cwnd_max": cwnd_max,
                       "may_lower": may_lower, "pmtu_bytes": pmtu_bytes,
                       "pacing_percent": pacing_percent, "receive_bytes": receive_bytes,
                       "base_cwnd": base_cwnd}, [])
        wanted.rto_min_us = duration_us("rto_min", rto_min)
        wanted.rtt_us = duration_us("rtt", rtt)
        with self._use as c:
            result = lib.riptide_applier_set(c, wanted)
        if result == lib.RIPTIDE_E_INVALID:  # an invalid prefix was refused before
            for name, value in (("initcwnd", initcwnd), ("base_cwnd", base_cwnd)):
                if value > lib.RIPTIDE_CWND_LIMIT:
                    raise InvalidError(f"{name}: up to 65535 segments: {value}")
            raise InvalidError(f"pacing_percent: up to 100: {pacing_percent}" if pacing_percent > 100
                               else f"rto_min: up to 60 s: {rto_min}")
        check(result)

    def pause(self) -> None:
        """Removes the rules: local TCP uses main, and the applier continues. Errors: OSError."""
        with self._use as c:
            check(lib.riptide_applier_set_paused(c, True))

    def resume(self) -> None:
        """Installs the rules again, as soon as the applier is idle."""
        with self._use as c:
            check(lib.riptide_applier_set_paused(c, False))

    def dispatch(self) -> bool:
        """Does one bounded piece of work.

        Returns whether there may be more to do, as Agent.dispatch. Errors: OSError.
        """
        with self._use as c:
            return has_more(lib.riptide_applier_dispatch(c))

    def pop(self) -> Route:
        """The next destination whose route changed, or failed to. Errors: AgainError."""
        return pop(self._use, lib.riptide_applier_pop, read_route)

    def changes(self) -> Iterator[Route]:
        """Pops all of them."""
        return pop_all(self._use, lib.riptide_applier_pop, read_route)

    @property
    def is_idle(self) -> bool:
        """Whether every set has taken effect and the rules are in place, or removed by pause()."""
        return bool(self.stats()["is_idle"])

    def stats(self) -> dict[str, Any]:
        """The members of struct riptide_applier_stats."""
        return counters(self._use, lib.riptide_applier_get_stats)


def flush(**options: Unpack[ApplierOptions]) -> str:
    """Removes rules and routes of ours, of any process. Returns a line that says what it removed. Errors: OSError."""
    error = new_error()
    check(lib.riptide_applier_flush(new_config(CONFIG, options, []), error), error)
    return text(error.text)
