"""Reads a piecewise learning-rate strategy such as "5:0.1->0.4,10:0.4=>0.8,20:0.08"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from moxing.errors import MoxTypeError, MoxValueError

GRAMMAR = (
    "Grammar: stage (',' stage)*, or one bare number; stage = END ':' VALUE; VALUE = number | "
    "a '->' b (linear) | a '=>' b (exponential); END in epochs, strictly increasing."
)
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ARROW = re.compile(r"->|=>")


@dataclass(frozen=True)
class Stage:
    """The learning rate from the end of the previous stage to `end`.

    Attributes:
      end: where the stage ends, in epochs; None for a stage that never ends.
      first: the learning rate at its start.
      last: the learning rate at `end`.
      exponential: whether the rate changes geometrically from `first` to `last`, not linearly.
    """

    end: Fraction | None
    first: float
    last: float
    exponential: bool = False


def parse_lr_strategy(strategy: str | float, where: str) -> tuple[Stage, ...]:
    """Returns the stages of a strategy; the last stage never ends.

    Args:
      strategy: the string, or a number for a constant rate.
      where: the start of an error message.

    Raises:
      MoxTypeError: the strategy is neither a string nor a number.
      MoxValueError: the string does not match the grammar; the message shows the position.
    """
    if isinstance(strategy, (int, float)) and not isinstance(strategy, bool):
        strategy = repr(strategy)
    if not isinstance(strategy, str):
        raise MoxTypeError(
            f"{where}: lr_strategy is {strategy!r} ({type(strategy).__name__}); it must be a "
            f"string or a number.\n{GRAMMAR}"
        )
    return _Reader(strategy, where).read()


class _Reader:
    """A cursor over the text of one strategy."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._at = 0

    def read(self) -> tuple[Stage, ...]:
        if not self._text.strip():
            raise self._error("it is empty", 0)
        start = self._skip_blanks()
        number = self._number("a number")
        if self._skip_blanks() == len(self._text):
            if float(number) == 0:
                raise self._error("a constant learning rate of 0 trains nothing", start)
            return (Stage(None, float(number), float(number)),)
        stages = [self._stage(start, number, None)]
        while self._skip_blanks() < len(self._text):
            self._expect(",")
            start = self._skip_blanks()
            stages.append(self._stage(start, self._number("a stage"), stages[-1].end))
        return (*stages, Stage(None, stages[-1].last, stages[-1].last))

    def _stage(self, start: int, end: str, before: Fraction | None) -> Stage:
        if Fraction(end) <= (before or 0):
            limit = "0" if before is None else f"the end before it, {float(before):g}"
            raise self._error(f"END {end} is not greater than {limit}", start)
        self._skip_blanks()
        self._expect(":")
        begin = self._skip_blanks()
        first = float(self._number("a learning rate"))
        if self._skip_blanks() == len(self._text) or self._text[self._at] == ",":
            return Stage(Fraction(end), first, first)
        exponential = self._arrow() == "=>"
        self._skip_blanks()
        last = float(self._number("a learning rate"))
        if exponential and not (first > 0 and last > 0):
            raise self._error("'=>' needs two learning rates above 0", begin)
        return Stage(Fraction(end), first, last, exponential)

    def _skip_blanks(self) -> int:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at

    def _number(self, expected: str) -> str:
        match = _NUMBER.match(self._text, self._at)
        if not match:
            raise self._unexpected(expected)
        if float(match[0]) == float("inf"):
            raise self._error(f"{match[0]} is too large", self._at)
        self._at = match.end()
        return match[0]

    def _arrow(self) -> str:
        match = _ARROW.match(self._text, self._at)
        if not match:
            raise self._unexpected("'->', '=>' or ','")
        self._at = match.end()
        return match[0]

    def _expect(self, mark: str) -> None:
        if not self._text.startswith(mark, self._at):
            raise self._unexpected(f"'{mark}'")
        self._at += len(mark)

    def _unexpected(self, expected: str) -> MoxValueError:
        found = repr(self._text[self._at]) if self._at < len(self._text) else "the end"
        return self._error(f"expected {expected}, found {found}", self._at)

    def _error(self, problem: str, position: int) -> MoxValueError:
        return MoxValueError(
            f"{self._where}: lr_strategy {self._text!r}: {problem}, at character {position + 1}.\n"
            f"  {self._text}\n  {' ' * position}^\n{GRAMMAR}"
        )
