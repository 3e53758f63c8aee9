# SPDX-License-Identifier: MIT
"""Fails where files of lib include each other in a circle, and where the programs, which are linked to it
statically, have a function of the same name: layers.py LIB PROGRAMS prints each.

A file is its .c and .h together: what either includes, the file depends on.
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
DECLARED = re.compile(r"^\w[\w *]*?\b(\w+)\([^;{]*\);", re.MULTILINE)


def read(folder):
    """{file without suffix: set of those that it includes}, of all below a folder."""
    graph = {}
    for path in sorted(Path(folder).rglob("*.[ch]")):
        name = path.with_suffix("")
        includes = INCLUDE.findall(path.read_text())
        found = {place.with_suffix("") for include in includes
                 for place in (path.parent / include, Path(folder) / include) if place.exists()}
        graph.setdefault(name, set()).update(found - {name})
    return graph


def circles(graph):
    """The strongly connected components of more than one file (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return found


def declared(folder):
    """The functions that headers below a folder declare."""
    return {name for path in Path(folder).rglob("*.h") for name in DECLARED.findall(path.read_text())}


def main(lib, programs):
    found = circles(read(lib))
    for circle in found:
        print("these include each other in a circle:", *circle)
    both = declared(lib) & declared(programs)
    for name in sorted(both):
        print(f"both the library and the programs have a function {name}")
    return 1 if found or both else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
