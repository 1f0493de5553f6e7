"""Builds a Keras model's `test_step` or `predict_step` into a graph, once per device."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.engine.job.job import Model
from moxing.errors import MoxNotSupportedError
from moxing.keras import misfit, shards
from moxing.keras.building.families import Family
from moxing.keras.building.trace import Built, Traced, build, eager_mode, trace
from moxing.keras.building.variables import METRIC, Variables
from moxing.keras.pipeline import Pipeline

_SEEDS = "seed_generator"
# Calls of functions take variables too, which they mostly read.
_WRITES = re.compile("Assign|Resource(Scatter|Apply|StridedSliceAssign)")


class AppliedModel:
    """Builds a model's step without an update of its weights.

    Args:
        family: the Keras family of the model.
        model: the model.
        pipeline: the input, of whole batches.
        method: "test_step", or "predict_step" for a model that need not be compiled.
        name: the name of the argument that gave the data, for messages.
        devices: the number of devices that take batches.
    """

    def __init__(
        self, family: Family, model: Any, pipeline: Pipeline, method: str, name: str, devices: int
    ) -> None:
        self._family, self._model, self._pipeline = family, model, pipeline
        self._method, self._name, self._devices = method, name, devices
        self._numbers = itertools.count()
        self._traced: dict[str, Traced] = {}
        # The result of predict_step, with specs in place of tensors; known once it was traced.
        self.structure: Any = None
        self.variables: Variables | None = None
        # The eager variables that a step writes, except the variables of metrics.
        self.written: dict[int, Any] = {}

    def model_fn(self, inputs: list[tf.Tensor], mode: str) -> Model:
        """Builds the step for one device's batch; gives the flat predictions as outputs."""
        del mode
        *flat, real = inputs
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in flat]
        element = self._pipeline.element(specs)
        variables = self._ready(element)
        with misfit.told(self._name, element, self._model):
            traced = self._trace(specs, variables)
        mine = {id(eager): variables.get(eager).make() for eager in traced.variables}
        metrics = [
            mine[id(eager)] for eager in traced.variables if variables.get(eager).kind == METRIC
        ]
        before = [tf.identity(metric.read_value()) for metric in metrics]
        number = tf.constant(next(self._numbers), tf.int32)
        built = build(traced, [*flat, number], lambda eager: mine[id(eager)])
        self._note_written(traced, built, mine, variables)
        # Counts of batches do not depend on data, so they would also grow where there is none.
        for write, _ in built.writes:
            write._add_control_inputs([flat[0].op, *(value.op for value in before)])
        with tf.control_dependencies(built.effects):
            kept = self._kept(metrics, before, real)
        with tf.control_dependencies([*built.effects, *kept]):
            outputs = [tf.identity(tensor) for tensor in built.result]
        return Model(outputs={f"{n:06d}": tensor for n, tensor in enumerate(outputs)})

    def _kept(
        self, metrics: Sequence[tf.Variable], before: Sequence[tf.Tensor], real: tf.Tensor
    ) -> list[tf.Operation]:
        """Gives metrics back their values of before the step if the device had no batch.

        If there is no batch for a device in the last step, the device gets zeros.
        """
        if self._devices == 1:
            return []
        return [
            metric.assign(tf.where(real > 0, metric.read_value(), old), read_value=False)
            for metric, old in zip(metrics, before, strict=True)
        ]

    def _trace(self, specs: Sequence[tf.TensorSpec], variables: Variables) -> Traced:
        key = repr([(str(spec.shape), spec.dtype) for spec in specs])
        if key not in self._traced:

            def step(*arguments: Any) -> list[tf.Tensor]:
                *flat, number = arguments
                with shards.random_numbers_of(number):
                    made = getattr(self._model, self._method)(self._pipeline.pack(list(flat)))
                return self._flat(made)

            given = [*specs, tf.TensorSpec([], tf.int32)]
            self._traced[key] = trace(self._method, step, given, variables.eager)
        return self._traced[key]

    def _flat(self, made: Any) -> list[tf.Tensor]:
        """Returns predictions as a flat list; for `test_step` a scalar, as a step needs a value."""
        if self._method == "test_step":
            return [tf.constant(0)]
        tensors = tf.nest.flatten(made)
        if any(not isinstance(tensor, tf.Tensor) for tensor in tensors):
            raise MoxNotSupportedError(
                "The model gives ragged or sparse predictions, which moxing.keras.predict can't"
                " join. End the model with to_tensor() or tf.sparse.to_dense."
            )
        self.structure = tf.nest.map_structure(tf2.type_spec_from_value, made)
        return tensors

    def _ready(self, element: tuple[Any, ...]) -> Variables:
        """Builds the model's variables, as Keras does at the first batch, and collects them."""
        if self.variables is None:
            with eager_mode(), misfit.told(self._name, element, self._model):
                if self._method == "test_step":
                    self._family.ready(self._model, element)
                    self._model.reset_metrics()
                elif not self._model.built:
                    call = tf2.function(self._model.predict_step, autograph=False)
                    call.get_concrete_function(element)
            self.variables = Variables(self._family, self._model, applied=True)
        return self.variables

    def _note_written(
        self, traced: Traced, built: Built, mine: dict[int, tf.Variable], variables: Variables
    ) -> None:
        names = {variable.name for op, variable in built.writes if _WRITES.match(op.type)}
        found = [
            variables.get(eager)
            for eager in traced.variables
            if mine[id(eager)].name in names and variables.get(eager).kind != METRIC
        ]
        self.written |= {id(held.eager): held for held in found}
        states = [held.name for held in found if _SEEDS not in held.name]
        if states and self._devices > 1:
            raise MoxNotSupportedError(
                f"The model keeps state from batch to batch ({', '.join(states)}), as stateful RNNs"
                f" do, so {self._devices} devices can't take its batches side by side. Leave"
                " num_gpus out."
            )
