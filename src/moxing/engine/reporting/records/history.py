"""Reads `metrics.jsonl` into curves and evaluations."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from moxing.engine.reporting.records import line as lines
from moxing.engine.reporting.records.line import EVAL, TRAIN, Line
from moxing.engine.reporting.records.thin import Series
from moxing.engine.wording.record_files import METRICS

_RATES = ("steps_per_second", "samples_per_second", "data_wait")


@dataclass
class History:
    """All measured values that a directory records.

    Attributes:
        curves: a series of each logged value, by name.
        evaluated: a series of each value of evaluations, by the evaluation's and the value's name.
        rates: a series of each rate.
        evaluations: in order.
        unread: the number of lines of no known format.
        trained: when training logged its last line, in seconds since 1970; 0: never.
    """

    curves: dict[str, Series] = field(default_factory=dict)
    evaluated: dict[tuple[str, str], Series] = field(default_factory=dict)
    rates: dict[str, Series] = field(default_factory=dict)
    evaluations: list[Line] = field(default_factory=list)
    unread: int = 0
    trained: float = 0.0

    def add(self, line: Line) -> None:
        if line.kind != EVAL:
            self.trained = max(self.trained, line.time)
        if line.kind == TRAIN:
            for name, value in line.values.items():
                self.curves.setdefault(name, Series()).add(line.step, value)
            for name in _RATES:
                if name in line.facts:
                    self.rates.setdefault(name, Series()).add(line.step, line.facts[name])
            return
        self.evaluations.append(line)
        for name, value in line.values.items():
            self.evaluated.setdefault((line.name, name), Series()).add(line.step, value)


def read(log_dir: str) -> History:
    """Returns the history of a directory, perhaps empty; an unfinished last line is left out.

    Raises:
        OSError: the file can't be read.
    """
    path = os.path.join(log_dir, METRICS)
    if not os.path.exists(path):
        return History()
    with open(path, "rb") as file:
        return of_lines(_bounded(file))


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; a line that is too long is replaced by an empty line."""
    while text := file.readline(lines.LONGEST + 1):
        whole = len(text) <= lines.LONGEST
        while not whole and not text.endswith(b"\n"):
            text = file.readline(lines.LONGEST) or b"\n"
        yield text if whole else b"\n"


def of_lines(content: Iterable[bytes]) -> History:
    """The history that the lines of `metrics.jsonl` tell; an unfinished last line is left out."""
    history = History()
    for text in content:
        if not text.endswith(b"\n"):
            break
        line = lines.decode(text)
        if line is None:
            history.unread += 1
        else:
            history.add(line)
    return history


def median(values: array[float]) -> float | None:
    """Returns the median of the finite values; None if there are none."""
    finite = sorted(value for value in values if math.isfinite(value))
    return finite[len(finite) // 2] if finite else None
