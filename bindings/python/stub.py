# SPDX-License-Identifier: MIT
"""riptide/_native.pyi: how the headers declare the functions that the package calls.

It is made of the headers and kept beside the package, so that type checkers see each call, and
the build sees a declaration that has changed since somebody looked at the calls.
"""

import re
import textwrap

FUNCTION = re.compile(r"(?<=[;}] )([\w ]+[ *]+)(riptide_\w+)\(([^;{]*?)\);")
PARAMETER = re.compile(r"(.*[ *])(\w+)(?:\[\w*\])?")
TYPES = {"_Bool": "bool", "double": "float", "void": "Any"}

HEAD = '''\
# SPDX-License-Identifier: MIT
"""The functions that the package calls, as the headers declare them: made by `ninja stub`."""

from typing import Any, Generic, TypeVar

T = TypeVar("T")
char_p = Any
size_t = int
uint8_t = int
uint32_t = int
uint64_t = int

class Pointer(Generic[T]): ...
'''
TAIL = '''
    def __getattr__(self, constant: str) -> Any: ...

ffi: Any
lib: Lib
'''


def uses(package):
    """File, line and name of each function, constant and struct that the package asks for."""
    for file in sorted(package.glob("*.py")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for names in re.findall(r'\blib\.(\w+)|"struct (riptide_\w+)', line):
                yield file, number, "".join(names)


def python_type(c):
    """A C type: to a type checker an integer is one, but its width stays visible."""
    name = re.findall(r"\w+", c.replace("const ", ""))[-1]
    type_ = "int" if "enum " in c else TYPES.get(name, name)
    n_stars = c.count("*")
    if name == "char":
        type_, n_stars = "char_p", n_stars - 1
    type_ = "Pointer[" * n_stars + type_ + "]" * n_stars
    return "None" if c.strip() == "void" else type_


def declaration(result, name, parameters):
    """A function as the stub has it."""
    matches = [PARAMETER.fullmatch(parameter.strip()) for parameter in parameters.split(",")]
    typed = ["self", *(f"{match[2]}:~{python_type(match[1])}" for match in matches if match)]
    line = f"    def {name}({', '.join(typed)})~->~{python_type(result)}:~..."
    return textwrap.fill(line, 100, subsequent_indent=" " * 8).replace("~", " ")


def classes(package, text):
    """The stub's classes by the name of their struct, or Lib, each the declarations in it."""
    used = {name for _, _, name in uses(package)}
    flat = " ".join(line for line in text.splitlines() if not line.startswith("#"))
    flat = "; " + re.sub(r"\s+", " ", flat)
    lib = [declaration(*found) for found in FUNCTION.findall(flat) if found[1] in used]
    named = {name for line in lib for name in re.findall(r"\[(riptide_\w+)", line)}
    return {**{name: [] for name in sorted(named)}, "Lib": lib}


def made_of(package, text):
    """The whole stub."""
    parts = ["\n".join([f"class {name}:", *lines]) if lines else f"class {name}: ..."
             for name, lines in classes(package, text).items()]
    return HEAD + "\n".join(parts) + TAIL


def wrong_functions(package, text):
    """Functions that the headers declare otherwise than the package's stub does."""
    path = package / "_native.pyi"
    there = path.read_text()
    for name, lines in classes(package, text).items():
        for line in lines:
            if line not in there:
                function = re.search(r"def (\w+)", line)[1]
                places = ", ".join(f"{file.name}:{number}" for file, number, used in uses(package)
                                   if used in (function, name))
                yield (f"{path}: {function} is declared otherwise now: {' '.join(line.split())} "
                       f"Look at {places}, then make the stub anew: ninja stub")
