# SPDX-License-Identifier: MIT
"""Fails where files of lib include each other in a circle, and where the programs, which are linked to it
statically, have a function of the same name: layers.py LIB PROGRAMS prints them.

A file is its .c and .h together: what either includes, the file depends on.
"""

import re
import sys
from graphlib import CycleError, TopologicalSorter
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


def circle(graph):
    """The files of a circle, the first of them last again; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def declared(folder):
    """The functions that headers below a folder declare."""
    return {name for path in Path(folder).rglob("*.h") for name in DECLARED.findall(path.read_text())}


def main(lib, programs):
    found = circle(read(lib))
    if found:
        print("these include each other in a circle:", *found)
    both = declared(lib) & declared(programs)
    for name in sorted(both):
        print(f"both the library and the programs have a function {name}")
    return 1 if found or both else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
