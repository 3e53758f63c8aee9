# SPDX-License-Identifier: MIT
"""Man pages and the example of a configuration, compared with the programs; the tests that documents name."""

import json
import re
import sys

import pytest
from netns import MOUNTED, REPOSITORY, RIPTIDE, RIPTIDED, run

PAGES = MOUNTED / "docs" / "man"
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


def test_manual_of_riptided_has_its_options_and_no_others():
    assert set(re.findall(OPTION, text_of("riptided.8"))) == set(options_of(RIPTIDED, "--help"))


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


def test_manual_of_the_configuration_and_the_example_have_each_key_with_its_default(tmp_path):
    example, page = EXAMPLE.read_text(), text_of("riptided.conf.5").partition("\nFILES\n")[0]
    keys, defaults = keys_of(example), options_of(RIPTIDED, "--help")
    assert keys_of(page) == keys
    general = set(keys[0])
    assert len(general) > 20 and len(keys) == 2
    for key in general:
        default = re.search(rf"^#{key} = ?(.*)$", example, re.MULTILINE)[1]
        assert default == defaults[f"--{key}"], key
        said = re.search(rf"^     {key} = .*\n((?:\n|      .*\n)*)", page, re.MULTILINE)[1]
        assert not default or default in " ".join(said.split()).replace("5%", "0.05"), key
    # A file of these keys alone says that no other one is a key.
    for name in {name[2:] for name in defaults} - general:
        (tmp_path / "other").write_text(f"{name} = 1\n")
        assert f"{name}: unknown key" in run(RIPTIDED, "--config", tmp_path / "other", "--check", check=False).stderr


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
