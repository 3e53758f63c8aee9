# SPDX-License-Identifier: MIT
"""What `meson install` installs, a program built against only that, and consistency between the
files: where links lead, their version and their licence; how programs and library are built."""

import json
import os
import re
from pathlib import Path

import pytest
from netns import BUILD, REPOSITORY, run

pytestmark = pytest.mark.xdist_group("tree")  # as one process installs it

DOCS = ("CHANGELOG.md", "control.md", "effect.rules.yaml", "embedding.md", "design.md",
        "operations.md", "policies.md", "riptide.dashboard.json", "security.md", "verdict.md")
HEADERS = ("agent.h", "apply.h", "compute.h", "observe.h", "riptide.h")


class Tree:
    """An installation below a directory, as a package would be made."""

    def __init__(self, root):
        self.root = root
        run("meson", "install", "-C", BUILD, "--no-rebuild",
            env={**os.environ, "DESTDIR": str(root)})
        self.pc = self.find("riptide.pc")
        self.lib = self.find("libriptide.so").parent
        self.environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(root),
                            "PKG_CONFIG_PATH": str(self.pc.parent)}

    def find(self, name):
        found = list(self.root.rglob(name))
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def pkg_config(self, *options):
        return run("pkg-config", *options, "riptide", env=self.environment).stdout.split()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return Tree(tmp_path_factory.mktemp("installed"))


def listed():
    """The functions that the library exports."""
    return re.findall(r"^\s+(riptide_\w+);", (REPOSITORY / "lib" / "libriptide.sym").read_text(), re.M)


def test_exactly_this_is_installed(tree):
    lib, share = tree.lib.relative_to(tree.root), Path("usr/local/share")
    expected = {
        Path("usr/local/bin/riptide"), Path("usr/local/sbin/riptided"),
        Path("usr/local/lib/systemd/system/riptided.service"), lib / "pkgconfig/riptide.pc",
        Path("usr/local/lib/systemd/system/riptided@.service"),
        share / "licenses/riptide/LICENSE", share / "doc/riptide/riptided.conf",
        *(share / "man/man3" / f"{name}.3" for name in ("riptide", *listed())),
        share / "man/man8/riptide.8", share / "man/man8/riptided.8", share / "man/man5/riptided.conf.5",
        *(Path("usr/local/include/riptide") / header for header in HEADERS),
        *(lib / f"libriptide.{end}" for end in ("a", "so", "so.1", "so.1.0.0")),
        *(share / "doc/riptide" / page for page in DOCS),
        *(share / "doc/riptide/examples" / path.name for path in (REPOSITORY / "docs/examples").iterdir()),
        *(Path("etc/iproute2") / names / "riptide.conf" for names in ("rt_tables.d", "rt_protos.d")),
    }
    assert {path.relative_to(tree.root) for path in tree.root.rglob("*")
            if not path.is_dir()} == expected
    assert tree.find("riptide_agent_new.3").resolve() == tree.find("riptide.3")
    assert tree.find("libriptide.so.1").resolve() == tree.find("libriptide.so.1.0.0")
    assert "\nExecStart=/usr/local/sbin/riptided\n" in tree.find("riptided.service").read_text()


LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")


def test_links_of_documents_lead_to_files():
    """In the repository, of which the installed files are a part."""
    pages = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"),
             *REPOSITORY.glob("lab/**/*.md"), REPOSITORY / "bindings/python/README.md"]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text())]
    assert len(links) > 40
    assert [f"{page}: {link}" for page, link in links if not (page.parent / link).exists()] == []


SOURCES = (".build", ".c", ".conf", ".go", ".h", ".in", ".py", ".pyi", ".sh", ".sym", ".toml")


def is_source(path):
    return path.suffix in SOURCES or path.name == "meson_options.txt" or (
        path.suffix == "" and "corpus" not in path.parts and path.is_file() and path.open("rb").read(2) == b"#!")


def test_every_source_file_states_its_licence():
    folders = ("bindings", "cli", "debian", "docs", "fuzz", "include", "lab", "lib", "packaging", "tests")
    files = [path for folder in folders for path in (REPOSITORY / folder).rglob("*") if is_source(path)]
    files += [path for path in REPOSITORY.iterdir() if is_source(path)]
    assert len(files) > 300
    assert [str(path) for path in files
            if "SPDX-License-Identifier: MIT" not in "".join(path.open().readlines()[:3])] == []


