# SPDX-License-Identifier: MIT
"""dev's own functions: tests by their names, and what is said of those that fail; the check of layers."""

import os
import sys

from netns import BUILD, REPOSITORY, run


def dev(*function):
    """A function of dev, in the sandbox that this test has already."""
    return run("bash", "-c", 'source ./dev help >/dev/null; "$@"', "dev", *function, check=False, cwd=REPOSITORY,
               env={**os.environ, "RIPTIDE_BUILD": str(BUILD)})


def test_words_of_no_test_are_named_before_any_test_runs():
    done = dev("named_tests", "policy", "zebra", "test_show", "tortoise")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "dev: no test has a name with: zebra tortoise\n")


def test_overlapping_words_find_each_test_once():
    for function, words in (("named_units", ("config", "configs", "CONFIG")), ("named_netns", ("dev", "test_dev"))):
        found = dev(function, *words).stdout.splitlines()
        assert len(set(found)) == len(found) > 2


FAILED = """\
<testsuites><testsuite name="riptide / policy">
<testcase name="1 - first" classname="policy" /><testcase name="2 - second" classname="policy"><failure /></testcase>
<system-out>1..2
# seed 11
ok 1 - first
# seed 12
not ok 2 - second
# row 3: not so: a &lt; b
# ../tests/unit/test_policy.c:17: error: Failure!
# not ok - tests</system-out></testsuite></testsuites>
"""


def test_assertion_of_a_failed_unit_test_is_printed(tmp_path):
    (tmp_path / "unit.xml").write_text(FAILED)
    done = run(sys.executable, "-IB", REPOSITORY / "tests" / "sum.py", "unit tests", "1", tmp_path / "unit.xml",
               check=False)
    assert done.stdout.splitlines() == [
        "failed  unit tests: policy: 2 - second: seed 12; row 3: not so: a < b; "
        "../tests/unit/test_policy.c:17: error: Failure!",
        "1 passed, 1 failed, 0 skipped"]


def test_layers_name_the_files_of_a_circle(tmp_path):
    for name, other in ("low", "high"), ("high", "low"):
        source = tmp_path / f"{name}.c"
        source.write_text(f"void {other}(void);\nvoid {name}(void) {{ {other}(); }}\n")
        run("gcc", "-c", source, "-o", tmp_path / f"{name}.o")
    done = run(sys.executable, "-IB", REPOSITORY / "tests" / "layers.py", "symbols", tmp_path, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("these need each other in a circle: ")
    assert "low.o" in done.stdout and "high.o" in done.stdout
