# SPDX-License-Identifier: MIT
"""Riptide: initial TCP windows learned from open connections.

The three stages of libriptide are Observer, Estimator and Applier; Agent joins them. observe(),
observe_columns() and explain() are for scripts, Control for riptided. Windows are
in segments; other figures have their unit in their name; duration arguments are a timedelta or
seconds. Failures are OSErrors, other outcomes OutcomeErrors; for an invalid value the text of a
TypeError, ValueError or OverflowError begins with the argument's name. Only one thread at a time,
of the process that made an object, may use it: ConcurrentUseError, ForkedError.
"""

from ._agent import Agent
from ._control import Control
from ._errors import (AgainError, ConcurrentUseError, DoneError, ForkedError, FullError,
                      InvalidError, OptionError, OutcomeError, RefusedError, UnknownError)
from ._errors import version as _version
from ._estimator import Estimator, explain
from ._observer import Columns, Observer, observe, observe_columns
from ._applier import Applier, flush
from ._types import (AgentEvent, AgentOptions, Arm, Backend, Change, Estimate, EstimatorOptions, EventKind,
                     Hint, LeftOut,
                     LoadCounts, ObserverOptions, Route, ApplierOptions, RouteState, Sample,
                     Scope, Tick, Verdict, Window)
from ._values import Address, Duration, Network, PrefixLike

__version__ = _version()

__all__ = [
    "Address", "AgainError", "Agent", "AgentEvent", "AgentOptions", "Arm", "Backend", "Change", "Columns",
    "ConcurrentUseError", "Control", "DoneError", "Duration", "Estimate", "Estimator",
    "EstimatorOptions", "EventKind",
    "ForkedError", "FullError", "Hint", "InvalidError", "LeftOut", "LoadCounts",
    "Network", "Observer", "ObserverOptions", "OptionError", "OutcomeError", "PrefixLike",
    "RefusedError", "Route", "RouteState", "Applier",
    "ApplierOptions", "Sample", "Scope", "Tick", "UnknownError", "Verdict", "Window", "explain", "flush",
    "observe", "observe_columns",
]
