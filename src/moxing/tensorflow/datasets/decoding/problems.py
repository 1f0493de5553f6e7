"""What is wrong with samples that could not be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problems:
    """Answers in words.

    Attributes:
        name: what the sample of a number is called, such as the path of its file.
        find: what is wrong with it, as the end of a sentence that begins with its name; "" if
            nothing is.
    """

    name: Callable[[int], str]
    find: Callable[[int], str]

    def of(self, number: int) -> str:
        """The sentence about a sample that could not be read."""
        return self.first([number])

    def first(self, numbers: Sequence[int]) -> str:
        """The sentence about the first of some samples, of which at least one could not be read."""
        for number in numbers:
            problem = self.find(number)
            if problem:
                return _printable(f"{self.name(number)} {problem}")
        others = f" or one of the {len(numbers) - 1} that follow" if len(numbers) > 1 else ""
        text = f"{self.name(numbers[0])}{others} can be read now, but could not in its turn."
        return _printable(text)


def _printable(text: str) -> str:
    """The text with escapes in place of bytes of file names that are not UTF-8."""
    return os.fsencode(text).decode(errors="backslashreplace")
