"""Deletes the oldest checkpoints of a directory that has too many."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from typing import Any

from moxing.engine.checkpoint.manifest import Manifest
from moxing.engine.checkpoint.names import prefix_of, present
from moxing.engine.checkpoint.saving.commit import remove
from moxing.logs import TENSORFLOW

# Facts in a manifest: whether its checkpoint stays for good, and the time since which no other
# checkpoint was chosen to stay.
_FOR_GOOD = "kept_for_good"
_SINCE = "none_for_good_since"
_HOUR = 3600.0
_OURS = re.compile(r"(replaced\.)?model\.ckpt-\d+\.")


class ForGood:
    """Chooses the checkpoints of a directory that stay for good: one for each span of hours.

    Args:
        hours: the time between two such checkpoints, over all runs on the directory; None: no
            checkpoint stays for good.

    Attributes:
        prefixes: the prefixes of the chosen checkpoints, of this run and of earlier runs.
    """

    def __init__(self, hours: float | None) -> None:
        self._seconds = None if hours is None else hours * _HOUR
        self._since = time.time()
        self.prefixes: set[str] = set()

    def find(self, records: Sequence[tuple[str, Manifest]]) -> None:
        """Takes over the choices of earlier runs, from the last commit's manifest to the first."""
        self.prefixes = {prefix for prefix, record in records if is_for_good(record)}
        known = (record.extra.get(_SINCE) for _, record in records)
        since = next((value for value in known if isinstance(value, int | float)), self._since)
        self._since = min(float(since), time.time())

    def facts(self, prefix: str) -> dict[str, Any]:
        """The facts for the manifest of a checkpoint that is committed now."""
        now, again = time.time(), prefix in self.prefixes
        chosen = self._seconds is not None and now - self._since >= self._seconds
        facts: dict[str, Any] = {_FOR_GOOD: True} if chosen or again else {}
        if self._seconds is not None:
            facts[_SINCE] = now if chosen else self._since
        return facts

    def take(self, prefix: str, facts: dict[str, Any]) -> None:
        """Records that a checkpoint was committed with `facts`."""
        self._since = facts.get(_SINCE, self._since)
        if facts.get(_FOR_GOOD):
            self.prefixes.add(prefix)


def is_for_good(record: Manifest) -> bool:
    """Whether a committed checkpoint stays when newer ones are saved."""
    return record.extra.get(_FOR_GOOD) is True


def retain(prefixes: Sequence[str], keep: int | None, for_good: Collection[str] = ()) -> list[str]:
    """Keeps the newest checkpoints and deletes the rest; logs a warning if a deletion fails.

    Args:
        prefixes: committed checkpoints, oldest first.
        keep: how many to keep; None: all of them.
        for_good: the checkpoints that are never deleted.

    Returns:
        The remaining checkpoints, oldest first, without older checkpoints that stay for good.
    """
    surplus = len(prefixes) - keep if keep is not None else 0
    left = []
    for position, prefix in enumerate(prefixes):
        if position >= surplus or (prefix not in for_good and not _deleted(prefix)):
            left.append(prefix)
    return left


def clear_remains(directory: str) -> None:
    """Removes checkpoint files without an index, which a killed run had half deleted or half moved.

    Only files with names that `Saver` gives are removed. The caller must hold the directory's lock.
    """
    for name in sorted(os.listdir(directory)):
        prefix = os.path.join(directory, prefix_of(name))
        if _OURS.match(name) and not present(prefix):
            _deleted(prefix)


def _deleted(prefix: str) -> bool:
    try:
        remove(prefix)
    except OSError as error:
        TENSORFLOW.warning(
            "Could not delete the old checkpoint %s (%s); it stays.",
            prefix,
            error.strerror or os.strerror(error.errno or 0),
        )
        return False
    return True
