"""The settings of a step around its optimizers: how gradients are computed and changed.

No TensorFlow here: flags are read without it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Updating:
    """How gradients are computed, and changed on their way to the optimizers.

    Attributes:
        clip_norm: the largest global norm of the gradients of a loss; None: any norm.
        clip_value: the largest absolute value of an element of a gradient; None: any value.
        accumulate: the number of batches that each device takes in a step.
        average_decay: the decay of exponential moving averages of the trained variables; None: the
            run keeps no averages.
        parts: whether the batches of a step are parts of one batch of the input.
        recompute: whether back-propagation computes activations again instead of keeping them.
    """

    clip_norm: float | None = None
    clip_value: float | None = None
    accumulate: int = 1
    average_decay: float | None = None
    parts: bool = False
    recompute: bool = False

    @property
    def clips(self) -> bool:
        """Whether gradients have a limit."""
        return self.clip_norm is not None or self.clip_value is not None
