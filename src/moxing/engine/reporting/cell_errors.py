"""Errors in a cell of a notebook: the user's frames, without those of openmox and TensorFlow."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from typing import Any

from moxing.errors import MoxError, library_folders
from moxing.framework import folding, stack_texts

_SHELL = f"{os.sep}IPython{os.sep}"  # Every cell runs below a frame of the shell.


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
    whole = [(one, _state(one)) for one in folding.chain(error)]
    folded = folding.fold(error, _owns) + stack_texts.shorten(error, _owns)
    try:
        # IPython's own frame is the first of the whole traceback, which it leaves out.
        lines = show(error.__traceback__, tb_offset=0 if folded else 1)
    finally:
        for one, state in whole:
            _restore(one, *state)  # %debug and %tb see all frames.
    folded -= sum(_SHELL in frame.filename for frame in traceback.extract_tb(whole[0][1][0]))
    if folded > 0:
        frames = "1 frame" if folded == 1 else f"{folded} frames"
        said = f"({frames} of openmox, TensorFlow and Keras left out; MOX_DEBUG=1 shows all)"
        lines.append(said)
    return lines


def _state(error: BaseException) -> tuple[Any, ...]:
    chained = error.__cause__, error.__context__, error.__suppress_context__
    own = {**error.__dict__, "__notes__": list(getattr(error, "__notes__", ()))}
    return error.__traceback__, error.args, chained, own


def _restore(error: BaseException, trace: Any, args: Any, chained: Any, own: Any) -> None:
    error.__traceback__, error.args = trace, args
    error.__cause__, error.__context__, error.__suppress_context__ = chained
    error.__dict__.update(own)


def _owns(file: str) -> bool:
    return not file.startswith(library_folders())
