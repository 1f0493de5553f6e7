"""What a call of `fit` returns."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FitResult:
    """What `fit` did; the trained weights are in the model that it was given.

    Attributes:
        history: for each name, such as "loss", "accuracy" or "val_loss", its values by epoch, as in
            Keras' `History`. An epoch without an evaluation has no "val_" value.
        epoch: the numbers of the epochs in `history`, from 0; a resumed run begins with a later
            one. Where steps are trained that make no whole epoch, their values come last.
        global_step: updates of the weights in this and all earlier runs of the output folder.
        steps: updates in this run.
        seconds: time these took, without start and end of the run.
        checkpoint: the last checkpoint; None without an output folder, and in processes other than
            the chief.
    """

    history: dict[str, list[float]] = field(default_factory=dict)
    epoch: list[int] = field(default_factory=list)
    global_step: int = 0
    steps: int = 0
    seconds: float = 0.0
    checkpoint: str | None = None
