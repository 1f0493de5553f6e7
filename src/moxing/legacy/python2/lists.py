"""Recognizes Python 2 files, which use results of map, filter and zip as lists."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

_MAKERS = frozenset(("filter", "map", "zip"))
_METHODS = frozenset(
    ("append", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort")
)
# In Python 3, NumPy puts such a result, an iterator, as the only element into an array.
_ARRAYS = frozenset(("array", "asarray"))
# TensorFlow's functions ask these arguments for their length, or go through them more than once.
_ARGUMENTS = frozenset(
    ("boundaries", "dnn_hidden_units", "hidden_units", "record_defaults", "vocabulary_list")
)
# TensorFlow's functions take only lists as these, and no views of a dict.
_LISTS = frozenset(("boundaries", "record_defaults"))
_VIEWS = frozenset(("items", "keys", "values"))
# In files that import these, keys() may well be that of a table, which has indices.
_KEYED = frozenset(("pandas", "pd", "DataFrame", "Series"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def uses(tree: ast.Module, made: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yields descriptions of uses that never work in Python 3, and the number of each use's line.

    Args:
        tree: the parsed file.
        made: all names that the file binds, as the file's own function `map` may return a list.
    """
    makers = _MAKERS - made
    scopes = [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))]
    indexed = _VIEWS - {"keys"} if made & _KEYED else _VIEWS
    for scope in scopes:
        for view, line in _used_views(scope, indexed):
            yield f"the list of .{view}()", line
    if "*" in made or not makers:
        return
    for scope in scopes:
        lazy = _lazy_names(scope, makers)
        for node in ast.walk(scope):
            yield from _views(node)
            for used in _used_as_lists(node):
                if isinstance(used, ast.Name) and used.id in lazy:
                    yield f"the list {used.id} of {lazy[used.id]}()", used.lineno
                elif maker := _maker(used, makers):
                    yield f"the list of {maker}()", used.lineno


def _lazy_names(scope: ast.AST, makers: frozenset[str]) -> dict[str, str]:
    """Returns names whose only value in a scope is a result of `makers`, with the maker of each."""
    found: dict[str, str] = {}
    for node in _own_nodes(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, maker = node.targets[0], _maker(node.value, makers)
            if isinstance(target, ast.Name) and maker:
                found[target.id] = maker
    bound = Counter(_bound(scope))
    return {name: maker for name, maker in found.items() if bound[name] == 1}


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the scopes inside of it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, _SCOPES):
            yield child
            yield from _own_nodes(child)


def _bound(scope: ast.AST) -> Iterator[str]:
    """Names that a scope and the scopes inside of it bind, once for each binding.

    A name that is declared global or nonlocal comes twice: other scopes may bind that name.
    """
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((item.asname or item.name).partition(".")[0] for item in node.names)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names * 2
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _maker(node: ast.expr, makers: frozenset[str]) -> str:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if called and node.func.id in makers else ""  # type: ignore[attr-defined]


def _used_views(scope: ast.AST, indexed: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yields views of dicts that are added, indexed or sorted, with the number of each line."""
    named = _view_names(scope)
    for node in _own_nodes(scope):
        match node:
            case ast.BinOp(left, ast.Add(), right):
                sides = [_view(left), _view(right)]
                lists = [isinstance(side, ast.List | ast.ListComp) for side in (left, right)]
                if all(sides) or (any(sides) and any(lists)):
                    yield next(filter(None, sides)), node.lineno
            case ast.Subscript(value) if _view(value) in indexed:
                yield _view(value), node.lineno
            case ast.Call(ast.Attribute(ast.Name(name), "sort")) if name in named:
                yield named[name], node.lineno


def _view_names(scope: ast.AST) -> dict[str, str]:
    """Returns names whose only value in a scope is a view of a dict, with the method of each."""
    found: dict[str, str] = {}
    for node in _own_nodes(scope):
        match node:
            case ast.Assign([ast.Name(name)], value) if _view(value):
                found[name] = _view(value)
    bound = Counter(_bound(scope))
    return {name: view for name, view in found.items() if bound[name] == 1}


def _view(node: ast.expr) -> str:
    """Returns the name of the method, if `node` is a call that makes a view of a dict."""
    match node:
        case ast.Call(ast.Attribute(attr=view), [], []) if view in _VIEWS:
            return view
    return ""


def _views(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yields views of dicts that a call takes only as a list."""
    for word in node.keywords if isinstance(node, ast.Call) else ():
        match word.value:
            case ast.Call(func=ast.Attribute(attr=view), args=[]) if view in _VIEWS:
                if word.arg in _LISTS:
                    yield f"the list of .{view}()", word.value.lineno


def _used_as_lists(node: ast.AST) -> Iterator[ast.expr]:
    """Yields expressions that a node uses as lists: by index, length, method, NumPy, TensorFlow."""
    if isinstance(node, ast.Subscript):
        yield node.value
    if not isinstance(node, ast.Call):
        return
    yield from (word.value for word in node.keywords if word.arg in _ARGUMENTS)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        yield node.func.value
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _ARRAYS:
        yield from node.args[:1]
    elif isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        yield node.args[0]
