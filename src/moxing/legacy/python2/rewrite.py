"""Gives a program in Python 3's syntax the meaning that it had in Python 2.

The syntax tree locates the changes; the text itself is changed, so that comments stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from moxing.legacy.python2 import signs

_HELPER = "py2"
_IMPORT = f"from moxing.legacy.python2 import meaning as {_HELPER}"
_OWN = {"pickle": "pickles", "csv": "csvs", "tempfile": "tempfiles"}
_ROOM = "moxing.legacy.python2"
_CALLED = {"open": "open", "file": "open", "round": "round", "cmp": "cmp"}
_OF_MATH = ("math", "time")
_FLOAT_CALLS = ("float", "to_float")
_INT_CALLS = ("len", "int", "ord")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.FloorDiv)


def rewritten(text: str, division: bool) -> str:
    """Returns the program with calls of helpers where Python 3 differs from Python 2.

    Args:
        text: a program in Python 3's syntax.
        division: whether `/` of integers rounds down.

    Raises:
        SyntaxError: the text is not Python 3.
    """
    tree = ast.parse(text)
    edits = _Edits(text, signs.names_made(tree))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    imported = _imported(tree, "py_func")
    for node in ast.walk(tree):
        if division:
            edits.division(node)
        edits.names(node)
        edits.methods(node, parents)
        edits.messages(node)
        edits.functions(node, imported)
        edits.sorting(node)
        edits.handlers(node)
        edits.imports(node)
    changed = edits.apply()
    if edits.uses_helper:
        changed = _with_import(changed, tree)
    ast.parse(changed)
    return changed


def _with_import(text: str, tree: ast.Module) -> str:
    """Returns the program with an import of the helpers, after its docstring and `__future__`."""
    line = 0
    for node in tree.body:
        documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not documents and getattr(node, "module", None) != "__future__":
            break
        line = node.end_lineno or 0
    lines = text.split("\n")
    if line == 0:
        while line < len(lines) and lines[line].startswith("#"):
            line += 1
    return "\n".join([*lines[:line], _IMPORT, *lines[line:]])


class _Edits:
    """Changes of a text: pairs of byte offsets, each with the new text."""

    def __init__(self, text: str, made: frozenset[str]) -> None:
        self._source = text.encode()
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line.encode()) + 1)
        self._made = made
        self._edits: list[tuple[int, int, str]] = []
        self._replaced: list[tuple[int, int]] = []
        self.uses_helper = False

    def apply(self) -> str:
        """Returns the text with all changes made."""
        source = self._source
        for start, end, new in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            source = source[:start] + new.encode() + source[end:]
        return source.decode()

    def _start(self, node: ast.AST) -> int:
        return self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _put(self, start: int, end: int, new: str) -> None:
        self._edits.append((start, end, new))
        self.uses_helper |= f"{_HELPER}." in new

    def _sign(self, sign: bytes, start: int, end: int) -> int:
        """Returns the position of an operator between two operands, which comments may surround."""
        place = start
        while place < end:
            if self._source[place : place + 1] == b"#":
                place = self._source.index(b"\n", place)
            if self._source.startswith(sign, place):
                return place
            place += 1
        raise AssertionError(f"no {sign!r} between bytes {start} and {end}")

    def division(self, node: ast.AST) -> None:
        """Changes `a / b` and `a /= b`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            if _is_float(node.left) or _is_float(node.right):
                return
            place = self._sign(b"/", self._end(node.left), self._start(node.right))
            if _is_int(node.left) and _is_int(node.right):
                self._put(place, place + 1, "//")
                return
            self._put(self._start(node), self._start(node), f"{_HELPER}.divide(")
            space = self._source[place - 1 : place] == b" "
            self._put(place - space, place + 1, ",")
            if self._source[place + 1 : place + 2] not in (b" ", b"\n", b"\\"):
                self._put(place + 1, place + 1, " ")
            self._put(self._end(node), self._end(node), ")")
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            if _is_float(node.value) or not _is_pure(node.target):
                return
            place = self._sign(b"/=", self._end(node.target), self._start(node.value))
            target = self._text(node.target)
            self._put(place, place + 2, f"= {_HELPER}.divide_in_place({target},")
            self._put(self._end(node), self._end(node), ")")

    def names(self, node: ast.AST) -> None:
        """Changes calls of functions whose meaning has changed."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return
        name = node.func.id
        if name in self._made or "*" in self._made:
            return
        new = _CALLED.get(name)
        if name == "open" and node.keywords:
            new = None  # A call with keywords is a call of another `open`.
        if name == "str" and len(node.args) + len(node.keywords) > 1:
            new = "text"
        if new is not None:
            self._put(self._start(node.func), self._end(node.func), f"{_HELPER}.{new}")

    def methods(self, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> None:
        """Changes `decode` of text, `encode` to text, os.fdopen, and StringIO's successor."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in (("io", "StringIO"), ("os", "fdopen")):
                self._put(self._start(node), self._end(node), f"{_HELPER}.{node.attr}")
            return
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        method, first = node.func.attr, node.args[0] if node.args else None
        named = isinstance(first, ast.Constant) and isinstance(first.value, str)
        if method not in ("decode", "encode") or not (named or first is None):
            return
        if method == "encode":
            codec = str(first.value) if isinstance(first, ast.Constant) else "ascii"
            if codec not in ("hex", "base64", "zlib") and not _as_text(node, parents):
                return
        owner = node.func.value
        self._put(self._start(owner), self._start(owner), f"{_HELPER}.{method}(")
        # From the end of the owner, including its closing parentheses, to the arguments.
        place = self._sign(b".", self._end(owner), self._end(node.func))
        opening = self._sign(b"(", self._end(node.func), self._end(node))
        self._put(place, opening + 1, ", " if node.args or node.keywords else "")

    def messages(self, node: ast.AST) -> None:
        """Changes reads of an item of a message's `bytes_list`."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            return
        items = node.value
        if isinstance(items, ast.Attribute) and items.attr == "value":
            owner = items.value
            if isinstance(owner, ast.Attribute) and owner.attr == "bytes_list":
                self._put(self._start(node), self._start(node), f"{_HELPER}.of_message(")
                self._put(self._end(node), self._end(node), ")")

    def functions(self, node: ast.AST, imported: frozenset[str]) -> None:
        """Changes the function of a `py_func`, which gets text as bytes.

        Args:
            node: any part of the program.
            imported: the names that the program gives to `py_func`.
        """
        if not isinstance(node, ast.Call):
            return
        called = node.func
        attribute = isinstance(called, ast.Attribute) and called.attr == "py_func"
        if not attribute and not (isinstance(called, ast.Name) and called.id in imported):
            return
        given = [word.value for word in node.keywords if word.arg == "func"]
        given = node.args[:1] or given
        if given and not isinstance(given[0], ast.Starred):
            self._put(self._start(given[0]), self._start(given[0]), f"{_HELPER}.of_graph(")
            self._put(self._end(given[0]), self._end(given[0]), ")")

    def sorting(self, node: ast.AST) -> None:
        """Changes `sort` and `sorted` with a function that compares two values."""
        if not isinstance(node, ast.Call):
            return
        method = isinstance(node.func, ast.Attribute) and node.func.attr == "sort"
        function = isinstance(node.func, ast.Name) and node.func.id == "sorted"
        if not method and not function or any(word.arg == "key" for word in node.keywords):
            return
        place = int(function)
        given = node.args[place] if len(node.args) > place else None
        compares = isinstance(given, ast.Name) and given.id == "cmp"
        if given is not None and (compares or _takes_two(given)):
            start = self._start(given)
        else:
            words = [word for word in node.keywords if word.arg == "cmp"]
            if not words:
                return
            given = words[0].value
            start = self._start(words[0])
        self._put(start, self._start(given), f"key={_HELPER}.cmp_to_key(")
        if isinstance(given, ast.Name) and given.id == "cmp" and "cmp" not in self._made:
            self._put(self._start(given), self._end(given), f"{_HELPER}.cmp")
        self._put(self._end(given), self._end(given), ")")

    def handlers(self, node: ast.AST) -> None:
        """Changes `e.message` of a caught exception."""
        if not isinstance(node, ast.ExceptHandler) or node.name is None:
            return
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr == "message":
                owner = part.value
                if isinstance(owner, ast.Name) and owner.id == node.name:
                    new = f"{_HELPER}.message({owner.id})"
                    self._put(self._start(part), self._end(part), new)

    def imports(self, node: ast.AST) -> None:
        """Changes imports of modules that read and write text as bytes."""
        if isinstance(node, ast.ImportFrom) and not node.level:
            new = _from(node)
        elif isinstance(node, ast.Import) and any(item.name in _OWN for item in node.names):
            new = "; ".join(_plain(node))
        else:
            return
        if new:
            self._put(self._start(node), self._end(node), new)


def _imported(tree: ast.Module, name: str) -> frozenset[str]:
    """Returns the names under which a program imports `name` from any module."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    items = [item for node in imports for item in node.names if item.name == name]
    return frozenset(item.asname or name for item in items)


