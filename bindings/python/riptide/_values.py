"""Values on their way into C structs and out of them."""

from __future__ import annotations

import math
import os
from dataclasses import is_dataclass
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import AF_INET
from typing import Any, Callable, Iterable, Mapping, TypeVar, Union

from ._native import ffi, lib

Address = Union[IPv4Address, IPv6Address]
Network = Union[IPv4Network, IPv6Network]
#: An address, which is a prefix of full length, or a prefix; host bits must be zero.
PrefixLike = Union[str, Address, Network]
PREFIX_TYPES = (str, IPv4Address, IPv6Address, IPv4Network, IPv6Network)
Buffer = Union[bytes, bytearray, memoryview]
#: A timedelta, or seconds.
Duration = Union[timedelta, float]

T = TypeVar("T")


def duration_ns(value: Duration) -> int:
    """Nanoseconds of a duration. Errors: TypeError; ValueError unless finite and at least 0."""
    if isinstance(value, timedelta):
        ns = value // timedelta(microseconds=1) * 1000
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        ns = round(value * 1_000_000_000) if math.isfinite(value) else -1
    else:
        raise TypeError(f"a duration is a timedelta or seconds, not {type(value).__name__}")
    if ns < 0:
        raise ValueError(f"not a duration: {value!r}")
    return ns


def write_prefix(c: Any, value: PrefixLike) -> None:
    """Fills a struct riptide_prefix. Errors: TypeError, ValueError."""
    if not isinstance(value, PREFIX_TYPES):
        raise TypeError(f"not a string and not of ipaddress: {value!r}")
    text = str(value)
    is_text = text.isascii() and "\0" not in text
    if not is_text or lib.riptide_prefix_parse(ffi.addressof(c), text.encode()) < 0:
        raise ValueError(f"no address, and no prefix without host bits: {text!r}")


def new_prefix(value: PrefixLike) -> Any:
    c = ffi.new("struct riptide_prefix *")
    write_prefix(c[0], value)
    return c


def network(c: Any) -> Network | None:
    """A struct riptide_prefix; None where it is none."""
    if c.family == 0:
        return None
    packed = bytes(ffi.buffer(c.addr))
    return IPv4Network((packed[:4], c.len)) if c.family == AF_INET else IPv6Network((packed, c.len))


def address(c: Any) -> Address | None:
    """A struct riptide_prefix of full length; None where it is none."""
    if c.family == 0:
        return None
    packed = bytes(ffi.buffer(c.addr))
    return ip_address(packed[:4] if c.family == AF_INET else packed)


def text(c: Any) -> str:
    """An array or a pointer of char."""
    return str(ffi.string(c).decode("utf-8", "replace"))


def write_text(c: Any, value: str) -> None:
    """Fills an array of char. Errors: ValueError where that is not ASCII, or too long."""
    data = str.encode(value, "ascii")
    if len(data) >= len(c) or b"\0" in data:
        raise ValueError(f"more than {len(c) - 1} characters, or a zero: {value!r}")
    ffi.buffer(c)[:] = data.ljust(len(c), b"\0")


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """A path as C takes it. Errors: TypeError, ValueError."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"a zero in a path: {path!r}")
    return name


def read(cls: Callable[..., T], c: Any, **readers: Callable[[Any], Any]) -> T:
    """A dataclass of the fields of the C struct that have the same names."""
    names = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return cls(**{name: _read(getattr(c, name), readers.get(name)) for name in names})


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


def counters(struct: str, get: Callable[[Any, int], Any]) -> dict[str, int]:
    """The struct of counters that a function gives."""
    c = ffi.new(f"{struct} *")
    get(c, ffi.sizeof(struct))
    return {name: getattr(c, name) for name, _ in ffi.typeof(struct).fields}


def write(c: Any, values: Mapping[str, Any], keep: list[Any]) -> None:
    """Fills a C struct by names; a name may lack the unit _ns and is a duration then.

    What the struct points to is added to `keep`, which is to live as long as C reads it.
    Errors: TypeError, ValueError, OverflowError.
    """
    type_ = ffi.typeof(c)
    fields = {name: field for name, field in (type_.item if type_.kind == "pointer" else type_).fields
              if name != "size" and not name.startswith("n_")}
    for name, value in values.items():
        if f"{name}_ns" in fields:
            setattr(c, f"{name}_ns", duration_ns(value))
        elif name in fields and not name.endswith("_ns"):
            _write(c, name, fields[name].type.cname, value, keep)
        else:
            known = ", ".join(field[:-3] if field.endswith("_ns") else field for field in fields)
            raise TypeError(f"no option {name!r}; there are: {known}")


def new_config(cname: str, options: Mapping[str, Any], keep: list[Any]) -> Any:
    """A configuration: the library's defaults, but for the options."""
    if not isinstance(options, Mapping):
        raise TypeError(f"not options by their names: {options!r}")
    c = ffi.new(cname)
    CONFIGS[cname](c, ffi.sizeof(c[0]))
    write(c, options, keep)
    keep.append(c)
    return c


