# SPDX-License-Identifier: MIT
"""Every message that riptided logs is in docs/operations.md."""

import re

from netns import REPOSITORY

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
