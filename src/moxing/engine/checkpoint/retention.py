"""Deletes the checkpoints that a directory has too many of."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from moxing.engine.checkpoint.commit import remove
from moxing.engine.checkpoint.names import prefix_of, present
from moxing.logs import TENSORFLOW

_OURS = re.compile(r"(replaced\.)?model\.ckpt-\d+\.")


def retain(prefixes: Sequence[str], keep: int | None) -> list[str]:
    """Keeps the newest checkpoints and deletes the rest; a failure to delete is a warning.

    Args:
        prefixes: committed checkpoints, oldest first.
        keep: how many to keep; None: all of them.

    Returns:
        Those that are left, oldest first.
    """
    surplus = len(prefixes) - keep if keep is not None else 0
    left = []
    for position, prefix in enumerate(prefixes):
        if position >= surplus or not _deleted(prefix):
            left.append(prefix)
    return left


def clear_remains(directory: str) -> None:
    """Removes what a killed run had half deleted, or half put in place: files without an index.

    Only under the names that `Saver` gives; the caller is the only one who writes there.
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
