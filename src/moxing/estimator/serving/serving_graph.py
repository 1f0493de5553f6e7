"""Builds the graph of a served model: its inputs, its outputs, and its initialization."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.errors import MoxTypeError, shown
from moxing.estimator.described import Described
from moxing.estimator.export import ServingInputReceiver
from moxing.estimator.modeling.spec import EstimatorSpec, ModeKeys
from moxing.estimator.running import jobs


@dataclass(frozen=True)
class ServingGraph:
    """A model that was built for PREDICT in the current graph.

    Attributes:
        receiver: the result of `serving_input_receiver_fn`.
        spec: the result of the model function.
    """

    receiver: ServingInputReceiver
    spec: EstimatorSpec

    @property
    def own_saver(self) -> tf.train.Saver | None:
        """The saver of the model's Scaffold; None: it has none."""
        return self.spec.scaffold.saver if self.spec.scaffold is not None else None

    def saver(self) -> tf.train.Saver:
        """Returns the Scaffold's saver, or one of all global variables and saveable objects."""
        saved = tf.global_variables() + tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)
        return self.own_saver or tf.train.Saver(saved, sharded=False, allow_empty=True)

    def initializer(self) -> tf.Operation:
        """Returns the operation that initializes local variables and tables.

        A Scaffold's `local_init_op` replaces this operation, as in TensorFlow 1.x: if both ran, the
        initializers of the same variables would run in arbitrary order.
        """
        scaffold = self.spec.scaffold
        if scaffold is not None and scaffold.local_init_op is not None:
            return scaffold.local_init_op
        return tf.group(tf.local_variables_initializer(), tf.tables_initializer())


def build(estimator: Described, receiver_fn: Callable[[], ServingInputReceiver]) -> ServingGraph:
    """Builds an estimator's model for serving in the current graph.

    Raises:
        MoxTypeError: the result of `receiver_fn` is not a ServingInputReceiver.
    """
    with resource_variables():
        tf.train.get_or_create_global_step()
        receiver = receiver_fn()
        if not isinstance(receiver, ServingInputReceiver):
            raise MoxTypeError(
                f"serving_input_receiver_fn returned {shown(receiver)}; it must return a"
                " tf.estimator.export.ServingInputReceiver."
            )
        spec = jobs.call_on(estimator, receiver.features, None, ModeKeys.PREDICT)
    return ServingGraph(receiver, spec)
