# SPDX-License-Identifier: MIT
"""What is made of the tables of options: man pages, completion, the example of a configuration; and
what docs/operations.md says of messages."""

import re
import subprocess

import pytest
from netns import MOUNTED, REPOSITORY, RIPTIDE, RIPTIDED

MADE = MOUNTED / "cli" / "generate"
PAGES = ("riptide.8", "riptided.8", "riptided.conf.5")
PROGRAMS = ("riptide", "riptided")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                          universal_newlines=True, **options)


def options_of_help(*command):
    """{option: whether it takes a value}, as --help has them."""
    found = {}
    for line in run(*command).stdout.splitlines():
        match = re.match(r"  (--[-a-z0-9]+) (\S+)?", line)
        if match:
            found[match.group(1)] = bool(match.group(2))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_manual_is_clean(page):
    """But for other manuals that this machine may not have."""
    said = run("mandoc", "-T", "lint", "-W", "all", MADE / page).stdout.splitlines()
    assert [line for line in said if "referenced manual not found" not in line] == []


def text_of(page):
    done = run("mandoc", "-T", "ascii", MADE / page)
    assert done.returncode == 0
    return re.sub(".\b", "", done.stdout)


def test_manual_has_every_option():
    text = text_of("riptided.8")
    options = options_of_help(RIPTIDED, "--help")
    assert len(options) > 20
    for option in options:
        assert re.search(rf"^ +{option}\b", text, re.MULTILINE), option


def test_manual_has_every_command_with_its_options():
    text = text_of("riptide.8")
    said = run(RIPTIDE, "help").stdout
    commands = re.findall(r"^riptide ([a-z]+)", said, re.MULTILINE)
    assert len(commands) > 5
    for command in commands:
        assert re.search(rf"^ +{command}\b", text, re.MULTILINE), command
    for option in re.findall(r"^  (--[-a-z0-9]+)", said, re.MULTILINE):
        assert option in text


def test_manual_has_every_key():
    text = text_of("riptided.conf.5")
    keys = re.findall(r"^#?([-a-z0-9]+) =", (MADE / "riptided.conf").read_text(), re.MULTILINE)
    assert len(keys) > 20
    for key in keys:
        assert re.search(rf"^ +{key} = ", text, re.MULTILINE), key


def test_example_is_a_configuration(tmp_path):
    """As it is, and with every default written out."""
    example = (MADE / "riptided.conf").read_text()
    path = tmp_path / "riptided.conf"
    defaults = re.sub(r" \(.*\)$", "", run(RIPTIDED, "--config", MADE / "riptided.conf",
                                           "--print-config").stdout, flags=re.MULTILINE)
    path.write_text(re.sub(r"^#([-a-z0-9]+ = .)", r"\1", example, flags=re.MULTILINE))
    assert run(RIPTIDED, "--config", path, "--check").stdout == f"{path}: valid\n"
    written = re.sub(r" \(.*\)$", "", run(RIPTIDED, "--config", path, "--print-config").stdout,
                     flags=re.MULTILINE)
    assert written == defaults
    assert re.search(r"^\[prefix|^[a-z]", example, re.MULTILINE) is None


def complete(line):
    """What bash offers at the end of the line."""
    program = line.split()[0]
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line[-1] == " " else [])
    script = (f'. "{MADE / program}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              f'_{program}; printf "%s\\n" "${{COMPREPLY[@]}}"')
    done = run("bash", "--norc", "-uc", script, "bash", *words, cwd="/")
    assert done.returncode == 0, done.stdout
    return set(done.stdout.split())


def test_bash_offers_every_option():
    options = options_of_help(RIPTIDED, "--help")
    assert complete("riptided ") == complete("riptided --") == options.keys()
    assert complete("riptided --dry-run --cwnd-m") == {"--cwnd-min", "--cwnd-max"}
    assert complete("riptided --ttl ") == complete("riptided --ttl 9") == set()
    assert complete("riptided --ttl 9s --interv") == {"--interval"}


def test_bash_offers_names_and_files():
    policies = {"paper", "bdp", "careful"}
    assert complete("riptided --policy ") == complete("riptided --policy=") == policies
    assert complete("riptided --policy p") == complete("riptided --policy=p") == {"paper"}
    assert complete("riptided --config /pro") == {"/proc"}
    assert complete("riptided --config=/pro") == {"/proc"}


def test_bash_offers_commands_and_their_options():
    commands = set(re.findall(r"^riptide ([a-z]+)", run(RIPTIDE, "help").stdout, re.MULTILINE))
    assert complete("riptide ") == commands
    assert complete("riptide fl") == {"flush"}
    assert {"--table", "--protocol"} <= complete("riptide flush ")
    assert complete("riptide flush --table ") == set()


@pytest.mark.parametrize("program", PROGRAMS)
def test_bash_takes_it_as_completion(program):
    """In a shell that reads the file as it is installed."""
    said = run("bash", "--norc", "-ec", f'. "{MADE / program}"; complete -p {program}').stdout
    assert said == f"complete -F _{program} {program}\n"


STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def arguments(text):
    """What stands between the brackets of a call that has just begun, up to its end."""
    depth, at = 1, 0
    while depth:
        found = re.compile(r'"(?:[^"\\]|\\.)*"|[()]').search(text, at)
        depth += {"(": 1, ")": -1}.get(found.group(), 0)
        at = found.end()
    return text[:at - 1]


def messages():
    """(file, longest piece of the format that is the same each time) of each log_line."""
    for path in sorted((REPOSITORY / "cli").rglob("*.c")):
        text = path.read_text()
        for call in re.finditer(r"\blog_line\(", text):
            level, _, rest = arguments(text[call.end():]).partition(",")
            if level == "LOG_LEVEL_DEBUG" or not STRING.search(rest):
                continue
            # Literals beside each other, with macros such as PRIu64 in between.
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
