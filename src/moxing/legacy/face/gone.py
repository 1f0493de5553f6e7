"""Stand-ins for parts that are gone, so that a program that imports one without using it runs on.

Programs import at their top parts that only one of their options needs, such as
`tensorflow.contrib.tensorrt`. The import then succeeds as it did, and the program gets the error
about the part where it reads one of the part's names.
"""

from __future__ import annotations

import ast
import linecache
import types
from typing import Any, NoReturn

from moxing.errors import MoxAttributeError, MoxNotSupportedError

_CAUGHT = ("ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException")


class StandIn(types.ModuleType):
    """A module that has no names, and says why when one is read or when it is called."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(name, sentence)
        # An import function takes modules below a package only.
        self.__dict__["__path__"] = []

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise MoxAttributeError(self._sentence(), name=name)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise MoxNotSupportedError(self._sentence())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        raise MoxNotSupportedError(self._sentence())

    def _sentence(self) -> str:
        return str(self.__doc__)


def is_guarded(frame: types.FrameType) -> bool:
    """Whether the frame's line stands in a `try` whose handler does without the import."""
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.Try)
        and any(map(_catches, node.handlers))
        and node.body[0].lineno <= frame.f_lineno <= (node.body[-1].end_lineno or 0)
        for node in ast.walk(tree)
    )


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or getattr(kind, "id", None) in _CAUGHT for kind in kinds)
