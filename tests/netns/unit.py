# SPDX-License-Identifier: MIT
"""The rights of riptided.service without systemd: a user, its capabilities and its system calls."""

import functools
import re
import subprocess
import sys

from netns import BUILD

# As systemd does it, by libseccomp: any call but the named ones fails with EPERM.
FILTERED = """
import ctypes, os, sys
calls, command = sys.argv[1].split(","), sys.argv[2:]
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
calls_of = ctypes.c_void_p(library.seccomp_init(0x00050001))
for call in calls:
    number = library.seccomp_syscall_resolve_name(call.encode())
    assert number < 0 or library.seccomp_rule_add(calls_of, 0x7fff0000, number, 0) == 0, call
assert library.seccomp_load(calls_of) == 0
os.execv(command[0], command)
"""


@functools.lru_cache(maxsize=None)
def calls_of(name):
    """The system calls of a group (@...), or the one of that name."""
    if not name.startswith("@"):
        return {name}
    group = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, stdout=subprocess.PIPE,
                           universal_newlines=True).stdout.splitlines()
    words = [line.strip() for line in group if line.startswith("    ") and not line.strip().startswith("#")]
    return set().union(*map(calls_of, words))


def values(key, unit="riptided.service"):
    """Those of all lines with the key."""
    text = (BUILD / "cli" / unit).read_text()
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


def as_unit(*command):
    """The command with these rights and no other."""
    capabilities = " ".join(values("AmbientCapabilities")).split()
    kept = ",".join(["-all", *(f"+{name[4:].lower()}" for name in capabilities)])
    allowed = set()
    for line in values("SystemCallFilter"):
        calls = set().union(*map(calls_of, line.lstrip("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--inh-caps", kept, "--ambient-caps", kept,
            "--bounding-set", kept, "--no-new-privs", "--", sys.executable, "-IBc", FILTERED, ",".join(sorted(allowed)),
            *map(str, command))
