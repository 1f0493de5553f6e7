"""Numbers that belong to a training run and go on with it, in its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context


def variable(name: str, values: float | Sequence[float], dtype: tf.DType) -> tf.Variable:
    """A variable that is not the model's: only a run that is resumed gets its value back.

    A run that starts from the checkpoint of another one, as in fine-tuning, starts with `values`.

    Args:
        name: of the variable; made unique where it is taken.
        values: where a new run starts.
        dtype: of the variable.
    """
    made = tf.Variable(values, trainable=False, name=name, dtype=dtype, use_resource=True)
    run_context.current().run_state.append(made)
    return made


def belongs_to_run(candidate: tf.Variable) -> bool:
    """Whether a variable of the current graph was made here."""
    return any(candidate is made for made in run_context.current().run_state)


def write(made: tf.Variable, values: float | Sequence[float], session: tf.Session) -> None:
    """Gives the variable a value, without a new operation."""
    initializer = made.initializer
    session.run(initializer, {initializer.inputs[1]: values})
