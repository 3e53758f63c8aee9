# SPDX-License-Identifier: MIT
"""Fails where files of lib include each other in a circle, and prints them: layers.py LIB

A file is its .c and .h together: what either includes, the file depends on.
"""

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def read(folder):
    """{file without suffix: set of those that it includes}, of all below a folder."""
    graph = {}
    for path in sorted(Path(folder).rglob("*.[ch]")):
        name = path.with_suffix("")
        includes = INCLUDE.findall(path.read_text())
        folders = (path.parent, Path(folder), Path(folder) / "common")
        found = {place.with_suffix("") for include in includes
                 for place in (start / include for start in folders) if place.exists()}
        graph.setdefault(name, set()).update(found - {name})
    return graph


def main(lib):
    try:
        TopologicalSorter(read(lib)).prepare()
    except CycleError as error:
        print("these include each other in a circle:", *error.args[1])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
