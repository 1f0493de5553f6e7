"""Changes a program's syntax tree where its code would fail with today's libraries.

Only the user's files are changed, when they are compiled: types written in C can't get old methods,
and `float` can't get another meaning. Each change first runs the program's own operation; only if
that fails, `old_calls` does the same as the old library. Line numbers and columns do not change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeVar

from moxing.legacy.python2 import signs

_HELPER = "__mox_old__"
_MODULE = "moxing.legacy.libraries"
# The same as old_calls.NAMES; repeated, so that compiling needs no import of NumPy.
ATTRIBUTES = frozenset(
    (
        *("tostring", "itemset", "ptp", "newbyteorder", "getchildren", "getiterator"),
        *("fromstring", "decode"),
    )
)
_SCALARS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
# Operators whose integer constant may be out of the range of the other operand's type.
_OPERATORS = {
    ast.Add: "add",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.LShift: "lshift",
    ast.Mod: "mod",
    ast.Mult: "mul",
    ast.Sub: "sub",
}
# Operators between values that may be numbers or arrays of NumPy.
_ARITHMETIC = {
    ast.Add: "add",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Mult: "mul",
    ast.Pow: "pow",
    ast.Sub: "sub",
}
_NUMPY = frozenset(("np", "numpy"))
_LIBRARIES = _NUMPY | {"tf", "tensorflow"}
# Methods of sessions and tensors that give numbers and arrays of NumPy.
_FETCHES = frozenset(("eval", "run"))
# Functions that give numbers or texts of Python, whatever they are given.
_OF_PYTHON = frozenset(("float", "int", "len", "range", "str"))
_UFUNCS = frozenset(
    ("add", "bitwise_and", "bitwise_or", "divide", "maximum", "minimum", "multiply", "subtract")
)
# Classes of NumPy's types, and the functions that took these classes for types until NumPy 2.
_ABSTRACT = frozenset(
    (
        *("complexfloating", "floating", "inexact", "integer", "number", "signedinteger"),
        "unsignedinteger",
    )
)
_MAKERS = frozenset(
    (
        *("arange", "array", "asanyarray", "asarray", "astype", "dtype", "empty", "empty_like"),
        *("eye", "frombuffer", "fromiter", "full", "full_like", "identity", "ones", "ones_like"),
        *("zeros", "zeros_like"),
    )
)
_Node = TypeVar("_Node", bound=ast.AST)
_VALUE, _OWNER, _PLACE, _ERROR = (
    f"__mox_{name}__" for name in ("value", "owner", "place", "error")
)
_NUMBERS = {"float": "to_float", "int": "to_int"}
_ANY = re.compile(
    rb"\b(?:numpy|tensorflow|xml|array|cv2|PIL|moxing)\b|\.decode\b|\berrno\b|['\"][rwa]b?U|['\"]U"
)


def may_change(source: bytes) -> bool:
    """Whether the tree may have something to change."""
    return _ANY.search(source) is not None


def change(tree: ast.Module) -> bool:
    """Changes the tree of a program; returns whether anything was changed."""
    made = signs.names_made(tree)
    visitor = _Changes(made, _of_numpy(tree) if made & _LIBRARIES else frozenset())
    visitor.visit(tree)
    if visitor.uses_helper:
        place = 0
        for number, node in enumerate(tree.body):
            documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not documents and getattr(node, "module", None) != "__future__":
                break
            place = number + 1
        helper = ast.ImportFrom(_MODULE, [ast.alias("old_calls", _HELPER)], 0)
        helper.lineno = helper.end_lineno = 1
        helper.col_offset = helper.end_col_offset = 0
        tree.body.insert(place, helper)
    ast.fix_missing_locations(tree)
    return visitor.changed


class _Changes(ast.NodeTransformer):
    def __init__(self, made: frozenset[str], arrays: frozenset[str]) -> None:
        self._made, self._arrays = made, arrays
        self._in_class = False
        self.changed = self.uses_helper = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._scope(node, True)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == "_read32":
            self._mend_reader(node)
        return self._scope(node, False)

    def _mend_reader(self, node: ast.FunctionDef) -> None:
        """Changes the reader of MNIST's files that many programs contain since 2015.

        The reader uses arrays of one element as numbers, which NumPy accepted until 1.12.
        """
        last = node.body[-1]
        made = last.value if isinstance(last, ast.Return) else None
        if isinstance(made, ast.Call) and getattr(made.func, "attr", "") == "frombuffer":
            last.value = _placed(ast.Subscript(made, ast.Constant(0), ast.Load()), made)
            self.changed = True

    def _scope(self, node: ast.AST, is_class: bool) -> ast.AST:
        before, self._in_class = self._in_class, is_class
        self.generic_visit(node)
        self._in_class = before
        return node

    def _help(self, name: str, *arguments: ast.expr, at: ast.AST) -> ast.expr:
        self.changed = self.uses_helper = True
        function = ast.Attribute(ast.Name(_HELPER, ast.Load()), name, ast.Load())
        return _placed(ast.Call(function, list(arguments), []), at)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        is_load = isinstance(node.ctx, ast.Load)
        if is_load and node.attr in ATTRIBUTES:
            return self._help("attribute", node.value, ast.Constant(node.attr), at=node)
        if is_load and node.attr == "errno" and getattr(node.value, "id", "") == "os":
            return self._help("errno_of", node.value, at=node)
        if is_load and node.attr == "__dict__" and not _is_self(node.value):
            return self._help("dict_of", node.value, at=node)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.AST]:
        """Changes `from os import errno`, which was a module that `os` showed."""
        shown = [item for item in node.names if item.name == "errno"]
        if node.module != "os" or node.level or not shown:
            return node
        self.changed = True
        node.names = [item for item in node.names if item.name != "errno"]
        found = _placed(ast.Import(shown), node)
        return [node, found] if node.names else found

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            text = node.left.value
            if isinstance(text, str) and re.search(r"%[-+ #0-9.*]*[diouxXeEfFgGc]", text):
                return self._help("formatted", node.left, node.right, at=node)
        name = _OPERATORS.get(type(node.op))
        if name and (name == "lshift" or _is_wide(node.left) or _is_wide(node.right)):
            return self._help("operate", ast.Constant(name), node.left, node.right, at=node)
        name = _ARITHMETIC.get(type(node.op))
        sides = (node.left, node.right)
        if name and not any(map(_is_plain, sides)) and any(self._is_of_numpy(x) for x in sides):
            return self._help(name, *sides, at=node)
        return node

    def _is_of_numpy(self, node: ast.expr) -> bool:
        return not self._arrays.isdisjoint(_names_in(node))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if any(map(_names_tensors, (node.left, *node.comparators))):
            node.left = self._type_of(node.left)
            node.comparators = [self._type_of(side) for side in node.comparators]
        sides = (node.left, *node.comparators)
        of_list = len(sides) == 2 and any(isinstance(side, ast.List) for side in sides)
        if of_list and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            same = ast.Constant(isinstance(node.ops[0], ast.Eq))
            return self._help("compare", *sides, same, at=node)
        return node

    def _type_of(self, node: ast.expr) -> ast.expr:
        """Changes `type(x)`, `x.__class__` or the `__name__` of it, if `node` is that."""
        if isinstance(node, ast.Attribute) and node.attr == "__name__":
            node.value = self._type_of(node.value)
            return node
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            return self._help("class_of", node.value, at=node)
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return node
        if getattr(node.func, "id", "") != "type" or "type" in self._made:
            return node
        return self._help("type_of", node.args[0], at=node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        single = len(node.args) == 1 and not node.keywords
        if single and not isinstance(node.args[0], ast.Starred):
            value = node.args[0]
            if getattr(node.func, "id", "") == "vars" and "vars" not in self._made:
                return self._help("names_of", value, at=node)
            if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS.keys() - self._made:
                if not isinstance(value, ast.Constant):
                    return self._help(_NUMBERS[node.func.id], value, at=node)
            elif isinstance(node.func, ast.Attribute) and node.func.attr in _SCALARS:
                return self._help("scalar", node.func, value, at=node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _MAKERS:
            node.args = [self._concrete(value) for value in node.args]
            for word in node.keywords:
                word.value = self._concrete(word.value)
        self._without_u(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _UFUNCS:
            two = len(node.args) == 2 and not node.keywords
            if two and any(map(_is_wide, node.args)):
                return self._help("widened", node.func, *node.args, at=node)
        return node

    def _concrete(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Attribute) and node.attr in _ABSTRACT:
            return self._help("concrete", node, at=node)
        return node

    def _without_u(self, node: ast.Call) -> None:
        """Removes the U of `open(name, 'rU')`: Python 3 reads all text files that way."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name):
            name = node.func.id
        modes = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode")]
        for mode in modes if name == "open" else ():
            if isinstance(mode, ast.Constant) and mode.value in ("U", "rU", "Ur", "rUb", "rbU"):
                mode.value = mode.value.replace("U", "") or "r"
                self.changed = True

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        target = node.targets[0]
        if self._in_class or len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return node
        if isinstance(node.value, ast.Constant | ast.Dict | ast.JoinedStr | ast.Lambda):
            return node
        # In Python's order of evaluation.
        return [
            _store(_VALUE, node.value, node),
            _store(_OWNER, target.value, node),
            _store(_PLACE, self._index(target.slice), node),
            *self._guarded(node),
        ]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        target = node.target
        name = _OPERATORS.get(type(node.op))
        wide = name == "lshift" or _is_wide(node.value)
        if name and wide and isinstance(target, ast.Name):
            name = ast.Constant(f"i{name.rstrip('_')}")
            value = self._help("operate", name, _load(target.id), node.value, at=node)
            return _placed(ast.Assign([target], value), node)
        name = _ARITHMETIC.get(type(node.op))
        meets = name and not _is_plain(node.value) and isinstance(target, ast.Name)
        if meets and any(map(self._is_of_numpy, (target, node.value))):
            value = self._help(f"i{name}", _load(target.id), node.value, at=node)
            return _placed(ast.Assign([target], value), node)
        if self._in_class or not isinstance(target, ast.Subscript):
            return node
        if isinstance(node.value, ast.Constant):
            return node
        read = ast.Subscript(_load(_OWNER), _load(_PLACE), ast.Load())
        update = ast.AugAssign(ast.Name(_VALUE, ast.Store()), node.op, node.value)
        return [
            _store(_OWNER, target.value, node),
            _store(_PLACE, self._index(target.slice), node),
            _store(_VALUE, read, node),
            _placed(update, node),
            *self._guarded(node),
        ]

    def _index(self, node: ast.expr) -> ast.expr:
        """Returns the expression for the value in square brackets."""
        if isinstance(node, ast.Slice):
            parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
            return ast.Call(self._builtin("slice"), parts, [])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index(part) for part in node.elts], ast.Load())
        return node

    def _builtin(self, name: str) -> ast.expr:
        """Returns the expression for a built-in name, also if the program uses it for its own."""
        if self._made.isdisjoint((name, "*")):
            return _load(name)
        own = ast.Attribute(_load(_HELPER), "builtins", ast.Load())
        return ast.Attribute(own, name, ast.Load())

    def _guarded(self, at: ast.AST) -> list[ast.AST]:
        """Returns `owner[place] = value` as statements, with `old_calls.set_item` on failure."""
        target = ast.Subscript(_load(_OWNER), _load(_PLACE), ast.Store())
        kinds = [self._builtin(name) for name in ("ValueError", "TypeError", "OverflowError")]
        again = self._help("set_item", *map(_load, (_OWNER, _PLACE, _VALUE, _ERROR)), at=at)
        refused = ast.If(ast.UnaryOp(ast.Not(), again), [ast.Raise()], [])
        handler = ast.ExceptHandler(ast.Tuple(kinds, ast.Load()), _ERROR, [refused])
        tried = ast.Try([ast.Assign([target], _load(_VALUE))], [handler], [], [])
        # The names are deleted, so that no object lives longer than in the original program.
        names: list[ast.expr] = [ast.Name(name, ast.Store()) for name in (_VALUE, _OWNER, _PLACE)]
        return [_placed(tried, at), _placed(ast.Assign(names, ast.Constant(None)), at)]


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _names_tensors(node: ast.AST) -> bool:
    """Whether an expression has a class of TensorFlow's of which others are derived today."""
    names = {
        getattr(part, "attr", getattr(part, "id", getattr(part, "value", "")))
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute | ast.Name)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
    }
    return not names.isdisjoint(("Tensor", "Variable"))


