# SPDX-License-Identifier: MIT
"""Files generated from the tables of options: man pages, completion, example configuration; and
the messages in docs/operations.md; the tests that documents name."""

import json
import re
import subprocess
import sys

import pytest
from netns import MOUNTED, REPOSITORY, RIPTIDE, RIPTIDED

MADE = MOUNTED / "cli" / "generate"
TESTS = REPOSITORY / "tests" / "netns"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                          universal_newlines=True, **options)


OPTION, COMMAND = r"^  (--[-a-z0-9]+)", r"^riptide ([a-z]+)"


def of_help(pattern, *command):
    found = set(re.findall(pattern, run(*command).stdout, re.MULTILINE))
    assert len(found) > 5
    return found


@pytest.mark.parametrize("page, start, names", [
    ("riptided.8", "^ +", lambda: of_help(OPTION, RIPTIDED, "--help")),
    ("riptide.8", "^ +", lambda: of_help(COMMAND, RIPTIDE, "help")),
    ("riptide.8", "", lambda: of_help(OPTION, RIPTIDE, "help")),
    ("riptided.conf.5", "^ +", lambda: of_help("^#?([-a-z0-9]+ =)", "cat", MADE / "riptided.conf")),
], ids=["options", "commands", "their options", "keys"])
def test_manual_is_clean_and_has_each(page, start, names):
    """Without warnings, except for other manuals that this machine may lack."""
    said = run("mandoc", "-T", "lint", "-W", "all", MADE / page).stdout.splitlines()
    assert [line for line in said if "referenced manual not found" not in line] == []
    text = re.sub(".\b", "", run("mandoc", "-T", "ascii", MADE / page).stdout)
    assert [name for name in names() if not re.search(rf"{start}{name}(?![-\w])", text, re.M)] == []


def test_pages_of_the_headers_are_clean_and_have_each_function():
    pages = sorted((MOUNTED / "include/riptide").glob("*.3"))
    assert len(pages) == 5
    said = [line for page in pages
            for line in run("mandoc", "-T", "lint", "-W", "all", page).stdout.splitlines()]
    assert [line for line in said if "referenced manual not found" not in line] == []
    text = "".join(page.read_text() for page in pages)
    functions = re.findall(r"(?m)^(?:\w+ )+\**(riptide_\w+)\(", (REPOSITORY / "tests/abi.txt").read_text())
    assert len(functions) > 50
    assert [name for name in functions if f"\n.Ss {name}\n" not in text] == []


def test_example_is_a_configuration(tmp_path):
    """Unchanged, and with every default uncommented."""
    example = (MADE / "riptided.conf").read_text()
    path = tmp_path / "riptided.conf"
    path.write_text(re.sub(r"^#([-a-z0-9]+ = .)", r"\1", example, flags=re.MULTILINE))
    assert run(RIPTIDED, "--config", path, "--check").stdout == f"{path}: valid\n"
    assert re.search(r"^\[prefix|^[a-z]", example, re.MULTILINE) is None


def complete(line):
    """bash's completions for a line."""
    program = line.split()[0]
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line[-1] == " " else [])
    script = (f'. "{MADE / program}"; complete -p {program} >/dev/null || exit; COMP_WORDS=("$@"); '
              f'COMP_CWORD=$(($# - 1)); _{program}; printf "%s\\n" "${{COMPREPLY[@]}}"')
    done = run("bash", "--norc", "-uc", script, "bash", *words, cwd="/")
    assert done.returncode == 0, done.stdout
    return set(done.stdout.split())


def test_bash_offers_options_values_and_commands():
    policies = {"paper", "bdp", "careful"}
    for line, offered in (
            ("riptided ", of_help(OPTION, RIPTIDED, "--help")),
            ("riptided --dry-run --cwnd-m", {"--cwnd-min", "--cwnd-max"}),
            ("riptided --ttl ", set()), ("riptided --ttl 9", set()),
            ("riptided --ttl 9s --interv", {"--interval"}),
            ("riptided --policy ", policies), ("riptided --policy=", policies),
            ("riptided --policy p", {"paper"}), ("riptided --policy=p", {"paper"}),
            ("riptided --config /pro", {"/proc"}), ("riptided --config=/pro", {"/proc"}),
            ("riptide ", of_help(COMMAND, RIPTIDE, "help")), ("riptide fl", {"flush"}),
            ("riptide flush --table ", set())):
        assert complete(line) == offered, line
    assert {"--table"} <= complete("riptide flush ")


STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def arguments(text):
    """The arguments of a call, from after its opening bracket to its end."""
    depth, at = 1, 0
    while depth:
        found = re.compile(r'"(?:[^"\\]|\\.)*"|[()]').search(text, at)
        depth += {"(": 1, ")": -1}.get(found.group(), 0)
        at = found.end()
    return text[:at - 1]


def messages():
    """(file, longest constant part of the format) of each log_line."""
    for path in sorted((REPOSITORY / "cli").rglob("*.c")):
        text = path.read_text()
        for call in re.finditer(r"\blog_line\(", text):
            level, _, rest = arguments(text[call.end():]).partition(",")
            if level == "LOG_LEVEL_DEBUG" or not STRING.search(rest):
                continue
            # Adjacent literals, with macros such as PRIu64 in between.
            whole = re.match(r'(?:\s*(?:"(?:[^"\\]|\\.)*"|[A-Z]\w+))+', rest).group()
            whole = re.sub(r"\bNEEDS_NET_ADMIN\b", '"needs CAP_NET_ADMIN"', whole)
            format = "\0".join(STRING.findall(whole))
            pieces = re.split(r"%[-+ #0]*[\d.*]*(?:ll?|z)?[a-z]?|\0", format)
            yield path.name, max((piece.strip() for piece in pieces), key=len)


def test_every_message_is_explained():
    table = (REPOSITORY / "docs/operations.md").read_text().partition("## Messages")[2]
    said = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    known = " ".join(" ".join(said).replace("`", "").split())
    found = list(messages())
    assert len(found) > 20
    missing = [(file, piece) for file, piece in found
               if piece.replace("`", "") not in known]
    assert missing == []


def named_tests():
    """(document, whether of the Python package, word) of each `./dev test WORD...`."""
    for path in sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]):
        text = path.read_text()
        for words in re.findall(r"`\./dev\s+test\s+([^`]+)`", text):
            first, *others = words.split()
            of_python = first == "--python"
            if not first.startswith("-") or of_python:
                for word in others if of_python else [first, *others]:
                    if not word.startswith("NAME"):
                        yield path.name, of_python, word
        tried = r"^\| (?!who).*\| ([^|]+) \|$" if path.name == "security.md" else "(?!)"
        for row in re.findall(tried, text, re.M):
            yield from ((path.name, False, word) for word in re.findall("`([^`]+)`", row))


def test_documents_name_tests_that_are_there():
    units = json.loads((MOUNTED / "meson-info" / "intro-tests.json").read_text())
    kernel = run(sys.executable, "-IB", "-m", "pytest", "--collect-only", "-q", "-c",
                 "/dev/null", "--rootdir", TESTS, "-p", "no:cacheprovider", TESTS).stdout
    names = [unit["name"] for unit in units] + re.findall(r"^test_\w+\.py::.*", kernel, re.M)
    python = [name for path in (REPOSITORY / "bindings/python/tests").glob("test_*.py")
              for name in [path.stem, *re.findall(r"^def (test_\w+)", path.read_text(), re.M)]]
    found = list(named_tests())
    assert len(found) > 50 and len(names) > 400 and python
    assert [(file, word) for file, of_python, word in found
            if not any(word in name for name in (python if of_python else names))] == []
