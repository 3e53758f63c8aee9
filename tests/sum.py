# SPDX-License-Identifier: MIT
"""Sums JUnit reports: sum.py STAGE STATUS XML [STAGE STATUS XML ...]

Prints every failure and every skip with its reason, then one line "N passed, N failed, N skipped".
A stage whose status is not 0 counts as a failure even where its report names none ("-": it has
no report). Exits 1 where anything failed or no test ran. With --table before the stages, a table follows: each file of tests,
and in each stage how many passed/failed/skipped, of those that are not 0.
"""

import collections
import sys
import xml.etree.ElementTree as ElementTree


def read(path):
    """Yields (name, outcome, reason) of each test case."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}: {case.get('name', '')}"
        outcome, reason = "passed", ""
        for child in case:
            if child.tag in ("failure", "error"):
                outcome = "failed"
            elif child.tag == "skipped" and outcome == "passed":
                outcome = "skipped"
                words = child.get("message") or child.text or case.findtext("system-out") or ""
                reason = words.strip() or "no reason given"
        yield name, outcome, reason


def table(stages):
    """Lines of Markdown for {stage: Counter of (file, outcome)}."""
    files = sorted({file for counted in stages.values() for file, _ in counted})
    yield "| file | " + " | ".join(stages) + " |"
    yield "|---" * (len(stages) + 1) + "|"
    for file in files:
        cells = ([counted[file, outcome] for outcome in ("passed", "failed", "skipped")] for counted in stages.values())
        yield f"| {file} | " + " | ".join("/".join(map(str, cell)) if any(cell[1:]) else str(cell[0]) for cell in cells) + " |"


def main(arguments):
    wants_table, counts_stages = arguments[:1] == ["--table"], arguments[:1] == ["--stages"]
    arguments = arguments[wants_table or counts_stages:]
    by_file = {}
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for stage, status, path in zip(*[iter(arguments)] * 3):
        before = counts["failed"]
        try:
            cases = list(read(path)) if path != "-" else []
        except (OSError, ElementTree.ParseError) as error:
            print(f"failed  {stage}: no report ({error})")
            counts["failed"] += 1
            continue
        for name, outcome, reason in cases:
            counts[outcome] += 1
            file = name.partition(":")[0].rpartition(".")[2]
            by_file.setdefault(stage, collections.Counter())[file, outcome] += 1
            if outcome != "passed":
                print(f"{outcome:7} {stage}: {name}" + (f": {reason}" if reason else ""))
        if status != "0" and counts["failed"] == before:
            print(f"failed  {stage}: exit status {status}")
            counts["failed"] += 1
        elif counts_stages and path == "-":
            counts["passed"] += 1
    if wants_table:
        print(*table(by_file), sep="\n")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
