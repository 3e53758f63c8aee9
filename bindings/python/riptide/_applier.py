# SPDX-License-Identifier: MIT
"""Apply: gives windows to the kernel, and changes nothing else."""

from __future__ import annotations

from typing import Unpack

from ._convert import new_config, new_struct, text
from ._errors import check, new_error
from ._handle import KernelHandle
from ._native import ffi, lib
from ._structs import ApplierConfig, ApplierStats, Route, Wanted

class Applier(KernelHandle[Route, ApplierStats]):
    """Gives windows by routes, by the program, or by both. Needs CAP_NET_ADMIN.

    Call start(), then set(); and whenever fileno() is readable dispatch(), which carries out the
    requests. pop() takes the next destination whose window was changed, refused or left alone.
    close() takes everything back, unless told to leave the routes.

    Options: ApplierConfig. Errors: OptionError and other OSErrors; TypeError, ValueError and
    OverflowError for values that C cannot take.
    """

    _stage = "applier"

    def __init__(self, **options: Unpack[ApplierConfig]) -> None:
        super().__init__(options)

    def set(self, wanted: Wanted) -> None:
        """Requests a window for connections to a destination; `initcwnd` 0 withdraws it.

        Errors: FullError (max_windows); InvalidError (above 65535 segments, 100 percent or 60 s);
        TypeError, ValueError, OverflowError.
        """
        c = new_struct("wanted", wanted, Wanted, "struct riptide_wanted *")
        check(self._call("set", c))

    def pause(self) -> None:
        """Removes the rules, and the program gives no windows, until resume()."""
        check(self._call("set_paused", lib.RIPTIDE_REASON_PAUSED, ffi.NULL))

    def resume(self) -> None:
        """Ends a pause."""
        check(self._call("set_paused", lib.RIPTIDE_REASON_NONE, ffi.NULL))

    @property
    def is_idle(self) -> bool:
        """Whether every set has taken effect and the rules are in place, or removed by pause()."""
        return bool(self.stats().is_idle)


def flush(**options: Unpack[ApplierConfig]) -> tuple[str, int]:
    """Removes rules and routes of ours, of any process, in the namespace of this thread.

    Returns a line that says what it removed (with dry_run, what is there), and the PID of the
    process that manages the namespace and may restore them: 0 is nobody. Errors: OSError.
    """
    error = new_error()
    config = new_config("struct riptide_applier_config *", options, [])
    result = lib.riptide_applier_flush(config, error)
    check(min(result, 0), error)
    return text(error.text), result
