"""What is wrong with samples that could not be read."""

from __future__ import annotations

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
                return f"{self.name(number)} {problem}"
        others = f" or one of the {len(numbers) - 1} that follow" if len(numbers) > 1 else ""
        return f"{self.name(numbers[0])}{others} can be read now, but could not in its turn."
