"""Checks that eager execution is on for `fit`, and that the trained weights are finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.loop.finite import NotFiniteError
from moxing.errors import MoxRuntimeError
from moxing.keras.building.families import Family

_NAMED = 3


def require_eager(face: str = "moxing.keras.fit") -> None:
    """Raises an error in graph mode, where a model is part of a graph with other operations.

    Args:
        face: the name of the called function.

    Raises:
        MoxRuntimeError: eager execution is off.
    """
    if not tf.executing_eagerly():
        raise MoxRuntimeError(
            f"{face} needs eager execution, which is off here. `mox run` and `mox launch`"
            " leave it on for a program that imports moxing.keras itself: where only a module of"
            " yours does, write `import moxing.keras` into the program too. In a notebook, leave"
            " `%load_ext moxing` out. Call it outside of"
            " tf.Graph().as_default() and tf.function, and do not call tf.disable_v2_behavior()."
        )


def require_finite(family: Family, model: Any, step: int) -> None:
    """Raises an error if trained weights hold nan or inf, in clusters that save nothing, too.

    Raises:
        NotFiniteError: weights hold nan or inf; the message names up to three of them.
    """
    bad = [
        getattr(weight, "path", weight.name)
        for weight in model.trainable_weights
        if np.issubdtype(np.asarray(weight).dtype, np.floating)
        and not np.isfinite(np.asarray(weight)).all()
    ]
    if bad:
        more = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
        raise NotFiniteError(
            f"after step {step} the weights {', '.join(bad[:_NAMED])}{more} of the {family.package}"
            " model hold nan or inf. Look for nan in the data, lower the learning rate, or clip"
            " gradients. With output_dir= the last good checkpoint is kept."
        )
