# SPDX-License-Identifier: MIT
"""Makes the source of the extension module from the public headers, which alone declare anything.

    generate.py --output native.c --depfile native.c.d --package riptide --header rows.h -- cc -I...

The C compiler preprocesses the headers, cffi reads what they declare, and what the package asks
for is looked up there: a name that no header has ends the build with its place, and so does a
function that is declared otherwise than riptide/_native.pyi says (stub.py; --stub writes it anew).
"""

import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path

import cffi

import stub

INCLUDE = "#include <riptide/agent.h>\n"
LINE = re.compile(r'# \d+ "([^"]*)"')
KINDS = "int", "float", "bool", "str"
DEFINE = re.compile(r"#define (RIPTIDE_\w+) (.+)")


def preprocess(compiler, header, output, depfile):
    """The headers behind the preprocessor, macros included."""
    command = [*compiler, "-E", "-dD", "-MD", "-MF", str(depfile), "-MT", str(output), "-xc", "-"]
    source = f'{INCLUDE}#include "{header.resolve()}"\n'
    return subprocess.run(command, input=source, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def own_lines(text, header):
    """The lines that our headers brought, and not those of the C library."""
    is_own = False
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            path = Path(match[1])
            is_own = path.parent.name == "riptide" or path == header.resolve()
        elif is_own and line.strip():
            yield line


def constant(name, value):
    """A macro as cffi declares it: its value is the compiler's matter."""
    if value.startswith('"'):
        return f"static char *const {name};"
    if re.search(r"\d\.\d", value):
        return f"static const double {name};"
    return f"#define {name} ..."


def declarations(text, header):
    """What the headers declare, for cffi."""
    for line in own_lines(text, header):
        match = DEFINE.match(line)
        if match:
            yield constant(*match.groups())
        elif not line.startswith("#"):
            yield line


def struct_name(class_name):
    """The C struct of a class of the package: ApplierOptions is struct riptide_applier_config."""
    words = re.findall(r"[A-Z][a-z]*", class_name.replace("Options", "Config"))
    return "riptide_" + "_".join(words).lower()


def kind(type_):
    """Which of KINDS a field is in Python; None: what the package makes of it."""
    name = type_.get_c_name()
    if isinstance(type_, (cffi.model.ArrayType, cffi.model.PointerType)):
        return "str" if re.match(r"char\b", name) else None
    if name in ("_Bool", "double"):
        return {"_Bool": "bool", "double": "float"}[name]
    return "int" if isinstance(type_, (cffi.model.PrimitiveType, cffi.model.EnumType)) else None


def wrong_fields(package, structs):
    """Fields of the package's classes that the struct of the same name has not, or otherwise."""
    path = package / "_types.py"
    for node in ast.parse(path.read_text()).body:
        struct = struct_name(node.name) if isinstance(node, ast.ClassDef) else None
        fields = structs.get(struct)
        for item in node.body if fields else ():
            if not isinstance(item, ast.AnnAssign):
                continue
            name = item.target.id
            there = fields.get(name, fields.get(f"{name}_ns", fields.get(f"{name}_us")))
            annotated = ast.unparse(item.annotation).split(" | ")[0]
            if there is None:
                yield f"{path}:{item.lineno}: struct {struct} has no '{name}'"
            elif annotated in KINDS and kind(there) not in (annotated, None):
                yield (f"{path}:{item.lineno}: '{name}' of struct {struct} is no {annotated}, but "
                       f"{there.get_c_name()}")


def wrong_names(package, names):
    """Functions and constants of the library that the package calls and no header declares."""
    for path, number, name in stub.uses(package):
        if name not in names:
            yield f"{path}:{number}: no header declares '{name}'"


def check(ffi, text, package):
    """Ends the build where package and headers do not fit."""
    declared = ffi._parser._declarations
    structs = {name[len("struct "):]: dict(zip(type_.fldnames or (), type_.fldtypes or ()))
               for name, (type_, _) in declared.items() if name.startswith("struct ")}
    names = {name.split()[-1] for name in declared} | set(ffi._parser._int_constants) | set(structs)
    wrong = [*wrong_fields(package, structs), *wrong_names(package, names),
             *stub.wrong_functions(package, text)]
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    parser = argparse.ArgumentParser()
    for name in ("output", "depfile", "package", "header"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--stub", action="store_true", help="write riptide/_native.pyi instead")
    parser.add_argument("compiler", nargs="+")
    given = parser.parse_args()

    text = "\n".join(declarations(
        preprocess(given.compiler, given.header, given.output, given.depfile), given.header))
    if given.stub:
        (given.package / "_native.pyi").write_text(stub.made_of(given.package, text))
        return
    ffi = cffi.FFI()
    ffi.cdef(text)
    check(ffi, text, given.package)
    ffi.set_source("riptide._native", f'{INCLUDE}#include "{given.header.name}"\n')
    ffi.emit_c_code(str(given.output))


if __name__ == "__main__":
    main()
