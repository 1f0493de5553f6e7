"""The version of TensorFlow that programs of TensorFlow 1.x ask for: that of the names they see."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


class Version(str):
    """A version as text, whose order is that of versions: "1.15" comes after "1.4".

    Programs written before 1.10 compare the text itself, `tf.__version__ >= "1.4"`.
    """

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return self._ordered(other, str.__lt__, tuple.__lt__)

    def __le__(self, other: Any) -> bool:
        return self._ordered(other, str.__le__, tuple.__le__)

    def __gt__(self, other: Any) -> bool:
        return self._ordered(other, str.__gt__, tuple.__gt__)

    def __ge__(self, other: Any) -> bool:
        return self._ordered(other, str.__ge__, tuple.__ge__)

    def _ordered(
        self, other: Any, by_text: Callable[..., bool], by_numbers: Callable[..., bool]
    ) -> bool:
        own, others = _numbers(self), _numbers(other)
        return by_numbers(own, others) if own and others else by_text(self, other)


def _numbers(version: Any) -> tuple[int, ...]:
    """The numbers at the start of a version; none: the value is no version."""
    found = _NUMBERS.match(version) if isinstance(version, str) else None
    return tuple(int(part) for part in found[0].split(".")) if found else ()


# The last release of TensorFlow 1.x. Programs choose by it between the names of 1.x, which are
# there, and those of 2.x, which are not.
VERSION = Version("1.15.5")
