#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Man pages, completion and the example of a configuration, from the tables that the programs print.

    generate.py TABLES man PAGE | example riptided | bash PROGRAM
"""

import itertools
import json
import sys
import textwrap

# man pages


def lines_of(text):
    """Words into lines no longer than mandoc's lint asks for; what roff would read as its own escaped."""
    for line in textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False):
        yield ("\\&" if line[0] in ".'" else "") + line.replace("\\", "\\e")


def default_of(row):
    return "" if row["is_unset"] else row["value"]


def about(row, default=""):
    """What stands below the name of an option, a key or a command."""
    sentence = row["help"][0].upper() + row["help"][1:]
    yield from lines_of(sentence + (f" (default {default})" if default else "") + ".")
    if row.get("argument") and row["names"] and row["name"] != "log-level":
        yield f"One of {', '.join(row['names'])}."


def options(rows):
    yield ".Bl -tag -width Ds"
    for row in rows:
        yield f".It Fl -{row['name']}" + (f" Ar {row['argument']}" if row["argument"] else "")
        yield from about(row, default_of(row))
    yield ".El"


def keys(rows, has_defaults=True):
    yield ".Bl -tag -width Ds"
    for row in rows:
        yield f".It Cm {row['name']} No = Ar {row['argument'] or 'yes | no'}"
        yield from about(row, default_of(row) if has_defaults else "")
    yield ".El"


def sections(rows):
    return itertools.groupby((row for row in rows if row["section"]), lambda row: row["section"])


def keys_by_section(tables):
    for section, rows in sections(tables["daemon"]):
        yield f".Ss Section {section}"
        yield from keys(rows)


def commands(tables):
    yield ".Bl -tag -width Ds"
    for command in tables["commands"]:
        # --help alone says nothing that the page does not.
        has_options = command["options"][0]["name"] != "help"
        yield (f".It Cm {command['name']}" + " Oo Ar option ... Oc" * has_options
               + (f" Ar {command['operands']}" if command["operands"] else ""))
        yield from about(command)
        if has_options:
            yield from options(command["options"])
    yield ".El"


def policies(tables):
    yield ".Bl -tag -width Ds"
    for policy in tables["policies"]:
        yield f".It Cm {policy['name']}"
        yield from lines_of(policy["help"])
    yield ".El"


LISTS = {
    "@daemon-options@": lambda tables: options(tables["daemon"]),
    "@keys@": keys_by_section,
    "@prefix-keys@": lambda tables: keys(tables["prefix"], has_defaults=False),
    "@commands@": commands,
    "@policies@": policies,
}


def man(tables, page):
    """The page, in which a line "@NAME@" stands for one of the lists."""
    with open(page, encoding="utf-8") as lines:
        for line in lines.read().splitlines():
            yield from LISTS[line](tables) if line.startswith("@") else [line]


# The example of a configuration


def example(tables, _):
    yield from """\
# /etc/riptide/riptided.conf: what riptided does; see riptided.conf(5).
#
# Commented lines show the defaults. Times have a unit (500ms, 90s, 10min, 1h, 1d), shares
# may be percentages (0.8, 80%), prefixes are written as 203.0.113.0/24 or 2001:db8::/32.
# `riptided --check` checks this file, `systemctl restart riptided` applies it.
""".splitlines()
    for section, rows in sections(tables["daemon"]):
        yield from ("", f"[{section}]")
        for row in rows:
            value = row["value"] or ("" if row["argument"] else "no")
            yield from (f"# {row['help']}", f"#{row['name']} = {value}".rstrip())
    yield from ("", "# One such section for each prefix that is to be treated in another way; the longest",
                "# that holds a destination decides alone.", "#[prefix 203.0.113.0/24]")
    for row in tables["prefix"]:
        yield from (f"# {row['help']}", f"#{row['name']} =")


# Completion: of values whose kind has names, and of files


def by_program(tables, program):
    """The commands; riptided as one without a name."""
    if program == "riptided":
        return [{"name": "", "options": tables["daemon"], "operands": None}]
    return tables["commands"]


def takes_file(command):
    return "FILE" in (command["operands"] or "")


def flags(rows):
    return " ".join(f"--{row['name']}" for row in rows)


def bash(tables, program):
    is_daemon = program == "riptided"
    yield from f"""\
# bash completion of {program}: made of its table of options
_{program}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    local words='' files=''
    # bash takes --name=value for three words
    if [[ $word == = ]]; then
        word=''
    elif [[ $before == = ]]; then
        before=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi""".splitlines()
    yield from ["    case $before in"] if is_daemon else [
        "    local command=${COMP_WORDS[1]}", '    case "$command $before" in']
    for command in by_program(tables, program):
        for row in command["options"]:
            if row["argument"]:
                does = "files=yes" if row["is_file"] else f"words='{' '.join(row['names'])}'"
                yield f"    '{command['name']}{'' if is_daemon else ' '}--{row['name']}') {does} ;;"
    for command in by_program(tables, program):
        case = "*" if is_daemon else f"'{command['name']} '*"
        also = "; [[ $word == -* ]] || files=yes" if takes_file(command) else ""
        yield f"    {case}) words='{flags(command['options'])}'{also} ;;"
    yield "    esac"
    if not is_daemon:
        names = " ".join(command["name"] for command in tables["commands"])
        yield f"    ((COMP_CWORD > 1)) || words='{names}'"
    yield from f"""\
    if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    fi
}}
complete -F _{program} {program}""".splitlines()


def main(tables_path, what, name):
    with open(tables_path, encoding="utf-8") as file:
        tables = json.load(file)
    makers = {"man": man, "example": example, "bash": bash}
    sys.stdout.reconfigure(encoding="utf-8")
    print("\n".join(makers[what](tables, name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
