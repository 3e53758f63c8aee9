# SPDX-License-Identifier: MIT
"""Programs and library are built with the hardening of compiler and linker."""

import json
import re
import subprocess

import pytest
from netns import BUILD

PROGRAMS = ("cli/riptide", "cli/riptided")
LIBRARY = "lib/libriptide.so"
OPTIONS = {option["name"]: option["value"]
           for option in json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())}
is_asked_for = (OPTIONS["hardening"], OPTIONS["b_sanitize"]) == (True, "none")
pytestmark = pytest.mark.skipif(not is_asked_for, reason="built without, as sanitizers need it")
each = pytest.mark.parametrize("name", (*PROGRAMS, LIBRARY))


def readelf(option, name):
    return subprocess.run(["readelf", "-W", option, BUILD / name], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout


@each
def test_linker_and_compiler_have_done_their_part(name):
    """Position independent; all symbols are bound at the start, then read-only; nothing is both
    writable and executable; stack protector and fortified libc calls are in use."""
    dynamic, segments = readelf("-d", name), readelf("-l", name)
    if name in PROGRAMS:
        assert re.search(r"Type:\s+DYN ", readelf("-h", name))
        assert re.search(r"Flags: .*\bPIE\b", dynamic)
    assert re.search(r"Flags: .*\bNOW\b|\(BIND_NOW\)", dynamic)
    assert "GNU_RELRO" in segments and "TEXTREL" not in dynamic
    loaded = [line.split() for line in segments.splitlines()
              if line.split()[:1] in (["LOAD"], ["GNU_STACK"])]
    assert "GNU_STACK" in [segment[0] for segment in loaded]
    for segment in loaded:
        flags = "".join(segment[6:-1])
        assert not ("W" in flags and "E" in flags), segment
    symbols = readelf("--dyn-syms", name)
    assert "__stack_chk_fail" in symbols
    assert re.search(r"\b__v?(sn|f)printf_chk\b", symbols)
