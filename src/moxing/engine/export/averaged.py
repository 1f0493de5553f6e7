"""Gives the variables of an exported graph the moving averages that a checkpoint has of them."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.engine.export.variables import variable_key
from moxing.engine.graph.copy_names import average_of, lacking


def saver(checkpoint_prefix: str) -> tf.train.Saver:
    """A saver that restores averages to the variables of the current graph.

    Raises:
        CheckpointError: the checkpoint has no average of these variables.
    """
    stored = tf.train.load_checkpoint(checkpoint_prefix).get_variable_to_shape_map()
    held: dict[str, list[tf.Variable]] = {}
    for variable in tf.global_variables():
        if (name := average_of(variable_key(variable))) in stored:
            held.setdefault(name, []).append(variable)
    if not held:
        raise lacking(checkpoint_prefix)
    return tf.train.Saver({name: v if len(v) > 1 else v[0] for name, v in held.items()})
