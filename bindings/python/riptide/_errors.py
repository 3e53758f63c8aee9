# SPDX-License-Identifier: MIT
"""Errors: an -errno becomes an OSError, and each outcome has an exception of its own."""

from __future__ import annotations

import os
import re
from typing import Any

from ._native import ffi, lib


class OutcomeError(Exception):
    """An outcome of the library that is no failure, for the caller to handle."""


class AgainError(OutcomeError):
    """There is nothing more now; dispatch again when the fd is readable."""


class DoneError(OutcomeError):
    """The dump is complete."""


class FullError(OutcomeError):
    """The configured number of destinations, windows or hints is reached."""


class InvalidError(OutcomeError, ValueError):
    """The value cannot be true: a window of 0, time that runs backwards."""


class UnknownError(OutcomeError, LookupError):
    """There is no data about that."""


class OptionError(OSError):
    """An option that the library refuses.

    `field` is its path among an agent's options ("estimator.cwnd_max", "observer.scope.learn[]"),
    `index` the index of the list element for which [] stands, or None.
    """

    field: str
    index: int | None


class RefusedError(Exception):
    """riptided refuses a request on its control socket; the text has the reason."""


class ConcurrentUseError(RuntimeError):
    """A second thread, or a signal's handler, used an object while a call on it was under way."""


class ForkedError(RuntimeError):
    """The object was made before fork(2): its sockets belong to the parent. It can be closed."""


def version() -> str:
    """The version of the loaded library. Errors: ImportError if it is older than these bindings."""
    found = str(ffi.string(lib.riptide_version()).decode())
    built = str(ffi.string(lib.RIPTIDE_VERSION).decode())
    if [int(part) for part in found.split(".")] < [int(part) for part in built.split(".")]:
        raise ImportError(f"libriptide is {found}; this was built for {built}: install a newer one")
    return found


#: Without RIPTIDE_E_MORE and RIPTIDE_E_LEFT_OUT, which dispatch and add return as a bool.
OUTCOMES = {
    lib.RIPTIDE_E_AGAIN: AgainError,
    lib.RIPTIDE_E_DONE: DoneError,
    lib.RIPTIDE_E_FULL: FullError,
    lib.RIPTIDE_E_INVALID: InvalidError,
    lib.RIPTIDE_E_UNKNOWN: UnknownError,
}


def new_error() -> Any:
    """A buffer for the library's text of an error."""
    return ffi.new("struct riptide_error *")


def check(result: int, error: Any = None) -> None:
    """Raises the error that a function has returned, unless 0; `error` has its text."""
    if result == 0:
        return
    line = ffi.string(error.text).decode("utf-8", "replace") if error else ""
    line = re.sub(r"^([\w.\[\]]+)_[nu]s:", r"\1:", line)  # options have no unit
    if result > 0:
        raise OUTCOMES[result](line or OUTCOMES[result].__doc__)
    failure = OSError(-result, line or os.strerror(-result))
    if error and error.field and not isinstance(failure, PermissionError):
        failure = option = OptionError(*failure.args)
        option.field = re.sub("_[nu]s$", "", ffi.string(error.field).decode())
        option.index = error.index if error.index >= 0 else None
    raise failure
