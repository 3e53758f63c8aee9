# SPDX-License-Identifier: MIT
"""Makes the source of the extension module, and the types of the package, from the public headers.

    generate.py --native native.c --structs _structs.py --depfile native.c.d -- cc -I...

The C compiler preprocesses the headers and cffi reads what they declare. Each struct becomes a
NamedTuple, each configuration a TypedDict, each enum an IntEnum, with the headers' comments as
their documentation: a member that comes or goes in a header needs no line of Python.
"""

import argparse
import os
import re
import subprocess
import textwrap
from pathlib import Path

import cffi
from cffi import model

INCLUDE = "#include <riptide/agent.h>\n"
LINE = re.compile(r'# \d+ "([^"]*)"')
DEFINE = re.compile(r"#define (RIPTIDE_\w+) (.+)")
COMMENT = r"/\*(?:(?!\*/).)*\*/"
STRUCT = re.compile(rf"({COMMENT}\s*)?^(?:struct|enum) (riptide_\w+) \{{\n(.*?)^\}};", re.S | re.M)
NAME = re.compile(r"(\w+)\W*(?:\[\w+\])?\W*(?:= [^=]+?)?\W*$")
MEMBER = re.compile(rf"((?:{COMMENT}\s*)*)([^;,/]+)[;,](?:[ \t]*({COMMENT}))?", re.S)

#: What the package has types of its own for, or makes exceptions of.
SKIPPED = ("error", "names", "outcome", "policy", "policy_input", "port_range", "prefix")
#: What the library only reads: a prefix may be text.
INPUTS = ("hint", "scope", "wanted")
ZEROS = {"int": "0", "float": "0.0", "bool": "False", "str": '""'}
TIMES = ("_ns", "_us", "_ms")

HEAD = '''# SPDX-License-Identifier: MIT
"""Structs, configurations and enums of the headers, from which the build makes them.

A struct's members have the names of C, but times have no unit: they are floats of seconds, and
points in time are those of CLOCK_BOOTTIME. A destination is a network of ipaddress.
"""

import os
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Iterable, NamedTuple, TypeAlias, TypedDict

#: A destination or a peer: a host has full length.
Network: TypeAlias = IPv4Network | IPv6Network
#: A destination as an argument: an address, a prefix without host bits, or either as text.
PrefixLike: TypeAlias = str | IPv4Address | IPv6Address | IPv4Network | IPv6Network
#: One port, or the first and the last of a range.
Ports: TypeAlias = int | tuple[int, int]
'''


def preprocess(compiler, target, depfile):
    """The headers behind the preprocessor, with comments and macros, without the C library's."""
    command = [*compiler, "-E", "-C", "-dD", "-MD", "-MF", depfile, "-MT", target, "-xc", "-"]
    text = subprocess.run(command, input=INCLUDE, stdout=subprocess.PIPE, check=True, text=True).stdout
    is_own = False
    for line in text.splitlines():
        if match := LINE.match(line):
            is_own = Path(match[1]).parent.name == "riptide"
        elif is_own:
            yield line


def constant(name, value):
    """A macro as cffi declares it: its value is the compiler's matter."""
    if value.startswith('"'):
        return f"static char *const {name};"
    if re.search(r"\d\.\d", value):
        return f"static const double {name};"
    return f"#define {name} ..."


def declarations(lines):
    """The lines for cffi: constants in place of macros, and no directives."""
    for line in lines:
        if match := DEFINE.match(line):
            yield constant(*match.groups())
        elif not line.startswith("#"):
            yield line


def class_name(c_name):
    """riptide_applier_config is ApplierConfig."""
    return "".join(word.capitalize() for word in c_name.split("_")[1:])


def prose(comments):
    """The text of comments, with the names that Python has."""
    lines = re.sub(r"/\*|\*/|^ *\* ", " ", comments, flags=re.M)
    lines = lines.replace("RIPTIDE_AT_ONCE", "4294967295").replace("RIPTIDE_", "")
    text = " ".join(lines.split()).replace("NULL", "None")
    return re.sub(r"(?:struct|enum) (riptide_\w+)", lambda match: class_name(match[1]), text)


def documented(text):
    """{struct or enum: (its comment, {member: its comment})}."""
    found = {}
    for comment, name, body in STRUCT.findall(text):
        members = {NAME.search(member)[1]: prose(f"{before} {behind}")
                   for before, member, behind in MEMBER.findall(body + ",") if member.strip()}
        found[name] = prose(comment), members
    return found


def is_prefix(type_):
    return type_.get_c_name() == "struct riptide_prefix"


