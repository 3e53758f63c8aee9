# SPDX-License-Identifier: MIT
"""What the build makes of the headers follows them: each test changes a copy of them."""

from __future__ import annotations

import importlib.util
import inspect
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY

GENERATE = REPOSITORY / "bindings" / "python" / "generate.py"


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """Headers to change."""
    return Path(shutil.copytree(REPOSITORY / "include", tmp_path / "include"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new))


def generate(include: Path) -> Any:
    """Runs the generator; returns the module of structs."""
    made = include.parent
    subprocess.run(
        [sys.executable, GENERATE, "--native", made / "native.c", "--structs", made / "structs.py",
         "--depfile", made / "native.c.d", "--", "cc", "-I", include], check=True, timeout=60)
    spec = importlib.util.spec_from_file_location("structs", made / "structs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_members_functions_and_constants_are_followed(include: Path) -> None:
    edit(include / "riptide" / "observe.h", "    uint32_t rtt_us; ",
         "    /* What\n     * varies. */\n    uint64_t jitter_ns; /* much */\n    uint32_t others; /* much */\n"
         "    uint64_t rtt_us; ")
    edit(include / "riptide" / "riptide.h", "const char *riptide_version(void);",
         "const char *riptide_version(void);\n#define RIPTIDE_NOVELTY 7\nint riptide_novelty(int);\n"
         "/* Outside. */\nenum riptide_weather {\n    RIPTIDE_WEATHER_DRY = 3, /* for once */\n"
         "    RIPTIDE_WEATHER_WET,\n};")
    structs = generate(include)
    sample = structs.Sample
    place = sample._fields.index("jitter")
    assert sample._fields[place:place + 3] == ("jitter", "others", "rtt")
    assert sample.__annotations__["jitter"] is float and sample.__annotations__["others"] is int
    # Python 3.13 takes away the indentation by itself.
    fields = [line.strip() for line in sample.__doc__.splitlines()]
    assert "jitter (seconds): What varies. much" in fields and "others: much" in fields
    assert {value.name: value for value in structs.Weather} == {"DRY": 3, "WET": 4}
    assert inspect.cleandoc(structs.Weather.__doc__) == "Outside.\n\nDRY: for once"
    text = (include.parent / "native.c").read_text()
    assert "riptide_novelty(" in text and "RIPTIDE_NOVELTY" in text