def _write(c: Any, name: str, cname: str, value: Any, keep: list[Any]) -> None:
    if cname == "struct riptide_prefix":
        write_prefix(getattr(c, name), value)
    elif cname == "struct riptide_scope":
        write(getattr(c, name), vars_of(name, value), keep)
    elif cname in CONFIGS:
        setattr(c, name, new_config(cname, value, keep))
    elif cname in ARRAYS:
        _write_array(c, name, cname, value, keep)
    elif cname in NAMED:
        setattr(c, name, _named(name, NAMED[cname], value, keep))
    elif cname.startswith("char["):
        write_text(getattr(c, name), value)
    else:
        setattr(c, name, value)


def vars_of(name: str, value: Any) -> dict[str, Any]:
    """The fields of a dataclass. Errors: TypeError where it is none."""
    if not is_dataclass(value):
        raise TypeError(f"{name}: neither a Scope nor an Override: {value!r}")
    return dict(vars(value))


def _named(name: str, find: Callable[[bytes], Any], value: Any, keep: list[Any]) -> Any:
    """A policy or smoothing: the built-in one of that name, or a Policy of the caller's."""
    if hasattr(value, "row"):
        return value.row(keep)
    if not isinstance(value, str):
        raise TypeError(f"{name}: neither a name nor a Policy: {value!r}")
    found = find(value.encode("ascii")) if "\0" not in value else ffi.NULL
    if not found:
        raise ValueError(f"{name}: there is none with the name {value!r}")
    return found


def _write_array(c: Any, name: str, cname: str, values: Iterable[Any], keep: list[Any]) -> None:
    items = [values] if isinstance(values, PREFIX_TYPES) else list(values)
    array = ffi.new(f"{cname.replace(' *', '')}[]", len(items))
    keep.append(array)
    for item, value in zip(array, items):
        ARRAYS[cname](item, value, keep)
    setattr(c, name, array)
    setattr(c, f"n_{name}", len(items))


def _write_ports(c: Any, value: Any, _: list[Any]) -> None:
    c.first, c.last = (value, value) if isinstance(value, int) else value


ARRAYS: dict[str, Callable[[Any, Any, list[Any]], None]] = {
    "struct riptide_prefix *": lambda c, value, keep: write_prefix(c, value),
    "struct riptide_port_range *": _write_ports,
    "struct riptide_override *": lambda c, value, keep: write(
        c, {name: part for name, part in vars_of("overrides", value).items() if part is not None},
        keep),
}
NAMED: dict[str, Callable[[bytes], Any]] = {
    "struct riptide_policy *": lib.riptide_policy_find,
    "struct riptide_smoothing *": lib.riptide_smoothing_find,
}
CONFIGS: dict[str, Callable[[Any, int], None]] = {
    "struct riptide_observer_config *": lib.riptide_observer_config_init,
    "struct riptide_estimator_config *": lib.riptide_estimator_config_init,
    "struct riptide_router_config *": lib.riptide_router_config_init,
    "struct riptide_agent_config *": lib.riptide_agent_config_init,
}
