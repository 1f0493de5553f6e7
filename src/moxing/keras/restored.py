"""Gives a model the weights of a checkpoint if a run had nothing left to train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import CheckpointError, MoxValueError
from moxing.keras.building import families
from moxing.keras.building.families import Family
from moxing.keras.building.trace import eager_mode
from moxing.keras.building.variables import METRIC, Held, Variables
from moxing.logs import TENSORFLOW


def restore(family: Family, model: Any, prefix: str | None) -> None:
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
    if not model.built:
        raise MoxValueError(
            f"Training was done already (checkpoint {prefix}), and the model, which has no weights"
            " yet, can't take them. Build it before fit: model.build(shape), or call it on a batch."
        )
    with eager_mode():
        families.build_optimizer(model)
    reader = tf.train.load_checkpoint(prefix)
    known = reader.get_variable_to_shape_map()
    with tf.Graph().as_default():
        variables = Variables(family, model)
    held = [one for one in variables.held.values() if one.kind != METRIC]
    _check(prefix, held, known)
    found = [one for one in held if one.name in known]
    families.write([one.eager for one in found], [reader.get_tensor(one.name) for one in found])


def _check(prefix: str, held: Sequence[Held], known: Mapping[str, Sequence[int]]) -> None:
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
            f"Training was done already (checkpoint {prefix}), with another model: "
            + "; ".join(wrong)
            + ". Go back to that model, or choose a new output_dir."
        )
