"""Variables that belong to a training run, not to its model, and are saved in its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context


def variable(name: str, values: float | Sequence[float], dtype: tf.DType) -> tf.Variable:
    """Makes a variable of the run, whose value only a resumed run restores.

    A run that starts from another run's checkpoint, as in fine-tuning, starts with `values`.

    Args:
        name: name of the variable; made unique if it is taken.
        values: initial value in a new run.
        dtype: dtype of the variable.
    """
    made = tf.Variable(values, trainable=False, name=name, dtype=dtype, use_resource=True)
    run_context.current().run_state.append(made)
    return made


def belongs_to_run(candidate: tf.Variable) -> bool:
    """Whether a variable of the current graph was made by `variable`."""
    return any(candidate is made for made in run_context.current().run_state)


def write(made: tf.Variable, values: float | Sequence[float], session: tf.Session) -> None:
    """Gives the variable a value, without adding an operation to the graph."""
    initializer = made.initializer
    session.run(initializer, {initializer.inputs[1]: values})