def _from(node: ast.ImportFrom) -> str:
    if node.module in _OWN:
        own = ast.ImportFrom(f"{_ROOM}.{_OWN[node.module]}", node.names, 0)
        return ast.unparse(own)
    if node.module != "io":
        return ""
    ours = [item for item in node.names if item.name == "StringIO"]
    rest = [item for item in node.names if item.name != "StringIO"]
    if not ours:
        return ""
    parts = [ast.unparse(ast.ImportFrom("io", rest, 0))] if rest else []
    return "; ".join([*parts, ast.unparse(ast.ImportFrom(f"{_ROOM}.meaning", ours, 0))])


def _plain(node: ast.Import) -> Iterator[str]:
    rest = [item for item in node.names if item.name not in _OWN]
    if rest:
        yield ast.unparse(ast.Import(rest))
    for item in node.names:
        if item.name in _OWN:
            own = ast.alias(_OWN[item.name], item.asname or item.name)
            yield ast.unparse(ast.ImportFrom(_ROOM, [own], 0))


def _as_text(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the program prints an expression, formats it, adds it to text, or looks it up."""
    parent = parents.get(node)
    if _is_key(node, parent, parents) or _has_text_method(node, parent, parents):
        return True
    if isinstance(parent, ast.Tuple):
        parent = parents.get(parent)
        return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id == "print"
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Add | ast.Mod):
        return False
    return any(_is_literal(side) for side in (parent.left, parent.right))


def _is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_key(node: ast.AST, parent: ast.AST | None, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether an expression is a key of a dict, is looked up, or is compared with text."""
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    if isinstance(parent, ast.DictComp):
        return node is parent.key
    if isinstance(parent, ast.Subscript):
        return node is parent.slice
    if isinstance(parent, ast.Compare):
        looked_up = node is parent.left and isinstance(parent.ops[0], ast.In | ast.NotIn)
        return looked_up or any(_is_literal(side) for side in (parent.left, *parent.comparators))
    if isinstance(parent, ast.Call):
        method = parent.func.attr if isinstance(parent.func, ast.Attribute) else ""
        return method in ("get", "setdefault") and parent.args[:1] == [node]
    if not isinstance(parent, ast.Tuple) or len(parent.elts) != 2 or parent.elts[0] is not node:
        return False
    pairs = parents.get(parent)
    call = parents.get(pairs) if isinstance(pairs, ast.GeneratorExp | ast.ListComp) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "dict"


def _has_text_method(
    node: ast.AST, parent: ast.AST | None, parents: dict[ast.AST, ast.AST]
) -> bool:
    """Whether the program calls a method of an expression with a literal text."""
    call = parents.get(parent) if isinstance(parent, ast.Attribute) else None
    return isinstance(call, ast.Call) and call.func is parent and any(map(_is_literal, call.args))


def _is_float(node: ast.expr) -> bool:
    """Whether the text shows that an expression is a float, or an array or tensor of floats."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    if isinstance(node, ast.UnaryOp):
        return _is_float(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        return _is_float(node.left) or _is_float(node.right)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in _FLOAT_CALLS
    return isinstance(node.func, ast.Attribute) and (
        node.func.attr in _FLOAT_CALLS
        or (isinstance(node.func.value, ast.Name) and node.func.value.id in _OF_MATH)
    )


def _is_int(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _INT_CALLS
    )


def _takes_two(node: ast.expr) -> bool:
    return isinstance(node, ast.Lambda) and len(node.args.args) == 2


def _is_pure(node: ast.AST) -> bool:
    """Whether an expression can be evaluated twice without side effects."""
    allowed = (
        *(ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.UnaryOp),
        *(ast.Tuple, ast.Slice, ast.expr_context, ast.operator, ast.unaryop),
    )
    return all(isinstance(part, allowed) for part in ast.walk(node))
