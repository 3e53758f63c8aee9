# SPDX-License-Identifier: MIT
"""Sums JUnit reports: sum.py STAGE STATUS XML [STAGE STATUS XML ...]

Prints every failure and every skip with its reason, what each stage had where there are several
reports, then one line "N passed, N failed, N skipped". A stage whose status is not 0 counts as a
failure even where its report names none ("-": it has no report). Exits 1 where anything failed or
no test ran. With --stages before them, stages without a report count as tests.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


# What cmocka says of a failed test, which meson keeps in the output of the whole program: the seed
# before it, if it drew any, and the lines after it, up to those of the next test or the program.
SAID = r"^((?:# seed \d+\n)?)not ok {}\n((?:# (?!seed |not ok ).*\n?)*)"


def assertion(suite, name):
    """The assertion of a failed unit test: values, file and line."""
    found = re.search(SAID.format(re.escape(name)), suite.findtext("system-out") or "", re.MULTILINE)
    return "; ".join(line[2:] for line in "".join(found.groups()).splitlines()) if found else ""


def read(path):
    """Yields (name, outcome, reason) of each test case."""
    suites = ElementTree.parse(path).getroot().iter("testsuite")
    for suite, case in ((suite, case) for suite in suites for case in suite.iter("testcase")):
        name = f"{case.get('classname', '')}: {case.get('name', '')}"
        outcome, reason = "passed", ""
        for child in case:
            if child.tag in ("failure", "error"):
                outcome = "failed"
                reason = assertion(suite, case.get("name", ""))
            elif child.tag == "skipped" and outcome == "passed":
                outcome = "skipped"
                words = child.get("message") or child.text or case.findtext("system-out") or ""
                reason = words.strip() or "no reason given"
        yield name, outcome, reason


def main(arguments):
    counts_stages = arguments[:1] == ["--stages"]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []
    for stage, status, path in zip(*[iter(arguments[counts_stages:])] * 3):
        before = dict(counts)
        try:
            cases = list(read(path)) if path != "-" else []
        except (OSError, ElementTree.ParseError) as error:
            print(f"failed  {stage}: no report ({error})")
            counts["failed"] += 1
            continue
        for name, outcome, reason in cases:
            counts[outcome] += 1
            if outcome != "passed":
                print(f"{outcome:7} {stage}: {name}" + (f": {reason}" if reason else ""))
        if status != "0" and counts["failed"] == before["failed"]:
            print(f"failed  {stage}: exit status {status}")
            counts["failed"] += 1
        elif counts_stages and path == "-":
            counts["passed"] += 1
        if path != "-":
            lines.append(f"{stage}: " + "/".join(str(counts[key] - before[key]) for key in counts))
    if len(lines) > 1:
        print("passed/failed/skipped of", *lines, sep="\n    ")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
