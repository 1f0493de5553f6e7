"""Counts and reports the samples that a reader leaves out with skip_bad=True."""

from __future__ import annotations

from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.order import Order

_NAMED = 20  # The number of samples to warn about by name; further ones are only counted.
_PATIENCE = 100  # The number of epochs without a good sample before giving up.


class Skipped:
    """The samples that one reader left out.

    Attributes:
        bad: the problems of the samples, by index.
    """

    def __init__(self, order: Order, problems: Problems) -> None:
        self.bad: dict[int, str] = {}
        self._order = order
        self._problems = problems
        self._epoch = -1
        self._numbers = order.of_epoch(0)[:0]
        self._in_epoch = 0
        self._without_good = 0

    def add(self, begin: int, end: int) -> None:
        """Records that the worker's positions from `begin` to before `end` gave no sample."""
        for position in range(begin, end, self._order.shards):
            self._in_epoch += 1
            number = self._number_at(position)
            if number in self.bad:
                continue
            self.bad[number] = self._problems.of(number)
            if len(self.bad) <= _NAMED:
                TENSORFLOW.warning("skip_bad=True leaves out %s", self.bad[number])

    def end_epoch(self, position: int, good: int) -> None:
        """Reports an epoch that had `good` samples; `position` is the first one after the epoch.

        Raises:
            MoxValueError: there are no good samples.
        """
        bad, self._in_epoch = self._in_epoch, 0
        self._without_good = 0 if good else self._without_good + 1
        # A worker's share of an epoch may have no good sample by chance, but not repeatedly.
        if bad and (len(self.bad) == self._order.samples or self._without_good == _PATIENCE):
            last = list(self.bad.values())[-1]
            raise MoxValueError(
                f"none of {len(self.bad)} samples can be read. The last one: {last}"
            )
        if bad:
            TENSORFLOW.warning(
                "skip_bad=True left out %d of %d samples in epoch %d.",
                bad,
                bad + good,
                position // self._order.samples,
            )

    def _number_at(self, position: int) -> int:
        epoch, place = divmod(position, self._order.samples)
        if epoch != self._epoch:
            self._epoch, self._numbers = epoch, self._order.of_epoch(epoch)
        return int(self._numbers[place])
