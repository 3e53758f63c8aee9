# SPDX-License-Identifier: MIT
"""Man pages and the example of a configuration, compared with the programs; the tests that documents name."""

import json
import re
import sys

import pytest
from control import ask
from netns import MOUNTED, REPOSITORY, RIPTIDE, RIPTIDED, Daemon, run

PAGES = MOUNTED / "docs" / "man"
SOURCES = REPOSITORY / "docs" / "man"
FUZZ = REPOSITORY / "fuzz"
EXAMPLE = REPOSITORY / "docs" / "riptided.conf"
TESTS = REPOSITORY / "tests" / "netns"


OPTION = r"--[a-z][-a-z0-9]*"


def text_of(page):
    return re.sub(".\b", "", run("mandoc", "-T", "ascii", PAGES / page).stdout)


def options_of(*command):
    """All options that --help lists: {name: default}."""
    text = re.sub(r"\n {10,}", " ", run(*command).stdout)  # continued lines
    found = re.findall(rf"^  ({OPTION})\b(?:.*\(default (.*)\))?", text, re.MULTILINE)
    assert found
    return dict(found)


@pytest.mark.parametrize("page", ["riptide.3", "riptide.8", "riptided.8", "riptided.conf.5"])
def test_manual_is_clean(page):
    """Without warnings, except for other manuals that this machine may lack."""
    said = run("mandoc", "-T", "lint", "-W", "all", PAGES / page, check=False).stdout.splitlines()
    assert [line for line in said if "referenced manual not found" not in line] == []


def assert_names(path, found, expected):
    """Fails with the file to open, and what it lacks or has too much."""
    lacks, others = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    file = path.relative_to(REPOSITORY)
    assert not lacks, f"{file} lacks {', '.join(lacks)}"
    assert not others, f"{file} has what the code has not: {', '.join(others)}"


def test_manual_of_riptided_has_its_options_and_no_others(keys):
    """Those that are keys, too, are explained with the keys."""
    found = {*re.findall(OPTION, text_of("riptided.8")), *(f"--{key}" for key in keys[0])}
    assert_names(SOURCES / "riptided.8.in", found, options_of(RIPTIDED, "--help"))


def test_manual_of_riptide_has_each_command_with_its_options_and_no_others():
    page = (PAGES / "riptide.8").read_text()
    shared, commands = re.split(r"^\.Sh (?:COMMANDS|FILES)$", page, flags=re.MULTILINE)[:2]
    parts = re.split(r"^\.It Cm (\w+)", commands, flags=re.MULTILINE)[1:]
    shared = {f"-{option}" for option in re.findall(r"^\.(?:It )?Fl (-[-a-z]+)", shared, re.MULTILINE)}
    found = {name: {f"-{option}" for option in re.findall(r"^\.It Fl (-[-a-z]+)", text, re.MULTILINE)}
             for name, text in zip(parts[::2], parts[1::2])}
    usage, of_all = run(RIPTIDE, "help").stdout.split("\n\n")[1:]
    parts = re.split(r"^  ([a-z]+)", usage, flags=re.MULTILINE)[1:]
    assert found == {name: set(re.findall(OPTION, text)) for name, text in zip(parts[::2], parts[1::2])}
    assert list(found) == parts[::2]
    assert shared - {"-h"} <= set(re.findall(OPTION, of_all))


def keys_of(text):
    """Those of the host and those of a prefix, of an example or of the page as text."""
    parts = re.split(r"^#\[prefix .*$|^SECTIONS$", text, flags=re.MULTILINE)
    return [re.findall(r"^(?:#|     )?([a-z][-a-z0-9]*) =", part, re.MULTILINE) for part in parts]


@pytest.fixture(scope="module", name="keys")
def fixture_keys(tmp_path_factory):
    """The keys of the host and those of a prefix: of all names in the table of settings, what riptided takes as one."""
    names = set(re.findall(r'"([a-z][-a-z0-9]*)"', (REPOSITORY / "cli" / "common" / "settings.c").read_text()))
    names |= {option[2:] for option in options_of(RIPTIDED, "--help")}
    path = tmp_path_factory.mktemp("keys") / "key"

    def is_key(section, name):
        path.write_text(f"{section}{name} =\n")
        return "unknown key" not in run(RIPTIDED, "--config", path, "--check", check=False).stderr

    found = [{name for name in names if is_key(section, name)} for section in ("", "[prefix ::/0]\n")]
    assert len(found[0]) > 20 and len(found[1]) > 2
    return found


def test_manual_of_the_configuration_and_the_example_have_each_key_with_its_default(keys):
    example, page = EXAMPLE.read_text(), text_of("riptided.conf.5").partition("\nFILES\n")[0]
    for path, text in (EXAMPLE, example), (SOURCES / "riptided.conf.5.in", page):
        for of_path, of_riptided in zip(keys_of(text), keys):
            assert_names(path, of_path, of_riptided)
    assert keys_of(page) == keys_of(example), "another order"
    defaults = options_of(RIPTIDED, "--help")
    for key in keys[0]:
        default = re.search(rf"^#{key} = ?(.*)$", example, re.MULTILINE)[1]
        assert default == defaults[f"--{key}"], f"{EXAMPLE.name}: {key}"
        said = re.search(rf"^     {key} = .*\n((?:\n|      .*\n)*)", page, re.MULTILINE)[1]
        assert not default or default in " ".join(said.split()).replace("5%", "0.05"), f"riptided.conf.5.in: {key}"


