"""Lets modules that an old protocol buffer compiler generated (`*_pb2.py`) be imported.

Until protoc 3.19 such a module described each message, field and enum once more in Python. Today's
protobuf refuses these descriptions: "Descriptors cannot be created directly". The file's
description in bytes, which also stands in the module, is all that protobuf needs.
"""

from __future__ import annotations

import ast
import types
from typing import Any

_DESCRIPTION = b"serialized_pb"
_FILE = "FileDescriptor"
_BUILD = "__mox_build__"
# protobuf's modules that describe messages in Python, under the names that protoc gave them.
_DESCRIBING = frozenset(
    ("_descriptor", "_message", "_reflection", "_sym_db", "_symbol_database", "descriptor")
) | {"enum_type_wrapper", "message", "reflection", "service_reflection"}
_PARTS = frozenset(
    ("descriptor", "message", "reflection", "service", "service_reflection", "symbol_database")
)


def compiled(source: bytes, path: str) -> types.CodeType | None:
    """Returns the code of a module of messages, as today's protobuf needs it.

    Args:
        source: the contents of the file.
        path: the path of the file, as tracebacks show it.

    Returns:
        The code; None if the file is no module of messages, or not one of an old protoc.
    """
    if not path.endswith("_pb2.py") or _DESCRIPTION not in source or _FILE.encode() not in source:
        return None
    try:
        tree = ast.parse(source, path)
    except (SyntaxError, ValueError):
        return None
    body: list[ast.stmt] = []
    is_old = False
    for statement in tree.body:
        described = _described_file(statement)
        if described is not None:
            is_old = True
            body.append(_building(statement, described))
        elif not _only_describes(statement):
            body.append(statement)
    if not is_old:
        return None
    # Python wants imports from __future__, and the text of the module, to stay in front.
    at = next((i for i, statement in enumerate(body) if not _stays_first(statement)), len(body))
    helper = ast.parse(f"from {__name__} import build as {_BUILD}", path).body
    tree.body = [*body[:at], *helper, *body[at:]]
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def build(serialized: bytes | str, module_name: str, module: dict[str, Any]) -> Any:
    """Makes the messages and enums of a file, as attributes of the module; returns the file.

    Args:
        serialized: the description of the file; as text in modules of Python 2.
        module_name: the name of the module.
        module: the module's variables.
    """
    from google.protobuf import descriptor_pool
    from google.protobuf.internal import builder

    data = serialized.encode("latin1") if isinstance(serialized, str) else serialized
    file = descriptor_pool.Default().AddSerializedFile(data)
    builder.BuildMessageAndEnumDescriptors(file, module)
    builder.BuildTopDescriptorsAndMessages(file, module_name, module)
    return file


def _described_file(statement: ast.stmt) -> ast.expr | None:
    """Returns the description in bytes if the statement makes the file's descriptor."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr != _FILE:
        return None
    return next((item.value for item in call.keywords if item.arg == "serialized_pb"), None)


def _building(statement: ast.stmt, described: ast.expr) -> ast.stmt:
    """Returns `DESCRIPTOR = build(description, __name__, globals())` in place of a statement."""
    call = ast.parse(f"{_BUILD}(0, __name__, globals())", mode="eval").body
    assert isinstance(call, ast.Call)
    call.args[0] = described
    made = ast.Assign([ast.Name("DESCRIPTOR", ast.Store())], call)
    return ast.copy_location(made, statement)


def _only_describes(statement: ast.stmt) -> bool:
    """Whether a statement only describes messages, or imports modules that do."""
    if isinstance(statement, ast.ImportFrom):
        wanted = [item for item in statement.names if item.name not in _PARTS]
        is_protobuf = statement.module == "google.protobuf"
        if is_protobuf:
            statement.names = wanted or statement.names
        return is_protobuf and not wanted
    if isinstance(statement, ast.ClassDef):
        return any(_root(node) in _DESCRIBING for node in ast.walk(statement))
    if isinstance(statement, ast.Assign):
        # A value of a descriptor: `_A.fields_by_name['b'].message_type = _B`, `_A._options = None`.
        if not all(isinstance(target, ast.Name) for target in statement.targets):
            return True
        return any(_root(node) in _DESCRIBING for node in ast.walk(statement.value))
    # `_sym_db.RegisterMessage(A)`, `_A.oneofs_by_name['b'].fields.append(...)`.
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _root(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _stays_first(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
