# SPDX-License-Identifier: MIT
"""What programs that were compiled before rely on, as text: tests/abi.txt.

    abi.py HEADERS SYMBOLS BASELINE [--write] -- cc

Functions as the headers declare them, which must be those that the library exports, where each
member of a struct lies on 64 bit machines, and the numbers of enums and macros. It ends with 1, and
says what differs, where that is not the text; --write makes it anew.
"""

import argparse
import difflib
import re
import subprocess
import sys
from pathlib import Path

import cffi

FUNCTION = re.compile(r"(?<=[;}] )([\w ]+[ *]+riptide_\w+\([^;{]*?\));")
MACRO = re.compile(r"#define (RIPTIDE_(?!VERSION|\w+_H\b)\w+)(.+)")
# Others are lost to what makes bindings of headers: bindgen, cgo.
LITERAL = re.compile(r" (0x[0-9a-f]+U?L{0,2}|\d+|\(-?\d+\.\d+\))")


def own_lines(headers, compiler):
    """Our headers after the preprocessor, macros included, without those of the C library."""
    text = subprocess.run([*compiler, "-E", "-dD", f"-I{headers}", "-xc", "-"], check=True,
                          input="#include <riptide/agent.h>\n", stdout=subprocess.PIPE, text=True).stdout
    is_own = False
    for line in text.splitlines():
        match = re.match(r'# \d+ "([^"]*)"', line)
        if match:
            is_own = Path(match[1]).parent.name == "riptide"
        elif is_own and line.strip():
            yield line


def layouts(ffi):
    """Each struct with its members' offsets and sizes, and each enum's numbers."""
    structs, enums = [f"struct {name}" for name in ffi.list_types()[1]], set()
    for name in structs:
        type_ = ffi.typeof(name)
        if type_.fields is None:
            continue
        yield f"\n{name}: {ffi.sizeof(type_)} bytes"
        for member, field in members(type_):
            yield f"    {field.offset:4} {ffi.sizeof(field.type):4}  {member}: {field.type.cname}"
    for name in sorted(name for name in ffi._parser._declarations if name.startswith("enum ")):
        numbers = ffi.typeof(name).relements
        yield f"\n{name}: " + ", ".join(f"{key} {numbers[key]}" for key in sorted(numbers, key=numbers.get))


def members(type_, path=""):
    """Members of a struct in order; those of an unnamed one after a dot."""
    for name, field in type_.fields:
        yield path + name, field
        if field.type.kind == "struct" and "$" in field.type.cname:
            yield from members(field.type, f"{path}{name}.")


def describe(headers, symbols, compiler):
    """The whole text. Errors: SystemExit where the library exports other functions."""
    lines = list(own_lines(headers, compiler))
    code = "\n".join(line for line in lines if not line.startswith("#"))
    functions = sorted(FUNCTION.findall("; " + re.sub(r"\s+", " ", code)),
                       key=lambda function: re.search(r"riptide_\w+(?=\()", function)[0])
    declared = {re.search(r"(riptide_\w+)\(", function)[1] for function in functions}
    differing = declared ^ set(re.findall(r"^ +(riptide_\w+);", symbols.read_text(), re.M))
    if differing:
        sys.exit(f"declared or exported, but not both: {', '.join(sorted(differing))}")
    ffi = cffi.FFI()
    ffi.cdef(code)
    macros = sorted("".join(match.groups()) for match in map(MACRO.match, lines) if match)
    others = [macro for macro in macros if not LITERAL.fullmatch(macro[len(macro.split()[0]):])]
    if others:
        sys.exit(f"no plain literals: {', '.join(others)}")
    return "\n".join([f"{len(functions)} functions", *functions, "", *macros, *layouts(ffi), ""])


def main():
    parser = argparse.ArgumentParser()
    for name in ("headers", "symbols", "baseline"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("compiler", nargs="+")
    given = parser.parse_args()
    text = describe(given.headers, given.symbols, given.compiler)
    if given.write:
        given.baseline.write_text(text)
        return
    difference = list(difflib.unified_diff(given.baseline.read_text().splitlines(), text.splitlines(),
                                           str(given.baseline), "the headers", "", "", 0, ""))
    if difference:
        sys.exit("\n".join([*difference, "programs must be compiled anew? `ninja abi` writes it down"]))


if __name__ == "__main__":
    main()
