"""Errors in a cell of a notebook: the user's frames, without those of openmox and TensorFlow."""

from __future__ import annotations

import functools
import os
import sys

from moxing.errors import MoxError, library_folders
from moxing.framework import folding


def folds(error: BaseException) -> None:
    """Has IPython fold the frames of libraries when it shows the error.

    A cell that catches the error finds it unchanged. An error of openmox shows itself.
    """
    if not isinstance(error, MoxError):
        error.__dict__.setdefault("_render_traceback_", functools.partial(_lines, error))


def _lines(error: BaseException) -> list[str]:
    shell = sys.modules["IPython"].get_ipython()
    show = functools.partial(shell.InteractiveTB.structured_traceback, type(error), error)
    if os.environ.get("MOX_DEBUG") == "1":
        return show(error.__traceback__, tb_offset=1)
    whole = [(one, one.__traceback__) for one in folding.chain(error)]
    folded = folding.fold(error, _owns)
    try:
        # IPython's own frame is the first of the whole traceback, which it leaves out.
        lines = show(error.__traceback__, tb_offset=0 if folded else 1)
    finally:
        for one, traceback in whole:
            one.__traceback__ = traceback  # %debug and %tb see all frames.
    if folded:
        frames = "1 frame" if folded == 1 else f"{folded} frames"
        said = f"({frames} of openmox, TensorFlow and Keras left out; MOX_DEBUG=1 shows all)"
        lines.append(said)
    return lines


def _owns(file: str) -> bool:
    return not file.startswith(library_folders())
