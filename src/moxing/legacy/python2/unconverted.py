"""Keeps AutoGraph from functions of ported files.

AutoGraph reads a function's text from the disk. There the text is Python 2, which Python 3 may read
with another meaning: `7 / 2` of whole numbers is 3 in the port, and 3.5 by that text.
"""

from __future__ import annotations

import os
import types
from typing import Any

_PORTED: set[str] = set()  # The files of this process that were ported as they were imported.


def note(path: str) -> None:
    """Records a file that was ported."""
    _PORTED.add(os.path.abspath(path))


class _Rule:
    """A rule as AutoGraph has them in a list: the first that decides counts."""

    def __init__(self, actions: Any) -> None:
        self._actions = actions

    def get_action(self, module: types.ModuleType) -> Any:
        """Returns what AutoGraph does with functions of a module."""
        path = getattr(module, "__file__", None)
        is_ported = bool(path) and os.path.abspath(path) in _PORTED
        return self._actions.DO_NOT_CONVERT if is_ported else self._actions.NONE


def install() -> None:
    """From now on AutoGraph leaves functions of ported files as they are."""
    from tensorflow.python.autograph.core import config

    if not isinstance(config.CONVERSION_RULES[0], _Rule):
        config.CONVERSION_RULES = (_Rule(config.Action), *config.CONVERSION_RULES)
