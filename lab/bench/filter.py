# SPDX-License-Identifier: MIT
"""How many sockets a filter must leave out to pay: runs lab/bench/filter.c, which measures and prints.

./dev bench filter builds and runs this; SOCKET_NS, what a socket costs, may be given (default 1000).
"""

import os
import sys
from pathlib import Path

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
FILTER = BUILD / "lab" / "bench" / "filter"

os.execv(FILTER, [str(FILTER), *(sys.argv[1:] or ["1000"])])
