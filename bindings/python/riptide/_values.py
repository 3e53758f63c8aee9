# SPDX-License-Identifier: MIT
"""Conversion of values into C structs, and from them."""

from __future__ import annotations

import math
import operator
import os
from dataclasses import is_dataclass
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import AF_INET
from typing import Any, Callable, Iterable, Mapping, TypeVar, Union

from ._native import ffi, lib

Address = Union[IPv4Address, IPv6Address]
Network = Union[IPv4Network, IPv6Network]
#: A prefix whose host bits are zero, or an address, as a prefix of full length.
PrefixLike = Union[str, Address, Network]
PREFIX_TYPES = (str, IPv4Address, IPv6Address, IPv4Network, IPv6Network)
Buffer = Union[bytes, bytearray, memoryview]
#: A timedelta, or seconds.
Duration = Union[timedelta, float]

T = TypeVar("T")

MAX_S = 1e12  # does not fit into 64 bits of nanoseconds


def shown(value: Any) -> str:
    """A value as text for the line of an error."""
    try:
        line = " ".join(repr(value).split())
    except Exception:
        line = f"a {type(value).__name__}"
    return line if len(line) <= 80 else f"{line[:76]} ..."


def whole(name: str, value: Any, bits: int = 64) -> int:
    """An argument as an unsigned integer for C. Errors: TypeError, OverflowError."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: no integer: {shown(value)}") from None
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{name}: from 0 to {(1 << bits) - 1}: {shown(value)}")
    return number


def duration_ns(name: str, value: Duration) -> int:
    """Nanoseconds of a duration. Errors: TypeError; ValueError unless finite and at least 0."""
    if isinstance(value, timedelta):
        ns = value // timedelta(microseconds=1) * 1000
    elif isinstance(value, float):
        ns = round(min(value, MAX_S) * 1_000_000_000) if 0 <= value < math.inf else -1
    elif isinstance(value, int) and not isinstance(value, bool):
        ns = value * 1_000_000_000
    else:
        raise TypeError(f"{name}: neither a timedelta nor seconds: {shown(value)}")
    if ns < 0:
        raise ValueError(f"{name}: no duration: {shown(value)}")
    return whole(name, ns)


def duration_us(name: str, value: Duration) -> int:
    """Microseconds of a duration, rounded up. Errors: as duration_ns, OverflowError."""
    return whole(f"{name} in us", -(-duration_ns(name, value) // 1000), 32)


#: The unit at the end of a field's name, and the conversion of a duration to it.
UNITS = {"_ns": duration_ns, "_us": duration_us}


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


def network(c: Any) -> Network | None:
    """Reads a struct riptide_prefix; None if it is unset."""
    if c.family == 0:
        return None
    packed = bytes(ffi.buffer(c.addr))
    return IPv4Network((packed[:4], c.len)) if c.family == AF_INET else IPv6Network((packed, c.len))


def address(c: Any) -> Address | None:
    """Reads a struct riptide_prefix of full length as an address; None if it is unset."""
    if c.family == 0:
        return None
    packed = bytes(ffi.buffer(c.addr))
    return ip_address(packed[:4] if c.family == AF_INET else packed)


def text(c: Any) -> str:
    """Reads an array or a pointer of char."""
    return str(ffi.string(c).decode("utf-8", "replace"))


def ascii_text(name: str, value: str, max_bytes: int) -> bytes:
    """A name as bytes for C. Errors: TypeError, ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: no string: {shown(value)}")
    if not value.isascii() or "\0" in value or len(value) > max_bytes:
        raise ValueError(f"{name}: up to {max_bytes} characters of ASCII: {shown(value)}")
    return value.encode()


def path_bytes(path: str | os.PathLike[str], name: str = "path") -> bytes:
    """A path as bytes for C. Errors: TypeError, ValueError."""
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise TypeError(f"{name}: no path: {shown(path)}") from None
    except UnicodeEncodeError:
        raise ValueError(f"{name}: no text that names a file: {shown(path)}") from None
    if b"\0" in encoded:
        raise ValueError(f"{name}: a zero in it: {shown(path)}")
    return encoded


def state_buffer(state: Buffer) -> Any:
    """The bytes of a state, without a copy. Errors: TypeError, ValueError."""
    try:
        return ffi.from_buffer(state)
    except (TypeError, ValueError, BufferError):
        kind = ValueError if isinstance(state, memoryview) else TypeError
        raise kind(f"state: no bytes in one piece: {shown(state)}") from None


def read(cls: Callable[..., T], c: Any, **readers: Callable[[Any], Any]) -> T:
    """Makes a dataclass from the C struct's fields of the same names."""
    names = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return cls(**{name: _read(getattr(c, name), readers.get(name)) for name in names})


def read_members(c: Any) -> dict[str, Any]:
    """The members of a C struct by name; texts are None where there is none."""
    type_ = ffi.typeof(c)
    struct = type_.item if type_.kind == "pointer" else type_
    return {name: _read_member(getattr(c, name)) for name, _ in struct.fields}


def _read_member(value: Any) -> Any:
    if not isinstance(value, ffi.CData):
        return value
    type_ = ffi.typeof(value)
    if type_.kind == "struct" or (type_.kind == "pointer" and type_.item.kind == "struct"):
        return read_members(value)
    if type_.kind == "array":
        return tuple(map(_read_member, value))
    return text(value) if value else None


