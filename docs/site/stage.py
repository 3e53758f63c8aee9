# SPDX-License-Identifier: MIT
"""Puts the pages of the site into a folder, with the layout of the repository, so that their links hold:
all texts and what they link to, the public headers as a reference, the man pages by mandoc."""
import pathlib
import re
import shutil
import subprocess
import sys

HEADERS = ("riptide", "agent", "observe", "compute", "apply")
PAGES = ("riptide.3", "riptide.8", "riptided.8", "riptided.conf.5")
DOCDIR = "/usr/share/doc/riptide"  # of the packages
PYTHON = """# Python reference

::: riptide
    options:
      show_root_heading: false
      filters: ["!^_"]
"""


def prose(comment):
    """The text of a comment; what is indented in it stays as it is."""
    lines = (re.sub(r"^ ?\* ?", "", line) for line in comment.strip("/* \n").splitlines())
    return re.sub(r"(`[^`]*`)|\*", lambda found: found.group(1) or r"\*", "\n".join(lines))


def reference(name, text):
    """A header as a page: one section for each declaration, its comment before its code."""
    overview = re.search(r"\*/\n/\*(.*?)\*/", text, re.S).group(1)
    sections = [f"# {name}.h\n\n    #include <riptide/{name}.h>\n\n{prose(overview)}\n"]
    body = text.split('extern "C" {\n#endif\n', 1)[1].rsplit("#ifdef __cplusplus", 1)[0]
    # Declarations are apart by empty lines, which no struct contains.
    for paragraph in re.split(r"\n\n(?=\S)", body.strip()):
        comment, code = re.match(r"(/\*.*?\*/\n)?(.*)", paragraph, re.S).groups()
        names = ["".join(found) for found in re.findall(
            r"^(?:struct|enum) (riptide_\w+) \{|^[a-z].*?\b(riptide_\w+)\(|^#define (RIPTIDE_\w+)", code, re.M)]
        if names:
            heading = ", ".join(names if len(names) <= 4 else names[:1] + ["…"])
            sections.append(f"## {heading}\n\n{prose(comment or '')}\n\n```c\n{code.strip()}\n```\n")
        elif comment and not code.strip():
            sections.append(prose(comment) + "\n")
    return "\n".join(sections)


def main(pages):
    pages = pathlib.Path(pages)
    shutil.rmtree(pages, ignore_errors=True)
    for file in subprocess.check_output(["git", "ls-files"], text=True).splitlines():
        if file.startswith(("docs/", "lab/", "bindings/python/examples/")) or file.endswith(".md") or file == "LICENSE":
            (pages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, pages / file)
    (pages / "api").mkdir()
    for name in HEADERS:
        text = pathlib.Path(f"include/riptide/{name}.h").read_text()
        (pages / "api" / f"{name}.md").write_text(reference(name, text))
    (pages / "api/python.md").write_text(PYTHON)
    (pages / "man").mkdir()
    for page in PAGES:
        text = subprocess.check_output(["mandoc", "-T", "markdown", f"docs/man/{page}.in"], text=True)
        (pages / "man" / f"{page}.md").write_text(text.replace("@docdir@", DOCDIR))


main(sys.argv[1])
