# SPDX-License-Identifier: MIT
"""The declarations follow the headers: each test changes a copy of them and builds again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from netns import BUILD

BINDINGS = REPOSITORY / "bindings" / "python"


@pytest.fixture
def copy(tmp_path: Path) -> Any:
    """Headers and bindings to change."""
    shutil.copytree(REPOSITORY / "include", tmp_path / "include")
    shutil.copytree(BINDINGS / "riptide", tmp_path / "riptide")
    for name in ("generate.py", "stub.py", "rows.c", "rows.h"):
        shutil.copy(BINDINGS / name, tmp_path)
    return tmp_path


def edit(path: Any, old: Any, new: Any) -> Any:
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new))


def generate(copy: Path, *options: Any) -> Any:
    return subprocess.run(
        [sys.executable, copy / "generate.py", *options, "--output", copy / "native.c", "--depfile",
         copy / "native.c.d", "--package", copy / "riptide", "--header", copy / "rows.h", "--",
         "cc", "-I", copy / "include"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


def compile_module(copy: Path) -> Any:
    """Compiles the generated code; the library that it needs is preloaded."""
    directories = (copy / "include", copy, sysconfig.get_path("include"))
    return subprocess.run(
        ["cc", "-shared", "-fPIC", "-DPy_LIMITED_API=0x03090000", "-D_GNU_SOURCE",
         "-Werror=incompatible-pointer-types", "-Werror=int-conversion",
         *(f"-I{directory}" for directory in directories), copy / "native.c", copy / "rows.c",
         "-o", copy / "riptide" / "_native.abi3.so"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


def layout(copy: Path, struct: Any) -> Any:
    """Name, offset and type of each field, as the compiled module has them."""
    code = ("import importlib.util, json, sys\n"
            "spec = importlib.util.spec_from_file_location('riptide._native', sys.argv[1])\n"
            "native = importlib.util.module_from_spec(spec)\n"
            "spec.loader.exec_module(native)\n"
            "fields = native.ffi.typeof(sys.argv[2]).fields\n"
            "print(json.dumps([(name, f.offset, f.type.cname) for name, f in fields]))\n")
    module = copy / "riptide" / "_native.abi3.so"
    done = subprocess.run([sys.executable, "-c", code, module, struct], stdout=subprocess.PIPE,
                          check=True, universal_newlines=True,
                          env={"LD_PRELOAD": str(BUILD / "lib" / "libriptide.so")})
    return json.loads(done.stdout)


def test_new_fields_and_other_types_are_followed(copy: Path) -> None:
    observe = copy / "include" / "riptide" / "observe.h"
    edit(observe, "    uint32_t rtt_us; ", "    uint64_t jitter_ns;\n    uint64_t rtt_us; ")
    assert generate(copy).returncode == 0
    done = compile_module(copy)
    assert done.returncode == 0, done.stdout
    fields = {name: rest for name, *rest in layout(copy, "struct riptide_sample")}
    assert fields["jitter_ns"][1] == "uint64_t" == fields["rtt_us"][1]
    assert fields["rtt_us"][0] == fields["jitter_ns"][0] + 8


def test_new_functions_and_constants_are_followed(copy: Path) -> None:
    edit(copy / "include" / "riptide" / "riptide.h", "const char *riptide_version(void);",
         "const char *riptide_version(void);\n#define RIPTIDE_NOVELTY 7\nint riptide_novelty(int);")
    assert generate(copy).returncode == 0
    text = (copy / "native.c").read_text()
    assert "riptide_novelty(" in text and "RIPTIDE_NOVELTY" in text


@pytest.mark.parametrize("header, old, new, said", [
    ("observe.h", "uint32_t min_rtt_us; ", "uint32_t lowest_rtt_us; ",
     "struct riptide_sample has no 'min_rtt_us'"),
    ("compute.h", "uint64_t ttl_ns;", "uint64_t ttl_ms;",
     "struct riptide_estimator_config has no 'ttl'"),
    ("apply.h", "int riptide_applier_set_paused(", "int riptide_applier_halt(",
     "no header declares 'riptide_applier_set_paused'"),
    ("agent.h", "RIPTIDE_AGENT_TICK,", "RIPTIDE_AGENT_ROUND,",
     "no header declares 'RIPTIDE_AGENT_TICK'"),
    ("observe.h", "uint32_t rtt_us; ", "double rtt_us; ",
     "'rtt_us' of struct riptide_sample is no int"),
    ("compute.h", "bool may_lower; ", "char may_lower[4]; ",
     "'may_lower' of struct riptide_estimate is no bool"),
])
def test_what_the_package_asks_for_and_is_gone_fails_the_build(
        copy: Path, header: str, old: str, new: str, said: str) -> None:
    edit(copy / "include" / "riptide" / header, old, new)
    done = generate(copy)
    assert done.returncode != 0
    assert said in done.stdout and ".py:" in done.stdout


@pytest.mark.parametrize("header, old, new, function, place", [
    ("agent.h", "riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused)",
     "riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused, int turn)",
     "riptide_agent_set_paused", "_agent.py:"),
    ("apply.h", ", const struct riptide_wanted *wanted);", ");", "riptide_applier_set",
     "_applier.py:"),
    ("apply.h", ", const struct riptide_wanted *wanted);", ", const void *wanted);",
     "riptide_applier_set", "_applier.py:"),
    ("apply.h", ", const struct riptide_wanted *wanted);",
     ", const struct riptide_wanted *advised);", "riptide_applier_set", "_applier.py:"),
    ("agent.h", "riptide_agent_start(struct riptide_agent *agent,",
     "riptide_agent_start(struct riptide_applier *agent,",
     "riptide_agent_start", "_agent.py:"),
    ("compute.h", "int riptide_estimator_tick(", "void riptide_estimator_tick(",
     "riptide_estimator_tick", "_estimator.py:"),
    ("../../rows.h", ", struct riptide_observer *observer)", ", struct riptide_agent *agent)",
     "riptide_rows_pop", "_observer.py:"),
])
def test_function_that_is_declared_otherwise_fails_the_build_with_the_place_of_its_calls(
        copy: Path, header: str, old: str, new: str, function: str, place: str) -> None:
    edit(copy / "include" / "riptide" / header, old, new)
    done = generate(copy)
    assert done.returncode != 0
    (said,) = [line for line in done.stdout.splitlines() if "_native.pyi: " in line]
    assert f"{function} is declared otherwise now" in said and place in said
    assert generate(copy, "--stub").returncode == 0  # somebody has looked at the calls
    assert generate(copy).returncode == 0


def test_stub_is_what_the_headers_make(copy: Path) -> None:
    """`ninja stub` would change nothing."""
    stub = copy / "riptide" / "_native.pyi"
    kept = stub.read_text()
    stub.unlink()
    assert generate(copy, "--stub").returncode == 0
    assert stub.read_text() == kept


def test_type_checker_sees_a_call_that_no_longer_fits(copy: Path) -> None:
    pytest.importorskip("mypy")
    edit(copy / "include" / "riptide" / "apply.h", ", const struct riptide_wanted *wanted);", ");")
    assert generate(copy, "--stub").returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", BINDINGS / "pyproject.toml", "--cache-dir",
         "/run/mypy", copy / "riptide"], stdout=subprocess.PIPE, universal_newlines=True)
    assert '_applier.py' in done.stdout and '"riptide_applier_set"' in done.stdout


def test_headers_that_changed_after_the_source_was_made_fail_the_compiler(copy: Path) -> None:
    """As it would be with headers of one version and declarations of another."""
    assert generate(copy).returncode == 0
    edit(copy / "include" / "riptide" / "observe.h", "    uint16_t remote_port;",
         "    char remote_port[16];")
    assert compile_module(copy).returncode != 0


def test_header_that_is_no_c_fails_the_build(copy: Path) -> None:
    edit(copy / "include" / "riptide" / "riptide.h", "struct riptide_error {", "struct {{")
    assert generate(copy).returncode != 0