def test_seed_of_the_configuration_is_read_to_its_end(tmp_path):
    """The cgroup need not be there."""
    path = tmp_path / "seed"
    path.write_text(re.sub(r"^cgroup .*\n", "", (FUZZ / "corpus" / "config" / "settings").read_text(), flags=re.M))
    assert run(RIPTIDED, "--config", path, "--check").stdout == f"{path}: valid\n"


# Rows in lib, each with a name.
ROWS = {
    "policies": r'struct riptide_policy policy_\w+ = \{\s*\.name = "(\w+)"',
    "backends": r'\[RIPTIDE_[A-Z]+\] = "(\w+)"',
    "states": r'\[RIPTIDE_ROUTE_\w+\] = "([\w ]+)"',
    "reasons": r'\[RIPTIDE_LEFT_OUT_(?!NOT)\w+\] = "(\w+)"',
}
# A file with a list of all of them, the part of the file that is the list, and a name in it.
LISTS = [
    ("policies", "include/riptide/compute.h", r"Finds a built-in policy: (.*?)\.", r'"(\w+)"'),
    ("policies", "tests/unit/policies.h", r"\bpolicies\[\] = \{(.*?)\}", r'"(\w+)"'),
    ("policies", "docs/policies.md", r"^## Policies$(.*?)^A policy", r"^\| `(\w+)` \|"),
    ("policies", "docs/man/riptided.conf.5.in", r"^\.It Cm policy (.*?)^\.El", r"^\.It Cm (\w+)$"),
    ("policies", "cli/common/settings.c", r'"policy".*?"(.*?) \(default', r"(?!or\b)\b(\w+)"),
    ("backends", "cli/common/settings.c", r'"apply".*?"(.*?) \(default', r"(?!or\b)\b(\w+)"),
    ("states", "docs/control.md", r"the `state` of each \((.*?)\)", r"`([\w ]+)`"),
    ("reasons", "docs/man/riptide.8.in", r"those that are left out\.$(.*?)^\.Em", r"^(\w+):"),
]


@pytest.mark.parametrize("what, file, part, name", LISTS, ids=[f"{what}-{file}" for what, file, *_ in LISTS])
def test_lists_of_names_have_those_of_the_code(what, file, part, name):
    path, lib = REPOSITORY / file, REPOSITORY / "lib"
    rows = [row for source in sorted(lib.rglob("*.c")) for row in re.findall(ROWS[what], source.read_text())]
    assert len(rows) > 2, f"lib has no rows of this form: {ROWS[what]}"
    text = re.search(part, path.read_text(), re.M | re.S)
    assert text, f"{file} has no list of this form: {part}"
    assert_names(path, [found.lower() for found in re.findall(name, text[1], re.M)], rows)


def test_columns_of_the_list_are_in_the_documents(net):
    with Daemon.learned(net, "203.0.113.1"):
        columns = ask({"request": "show"})["columns"]
        header = re.search(r"^DESTINATION .*", net.host.run(RIPTIDE, "show").stdout, re.M)[0]
    control, page = REPOSITORY / "docs" / "control.md", SOURCES / "riptide.8.in"
    row = re.search(r"^\| `show` \|.*whose elements `columns` names: (.*?); `next`", control.read_text(), re.M)[1]
    outer = re.sub(r"\(.*?\)", "", row)
    assert_names(control, re.findall(r"`(\w+)`", outer), columns)
    shown = re.search(r"^\.It Cm show(.*?)^\.El", page.read_text(), re.M | re.S)[1]
    assert_names(page, ["DESTINATION", *re.findall(r"^\.It (\S+)$", shown, re.M)], header.split())


def test_document_of_the_socket_names_options_that_are_there():
    path = REPOSITORY / "docs" / "control.md"
    there = {*options_of(RIPTIDED, "--help"), *re.findall(OPTION, run(RIPTIDE, "help").stdout)}
    assert_names(path, there | set(re.findall(rf"`({OPTION})", path.read_text())), there)


def test_example_is_a_configuration(tmp_path):
    """Unchanged, and with every default uncommented."""
    example = EXAMPLE.read_text()
    path = tmp_path / "riptided.conf"
    path.write_text(re.sub(r"^#([-a-z0-9]+ = .)", r"\1", example, flags=re.MULTILINE))
    for file in path, EXAMPLE:
        assert run(RIPTIDED, "--config", file, "--check").stdout == f"{file}: valid\n"
    assert re.search(r"^\[prefix|^[a-z]", example, re.MULTILINE) is None


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
