# SPDX-License-Identifier: MIT
"""Runs the C unit tests of pure code through the bindings: an interpreter for the C that they use.

A function is taken as it stands in tests/unit; what it calls of the library is answered by the
Python package. Values are Python's, structs are namespaces, pointers to them the same namespaces.
"""

from __future__ import annotations

import math
import operator
import re
import types
from pathlib import Path
from typing import Any, Callable

from pycparser import c_ast, c_parser


def divide(a: float, b: float) -> float:
    return a / b if b else math.nan


PRELUDE = "".join(f"typedef int {name};" for name in (
    "bool", "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int64_t"))
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "<<": operator.lshift,
    "|": operator.or_, "&": operator.and_, "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b), "%": operator.mod,
    "/": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) else divide(a, b),
}


class Unsupported(Exception):
    """C that this interpreter, or the bindings, do not know."""


class Return(Exception):
    pass


class Struct(types.SimpleNamespace):
    """A struct; what was never set is 0."""

    def __getattr__(self, name: Any) -> Any:
        return 0


class Reference:
    """A pointer to a variable that is no struct."""

    def __init__(self, scope: Any, name: Any) -> None:
        self.scope, self.name = scope, name


def with_cases(path: Path) -> str:
    """A C file, behind the cases that it and they include."""
    text = path.read_text()
    for case in re.findall(r'#include "(\w+_case\.h)"', text):
        text = with_cases(path.with_name(case)) + text
    return text


def load(path: Path, defines: dict[str, str]) -> dict[str, Any]:
    """What a C file and its cases define by name: functions, constants, enumerators."""
    text = re.sub(r"/\*.*?\*/", "", with_cases(path), flags=re.DOTALL)
    text = re.sub(r"^#.*", "", text.replace("\\\n", ""), flags=re.MULTILINE)
    text = re.sub(r"^TEST\((\w+)\)", r"static void \1(void)", text, flags=re.MULTILINE)
    for name, value in defines.items():
        text = re.sub(rf"\b{name}\b", value, text)
    tree = c_parser.CParser().parse(PRELUDE + text)
    found: dict[str, Any] = {}
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef):
            found[node.decl.name] = node
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.Enum):
            found.update({item.name: item for item in node.type.values.enumerators})
        elif isinstance(node, c_ast.Decl):
            found[node.name] = node
    return found


def fields_of_items(type_: Any) -> list[str]:
    """The names of the fields, where that is an array of a struct that is declared on the spot."""
    item = getattr(getattr(type_, "type", None), "type", None)
    if isinstance(type_, c_ast.ArrayDecl) and isinstance(item, c_ast.Struct):
        return [decl.name for decl in item.decls or ()]
    return []


