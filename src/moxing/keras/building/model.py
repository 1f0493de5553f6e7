"""Wraps a Keras model as a model function, which the engine calls once per device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Loss, Model
from moxing.errors import MoxValueError
from moxing.keras import misfit
from moxing.keras.building import families, optimizers
from moxing.keras.building.families import Family
from moxing.keras.building.optimizer import KerasOptimizer
from moxing.keras.building.step import Step
from moxing.keras.building.trace import READS, Built, build, eager_mode
from moxing.keras.building.variables import METRIC, Variables
from moxing.keras.pipeline import Pipeline


class TrainedModel:
    """Builds a compiled Keras model into the graph of a run.

    Args:
        family: the Keras family of the model.
        model: the compiled model.
        pipeline: the input, which packs flat tensors for the model.
        first: the index of this process's first share.
        fuses: see `Step`.
        evaluated: the specs of a batch of evaluation data; None: there is no evaluation.
    """

    def __init__(
        self,
        family: Family,
        model: Any,
        pipeline: Pipeline,
        first: int,
        fuses: bool,
        evaluated: tuple[Any, ...] | None = None,
    ) -> None:
        self._fuses, self._evaluated = fuses, evaluated
        self._family, self.model, self._pipeline = family, model, pipeline
        self._shares = itertools.count(first)
        self._gradients: dict[str, Sequence[Any]] = {}
        self._built: list[Built] = []
        self._step: Step | None = None
        self.variables: Variables | None = None

    def model_fn(self, inputs: list[tf.Tensor], mode: str) -> Model:
        """Builds the model on one device's share of a batch."""
        del mode
        *flat, scale = inputs
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in flat]
        element = self._pipeline.element(specs)
        step, variables = self._ready(element, specs)
        with misfit.told("train_data", element, self.model):
            traced = step.forward(self._pipeline.pack, specs)
        mine: dict[int, tf.Variable] = {}

        def variable(eager: Any) -> tf.Variable:
            if id(eager) not in mine:
                mine[id(eager)] = variables.get(eager).make()
            return mine[id(eager)]

        share = tf.constant(next(self._shares), tf.int32)
        built = build(traced, [*flat, scale, share], variable)
        kinds = {
            v.name: variables.get(eager).kind
            for eager in traced.variables
            for v in [mine[id(eager)]]
        }
        state = {name for name, kind in kinds.items() if kind != METRIC}
        updates = [op for op, v in built.writes if v.name in state]
        self._order(built, state)
        for op in updates:
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, op)
        others = [op for op in built.effects if op not in updates and op.type not in READS]
        with tf.control_dependencies(others):
            loss = tf.identity(built.result["loss"], name="loss")
            gradients = _behind_first(built.result["gradients"])
        self._gradients[loss.name] = gradients
        return Model(losses=(Loss(loss),), log=_scalars(built.result["logs"]))

    def optimizer_fn(self) -> tf.train.Optimizer:
        """Returns a graph optimizer that updates like the model's optimizers."""
        assert self._step is not None
        assert self.variables is not None
        return KerasOptimizer(self._step, self.variables, self._gradients)

    def _order(self, built: Built, state: set[str]) -> None:
        """Lets shares with one set of variables write them only after all shares have read them.

        Each share advances the state of a seed generator, from the state that it read. Without an
        order some shares would see the next state already, and the numbers would differ by chance.

        Args:
            built: a share.
            state: the names of the variables to look at: not metrics, to which each share adds.
        """
        if self._built and self._built[0].graph is not built.graph:
            self._built = []
        for other in self._built:
            _wait(other, built, state)
            _wait(built, other, state)
        self._built.append(built)

    def _ready(
        self, element: tuple[Any, ...], specs: Sequence[tf.TensorSpec]
    ) -> tuple[Step, Variables]:
        """Builds the model's variables, as Keras does at the first batch, and collects them."""
        if self._step is None or self.variables is None:
            with eager_mode(), misfit.told("train_data", element, self.model):
                self._build(element, specs)
                families.build_optimizer(self.model)
            if self._evaluated is not None:
                with eager_mode():
                    misfit.check_evaluation(self._evaluated, element, self.model)
            if not self.model.trainable_variables:
                raise MoxValueError(
                    "The model has no trainable weights. Set layer.trainable = True for those that"
                    " fit is to train, and compile it again."
                )
            if optimizers.others(self.model):
                self._make_slots(element, specs)
            self.variables = Variables(self._family, self.model)
            self._step = Step(self._family, self.model, self.variables.eager, self._fuses)
        return self._step, self.variables

    def _build(self, element: tuple[Any, ...], specs: Sequence[tf.TensorSpec]) -> None:
        try:
            self._family.ready(self.model, element)
        except Exception:
            if not families.has_own_step(self.model):
                raise
            # Such a model may have no `call`, or one that takes other data than its step.
            families.build_by_step(self.model, self._pipeline.pack, specs)

    def _make_slots(self, element: tuple[Any, ...], specs: Sequence[tf.TensorSpec]) -> None:
        """Makes the variables of each optimizer, for the weights that it updates in a step.

        Only a trace shows which weights these are, so the step is traced here before it is built.
        """
        weights = families.weights(self._family, self.model)
        step = Step(self._family, self.model, [self._family.plain(v) for v in weights], False)
        with misfit.told("train_data", element, self.model):
            step.forward(self._pipeline.pack, list(specs))
        for optimizer in optimizers.others(self.model):
            pairs = zip(step.trained, step.optimizers, strict=True)
            own = [variable for variable, owner in pairs if owner is optimizer]
            if own:
                with eager_mode():
                    families.make_slots(optimizer, own)


def _wait(writing: Built, reading: Built, state: set[str]) -> None:
    """Lets one share's writes wait for another share's reads of the same variables."""
    for write, written in writing.writes:
        for read, variable in reading.reads:
            if variable.handle is written.handle and variable.name in state:
                write._add_control_input(read)


def _behind_first(gradients: Sequence[Any]) -> list[Any]:
    """Makes the first gradient wait for the current control dependencies; returns the gradients.

    One gradient is enough, because an update waits for all gradients.
    """
    held = list(gradients)
    first = next((n for n, gradient in enumerate(held) if gradient is not None), None)
    if first is not None:
        gradient = held[first]
        if isinstance(gradient, tf.IndexedSlices):
            values = tf.identity(gradient.values)
            held[first] = tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
        else:
            held[first] = tf.identity(gradient)
    return held


def _scalars(logs: Any) -> dict[str, tf.Tensor]:
    """Returns the scalar tensors, which a log line can show."""
    return {
        str(name): value
        for name, value in logs.items()
        if isinstance(value, tf.Tensor) and value.shape.rank == 0
    }
