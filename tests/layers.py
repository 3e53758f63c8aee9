# SPDX-License-Identifier: MIT
"""Fails where files need each other in a circle, and prints them.

    layers.py includes FOLDER [PLACE...]    by what they include, from its own folder, FOLDER, or a PLACE in it
    layers.py symbols OBJECT_FOLDER...      by what they call: the functions and data of other objects there

A file is its .c and .h together: what either includes, the file depends on.
"""

import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def read_includes(folder, *places):
    """{file without suffix: set of those that it includes}, of all below a folder."""
    graph = {}
    roots = [Path(folder), *(Path(folder) / place for place in places)]
    for path in sorted(Path(folder).rglob("*.[ch]")):
        name = path.with_suffix("")
        found = {place.with_suffix("") for include in INCLUDE.findall(path.read_text())
                 for place in (root / include for root in (path.parent, *roots)) if place.exists()}
        graph.setdefault(name, set()).update(found - {name})
    return graph


def list_symbols(objects, kind):
    """[(object, symbol), ...] of those that are defined, or undefined."""
    done = subprocess.run(["nm", kind, "--extern-only", "--format=posix", "--print-file-name", *objects],
                          stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.split(": ", 1) for line in done.stdout.splitlines()]
    return [(path, rest.split()[0]) for path, rest in lines]


def read_symbols(*folders):
    """{object: set of those whose symbols it uses}, of all objects in the folders."""
    objects = [str(path) for folder in folders for path in sorted(Path(folder).glob("*.o"))]
    owners = {symbol: path for path, symbol in list_symbols(objects, "--defined-only")}
    graph = {}
    for path, symbol in list_symbols(objects, "--undefined-only"):
        if symbol in owners:
            graph.setdefault(path, set()).add(owners[symbol])
    return graph


def main(by, *arguments):
    graph = {"includes": read_includes, "symbols": read_symbols}[by](*arguments)
    if not any(graph.values()):
        print("no file needs another one: is this the right folder?")
        return 1
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        print("these need each other in a circle:", *error.args[1])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
