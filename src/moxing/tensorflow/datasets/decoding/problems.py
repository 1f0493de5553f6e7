"""Describes the problems of samples that could not be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problems:
    """Describes samples and their problems in words.

    Attributes:
        name: returns the name of a sample by its index, such as the path of its file.
        find: returns the problem of a sample, as the end of a sentence that starts with its name;
            "" if there is none.
    """

    name: Callable[[int], str]
    find: Callable[[int], str]

    def of(self, number: int) -> str:
        """Returns a sentence about a sample that could not be read."""
        return self.first([number])

    def first(self, numbers: Sequence[int]) -> str:
        """Returns a sentence about the first bad one of several samples; at least one was bad."""
        found = self.bad(numbers)
        if found:
            return found
        others = f" or one of the {len(numbers) - 1} that follow" if len(numbers) > 1 else ""
        text = f"{self.name(numbers[0])}{others} can be read now, but could not in its turn."
        return _printable(text)

    def bad(self, numbers: Sequence[int]) -> str:
        """Returns a sentence about the first sample that is bad now; "" if all can be read."""
        for number in numbers:
            problem = self.find(number)
            if problem:
                return _printable(f"{self.name(number)} {problem}")
        return ""


def _printable(text: str) -> str:
    """Replaces bytes of file names that are not UTF-8 by escapes."""
    return os.fsencode(text).decode(errors="backslashreplace")
