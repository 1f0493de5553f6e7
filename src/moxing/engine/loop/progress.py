"""How far a run has come: numbers that the loop counts, and others report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moxing.engine.loop.means import Means
from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        first: the global step it started at.
        step: steps done in this run.
        samples: samples seen, as far as known.
        seconds: time in the loop.
        wait: share of sampled steps' time spent waiting for data; None: not measured.
        input_ended: whether the input had no more data.
        values: the values last logged.
        means: sample-weighted means of the logged values, in EVAL; in PREDICT of none.
        running: last values of streaming metrics, in EVAL.
        ended_by: the other process whose data ended; None: this one's, or none did.
        shared_step: the global step, where other processes move it too; None: only these steps do.
    """

    first: int
    step: int = 0
    samples: int = 0
    seconds: float = 0.0
    wait: float | None = None
    input_ended: bool = False
    values: Mapping[str, float] = field(default_factory=dict)
    means: Means = field(default_factory=Means)
    running: dict[str, float] = field(default_factory=dict)
    ended_by: str | None = None
    shared_step: int | None = None

    @property
    def global_step(self) -> int:
        """The global step of a training run; other modes do not move it."""
        return self.first + self.step if self.shared_step is None else self.shared_step

    @property
    def evaluated(self) -> dict[str, float]:
        """Every logged value over all samples, in EVAL."""
        return {name: float(v) for name, v in {**self.means.result(), **self.running}.items()}

    @property
    def samples_per_second(self) -> float | None:
        """Mean over all steps; None where samples are not counted."""
        return self.samples / max(self.seconds, 1e-9) if self.samples else None


def check_data(progress: Progress) -> None:
    """Raises if the input ended before it gave a single batch."""
    if progress.input_ended and progress.step == 0:
        raise MoxValueError(
            f"{option('input_fn')} gave no data: it ended before the first step. Check the path,"
            " pattern or number of epochs it reads, and that a batch is not larger than the data."
        )
