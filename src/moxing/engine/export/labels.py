"""Finds the names of the classes that a model was trained with, to export them beside it."""

from __future__ import annotations

import os

NAME = "labels.txt"


def labels_beside(log_dir: str | None, checkpoint_prefix: str) -> list[str]:
    """The path of labels.txt, as a list of one; empty where there is none.

    Args:
        log_dir: directory of the run, where training wrote it.
        checkpoint_prefix: what is exported; its directory is searched second.
    """
    folders = [log_dir] if log_dir else []
    paths = [os.path.join(f, NAME) for f in (*folders, os.path.dirname(checkpoint_prefix))]
    return next(([path] for path in paths if os.path.isfile(path)), [])