def versions():
    """All places with a version: {place: version}; lib/meson.build's is the project's."""
    header = (REPOSITORY / "include/riptide/riptide.h").read_text()
    yield "RIPTIDE_VERSION", re.search(r'#define RIPTIDE_VERSION +"(.*)"', header)[1]
    number = int(re.search(r"#define RIPTIDE_VERSION_NUMBER +(\w+)", header)[1], 0)
    yield "number", ".".join(map(str, number.to_bytes(3, "big")))
    for name in ("meson.build", "bindings/python/meson.build"):
        yield name, re.search(r"^  version: '(.*)'", (REPOSITORY / name).read_text(), re.M)[1]
    changes = (REPOSITORY / "CHANGELOG.md").read_text()
    debian = (REPOSITORY / "debian/changelog").read_text()
    yield "debian/changelog", re.match(r"riptide \((.*)-", debian)[1]
    yield "CHANGELOG.md", re.search(r"^## (\d[\d.]*)", changes, re.M)[1]


def test_version_is_the_same_everywhere(tree):
    found = dict(versions())
    found["riptide.pc"], = tree.pkg_config("--modversion")
    assert set(found.values()) == {found["meson.build"]}, found


@pytest.mark.parametrize("language, standard", [("c", "c11"), ("c++", "c++11")])
def test_each_header_compiles_alone_and_its_version_can_be_compared(tree, tmp_path, language, standard):
    source = tmp_path / "source"
    for header in HEADERS:
        source.write_text(f"#include <riptide/{header}>\n" + """
            #if RIPTIDE_VERSION_NUMBER < 0x010000
            #error
            #endif\n""")
        run("clang", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
            "-fsyntax-only", *tree.pkg_config("--cflags"), source)


def needed(program):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program).stdout))


def test_compute_alone_is_linked_without_libmnl(tree, tmp_path):
    source, program = tmp_path / "compute.c", tmp_path / "compute"
    source.write_text("""
        #include <riptide/compute.h>
        const void *prefix_is_valid(void) { return 0; } /* as a part of ours is called */
        int main(void)
        {
            struct riptide_estimator *estimator;
            return riptide_estimator_new(&estimator, NULL, NULL) ||
                   riptide_estimator_tick(estimator, 1, false) || prefix_is_valid();
        }""")
    run("cc", "-o", program, source, *tree.pkg_config("--cflags"), f"-L{tree.lib}", "-l:libriptide.a")
    run(program)
    assert needed(program) == {"libc.so.6"}


def test_libraries_show_the_listed_symbols_alone_and_need_nothing_but_libmnl(tree):
    """A host may have functions with our internal names. tests/abi.py checks the shared library."""
    lines = run("nm", "--defined-only", "--extern-only", tree.find("libriptide.a")).stdout.splitlines()
    names = {line.split()[2] for line in lines if len(line.split()) == 3}
    assert set(listed()) <= names
    assert all(name.startswith("riptide_") for name in names)
    assert needed(tree.find("libriptide.so.1.0.0")) <= {"libmnl.so.0", "libc.so.6", "libm.so.6"}


PROGRAMS = ("cli/riptide", "cli/riptided")
OPTIONS = {option["name"]: option["value"]
           for option in json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())}
is_asked_for = (OPTIONS["hardening"], OPTIONS["b_sanitize"]) == (True, "none")


@pytest.mark.skipif(not is_asked_for, reason="built without, as sanitizers need it")
@pytest.mark.parametrize("name", (*PROGRAMS, "lib/libriptide.so"))
def test_hardening_by_linker_and_compiler(name):
    """Position independent; all symbols are bound at the start, then read-only; nothing is both
    writable and executable; stack protector and fortified libc calls are in use."""
    def readelf(option, name):
        return run("readelf", "-W", option, BUILD / name).stdout
    dynamic, segments = readelf("-d", name), readelf("-l", name)
    if name in PROGRAMS:
        assert re.search(r"Type:\s+DYN ", readelf("-h", name))
        assert re.search(r"Flags: .*\bPIE\b", dynamic)
    assert re.search(r"Flags: .*\bNOW\b|\(BIND_NOW\)", dynamic)
    assert "GNU_RELRO" in segments and "TEXTREL" not in dynamic
    assert "GNU_STACK" in segments and not re.search(r"\bRWE\b|\bWE\b", segments)
    symbols = readelf("--dyn-syms", name)
    assert "__stack_chk_fail" in symbols
    assert re.search(r"\b__v?(sn|f)printf_chk\b", symbols)
