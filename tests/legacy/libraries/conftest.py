"""Faces of libraries as a program sees them."""

from __future__ import annotations

import ast
import builtins
import textwrap
import types
from collections.abc import Callable
from typing import Any

import pytest

from moxing.legacy import libraries
from moxing.legacy.face import importer
from moxing.legacy.face.faces import Faces
from moxing.legacy.libraries import calls

Program = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def faces() -> Faces:
    """What the user's modules see of libraries."""
    return Faces(libraries.specs())


@pytest.fixture
def program(faces: Faces) -> Program:
    """Runs a program of the user's, and returns the values of its names."""

    def run(source: str, **given: Any) -> dict[str, Any]:
        tree = ast.parse(textwrap.dedent(source))
        calls.change(tree)
        own = types.ModuleType("builtins")
        own.__dict__.update(
            builtins.__dict__, __import__=importer._import_function(importer.UserCode(faces))
        )
        values = {"__builtins__": own.__dict__, "__name__": "program", **given}
        exec(compile(tree, "program.py", "exec"), values)
        return values

    return run
