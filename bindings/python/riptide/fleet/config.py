# SPDX-License-Identifier: MIT
"""The configuration of riptide-fleet: lines `key = value`, and files they name (docs/fleet.md)."""

from __future__ import annotations

import configparser
import hashlib
import hmac
import re
from dataclasses import dataclass, fields
from pathlib import Path

PATH = "/etc/riptide/fleet.conf"
UNITS_S = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400}


@dataclass
class Config:
    """The keys of the file, with `_` for `-`; durations in seconds."""

    site: str
    engine: str
    username: str = ""
    password_file: str = ""
    tls_ca: str = ""
    key_file: str = ""
    host: str = ""
    control: str = "/run/riptide/control"
    metrics: str = ""
    weight: float = 200
    interval: float = 5
    timeout: float = 2
    keep: float = 600
    half_life: float = 86400
    books_half_life: float = 30 * 86400

    @property
    def password(self) -> str | None:
        """The first line of password-file."""
        return _read(self.password_file).split("\n")[0] if self.password_file else None

    @property
    def key(self) -> bytes | None:
        """The secret with which prefixes are hashed; None: they are not."""
        return _read(self.key_file).strip().encode() if self.key_file else None

    @property
    def name(self) -> str:
        """This host's name at its site: configured, or a hash that does not reveal machine-id."""
        if self.host:
            return self.host
        machine = _read("/etc/machine-id").strip()
        return hmac.new(machine.encode(), f"riptide-fleet {self.control}".encode(), hashlib.sha256).hexdigest()[:16]


RANGES = {"weight": (1, 1000), "interval": (0.1, 3600), "timeout": (0.05, 60), "keep": (1, 3600),
          "half_life": (60, 1e9), "books_half_life": (60, 1e10)}


def parse(text: str) -> Config:
    """Reads the text of a configuration. Raises a ValueError with one line: what is wrong."""
    parser = configparser.ConfigParser(delimiters="=", comment_prefixes="#", interpolation=None, strict=True)
    try:
        parser.read_string("[fleet]\n" + text)
    except configparser.Error as error:
        raise ValueError(str(error).replace("\n", " ")) from error
    types = {field.name.replace("_", "-"): field for field in fields(Config)}
    values: dict[str, str | float] = {}
    for name, value in parser["fleet"].items():
        if name not in types:
            raise ValueError(f"{name}: unknown key")
        values[types[name].name] = value if str(types[name].type) == "str" else _number(name, value)
    for name in "site", "engine":
        if not values.get(name):
            raise ValueError(f"{name}: missing")
    for name, (least, most) in RANGES.items():
        if not least <= float(values.get(name, least)) <= most:
            raise ValueError(f"{name.replace('_', '-')}: {values[name]:g}; must be {least:g} to {most:g}")
    return Config(**values)  # type: ignore[arg-type]


def read(path: str) -> Config:
    """Reads a configuration. Raises a ValueError with one line that begins with the path."""
    text = _read(path)
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _number(name: str, text: str) -> float:
    found = re.fullmatch(r"([0-9.]+) *(\w*)", text)
    unit = found and (1 if name == "weight" and not found[2] else UNITS_S.get(found[2] or "s"))
    try:
        if found and unit:
            return float(found[1]) * unit
    except ValueError:
        pass
    raise ValueError(f"{name}: {text}: not a number" + ("" if name == "weight" else " with ms, s, min, h or d"))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or 'no text'}") from error
