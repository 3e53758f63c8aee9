#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A section 3 page of a public header: api.py HEADER PAGE. The header is the manual; this only sets
its comments and declarations for man(1)."""

import re
import sys
import textwrap
from pathlib import Path

COMMENT = re.compile(r"/\*(.*?)\*/\s*", re.DOTALL)
# A comment at the left margin, if there is one, and the declaration after it.
DECLARATION = re.compile(r"^(?P<comment>/\*(?:(?!\*/).)*\*/\n)?"
                         r"(?P<code>(?:#define \w+(?:\([\w, ]+\))? +(?:[^\n]*\\\n)*[^\n]*|(?:struct|enum) \w+ \{.*?^\};"
                         r"|[a-z](?:[^;{}]|\n)*?\);))$", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"\b(riptide_\w+)\(")


def lines_of(comment):
    """The text of a comment, without its stars."""
    text = COMMENT.match(comment).group(1)
    return textwrap.dedent(re.sub(r"^ \* ?", "", text.strip("\n"), flags=re.MULTILINE)).strip().split("\n")


def escape(line):
    line = line.replace("\\", r"\e")
    return r"\&" + line if line[:1] in (".", "'") else line


def prose(lines):
    """Paragraphs are filled, a sentence begins a line; examples and lists stay as they are."""
    said = []
    for block in "\n".join(lines).split("\n\n"):
        if any(line.startswith(" ") for line in block.split("\n")):
            said += literal(block)
            continue
        if said:
            said.append(".Pp")
        for sentence in re.split(r"(?<=[.:?]) (?=[A-Z(`-])", " ".join(block.split())):
            said += map(escape, textwrap.wrap(sentence, 78, break_long_words=False, break_on_hyphens=False))
    return said


def literal(code):
    return [".Bd -literal", *map(escape, code.split("\n")), ".Ed"]


def page(header):
    """The lines of the page."""
    text = header.read_text(encoding="utf-8")
    name = "riptide" if header.stem == "riptide" else f"riptide_{header.stem}"
    opening, body = re.match(r"/\* SPDX.*?\*/\n(/\*.*?\*/\n)(.*)", text, re.DOTALL).groups()
    about = lines_of(opening)
    types, functions = [], []
    for found in DECLARATION.finditer(body):
        code = found["code"]
        if re.match(r"#define RIPTIDE_\w+_H$", code):
            continue
        comment = prose(lines_of(found["comment"])) if found["comment"] else []
        if FUNCTION.search(code) and "{" not in code and not code.startswith("#"):
            functions.append((FUNCTION.search(code)[1], literal(code) + comment))
        else:
            types.append((re.match(r"#define (\w+)|((?:struct|enum) \w+)", code)[0].replace("#define ", ""),
                          comment + literal(code)))
    yield from [r'.\" SPDX-License-Identifier: MIT', ".Dd November 23, 2026", f".Dt {name.upper()} 3", ".Os",
                ".Sh NAME"]
    names = [name, *(function for function, _ in functions)]
    yield from (f".Nm {one}{'' if one == names[-1] else ' ,'}" for one in names)
    yield from [f".Nd {about[0].rstrip('.').partition(': ')[2] or about[0]}",
                ".Sh SYNOPSIS", f".In riptide/{header.name}", ".Sh DESCRIPTION", *prose(about)]
    for title, entries in (("FUNCTIONS", functions), ("TYPES AND CONSTANTS", types)):
        if entries:
            yield f".Sh {title}"
            for entry, lines in entries:
                yield from [f".Ss {entry}", *lines]
    others = sorted({"riptide", *(f"riptide_{stem}" for stem in ("observe", "compute", "apply", "agent"))} - {name})
    yield ".Sh SEE ALSO"
    yield from (f".Xr {other} 3{' ,' if other != others[-1] else ''}" for other in others)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("\n".join(page(Path(sys.argv[1]))) + "\n", encoding="utf-8")
