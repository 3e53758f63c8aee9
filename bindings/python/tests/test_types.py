# SPDX-License-Identifier: MIT
"""Type hints: complete for the package, right for who uses it, and wrong uses are found."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import riptide
from conftest import REPOSITORY

pytest.importorskip("mypy")

PYPROJECT = REPOSITORY / "bindings" / "python" / "pyproject.toml"
EXAMPLES = REPOSITORY / "bindings" / "python" / "examples"
PACKAGE = Path(riptide.__file__).parent


def mypy(*arguments: Any) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", PYPROJECT, "--cache-dir", "/run/mypy",
         *arguments], stdout=subprocess.PIPE, universal_newlines=True,
        env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})


WRONG = """
import riptide
riptide.Estimator(cwnd_max="100")
riptide.Estimator(cwnd_maximum=100)
riptide.Agent(estimator={"ttl": None})
riptide.observe()[0].cwnd.upper()
riptide.Applier().set(riptide.Wanted("10.0.0.1", initcwnd="20"))
riptide.Agent().stats().hints
"""


def test_types_are_complete() -> None:
    done = mypy(PACKAGE, *Path(__file__).parent.glob("*.py"), *EXAMPLES.glob("*.py"))
    assert done.returncode == 0, done.stdout


def test_wrong_uses_are_found(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    found = {int(number) for number in re.findall(r"wrong.py:(\d+): error", mypy(
        tmp_path / "wrong.py").stdout)}
    assert found == set(range(3, WRONG.count("\n") + 1))


def test_everything_public_has_a_docstring() -> None:
    things = {name: getattr(riptide, name) for name in riptide.__all__}
    for cls in riptide.Observer, riptide.Estimator, riptide.Applier, riptide.Agent, riptide.Control:
        things |= {f"{cls.__name__}.{name}": getattr(cls, name) for name in dir(cls)
                   if name[0] != "_"}
    assert not [name for name, thing in things.items() if not inspect.getdoc(thing)]
