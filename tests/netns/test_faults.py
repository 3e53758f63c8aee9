# SPDX-License-Identifier: MIT
"""Makes each call of the library that can fail do so: the agent recovers or removes everything."""

import errno
import re

import pytest
from netns import BUILD, MOUNTED, run

PEERS = ("203.0.113.1", "203.0.113.2", "198.51.100.1", "2001:db8::1", "2001:db8::2")


# Functions that it calls besides those of the shim: pure ones, those that allocate by malloc(3), a
# clock, and what chooses words or speed alone.
HARMLESS = set("""
    access clock_gettime closedir dirfd dirname exp2 ferror fgets fmax fmin fprintf fputs free fseek
    fwrite geteuid getpid inet_ntop inet_pton kill log2 memchr memcmp memcpy memmem memmove memset
    qsort setvbuf snprintf sscanf strchr strcmp strcpy strcspn strerror strlen strncmp strncpy
    strnlen strrchr strspn strstr strtod strtoul strtoull tdelete tsearch vsnprintf
""".split())

# Names of calls that libc checks; __asan_stack_malloc_2 is the sanitizer's own.
FORTIFIED = re.compile("__(?!asan_)(.*)(_chk|_2)$")


def symbols(name, option):
    lines = run("nm", "-D", option, BUILD / name).stdout.splitlines()
    names = (line.split()[-1].partition("@")[0] for line in lines)
    return {name[:-2] if name.endswith("64") else name for name in names}


def test_all_calls_of_the_library_are_among_them():
    if any(name.startswith("__gcov") for name in symbols("lib/libriptide.so", "--undefined-only") |
           symbols("tests/netns/faults", "--defined-only")):
        pytest.skip("what counts lines has calls of its own")
    called = {name for name in symbols("lib/libriptide.so", "--undefined-only")
              if FORTIFIED.match(name) or not name.startswith(("_", "mnl_"))}
    harmless = {name for name in called if FORTIFIED.sub(r"\1", name) in HARMLESS}
    assert len(called) > 40
    assert called - harmless - symbols("tests/netns/faults", "--defined-only") == set()


KINDS = ("allocation", "call", "request", "short")  # enum shim_kind
BACKENDS = ("auto", "routes", "program", "both")  # enum riptide_backend

# Errors, and how many calls at least can fail with each: about three quarters of those of today.
CALL_ERRORS = {"EINTR": 190, "EAGAIN": 140, "ENOBUFS": 180, "ENOMEM": 220, "EPERM": 300,
               "EMFILE": 15, "ENODEV": 120, "ENOSPC": 20, "EBUSY": 120, "EIO": 15, "ECANCELED": 1,
               "EADDRINUSE": 5, "ECONNREFUSED": 3}
PLANS = [  # backend, kind, error, how many fail one after the other, how many can at least
    *(("routes", "allocation", "ENOMEM", n_fail, 50) for n_fail in (1, 10)),
    *(("routes", "call", error, 1, at_least) for error, at_least in CALL_ERRORS.items()),
    *(("routes", "request", error, 1, 45)
      for error in ("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM", "EPERM", "ENODEV", "EBUSY")),
    ("routes", "short", "EINTR", 1, 1),
    *(("both", "call", error, 1, 10)
      for error in ("EPERM", "ENOMEM", "EBUSY", "ENOSPC", "EMFILE", "EAGAIN")),
    *((apply, "allocation", "ENOMEM", 1, 10) for apply in ("both", "program")),
    ("program", "call", "EPERM", 1, 10),
]


@pytest.mark.parametrize("apply, kind, error, n_fail, at_least", PLANS)
def test_each_call_that_fails(net, request, tmp_path, apply, kind, error, n_fail, at_least):
    """Runs a plan of tests/netns/faults.c on a host with windows to learn."""
    cgroup = () if apply == "routes" else (request.getfixturevalue("cgroup"),)
    for n, peer in enumerate(PEERS):
        net.learned(peer, 20 + 5 * n)
    done = net.host.run(MOUNTED / "tests" / "netns" / "faults", tmp_path / "state",
                        KINDS.index(kind), getattr(errno, error), n_fail, BACKENDS.index(apply),
                        *cgroup, check=False, timeout=900)
    print(done.stdout + done.stderr)
    assert done.returncode == 0
    assert int(re.search(r"^points (\d+),", done.stdout, re.M).group(1)) >= at_least
