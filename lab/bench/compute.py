# SPDX-License-Identifier: MIT
"""What a sample costs in lib/compute, by policy: runs lab/bench/compute.c, which measures and prints.

./dev bench compute builds and runs this; arguments are passed on (names of policies, --quick).
"""

import os
import sys
from pathlib import Path

BUILD = Path(os.environ.get("RIPTIDE_BUILD", Path(__file__).resolve().parents[2] / "build"))
COMPUTE = BUILD / "lab" / "bench" / "compute"

os.execv(COMPUTE, [str(COMPUTE), *sys.argv[1:]])
