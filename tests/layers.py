# SPDX-License-Identifier: MIT
"""Fails where files of lib include each other in a circle: layers.py FOLDER... prints each circle.

A file is its .c and .h together: what either includes, the file depends on.
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


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


def main(folders):
    found = [circle for folder in folders for circle in circles(read(folder))]
    for circle in found:
        print("these include each other in a circle:", *circle)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
