"""Writes labels.txt, the names of the classes by number, to the directory of a trained model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.engine.export.labels import NAME
from moxing.engine.remote.path_alias import local_path
from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW
from moxing.tensorflow.executor.callables import presented_as
from moxing.tensorflow.executor.keys import ModeKeys


def kept_beside(directory: str | None, input_fn: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wraps `input_fn` to write the class names of its readers to labels.txt in `directory`.

    Writes only in TRAIN, because a model keeps the classes of its training. If several readers
    have different classes, nothing is written, because the numbers would be ambiguous.
    """
    if directory is None:
        return input_fn

    def call(mode: str) -> Any:
        made = input_fn(mode)
        if mode == ModeKeys.TRAIN and feed.current().shard == 0:
            _write(Path(local_path(directory)) / NAME)
        return made

    return presented_as(input_fn, call)


def _write(path: Path) -> None:
    # Look the module up instead of importing it, because a program without readers needs none.
    labels = sys.modules.get("moxing.tensorflow.datasets.labels")
    names = labels.announced(tf.get_default_graph()) if labels is not None else None
    if labels is None or not names:
        return
    try:
        before = labels.read(str(path))
    except MoxValueError:
        before = []
    if before == list(names):
        return
    if before is not None:
        TENSORFLOW.warning(
            "%s named other classes (%s) than the data has now (%s); it is written anew. The"
            " numbers of a checkpoint there that was trained with the former classes mean those"
            " classes.",
            path,
            labels.describe(before) or "it can't be read",
            labels.describe(names),
        )
    labels.write(names, path)
    TENSORFLOW.info("Wrote the names of the %d classes to %s", len(names), path)
