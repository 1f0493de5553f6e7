"""Deletes the oldest checkpoints of a directory that has too many."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from moxing.engine.checkpoint.names import prefix_of, present
from moxing.engine.checkpoint.saving.commit import remove
from moxing.logs import TENSORFLOW

_OURS = re.compile(r"(replaced\.)?model\.ckpt-\d+\.")


def retain(prefixes: Sequence[str], keep: int | None) -> list[str]:
    """Keeps the newest checkpoints and deletes the rest; logs a warning if a deletion fails.

    Args:
        prefixes: committed checkpoints, oldest first.
        keep: how many to keep; None: all of them.

    Returns:
        The checkpoints that are left, oldest first.
    """
    surplus = len(prefixes) - keep if keep is not None else 0
    left = []
    for position, prefix in enumerate(prefixes):
        if position >= surplus or not _deleted(prefix):
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
