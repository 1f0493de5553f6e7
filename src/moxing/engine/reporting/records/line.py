"""A line of `metrics.jsonl`: a JSON object with measured values, their step and their time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

# The kinds of lines: a logged step of training, an evaluation inside training, a run in EVAL.
TRAIN: Final = "train"
INTER: Final = "validation"
EVAL: Final = "evaluation"
_KINDS: Final = (TRAIN, INTER, EVAL)
_FACTS: Final = ("steps_per_second", "samples_per_second", "data_wait", "samples", "seconds")
LONGEST: Final = 1 << 20  # Bytes; a line of ours has a few hundred.
# JSON has no such numbers.
_NAMED: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True)
class Line:
    """The contents of one line.

    Attributes:
        kind: TRAIN, INTER or EVAL.
        step: in TRAIN, the global step from which the logged step started, as in log lines; else
            the number of updates that the evaluated variables have seen.
        values: logged values by name.
        facts: other known values: steps_per_second and samples_per_second since the line before,
            data_wait (share of the time, 0 to 1, spent waiting for input), samples and seconds of
            an evaluation.
        name: the text with which an evaluation's log lines start; else empty.
        time: seconds since 1970.
    """

    kind: str
    step: int
    values: Mapping[str, float]
    facts: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    time: float = 0.0


def encode(line: Line) -> bytes:
    """The line as standard JSON, with its end; `"NaN"`, `"Infinity"` and `"-Infinity"` are text."""
    fields: dict[str, Any] = {"kind": line.kind, "global_step": line.step}
    if line.name:
        fields["name"] = line.name
    fields["time"] = round(line.time, 3)
    fields.update({name: _plain(value) for name, value in line.facts.items()})
    fields["values"] = {name: _plain(value) for name, value in line.values.items()}
    return json.dumps(fields, allow_nan=False).encode() + b"\n"


def decode(text: bytes) -> Line | None:
    """Returns the contents of a line; None if it is not of this format."""
    if len(text) > LONGEST:
        return None
    try:
        fields = json.loads(text)
        kind, step, values = fields["kind"], fields["global_step"], fields["values"]
        if kind not in _KINDS or type(step) is not int:
            return None
        return Line(
            kind,
            step,
            {str(name): _number(value) for name, value in values.items()},
            {name: _number(fields[name]) for name in _FACTS if name in fields},
            str(fields.get("name", "")),
            _number(fields.get("time", 0.0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def _plain(value: float) -> float | int | str:
    if type(value) is int:
        return value
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _number(value: Any) -> float:
    if isinstance(value, str):
        return _NAMED[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return float(value)
