"""Means of logged values over batches of different sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsFloat


class Means:
    """Adds up scalars of batches so that every sample counts the same.

    An unweighted mean of batch means is wrong if the last batch is short. Weighted by samples, the
    result is the mean over samples, whatever the sizes of the batches. If the size of any batch is
    unknown, all batches count the same.
    """

    def __init__(self) -> None:
        self.batches: int = 0
        self.samples: int | None = 0
        self._full: int = 0  # Batches that were not empty.
        self._weighted: dict[str, float] = {}
        self._plain: dict[str, float] = {}

    def add(self, values: Mapping[str, SupportsFloat], samples: int | None) -> None:
        """Counts one batch.

        Args:
            values: means over the batch, by name; the same names each time.
            samples: size of the batch; None: unknown. An empty batch has no mean, and its values
                (usually nan) are ignored.
        """
        self.batches += 1
        self.samples = None if self.samples is None or samples is None else self.samples + samples
        if samples == 0:
            return
        self._full += 1
        for name, value in values.items():
            self._plain[name] = self._plain.get(name, 0.0) + float(value)
            self._weighted[name] = self._weighted.get(name, 0.0) + float(value) * (samples or 1)

    def result(self) -> dict[str, float]:
        """The means so far, by name; empty if no batch had a sample."""
        if self.samples is None:
            return {name: total / self._full for name, total in self._plain.items()}
        return {name: total / self.samples for name, total in self._weighted.items()}
