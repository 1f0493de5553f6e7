"""Says by which metric a run keeps its best checkpoints.

No TensorFlow here: flags are read without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from moxing.errors import MoxValueError, shown

MODES: Final = ("auto", "max", "min")
_GROWING = ("acc", "auc", "f1")


@dataclass(frozen=True)
class Ranking:
    """The metric by which a run keeps its best checkpoints.

    Attributes:
        metric: the name of the metric.
        mode: 'max' if a higher value is better, 'min' if a lower one is; 'auto': by the name.
        keep: how many of the best checkpoints to keep.
        asked_by: where the user asked for the best checkpoints, for messages.
    """

    metric: str
    mode: str = "auto"
    keep: int = 1
    asked_by: str = "keep_best"

    @property
    def grows(self) -> bool:
        """Whether a higher value is better."""
        return grows(self.metric, self.mode)


def grows(metric: str, mode: str = "auto") -> bool:
    """Whether a higher metric is better.

    Args:
        metric: the name of the metric.
        mode: 'max' if higher is better, 'min' if lower is better; 'auto': higher is better if
            "acc", "auc" or "f1" is in the name.
    """
    if mode == "auto":
        return any(part in metric.lower() for part in _GROWING)
    return mode == "max"


def parsed(text: object, asked_by: str) -> Ranking:
    """Reads `NAME`, `NAME:max` or `NAME:min`, and after either `:N` for the N best checkpoints.

    Args:
        text: the user's value.
        asked_by: the argument or the option that has the value.

    Raises:
        MoxValueError: the text has another form.
    """
    parts = text.split(":") if isinstance(text, str) else [""]
    keep, mode = 1, "auto"
    if len(parts) > 1 and parts[-1].strip().isdecimal():
        keep = int(parts.pop())
    if len(parts) > 1 and parts[-1].strip() in MODES:
        mode = parts.pop().strip()
    name = ":".join(parts).strip()
    if not name or keep < 1 or (len(parts) > 1 and not parts[-1].strip()):
        raise MoxValueError(
            f"{asked_by} is {shown(text)}; it must be the name of a metric, with :max or :min for"
            " the direction in which the metric gets better, and :N for the number of checkpoints"
            " to keep, such as 'accuracy', 'error:min' or 'accuracy:max:3'."
        )
    return Ranking(name, mode, keep, asked_by)
