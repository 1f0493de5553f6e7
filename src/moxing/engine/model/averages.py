"""Exponential moving averages of the trained variables, which a run keeps beside them.

After each step an average moves towards its variable:

    average = decay * average + (1 - decay) * variable

where the decay is at most (1 + step) / (10 + step), as `tf.train.ExponentialMovingAverage` has it,
so that early averages forget the initial values. The averages are named as that class names them.
Polyak and Juditsky, "Acceleration of stochastic approximation by averaging" (1992).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import run_context
from moxing.engine.graph.copy_names import average_of


@dataclass(frozen=True)
class Averages:
    """The averages of a run.

    Attributes:
        pairs: each average with its variable.
    """

    pairs: Sequence[tuple[tf.Variable, tf.Variable]]


@dataclass(frozen=True)
class _Swap:
    """Operations that give variables the values of their averages, and their own values back."""

    variables: Sequence[tf.Variable]
    show: tf.Operation
    fed: Sequence[tf.Tensor]
    give_back: tf.Operation


def keep(
    step: tf.Operation, variables: Sequence[tf.Variable], decay: float, global_step: tf.Variable
) -> tf.Operation:
    """Adds averages to the current graph; returns the step with the update of all of them.

    Args:
        step: the update of the variables.
        variables: floating-point variables.
        decay: from 0 to below 1.
        global_step: the number of steps.
    """
    floating = [variable for variable in variables if variable.dtype.base_dtype.is_floating]
    pairs = [(_average(variable), variable) for variable in floating]
    run_context.current().averages = Averages(pairs)
    with tf.control_dependencies([step]), tf.name_scope("averages"):
        count = tf.cast(global_step.read_value(), tf.float32)
        rest = 1.0 - tf.minimum(decay, (1.0 + count) / (10.0 + count))
        moves = []
        for average, variable in pairs:
            with tf.device(variable.device):
                away = average.read_value() - variable.read_value()
                change = away * tf.cast(rest, away.dtype)
                moves.append(average.assign_sub(change, read_value=False))
        return tf.group(*moves)


def of_graph() -> Sequence[tuple[tf.Variable, tf.Variable]]:
    """The averages of the current graph, each with its variable; empty if there are none."""
    found = run_context.current().averages
    return found.pairs if isinstance(found, Averages) else ()


def begin(restored: Collection[Any]) -> tf.Operation:
    """Sets each average that was not restored to the value of its variable."""
    known = {id(variable) for variable in restored}
    starts = []
    for average, variable in of_graph():
        if id(average) not in known:
            with tf.device(average.device):
                starts.append(average.assign(variable.read_value(), read_value=False))
    return tf.group(*starts)


def make_showable() -> None:
    """Lets `shown` work in the current graph; called before the graph is final."""
    pairs = of_graph()
    show, back, fed = [], [], []
    for average, variable in pairs:
        with tf.device(variable.device):
            show.append(variable.assign(average.read_value(), read_value=False))
            fed.append(tf.placeholder(variable.dtype.base_dtype, variable.shape))
            back.append(variable.assign(fed[-1], read_value=False))
    variables = [variable for _, variable in pairs]
    swap = _Swap(variables, tf.group(*show), fed, tf.group(*back))
    run_context.current().average_swap = swap


@contextmanager
def shown(session: tf.Session) -> Iterator[None]:
    """In the block, the first device's variables have the values of their averages, if asked for.

    Args:
        session: the session of a run, between two steps.
    """
    swap = run_context.of_graph(session.graph).average_swap
    if not isinstance(swap, _Swap):
        yield
        return
    kept = session.run(list(swap.variables))
    session.run(swap.show)
    try:
        yield
    finally:
        session.run(swap.give_back, dict(zip(swap.fed, kept, strict=True)))


def _average(variable: tf.Variable) -> tf.Variable:
    with tf.device(variable.device):
        return tf.get_variable(
            average_of(variable.op.name),
            shape=variable.shape,
            dtype=variable.dtype.base_dtype,
            initializer=tf.zeros_initializer(),
            trainable=False,
            use_resource=True,
        )
