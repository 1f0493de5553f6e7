"""Gives a model the values of a checkpoint that the user names, or that a finished run left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.remote.at_hand import at_hand
from moxing.errors import CheckpointError, MoxTypeError, MoxValueError, shown
from moxing.framework.file import urls
from moxing.keras.building import families
from moxing.keras.building.families import Family
from moxing.keras.building.trace import eager_mode
from moxing.keras.building.variables import METRIC, Held, Variables
from moxing.logs import TENSORFLOW

_DONE = "Training was done already"


def restore(model: Any, path: Any) -> None:
    """Gives a model and its optimizer the values of a checkpoint of `moxing.keras.fit`.

    Args:
        model: the model, built and compiled as it was in `fit`.
        path: the output folder of a run (its newest checkpoint), the folder `best` in it (the best
            one), or a checkpoint such as "output/model.ckpt-50"; on the disk or in a store.

    Raises:
        MoxTypeError: the path is no path.
        MoxValueError: the model has no variables yet, or is not compiled.
        CheckpointError: there is no whole checkpoint at the path, or it is of another model.
    """
    if not isinstance(path, str | os.PathLike):
        raise MoxTypeError(f"restore has the path {shown(path)}; give the path of a checkpoint.")
    if getattr(model, "optimizer", None) is None:
        raise MoxValueError("restore has a model that is not compiled: call model.compile first.")
    family, name = families.of(model), urls.text(path)
    families.check_backend(family)
    with at_hand(name, "path") as found:
        _give(family, model, found.prefix, f"restore has {name!r}")


def restore_done(family: Family, model: Any, prefix: str | None) -> None:
    """Gives the model and its optimizer the values of a checkpoint.

    Args:
        family: the Keras family of the model.
        model: the compiled model, built or not.
        prefix: the prefix of the checkpoint; None: this process can't read it.

    Raises:
        MoxValueError: the model has no variables yet.
        CheckpointError: the checkpoint is of another model.
    """
    if prefix is None:
        TENSORFLOW.warning(
            "Training was done already, and this process, which is not the chief, has no files:"
            " its model keeps the weights that it has."
        )
        return
    _give(family, model, prefix, _DONE)


def _give(family: Family, model: Any, prefix: str, why: str) -> None:
    if not model.built:
        raise MoxValueError(
            f"{why} (checkpoint {prefix}), and the model, which has no weights yet, can't take"
            " them. Build it before: model.build(shape), or call it on a batch."
        )
    with eager_mode():
        families.build_optimizer(model)
    reader = tf.train.load_checkpoint(prefix)
    known = reader.get_variable_to_shape_map()
    with tf.Graph().as_default():
        variables = Variables(family, model)
    held = [one for one in variables.held.values() if one.kind != METRIC]
    _check(f"{why} (checkpoint {prefix})", held, known)
    found = [one for one in held if one.name in known]
    families.write([one.eager for one in found], [reader.get_tensor(one.name) for one in found])


def _check(why: str, held: Sequence[Held], known: Mapping[str, Sequence[int]]) -> None:
    """Raises an error if a shape differs, or the checkpoint has another model's weights."""
    lacking = [one.name for one in held if one.trained and one.name not in known]
    # Checkpoints leave out a weight that the model does not use. So a missing weight is an error
    # only if an unknown weight of the same kind is in its place.
    parts = {name.rpartition("/")[2] for name in lacking}
    others = set(known) - {one.name for one in held}
    replaced = any(name.rpartition("/")[2] in parts for name in others)
    wrong = [f"{name} is not there" for name in lacking] if replaced else []
    for one in held:
        there, here = list(known.get(one.name, ())), one.eager.shape.as_list()
        if one.name in known and there != here:
            wrong.append(f"{one.name} has shape {there} there and {here} in the model")
    if wrong:
        raise CheckpointError(
            f"{why}, with another model: "
            + "; ".join(wrong)
            + ". Go back to that model, or choose a new output_dir."
        )