def _read(value: Any, reader: Callable[[Any], Any] | None) -> Any:
    if reader:
        return reader(value)
    if not isinstance(value, ffi.CData):
        return value
    type_ = ffi.typeof(value)
    if type_.kind == "struct":
        return network(value)
    if type_.item.cname == "char":
        return text(value) if value else None
    return tuple(value)


def write(c: Any, values: Mapping[str, Any], keep: list[Any], path: str = "") -> None:
    """Fills a C struct by names. A configuration's durations are named without a unit.

    Objects to which the struct points are added to `keep`, which must exist as long as C reads
    them. Errors, which name the field after `path`: TypeError, ValueError, OverflowError.
    """
    type_ = ffi.typeof(c)
    struct = type_.item if type_.kind == "pointer" else type_
    fields = {name: field for name, field in struct.fields
              if name not in ("size", "reserved") and not name.startswith("n_")}
    # In other structs these are figures and points in time.
    units = tuple(UNITS) if "size" in dict(struct.fields) else ()
    durations = {name[:-3]: name for name in fields if name.endswith(units)}
    for name, value in values.items():
        if name in durations:
            field = durations[name]
            setattr(c, field, UNITS[field[-3:]](path + name, value))
        elif name in fields and name not in durations.values():
            _write(c, name, fields[name].type.cname, value, keep, path + name)
        else:
            known = ", ".join(field[:-3] if field.endswith(units) else field for field in fields)
            raise TypeError(f"no option {path + str(name)!r}; there are: {known}")


def new_config(cname: str, options: Mapping[str, Any], keep: list[Any], path: str = "") -> Any:
    """Makes a configuration: the library's defaults, with these options instead of theirs."""
    c = ffi.new(cname)
    CONFIGS[cname](c, ffi.sizeof(c[0]))
    write(c, options, keep, path)
    keep.append(c)
    return c


def _write(c: Any, field: str, cname: str, value: Any, keep: list[Any], path: str) -> None:
    if cname == "struct riptide_prefix":
        write_prefix(path, getattr(c, field), value)
    elif cname == "struct riptide_scope":
        write(getattr(c, field), vars_of(path, value), keep, f"{path}.")
    elif cname in CONFIGS:
        setattr(c, field, new_config(cname, options_of(path, value), keep, f"{path}."))
    elif cname in ARRAYS:
        _write_array(c, field, cname, value, keep, path)
    elif cname == "struct riptide_policy *":
        c.policy = _policy(path, value)
    elif cname == "char *":
        keep.append(ffi.new("char[]", path_bytes(value, path)))
        setattr(c, field, keep[-1])
    else:
        _write_number(c, field, value, path)


def _write_number(c: Any, field: str, value: Any, path: str) -> None:
    try:
        setattr(c, field, value)
    except TypeError:
        raise TypeError(f"{path}: no number of that kind: {shown(value)}") from None
    except OverflowError:
        raise OverflowError(f"{path}: out of range: {shown(value)}") from None


def options_of(path: str, value: Any) -> Mapping[str, Any]:
    """Checks an argument that contains options itself. Errors: TypeError."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{path}: no options by their names: {shown(value)}")
    return value


def vars_of(path: str, value: Any) -> dict[str, Any]:
    """The fields of a Scope or a Hint. Errors: TypeError: it is neither."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{path}: neither a Scope nor a Hint: {shown(value)}")
    return dict(vars(value))


def _policy(path: str, value: Any) -> Any:
    """The built-in policy of that name. Errors: TypeError, ValueError."""
    found = lib.riptide_policy_find(ascii_text(path, value, 255))
    if not found:
        raise ValueError(f"{path}: there is none with the name {shown(value)}")
    return found


def _write_array(c: Any, field: str, cname: str, values: Iterable[Any], keep: list[Any],
                 path: str) -> None:
    try:
        if isinstance(values, (bytes, bytearray, memoryview)):  # their items are numbers
            raise TypeError
        items = [values] if isinstance(values, PREFIX_TYPES) else list(values)
    except TypeError:
        raise TypeError(f"{path}: no list: {shown(values)}") from None
    array = ffi.new(f"{cname.replace(' *', '')}[]", len(items))
    keep.append(array)
    for item, value in zip(array, items):
        ARRAYS[cname](path, item, value, keep)
    setattr(c, field, array)
    setattr(c, f"n_{field}", len(items))


def _write_ports(path: str, c: Any, value: Any, _: list[Any]) -> None:
    ports = value if isinstance(value, (tuple, list)) else (value, value)
    if len(ports) != 2:
        raise ValueError(f"{path}: a port, or the first and the last: {shown(value)}")
    c.first, c.last = (whole(path, port, 16) for port in ports)


ARRAYS: dict[str, Callable[[str, Any, Any, list[Any]], None]] = {
    "struct riptide_prefix *": lambda path, c, value, _: write_prefix(path, c, value),
    "struct riptide_port_range *": _write_ports,
}
CONFIGS: dict[str, Callable[[Any, int], None]] = {
    "struct riptide_observer_config *": lib.riptide_observer_config_init,
    "struct riptide_estimator_config *": lib.riptide_estimator_config_init,
    "struct riptide_applier_config *": lib.riptide_applier_config_init,
    "struct riptide_agent_config *": lib.riptide_agent_config_init,
}
