# SPDX-License-Identifier: MIT
"""The built programs and the library carry what the compiler and the linker can do for them."""

import json
import platform
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


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_may_be_loaded_anywhere(name):
    assert re.search(r"Type:\s+DYN ", readelf("-h", name))
    assert re.search(r"Flags: .*\bPIE\b", readelf("-d", name))


@each
def test_everything_is_bound_at_the_start_and_then_read_only(name):
    assert re.search(r"Flags: .*\bNOW\b|\(BIND_NOW\)", readelf("-d", name))
    assert "GNU_RELRO" in readelf("-l", name)
    assert "TEXTREL" not in readelf("-d", name)


@each
def test_nothing_is_both_writable_and_executable(name):
    segments = [line.split() for line in readelf("-l", name).splitlines()
                if line.split()[:1] in (["LOAD"], ["GNU_STACK"])]
    assert "GNU_STACK" in [segment[0] for segment in segments]
    for segment in segments:
        flags = "".join(segment[6:-1])
        assert not ("W" in flags and "E" in flags), segment


@each
def test_stack_is_protected(name):
    assert "__stack_chk_fail" in readelf("--dyn-syms", name)


@each
def test_calls_of_libc_are_fortified(name):
    assert re.search(r"\b__v?(sn|f)printf_chk\b", readelf("--dyn-syms", name))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86 has it")
@each
def test_places_to_jump_to_are_marked(name):
    """What the linker says of all of it depends on the C library's own start files."""
    function = "riptide_version" if name == LIBRARY else "main"
    code = subprocess.run(["objdump", "-d", f"--disassemble={function}", BUILD / name], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    assert re.search(rf"<{function}>:\n[^\n]*\bendbr64\b", code)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors touch it in other words")
@each
def test_large_frames_are_touched_page_by_page(name):
    code = subprocess.run(["objdump", "-d", BUILD / name], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    assert re.search(r"\bor[ql]\s+\$0x0,(0x[0-9a-f]+)?\(%rsp\)", code)
