"""Tells that a file which Python 3 can read was written for Python 2 alone, by names and lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from moxing.legacy.python2 import lists

# Python 2's builtins that Python 3 lacks, without `file` and `cmp`, which are often variables.
_NAMES = frozenset(
    [
        "basestring",
        "execfile",
        "long",
        "raw_input",
        "reduce",
        "reload",
        "unichr",
        "unicode",
        "xrange",
    ]
)
_MODULES = frozenset(
    [
        "ConfigParser",
        "HTMLParser",
        "Queue",
        "SimpleHTTPServer",
        "StringIO",
        "__builtin__",
        "cPickle",
        "cStringIO",
        "commands",
        "copy_reg",
        "httplib",
        "itertools.izip",
        "itertools.imap",
        "thread",
        "tkMessageBox",
        "Tkinter",
        "urllib2",
        "urlparse",
    ]
)
_METHODS = frozenset(("has_key", "iteritems", "iterkeys", "itervalues"))
_ANY = re.compile(
    rb"\bprint\s*(?:>>|$)|\b(?:map|filter|zip)\(|\b(?:boundaries|record_defaults)\s*=|"
    rb"\.(?:items|keys|values)\(\)|"
    + b"|".join(
        rb"\b" + name.rpartition(".")[2].encode() + rb"\b"
        for name in sorted(_NAMES | _MODULES | _METHODS)
    ),
    re.M,
)
_SCRIPT = re.compile(rb"(?:\xef\xbb\xbf)?#![^\r\n]*\bpython[\d.]*(?=\s|$)")
# Version checks in programs that run on both Pythons.
_VERSIONS = frozenset(("version_info", "version", "PY2", "PY3", "hexversion", "hasattr"))
_SURE = _VERSIONS - {"hasattr", "version"}
# Names of a module's own for such a check: is_py2, IS_PYTHON3, _py3.
_OWN_VERSION = re.compile(r"_*(?:is|in|on|using)?_?(?:py|python)_?[23]\d*k?_*", re.IGNORECASE)


def is_script(source: bytes) -> bool:
    """Whether a file's first line asks the system to run the file by Python."""
    return _SCRIPT.match(source) is not None


def may_be(source: bytes) -> bool:
    """Whether the tree may have evidence."""
    return _ANY.search(source) is not None


def sign(tree: ast.Module) -> tuple[str, int] | None:
    """Returns the evidence that a file is Python 2, with its line; None if it runs on both.

    A name counts if the file nowhere defines it, imports it, or checks the version for it.
    """
    made = names_made(tree)
    # The names that a star import defines are not known.
    known = _NAMES if "*" in made else made
    is_new = needs_python3(tree)
    # A method of such a name is the file's own, or that of a class which the file imports. Classes
    # of Python 2 have an `iteritems` of their own, which calls that of a dict.
    methods = _METHODS if is_new else made & {"has_key"}
    asks = _Asks(tree)
    found = next(_signs(tree, (known - _METHODS) | methods, asks), None)
    if found is None and not is_new and not any(map(asks.guards, ast.walk(tree))):
        found = next(lists.uses(tree, made), None)
    return found


def needs_python3(tree: ast.Module) -> bool:
    """Whether a file has syntax that Python 2 can't read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Nonlocal | ast.AnnAssign | ast.AsyncFunctionDef):
            return True
        if isinstance(node, ast.FunctionDef) and (node.returns or node.args.kwonlyargs):
            return True
        if isinstance(node, ast.arg) and node.annotation:
            return True
    return False


def knows_python3(tree: ast.Module) -> bool:
    """Whether a file was written with Python 3 in mind: its syntax, a check, or six."""
    asks = _Asks(tree)
    for node in ast.walk(tree):
        if asks.guards(node):
            return True
        if isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            return True
        modules = [item.name for item in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] in ("six", "past", "future", "builtins") for name in modules):
            return True
    return needs_python3(tree)


def imports_python2(tree: ast.Module) -> bool:
    """Whether a file imports, without condition, a module that only Python 2 has."""
    for node in tree.body:
        if isinstance(node, ast.Import) and any(item.name in _MODULES for item in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and not node.level and node.module in _MODULES:
            return True
    return False


def prints(tree: ast.AST) -> bool:
    """Whether a statement is Python 2's `print >>file, ...` or `print`, no-ops in Python 3."""
    return any(_is_print(node) for node in ast.walk(tree))


def _is_print(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    value = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.RShift):
        value = value.left
    return isinstance(value, ast.Name) and value.id == "print"


def names_made(tree: ast.Module) -> frozenset[str]:
    """Returns all names that a file binds; `*` stands for the names of a star import."""
    return frozenset(_made(tree))


def _made(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for item in node.names:
                yield (item.asname or item.name).partition(".")[0]


def _signs(node: ast.AST, made: frozenset[str], asks: _Asks) -> Iterator[tuple[str, int]]:
    if asks.guards(node):
        return
    if isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
        return
    if isinstance(node, ast.FunctionDef) and node.name == "has_key":
        made = made - {"has_key"}  # It asks another object.
    if _is_print(node):
        yield "print", node.lineno  # type: ignore[attr-defined]
    elif isinstance(node, ast.Name) and node.id in _NAMES and node.id not in made:
        yield node.id, node.lineno
    elif isinstance(node, ast.Import):
        for item in node.names:
            if item.name in _MODULES:
                yield f"import {item.name}", node.lineno
    elif isinstance(node, ast.ImportFrom) and not node.level:
        for item in node.names:
            if node.module in _MODULES or f"{node.module}.{item.name}" in _MODULES:
                yield f"from {node.module} import {item.name}", node.lineno
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _METHODS - made and len(node.args) == (name == "has_key") and not node.keywords:
            yield f".{name}()", node.lineno
    for _, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _signs(child, made, asks)
                if asks.leaves(child):
                    break  # The statements behind it are those of one Python, too.


class _Asks:
    """Finds the expressions of a file that ask for the version of Python."""

    def __init__(self, tree: ast.Module) -> None:
        self._names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _SURE & _read(node.value):
                self._names.update(t.id for t in node.targets if isinstance(t, ast.Name))

    def guards(self, node: ast.AST) -> bool:
        """Whether a part of the node is for one Python only."""
        if isinstance(node, ast.If | ast.IfExp):
            return self._depends(node.test)
        return isinstance(node, ast.BoolOp) and any(map(self._depends, node.values[:-1]))

    def leaves(self, node: ast.AST) -> bool:
        """Whether a statement ends its function or its loop on one Python."""
        ends = ast.Return | ast.Raise | ast.Continue | ast.Break
        return isinstance(node, ast.If) and self.guards(node) and isinstance(node.body[-1], ends)

    def _depends(self, test: ast.expr) -> bool:
        return any(
            name in _VERSIONS or name in self._names or _OWN_VERSION.fullmatch(name)
            for name in _read(test)
        )


def _read(node: ast.AST) -> set[str]:
    """The names and attributes in an expression."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = ("ImportError", "ModuleNotFoundError", "NameError", "AttributeError", "Exception")
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in names) for kind in kinds)
