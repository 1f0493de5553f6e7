"""Finds the file with a model's class names, to export it with the model."""

from __future__ import annotations

import os

NAME = "labels.txt"


def labels_beside(log_dir: str | None, checkpoint_prefix: str) -> list[str]:
    """A list of the path of labels.txt; an empty list if there is no such file.

    Args:
        log_dir: directory of the run, where training writes labels.txt.
        checkpoint_prefix: the checkpoint to export; its directory is searched second.
    """
    folders = [log_dir] if log_dir else []
    paths = [os.path.join(f, NAME) for f in (*folders, os.path.dirname(checkpoint_prefix))]
    return next(([path] for path in paths if os.path.isfile(path)), [])
