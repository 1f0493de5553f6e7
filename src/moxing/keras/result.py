"""FitResult, the return value of `fit`."""

from __future__ import annotations

from dataclasses import dataclass, field

from moxing.engine.reporting.records import in_html
from moxing.engine.wording import report


@dataclass(frozen=True)
class FitResult:
    """The record of a call of `fit`; the trained weights are in the model itself.

    Attributes:
        history: by metric name, such as "loss", "accuracy" or "val_loss", the values by epoch, as
            in Keras' `History`. An epoch without an evaluation has no "val_" value.
        epoch: the indices of the epochs in `history`, from 0; a resumed run starts with a later
            index. If the run ends within an epoch, the values of that part come last.
        global_step: the number of weight updates in this and all earlier runs of the output folder.
        steps: the number of weight updates in this run.
        seconds: the duration of these updates, without the start and end of the run.
        checkpoint: the prefix of the last checkpoint; None without an output folder, and in
            processes other than the chief.
    """

    history: dict[str, list[float]] = field(default_factory=dict)
    epoch: list[int] = field(default_factory=list)
    global_step: int = 0
    steps: int = 0
    seconds: float = 0.0
    checkpoint: str | None = None

    def _repr_html_(self) -> str:
        """The result in a notebook: its facts, and the curves of its metrics by epoch."""
        facts = {
            "global step": f"{self.global_step:,}",
            "steps of this run": f"{self.steps:,} in {report.duration(self.seconds)}",
            **{name: report.number(values[-1]) for name, values in self.history.items() if values},
            **({"checkpoint": self.checkpoint} if self.checkpoint else {}),
        }
        # The epochs of a metric that not every epoch has are not known here.
        points = {
            name: list(zip(self.epoch, values, strict=True))
            for name, values in self.history.items()
            if len(values) == len(self.epoch)
        }
        validation = {
            name.removeprefix("val_"): found
            for name, found in points.items()
            if name.startswith("val_")
        }
        curves = {name: found for name, found in points.items() if not name.startswith("val_")}
        return in_html.page("Training", facts, curves, validation)
