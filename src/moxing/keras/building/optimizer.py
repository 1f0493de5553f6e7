"""Wraps the Keras optimizers of a model as one graph optimizer for the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.copy_names import PREFIX
from moxing.engine.model.clipping import unique_rows
from moxing.keras.building.step import Step, specs_of
from moxing.keras.building.trace import build
from moxing.keras.building.variables import SLOT, Variables


class KerasOptimizer(tf.train.Optimizer):
    """Returns the gradients that the step computed, and updates like the Keras optimizers.

    Args:
        step: the traced step.
        variables: the variables of the model.
        gradients: by the name of each device's loss, the gradients of `step.trained`.
    """

    def __init__(
        self, step: Step, variables: Variables, gradients: dict[str, Sequence[Any]]
    ) -> None:
        super().__init__(use_locking=False, name="keras")
        self._step, self._variables, self._of_loss = step, variables, gradients
        self._rate: tf.Tensor | None = None

    def compute_gradients(self, loss: Any, var_list: Any = None, **_: Any) -> list[Any]:
        """Returns the gradients of the device that computes `loss`, for its variables."""
        gradients = self._of_loss[loss.name]
        numbers = self._numbers()
        return [
            (gradients[numbers[name]] if (name := _original(v)) in numbers else None, v)
            for v in var_list or ()
        ]

    def apply_gradients(self, pairs: Any, global_step: Any = None, name: Any = None) -> Any:
        """Builds an update of all variables, or an update per device if devices have copies."""
        del name
        self._rate = self._read_rate()
        # Read the rate before the update, which may advance its schedule.
        with tf.control_dependencies([] if self._rate is None else [self._rate]):
            return self._apply(pairs, global_step)

    def _apply(self, pairs: Any, global_step: Any) -> Any:
        numbers = self._numbers()
        sets: dict[str, dict[int, Any]] = {}
        own: dict[str, dict[str, tf.Variable]] = {}
        for gradient, variable in pairs:
            if gradient is None:
                continue
            device, original = _device(variable), _original(variable)
            number = numbers[original]
            held = _held_back(self._summed(gradient, self._step.optimizers[number]))
            sets.setdefault(device, {})[number] = held
            own.setdefault(device, {})[original] = variable
        done = [self._update(device, sets[device], own[device]) for device in sets]
        update = tf.group(*done)
        if global_step is None:
            return update
        with tf.control_dependencies([update]):
            return global_step.assign_add(1, read_value=False)

    def shown_rate(self) -> tf.Tensor | None:
        """Returns the learning rate before the update, a schedule's at its iteration."""
        return self._rate

    def _read_rate(self) -> tf.Tensor | None:
        traced = self._step.rate()
        if traced is None:
            return None
        with tf.control_dependencies(None):
            return build(traced, [], self._made_for("", {})).result

    def _summed(self, gradient: Any, optimizer: Any) -> Any:
        """Returns the gradient with each row once: the sum over the uses of that row.

        Where a batch uses a row twice, Keras 3 squares the two parts and not their sum, and all
        Keras packages clip by the norm of the parts. After a sum over processes only the sums are
        left, so one process takes the sums too.
        """
        if not isinstance(gradient, tf.IndexedSlices):
            return gradient
        if self._step.package == "keras" and type(optimizer).__name__ != "SGD":
            return tf.convert_to_tensor(gradient)  # These optimizers update all rows anyway.
        return unique_rows(gradient)

    def _update(
        self, device: str, gradients: dict[int, Any], own: dict[str, tf.Variable]
    ) -> tf.Operation:
        traced = self._step.update(specs_of(gradients))
        flat = tf.nest.flatten([gradients[n] for n in sorted(gradients)], expand_composites=True)
        # Without copies, the update runs on the device of the step.
        with tf.device(next(iter(own.values())).device if device else ""):
            built = build(traced, flat, self._made_for(device, own))
        return tf.group(*built.effects)

    def _made_for(self, device: str, own: dict[str, tf.Variable]) -> Callable[[Any], tf.Variable]:
        """Returns a function from eager variables, slots included, to this device's variables."""

        def variable(eager: Any) -> tf.Variable:
            held = self._variables.get(eager, SLOT)
            if held.name in own:
                return own[held.name]
            if not device:
                return held.graph[0] if held.graph else held.make()
            # The variable is a weight without a gradient, or a slot of this device's copy.
            known = {v.op.name: v for v in tf.global_variables()}
            copy = f"{device}{held.graph[0].op.name if held.graph else held.name}"
            return known[copy] if copy in known else held.make_copy(copy)

        return variable

    def _numbers(self) -> dict[str, int]:
        """Returns the indices of the trained variables by the graph variable's name."""
        plain = self._step.plain
        return {
            self._variables.get(plain(variable)).name: number
            for number, variable in enumerate(self._step.trained)
        }


def _device(variable: tf.Variable) -> str:
    """Returns the device prefix of a copy's name; empty for a variable of the first device."""
    name = variable.op.name
    return name[: name.index("/") + 1] if name.startswith(PREFIX) else ""


def _original(variable: tf.Variable) -> str:
    return variable.op.name[len(_device(variable)) :]


def _held_back(gradient: Any) -> Any:
    """Makes a gradient wait for current control dependencies, which imported operations ignore."""
    if isinstance(gradient, tf.IndexedSlices):
        shape = gradient.dense_shape
        values, indices = tf.identity(gradient.values), tf.identity(gradient.indices)
        return tf.IndexedSlices(values, indices, shape)
    return tf.identity(gradient)