class Interpreter:
    """Calls functions of a C file; `library` answers what they call beyond it."""

    def __init__(self, functions: Any, library: Any) -> None:
        self.functions, self.library = functions, library

    def call(self, name: Any, *arguments: Any) -> Any:
        if name in self.library:
            return self.library[name](*arguments)
        if not isinstance(self.functions.get(name), c_ast.FuncDef):
            raise Unsupported(name)
        node = self.functions[name]
        parameters = [p.name for p in node.decl.type.args.params] if node.decl.type.args else []
        try:
            self.run(node.body, dict(zip(parameters, arguments)))
        except Return as result:
            return result.args[0]
        return None

    def run(self, node: Any, scope: Any) -> None:
        run = getattr(self, f"run_{type(node).__name__}", None)
        if run:
            run(node, scope)
        else:
            self.value(node, scope)

    def run_Compound(self, node: Any, scope: Any) -> None:
        for item in node.block_items or ():
            self.run(item, scope)

    def run_Decl(self, node: Any, scope: Any) -> None:
        value: Any = self.value(node.init, scope) if node.init else None
        is_struct = isinstance(getattr(node.type, "type", None), c_ast.Struct) \
            and isinstance(node.type, c_ast.TypeDecl)
        names = fields_of_items(node.type)
        if names:
            value = [item if isinstance(item, Struct) else Struct(**dict(zip(names, item)))
                     for item in value]
        if is_struct:
            value = Struct(**vars(value)) if isinstance(value, Struct) else value or Struct()
        scope[node.name] = value

    def run_DeclList(self, node: Any, scope: Any) -> None:
        for decl in node.decls:
            self.run(decl, scope)

    def run_For(self, node: Any, scope: Any) -> None:
        self.run(node.init, scope)
        while self.value(node.cond, scope):
            self.run(node.stmt, scope)
            self.value(node.next, scope)

    def run_While(self, node: Any, scope: Any) -> None:
        while self.value(node.cond, scope):
            self.run(node.stmt, scope)

    def run_If(self, node: Any, scope: Any) -> None:
        branch = node.iftrue if self.value(node.cond, scope) else node.iffalse
        if branch:
            self.run(branch, scope)

    def run_Return(self, node: Any, scope: Any) -> None:
        raise Return(self.value(node.expr, scope) if node.expr else None)

    def value(self, node: Any, scope: Any) -> Any:
        value = getattr(self, f"value_{type(node).__name__}", None)
        if not value:
            raise Unsupported(type(node).__name__)
        return value(node, scope)

    def value_Constant(self, node: Any, _: Any) -> Any:
        if node.type in ("string", "char"):
            return node.value.strip("\"'")
        if "float" in node.type or "double" in node.type:
            return float(node.value)
        return int(node.value.rstrip("uUlL"), 0)

    def value_ID(self, node: Any, scope: Any) -> Any:
        if node.name in scope:
            return scope[node.name]
        if node.name in self.library:
            return self.library[node.name]
        known = self.functions.get(node.name)
        if isinstance(known, c_ast.Enumerator):
            return self.value(known.value, scope)
        if isinstance(known, c_ast.Decl):
            self.run(known, scope)
            return scope[node.name]
        raise Unsupported(node.name)

    def value_FuncCall(self, node: Any, scope: Any) -> Any:
        arguments = node.args.exprs if node.args else []
        if node.name.name == "strcpy":
            return self.assign(arguments[0], self.value(arguments[1], scope), scope)
        return self.call(node.name.name, *(self.value(part, scope) for part in arguments))

    def value_Cast(self, node: Any, scope: Any) -> Any:
        return self.value(node.expr, scope)

    def value_CompoundLiteral(self, node: Any, scope: Any) -> Any:
        return self.value(node.init, scope)

    def value_InitList(self, node: Any, scope: Any) -> Any:
        if any(not isinstance(item, c_ast.NamedInitializer) for item in node.exprs):
            return [self.value(item, scope) for item in node.exprs]
        return Struct(**{item.name[0].name: self.value(item.expr, scope) for item in node.exprs})

    def value_StructRef(self, node: Any, scope: Any) -> Any:
        value = self.value(node.name, scope)
        if not isinstance(value, Struct):
            raise Unsupported(f"{node.field.name} of {value!r}")
        return getattr(value, node.field.name)

    def value_ArrayRef(self, node: Any, scope: Any) -> Any:
        return self.value(node.name, scope)[self.value(node.subscript, scope)]

    def value_TernaryOp(self, node: Any, scope: Any) -> Any:
        return self.value(node.iftrue if self.value(node.cond, scope) else node.iffalse, scope)

    def value_BinaryOp(self, node: Any, scope: Any) -> Any:
        left = self.value(node.left, scope)
        if node.op in ("&&", "||") and bool(left) == (node.op == "||"):
            return bool(left)
        return OPERATORS[node.op](left, self.value(node.right, scope))

    def value_UnaryOp(self, node: Any, scope: Any) -> Any:
        if node.op == "sizeof":  # of an array: how many items, which its item's size divides
            value = None if isinstance(node.expr, c_ast.Typename) else self.value(node.expr, scope)
            return len(value) if isinstance(value, list) else 1
        if node.op == "&" and isinstance(node.expr, c_ast.ID):
            value = scope.get(node.expr.name)
            simple = value is None or isinstance(value, (int, float))
            return Reference(scope, node.expr.name) if simple else value
        if node.op == "&":
            return self.value(node.expr, scope)
        value = self.value(node.expr, scope)
        if node.op == "*":
            return value.scope[value.name] if isinstance(value, Reference) else value
        if node.op == "++":
            return self.assign(node.expr, value + 1, scope)
        if node.op == "p++":
            self.assign(node.expr, value + 1, scope)
            return value
        if node.op == "p--":
            self.assign(node.expr, value - 1, scope)
            return value
        return {"-": operator.neg, "!": operator.not_}[node.op](value)

    def value_Assignment(self, node: Any, scope: Any) -> Any:
        value = self.value(node.rvalue, scope)
        if node.op != "=":
            value = OPERATORS[node.op[:-1]](self.value(node.lvalue, scope), value)
        return self.assign(node.lvalue, value, scope)

    def assign(self, target: Any, value: Any, scope: Any) -> Any:
        if isinstance(value, Struct):
            value = Struct(**vars(value))
        if isinstance(target, c_ast.ID):
            scope[target.name] = value
        elif isinstance(target, c_ast.StructRef):
            struct = self.value(target.name, scope)
            if not isinstance(struct, Struct):
                raise Unsupported(f"{target.field.name} of {struct!r}")
            setattr(struct, target.field.name, value)
        elif isinstance(target, c_ast.UnaryOp) and target.op == "*":
            reference = self.value(target.expr, scope)
            reference.scope[reference.name] = value
        else:
            raise Unsupported(type(target).__name__)
        return value
