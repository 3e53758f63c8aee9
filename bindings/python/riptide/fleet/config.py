# SPDX-License-Identifier: MIT
"""The configuration of riptide-fleet: lines `key = value`, and files they name (docs/fleet.md)."""

from __future__ import annotations

import hashlib
import hmac
import re
import ssl
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

PATH = "/etc/riptide/fleet.conf"
MACHINE = "/etc/machine-id"
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
        return _read(self.password_file, "write the password there").split("\n")[0] if self.password_file else None

    @property
    def authority(self) -> str | None:
        """tls-ca, if it is a file of certificates."""
        try:
            if self.tls_ca:
                ssl.create_default_context(cafile=self.tls_ca)
        except OSError as error:
            raise ValueError(f"{self.tls_ca}: {error.strerror}") from error
        return self.tls_ca or None

    @property
    def key(self) -> bytes | None:
        """The secret with which prefixes are hashed; None: they are not."""
        return _read(self.key_file, "make a key with head -c 32 /dev/urandom | base64").strip().encode() if self.key_file else None

    @property
    def name(self) -> str:
        """This host's name at its site: configured, or a hash that does not reveal machine-id."""
        if self.host:
            return self.host
        try:
            machine = _read(MACHINE, "systemd-machine-id-setup makes one, on each host").strip()
        except ValueError as error:
            raise ValueError(f"{error}; or set host = NAME, which no other host has") from error
        return hmac.new(machine.encode(), f"riptide-fleet {self.control}".encode(), hashlib.sha256).hexdigest()[:16]


RANGES = {"weight": (1, 1000), "interval": (0.1, 3600), "timeout": (0.05, 60), "keep": (1, 3600),
          "half_life": (60, 1e9), "books_half_life": (60, 1e10)}


def parse(text: str) -> Config:
    """Reads the text of a configuration. Raises a ValueError with one line: where, and what is wrong."""
    types = {field.name.replace("_", "-"): field for field in fields(Config)}
    values: dict[str, str | float] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if name.startswith("#") or not name + equals:
            continue
        try:
            if not equals:
                raise ValueError(f"{name:.40}: no `key = value` in one line; there are no sections")
            if name not in types:
                raise ValueError(f"{name:.40}: unknown key; riptide-fleet(8) has all")
            if name in lines:
                raise ValueError(f"{name}: was given in line {lines[name]} already")
            lines[name] = number
            values[types[name].name] = value if str(types[name].type) == "str" else _number(name, value)
            if name == "engine":
                _check_urls(value)
        except ValueError as error:
            raise ValueError(f"{number}: {error}") from error
    for name in "site", "engine":
        if not values.get(name):
            raise ValueError(f" {name}: missing: add {name} = ...")
    found = Config(**values)  # type: ignore[arg-type]
    if found.keep < 2 * found.interval:
        raise ValueError(f" keep: {found.keep:g} s; must be at least twice interval, as sums count less in its second half")
    return found


def read(path: str) -> Config:
    """Reads a configuration, and checks its files. Raises a ValueError with one line that begins with the path."""
    text = _read(path)
    try:
        found = parse(text)
    except ValueError as error:
        raise ValueError(f"{path}:{error}") from error
    for name, value in {"password-file": "password", "tls-ca": "authority", "key-file": "key", "host": "name"}.items():
        try:
            getattr(found, value)
        except ValueError as error:
            raise ValueError(f"{path}: {name}: {error}") from error
    return found


def _number(name: str, text: str) -> float:
    found = re.fullmatch(r"(-?[0-9]*\.?[0-9]+) *(\w*)", text)
    unit = found and (1 if name == "weight" and not found[2] else UNITS_S.get(found[2] or "s"))
    if not found or not unit:
        raise ValueError(f"{name}: {text:.40}: not a number" + ("" if name == "weight" else " with ms, s, min, h or d"))
    value, (least, most) = float(found[1]) * unit, RANGES[name.replace("-", "_")]
    if not least <= value <= most:
        raise ValueError(f"{name}: {value:g}; must be {least:g} to {most:g}" + ("" if name == "weight" else " s"))
    return value


def _check_urls(text: str) -> None:
    for one in text.split():
        try:
            url = urlsplit(one)
            is_server = url.scheme in ("redis", "rediss") and url.hostname and url.port != 0 and re.fullmatch("(/[0-9]*)?", url.path)
            is_url = is_server and not url.query or url.scheme == "unix" and not url.hostname and url.path.startswith("/")
        except ValueError:  # of the port
            is_url = False
        if not is_url or url.fragment:
            raise ValueError(f"engine: {one.rpartition('@')[2]:.80}: not redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH")


def _read(path: str, remedy: str = "") -> str:
    """The text of a file. With a remedy its first line must not be empty."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or 'no text'}") from error
    if remedy and not text.split("\n")[0].strip():
        raise ValueError(f"{path}: its first line is empty: {remedy}")
    return text