def pointed_to(name, type_, siblings, is_input):
    """The annotation of a pointer: text, an array with its length beside it, or a struct."""
    if type_.get_c_name().startswith("char"):
        return "str | os.PathLike[str]" if is_input else "str | None"
    if f"n_{name}" in siblings:
        return "Iterable[PrefixLike]" if is_prefix(type_) else "Iterable[Ports]"
    if type_.name == "riptide_policy":
        return "str"
    return class_name(type_.name) + ("" if is_input else " | None")


def annotation(name, type_, siblings, is_input):
    """The Python type of a member."""
    if isinstance(type_, model.PointerType):
        return pointed_to(name, type_.totype, siblings, is_input)
    if isinstance(type_, model.ArrayType):
        if type_.item.get_c_name() == "char":
            return "str"
        return f"tuple[{annotation(name, type_.item, (), is_input)}, ...]"
    if is_prefix(type_):
        result = "Network" if name == "dst" else "Network | None"
        return "PrefixLike" if is_input else result
    if isinstance(type_, (model.StructType, model.EnumType)):
        return class_name(type_.name)
    if name.endswith(TIMES):
        return "float"
    return {"_Bool": "bool", "double": "float"}.get(type_.get_c_name(), "int")


def default(type_, annotated):
    """What a member is that nobody names: all zero in C."""
    if annotated.endswith("| None"):
        return "None"
    if annotated.startswith(("Iterable", "tuple")):
        return "()"
    value = "0" if isinstance(type_, model.EnumType) else ""
    return ZEROS.get(annotated, f"{annotated}({value})")


def docstring(comment, said):
    """What the headers say of a struct, and of each of its members."""
    lines = [*textwrap.wrap(comment, 92), ""]
    for name, text in said:
        lines += textwrap.wrap(f"{name}: {text}", 94, subsequent_indent="  ") if text else []
    return textwrap.indent('"""' + "\n".join(lines) + '\n"""\n', "    ")


def struct_class(type_, comment, said):
    """A struct as a NamedTuple, or a configuration as a TypedDict."""
    is_config = type_.name.endswith("_config")
    is_input = is_config or type_.name.removeprefix("riptide_") in INPUTS
    names = set(type_.fldnames)
    lines, texts = [], []
    for name, field in zip(type_.fldnames, type_.fldtypes):
        if name in ("size", "reserved") or name.startswith("n_") and name[2:] in names:
            continue
        plain, unit = (name[:-3], " (seconds)") if name.endswith(TIMES) else (name, "")
        annotated = annotation(name, field, names, is_input)
        has_default = not is_config and name != "dst"
        lines.append(f"    {plain}: {annotated}" + (
            f" = {default(field, annotated)}" if has_default else ""))
        texts.append((plain + unit, said[name]))
    base = "TypedDict, total=False" if is_config else "NamedTuple"
    return "\n".join([f"class {class_name(type_.name)}({base}):",
                      docstring(comment or f"struct {type_.name}.", texts), *lines])


def enum_class(type_, comment, said):
    """An enum, whose values lose the beginning that their names have in common."""
    n = os.path.commonprefix(type_.enumerators).rindex("_") + 1
    return "\n".join([f"class {class_name(type_.name)}(IntEnum):",
                      docstring(comment or f"enum {type_.name}.",
                                [(name[n:], said[name]) for name in type_.enumerators]),
                      *(f"    {name[n:]} = {value}"
                        for name, value in zip(type_.enumerators, type_.enumvalues))])


def classes(ffi, text):
    """The source of each class, in the order of the headers."""
    said = documented(text)
    for key, (type_, _) in ffi._parser._declarations.items():
        kind, _, name = key.partition(" ")
        if kind not in ("struct", "enum") or name.removeprefix("riptide_") in SKIPPED:
            continue
        if kind == "enum":
            yield class_name(name), enum_class(type_, *said[name])
        elif type_.fldnames:
            yield class_name(name), struct_class(type_, *said[name])


def main():
    parser = argparse.ArgumentParser()
    for name in ("native", "structs", "depfile"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("compiler", nargs="+")
    given = parser.parse_args()

    text = "\n".join(declarations(preprocess(given.compiler, given.native, given.depfile)))
    ffi = cffi.FFI()
    ffi.cdef(text + "\nvoid free(void *text);")
    ffi.set_source("riptide._native", INCLUDE + "#include <stdlib.h>\n")
    ffi.emit_c_code(given.native)

    made = dict(classes(ffi, text))
    exported = f"__all__ = {['Network', 'Ports', 'PrefixLike', *made]}\n"
    Path(given.structs).write_text("\n\n".join([HEAD, exported, *made.values()]) + "\n")


if __name__ == "__main__":
    main()