def _of_numpy(tree: ast.Module) -> frozenset[str]:
    """Returns the names of variables and attributes that may hold numbers or arrays of NumPy.

    They are assigned somewhere in the program what NumPy, a session or another such name gives.
    Arithmetic between other names, as with counters of loops, is left as it is: each change takes
    time.
    """
    found = set(_NUMPY)
    assigned = [
        (frozenset(_names_set(target)), frozenset(_names_in(value)))
        for target, value in _assignments(tree)
    ]
    while True:
        more = {
            name for targets, values in assigned if not found.isdisjoint(values) for name in targets
        }
        if more <= found:
            return frozenset(found)
        found |= more


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.For | ast.comprehension):
            yield node.target, node.iter
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
            yield node.target, node.value


def _names_set(target: ast.AST) -> Iterator[str]:
    """Yields the names that an assignment changes; of `x[i]`, the `x`."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _names_set(part)
    elif isinstance(target, ast.Subscript | ast.Starred):
        yield from _names_set(target.value)
    else:
        yield from _names_in(target)


def _names_in(node: ast.AST) -> Iterator[str]:
    """Yields the names in an expression on which its type depends; of `self.x`, the attribute."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _OF_PYTHON:
        return
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("self", "cls"):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _FETCHES:
        yield from _NUMPY
    else:
        for part in ast.iter_child_nodes(node):
            yield from _names_in(part)


def _is_plain(node: ast.expr) -> bool:
    """Whether an operation with this operand gives the same as ever: with a text or a list."""
    if isinstance(node, ast.Constant):
        return type(node.value) not in (int, float)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.ListComp)


def _is_wide(node: ast.expr) -> bool:
    """Whether an expression is an integer constant that some types of 8 bits can't hold."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
        return isinstance(node, ast.Constant) and type(node.value) is int
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        sides = (node.left, node.right)
        return all(isinstance(side, ast.Constant) and type(side.value) is int for side in sides)
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 127


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _store(name: str, value: ast.expr, at: ast.AST) -> ast.AST:
    return _placed(ast.Assign([ast.Name(name, ast.Store())], value), at)


def _placed(node: _Node, at: ast.AST) -> _Node:
    """Gives the node, and its parts without a position, the position of another node."""
    ast.copy_location(node, at)
    for part in ast.walk(node):
        if not hasattr(part, "lineno") and "lineno" in part._attributes:
            ast.copy_location(part, at)
    return node
