"""The progress of a run: numbers that the loop counts and other modules report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moxing.engine.loop.means import Means
from moxing.engine.wording.option_names import option
from moxing.errors import MoxValueError


@dataclass
class Progress:
    """The progress of a run.

    Attributes:
        first: the global step at which the run started.
        step: number of steps done in this run.
        samples: number of samples seen, as far as known.
        seconds: time spent in the loop.
        wait: share of time that logged steps spent waiting for data; None: not measured.
        input_ended: whether the input has ended.
        values: the values of the last log line.
        means: sample-weighted means of the logged values in EVAL; only counts samples in PREDICT.
        running: last values of streaming metrics, in EVAL.
        ended_by: the other process whose data ended; None: no other process's data ended.
        shared_step: the global step, if other processes also increment it; None: only this run's
            own steps do.
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
        """The global step of a training run; other modes do not change it."""
        return self.first + self.step if self.shared_step is None else self.shared_step

    @property
    def evaluated(self) -> dict[str, float]:
        """Every logged value over all samples, in EVAL."""
        return {name: float(v) for name, v in {**self.means.result(), **self.running}.items()}

    @property
    def samples_per_second(self) -> float | None:
        """The mean over all steps; None if samples are not counted."""
        return self.samples / max(self.seconds, 1e-9) if self.samples else None


def check_data(progress: Progress) -> None:
    """Raises if the input ended before the first step."""
    if progress.input_ended and progress.step == 0:
        raise MoxValueError(
            f"{option('input_fn')} gave no data: it ended before the first step. Check the path,"
            " pattern or number of epochs it reads, and that a batch is not larger than the data."
        )
