# SPDX-License-Identifier: MIT
"""Values of Python in C structs, and back, by what the extension module knows of each struct."""

from __future__ import annotations

import functools
import os
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from socket import AF_INET
from typing import Any, Callable, Mapping

from . import _structs
from ._native import ffi, lib
from ._structs import Network, PrefixLike

PREFIX_TYPES = (str, IPv4Address, IPv6Address, IPv4Network, IPv6Network)
#: How many of a unit are a second.
UNITS = {"_ns": 10**9, "_us": 10**6, "_ms": 10**3}
MAX_S = 9e9  # of 64 bits of nanoseconds


def shown(value: Any) -> str:
    """A value as text for the line of an error."""
    try:
        line = " ".join(repr(value).split())
    except Exception:
        line = f"a {type(value).__name__}"
    return line if len(line) <= 80 else f"{line[:76]} ..."


def count(name: str, seconds: Any, unit: str) -> int:
    """Seconds as a number of a unit, rounded up. Errors: TypeError, ValueError, OverflowError."""
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        raise TypeError(f"{name}: no number of seconds: {shown(seconds)}")
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{name}: no time: {shown(seconds)}")
    if seconds > MAX_S:
        raise OverflowError(f"{name}: out of range: {shown(seconds)}")
    return -(-round(seconds * 10**9) * UNITS[unit] // 10**9)


def prefix_text(name: str, value: PrefixLike) -> str:
    """An address or prefix as text. Errors: TypeError."""
    if not isinstance(value, PREFIX_TYPES):
        raise TypeError(f"{name}: neither a string nor of ipaddress: {shown(value)}")
    return str(value)


def write_prefix(name: str, c: Any, value: PrefixLike) -> None:
    """Fills a struct riptide_prefix. Errors: TypeError, ValueError."""
    text = prefix_text(name, value)
    is_text = text.isascii() and "\0" not in text
    if not is_text or lib.riptide_prefix_parse(ffi.addressof(c), text.encode()) < 0:
        raise ValueError(f"{name}: no address, and no prefix without host bits: {shown(text)}")


def new_prefix(name: str, value: PrefixLike) -> Any:
    c = ffi.new("struct riptide_prefix *")
    write_prefix(name, c[0], value)
    return c


@functools.lru_cache(maxsize=4096)
def network(packed: bytes) -> Network | None:
    """The network of a struct riptide_prefix, given by its bytes; None if it is unset."""
    family, length, address = packed[0], packed[1], packed[2:]
    if family == 0:
        return None
    if family == AF_INET:
        return IPv4Network((address[:4], length))
    return IPv6Network((address, length))


def text(c: Any) -> str:
    """Text of the library."""
    return str(ffi.string(c).decode("utf-8", "replace"))


def plain(name: str) -> str:
    """A member's name in Python: that of a time has no unit."""
    return name[:-3] if name.endswith(tuple(UNITS)) else name


def class_name(type_: Any) -> str:
    """The name of the class that the build has made of a struct or an enum."""
    return "".join(word.capitalize() for word in type_.cname.split("_")[1:])


def class_of(type_: Any) -> Any:
    return getattr(_structs, class_name(type_))


def _enum(type_: Any) -> Callable[[Any], Any]:
    known = class_of(type_)._value2member_map_
    return lambda value: known.get(value, value)  # a newer library may have others


def _reader(name: str, type_: Any) -> Callable[[Any], Any]:
    """What makes a member's value of its value in C."""
    if type_.kind == "enum":
        return _enum(type_)
    if type_.cname == "struct riptide_prefix":
        return lambda c: network(bytes(ffi.buffer(ffi.addressof(c))))
    if type_.kind == "struct":
        return read
    if type_.kind == "array":
        if type_.item.cname == "char":
            return text
        item = _reader("", type_.item)
        return lambda c: tuple(map(item, c))
    if type_.kind == "pointer":
        to = text if type_.item.cname == "char" else read
        return lambda c: to(c) if c else None
    if name.endswith(tuple(UNITS)):
        per_second = UNITS[name[-3:]]
        return lambda value: value / per_second
    return lambda value: value


@functools.lru_cache(maxsize=None)
def _layout(type_: Any) -> tuple[Any, list[tuple[str, Callable[[Any], Any]]]]:
    """The class of a struct, and for each of its members the name in C and its reader."""
    cls = class_of(type_)
    return cls, [(name, _reader(name, field.type)) for name, field in type_.fields
                 if plain(name) in cls._fields]


def read(c: Any) -> Any:
    """A struct, or what a pointer points to, as an object of the class of the same name."""
    type_ = ffi.typeof(c)
    cls, members = _layout(type_.item if type_.kind == "pointer" else type_)
    return cls._make([reader(getattr(c, name)) for name, reader in members])


def _write_prefix(c: Any, field: str, _: Any, value: Any, __: list[Any], path: str) -> None:
    write_prefix(path, getattr(c, field), value)


def _write_struct(c: Any, field: str, type_: Any, value: Any, keep: list[Any], path: str) -> None:
    write(getattr(c, field), members_of(path, value, class_of(type_)), keep, f"{path}.")


def _write_pointed(c: Any, field: str, type_: Any, value: Any, keep: list[Any], path: str) -> None:
    keep.append(ffi.new(type_.cname))
    setattr(c, field, keep[-1])
    write(keep[-1], members_of(path, value, class_of(type_.item)), keep, f"{path}.")


def _write_number(c: Any, field: str, _: Any, value: Any, __: list[Any], path: str) -> None:
    if field.endswith(tuple(UNITS)):
        value = count(path, value, field[-3:])
    try:
        setattr(c, field, value)
    except TypeError:
        raise TypeError(f"{path}: no number of that kind: {shown(value)}") from None
    except OverflowError:
        raise OverflowError(f"{path}: out of range: {shown(value)}") from None


def _write_path(c: Any, field: str, _: Any, value: Any, keep: list[Any], path: str) -> None:
    keep.append(ffi.new("char[]", path_bytes(path, value)))
    setattr(c, field, keep[-1])


def _write_policy(c: Any, field: str, _: Any, value: Any, __: list[Any], path: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{path}: no string: {shown(value)}")
    is_name = value.isascii() and "\0" not in value
    if not is_name or not (found := lib.riptide_policy_find(value.encode())):
        raise ValueError(f"{path}: there is none with the name {shown(value)}")
    setattr(c, field, found)


def _write_options(c: Any, field: str, type_: Any, value: Any, keep: list[Any], path: str) -> None:
    setattr(c, field, new_config(type_.cname, value, keep, path))


def _write_array(c: Any, field: str, type_: Any, value: Any, keep: list[Any], path: str) -> None:
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):  # their items are numbers
            raise TypeError
        items = [value] if isinstance(value, PREFIX_TYPES) else list(value)
    except TypeError:
        raise TypeError(f"{path}: no list: {shown(value)}") from None
    array = ffi.new(f"{type_.item.cname}[]", len(items))
    keep.append(array)
    for place, item in zip(array, items):
        if type_.item.cname == "struct riptide_prefix":
            write_prefix(path, place, item)
        else:
            _write_ports(place, item, path)
    setattr(c, field, array)
    setattr(c, f"n_{field}", len(items))


def _write_ports(c: Any, value: Any, path: str) -> None:
    ports = value if isinstance(value, (tuple, list)) else (value, value)
    if len(ports) != 2:
        raise ValueError(f"{path}: a port, or the first and the last: {shown(value)}")
    for name, port in zip(("first", "last"), ports):
        _write_number(c, name, None, port, [], path)


def _writer(type_: Any) -> Callable[..., None]:
    """What writes a member of that type."""
    if type_.cname == "struct riptide_prefix":
        return _write_prefix
    if type_.kind != "pointer":
        return _write_struct if type_.kind == "struct" else _write_number
    known = {"char": _write_path, "struct riptide_policy": _write_policy,
             "struct riptide_scope": _write_pointed}
    is_config = type_.item.cname.endswith("_config")
    return known.get(type_.item.cname, _write_options if is_config else _write_array)


@functools.lru_cache(maxsize=None)
def _members(type_: Any) -> dict[str, tuple[Callable[..., None], str, Any]]:
    """What may be written of a struct: how, the name in C and the type of each member."""
    names = dict(type_.fields)
    return {plain(name): (_writer(field.type), name, field.type) for name, field in type_.fields
            if name not in ("size", "reserved")
            and not (name.startswith("n_") and name[2:] in names)}


def write(c: Any, values: Mapping[str, Any], keep: list[Any], path: str = "") -> None:
    """Fills a struct by its members' names.

    What the struct points to is added to `keep`, which must exist as long as C reads it. Errors,
    which name the member after `path`: TypeError, ValueError, OverflowError.
    """
    type_ = ffi.typeof(c)
    members = _members(type_.item if type_.kind == "pointer" else type_)
    for name, value in values.items():
        if name not in members:
            raise TypeError(f"no option {path + str(name)!r}; there are: {', '.join(members)}")
        writer, field, field_type = members[name]
        writer(c, field, field_type, value, keep, path + name)


def path_bytes(name: str, value: Any) -> bytes:
    """The path of a file for C. Errors: TypeError, ValueError."""
    try:
        path = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{name}: no path: {shown(value)}") from None
    except UnicodeEncodeError:
        path = b"\0"
    if b"\0" in path:
        raise ValueError(f"{name}: no path: {shown(value)}")
    return path


def members_of(path: str, value: Any, cls: Any) -> dict[str, Any]:
    """The members of an argument of that class. Errors: TypeError."""
    if not isinstance(value, cls):
        raise TypeError(f"{path}: no {cls.__name__}: {shown(value)}")
    members: dict[str, Any] = value._asdict()
    return members


def new_struct(name: str, value: Any, cls: Any, cname: str) -> Any:
    """A struct for C of an argument of that class. Errors: TypeError, ValueError, OverflowError."""
    c = ffi.new(cname)
    write(c, members_of(name, value, cls), [], f"{name}.")
    return c


def new_config(cname: str, options: Any, keep: list[Any], path: str = "") -> Any:
    """A configuration: the library's defaults, with these options instead of theirs."""
    if not isinstance(options, Mapping):
        raise TypeError(f"{path}: no options by their names: {shown(options)}")
    c = ffi.new(cname)
    stage = cname.removeprefix("struct riptide_").removesuffix("_config *")
    getattr(lib, f"riptide_{stage}_config_init")(c, ffi.sizeof(c[0]))
    write(c, options, keep, path and f"{path}.")
    keep.append(c)
    return c
