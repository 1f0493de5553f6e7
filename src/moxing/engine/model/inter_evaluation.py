"""Builds a second input and model on the trained variables, to evaluate while training goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine.data import feed, inputs
from moxing.engine.data.feed import Feed
from moxing.engine.data.inputs import Inputs
from moxing.engine.graph import run_context
from moxing.engine.job.job import Job, Model
from moxing.engine.model.variable_reuse import Reuse
from moxing.errors import MoxValueError

# Collections to which a model function adds for its own call only.
_OWN = (tf.GraphKeys.LOSSES, tf.GraphKeys.UPDATE_OPS, tf.GraphKeys.SUMMARIES)


@dataclass(frozen=True)
class Inter:
    """The model of the second mode and its input."""

    inputs: Inputs
    model: Model


@dataclass(frozen=True)
class LogDir:
    """A run's directory, if it has one; only the chief process of a run writes files."""

    path: str | None
    is_chief: bool


def build(job: Job, mode: str, call_model_fn: Callable[[Job, object, str], Model]) -> Inter:
    """Builds `input_fn` and `model_fn` once more in the current graph, in another mode.

    The second model reads the first one's variables. Batch-norm updates and summaries of the second
    are left out of training.

    Args:
        job: whose functions to call.
        mode: the mode in which both functions are called.
        call_model_fn: calls the job's model_fn on inputs in a mode.

    Raises:
        MoxValueError: the second model made variables of its own.
    """
    first = tf.global_variables()
    before = {variable.name for variable in first}
    feed.announce(Feed(seed=job.seed))
    with _collections_of_its_own():
        data = job.data
        made = inputs.build(data.input_fn, mode, data.batch_size, data.make_batches)
        scope = tf.get_variable_scope()
        with (
            tf.variable_creator_scope(Reuse(first)),
            tf.variable_scope(scope, reuse=True, auxiliary_name_scope=False),
        ):
            model = call_model_fn(job, made.structure, mode)
    new = [v.name.split(":")[0] for v in tf.global_variables() if v.name not in before]
    if new:
        raise MoxValueError(
            f"model_fn made the variable {new[0]} in {mode}, which it does not have in"
            f" {job.mode}: inter_mode evaluates on the variables that are trained. Make variables"
            " with tf.get_variable or tf.layers, under the same names in both modes."
        )
    context = run_context.current()
    context.second_inputs = made
    workers = job.group.size if job.group.synchronous else 1
    context.batches_in_step = job.devices * workers * job.batches
    context.files = LogDir(job.log_dir, job.group.is_chief)
    return Inter(made, model)


def second_inputs() -> Inputs | None:
    """Returns the second input of the current graph; its initializers start the data over."""
    found = run_context.current().second_inputs
    return found if isinstance(found, Inputs) else None


def batches_in_step() -> int:
    """How many batches a step of the current graph's run takes, on all devices and workers."""
    return run_context.current().batches_in_step


def log_dir() -> LogDir:
    """The directory of the current graph's run; None if it does not evaluate during training."""
    found = run_context.current().files
    return found if isinstance(found, LogDir) else LogDir(None, True)


@contextmanager
def _collections_of_its_own() -> Iterator[None]:
    graph = tf.get_default_graph()
    kept = {key: graph.get_collection(key) for key in _OWN}
    for key in _OWN:
        graph.clear_collection(key)
    try:
        yield
    finally:
        for key, values in kept.items():
            graph.clear_collection(key)
            for value in values:
                graph.add_to_collection(key, value)
