#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program's byte code as a C header: embed.py program.bpf.c program_code.h [--check]

Writes the object file's instructions; those that name a map have its number, for the loader to put
its fd there. One version of clang makes them, as others choose other registers. With --check it
writes nothing: the exit code is 0 if the compiler makes the same header, and 77 (skipped) without
that compiler, or 1 with RIPTIDE_BYTE_CODE=compiled in the environment, as in CI.
"""

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

VERSION = 14  # of clang: Debian 12 has it
SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
SYMBOL_BYTES = 24
SMALL_STORES = {0x62, 0x6a, 0x72, 0x63, 0x6b, 0x73}  # BPF_ST and BPF_STX of 32, 16, 8 bits
STACK = 10  # the register
MAPS = ["windows", "common"]  # as in program.h
PSEUDO_MAP_FD = 1  # BPF_PSEUDO_MAP_FD, as source register
HEADER = """\
/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Made of program.bpf.c by `ninja byte-code`, clang {version}. The fd of a map is its number. */
static const uint64_t program_code[] = {{
{code}
}};
"""


def find_clang() -> str | None:
    """The compiler of this version, under either name; None: there is none."""
    for clang in (f"clang-{VERSION}", "clang"):
        try:
            found = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
        except FileNotFoundError:
            continue
        if f"version {VERSION}." in found:
            return clang
    return None


def compile_program(clang: str, source: Path) -> bytes:
    """The object file."""
    machine = subprocess.run([clang, "-print-multiarch"], capture_output=True, text=True)
    triple = machine.stdout.strip() or "x86_64-linux-gnu"
    # Freestanding: stdint.h is clang's own, as the system's needs files of the C library for this target.
    with tempfile.NamedTemporaryFile(suffix=".o") as output:
        subprocess.run([clang, "-O2", "-target", "bpfel", "-mcpu=v2", "-ffreestanding", "-Wall", "-Wextra", "-Werror",
                        f"-I{source.parents[2]}", f"-I{source.parents[2]}/common", f"-I/usr/include/{triple}",
                        "-c", source, "-o", output.name],
                       check=True)
        return Path(output.name).read_bytes()


def read_sections(elf: bytes) -> dict[str, tuple[int, ...]]:
    """Each section header, by its name; names are unique in so small an object file."""
    start, = struct.unpack_from("<Q", elf, 40)
    _, n, names = struct.unpack_from("<3H", elf, 58)
    headers = [SECTION.unpack_from(elf, start + i * SECTION.size) for i in range(n)]
    return {read_text(elf, headers[names][4] + header[0]): header for header in headers}


def read_text(elf: bytes, at: int) -> str:
    """The text that ends with a zero."""
    return elf[at:elf.index(b"\0", at)].decode()


def fill(elements: Iterable[str]) -> str:
    """Elements of an array, in lines of 100 columns."""
    lines = ["   "]
    for element in elements:
        if len(lines[-1]) + 1 + len(element) > 100:
            lines.append("   ")
        lines[-1] += " " + element
    return "\n".join(lines)


def render(elf: bytes) -> str:
    """The header for an object file."""
    sections = read_sections(elf)
    code, places, symbols, names = (sections[name] for name in
                                    ("sockops", ".relsockops", ".symtab", ".strtab"))
    if sections[".text"][5]:
        sys.exit("a function was not inlined, and would not be loaded")
    words = list(struct.unpack_from(f"<{code[5] // 8}Q", elf, code[4]))
    # Without CAP_PERFMON the verifier lets nothing smaller be where a pointer has been, up to Linux 6.7 also
    # where a known number has.
    if any(word & 0xff in SMALL_STORES and word >> 8 & 0xf == STACK for word in words):
        sys.exit("less than 64 bits is written to the stack, which Linux may refuse without CAP_PERFMON")
    for at in range(places[4], places[4] + places[5], 16):
        offset, info = struct.unpack_from("<QQ", elf, at)
        name, = struct.unpack_from("<I", elf, symbols[4] + (info >> 32) * SYMBOL_BYTES)
        words[offset // 8] |= MAPS.index(read_text(elf, names[4] + name)) << 32 | PSEUDO_MAP_FD << 12
    return HEADER.format(version=VERSION, code=fill(f"{word:#x}," for word in words))


def main() -> int:
    """Writes or checks the header."""
    source, header, clang = Path(sys.argv[1]), Path(sys.argv[2]), find_clang()
    is_check = "--check" in sys.argv
    if not clang:
        print(f"clang {VERSION} is missing, which compiles {source.name}; Debian 12 has it")
        return 77 if is_check and os.environ.get("RIPTIDE_BYTE_CODE") != "compiled" else 1
    text = render(compile_program(clang, source))
    if not is_check:
        header.write_text(text)
    elif header.read_text() != text:
        print(f"{header} is not what {source} compiles to: run `ninja -C build byte-code`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
