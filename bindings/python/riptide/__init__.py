# SPDX-License-Identifier: MIT
"""Riptide: initial TCP windows learned from open connections.

The three stages of libriptide are Observer, Estimator and Applier; Agent joins them. observe() and
observe_columns() are for scripts, Control for riptided, flush() for who takes all windows back.

Windows are in segments, times and durations in seconds, other figures have their unit in their
name. A destination is a network of ipaddress, a host one of full length; arguments may be text.
Failures are OSErrors, other outcomes OutcomeErrors; for an invalid value the text of a TypeError,
ValueError (but InvalidError) or OverflowError begins with the argument's name. Only one thread at a
time, of the process that made an object, may use it: ConcurrentUseError, ForkedError.
"""

from ._agent import Agent
from ._applier import Applier, flush
from ._control import Control
from ._errors import (AgainError, ConcurrentUseError, DoneError, ForkedError, FullError,
                      InvalidError, OptionError, OutcomeError, RefusedError, UnknownError)
from ._errors import version as _version
from ._estimator import Estimator
from ._observer import Observer, observe, observe_columns
from ._structs import *
from ._structs import __all__ as _made

__version__ = _version()

__all__ = [
    "AgainError", "Agent", "Applier", "ConcurrentUseError", "Control", "DoneError", "Estimator",
    "ForkedError", "FullError", "InvalidError", "Observer", "OptionError", "OutcomeError",
    "RefusedError", "UnknownError", "flush", "observe", "observe_columns",
]
__all__ += _made
