"""A Keras optimizer as the graph optimizer that the engine asks for gradients and an update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.replica_names import PREFIX
from moxing.keras.building.step import Step, specs_of
from moxing.keras.building.trace import build
from moxing.keras.building.variables import SLOT, Variables


class KerasOptimizer(tf.train.Optimizer):
    """Hands out the gradients that the step computed, and updates as the Keras optimizer does.

    Args:
        step: the traced step.
        variables: of the model.
        gradients: for the name of each device's loss, the gradients of `step.trained`.
    """

    def __init__(
        self, step: Step, variables: Variables, gradients: dict[str, Sequence[Any]]
    ) -> None:
        super().__init__(use_locking=False, name="keras")
        self._step, self._variables, self._of_loss = step, variables, gradients

    def compute_gradients(self, loss: Any, var_list: Any = None, **_: Any) -> list[Any]:
        """The gradients of the device whose loss this is, for each of its variables."""
        gradients = self._of_loss[loss.name]
        numbers = self._numbers()
        return [
            (gradients[numbers[name]] if (name := _original(v)) in numbers else None, v)
            for v in var_list or ()
        ]

    def apply_gradients(self, pairs: Any, global_step: Any = None, name: Any = None) -> Any:
        """One update of all variables, or for devices with copies one of each set of copies."""
        del name
        numbers = self._numbers()
        sets: dict[str, dict[int, Any]] = {}
        own: dict[str, dict[str, tf.Variable]] = {}
        for gradient, variable in pairs:
            if gradient is None:
                continue
            device, original = _device(variable), _original(variable)
            sets.setdefault(device, {})[numbers[original]] = _held_back(gradient)
            own.setdefault(device, {})[original] = variable
        done = [self._update(device, sets[device], own[device]) for device in sets]
        update = tf.group(*done)
        if global_step is None:
            return update
        with tf.control_dependencies([update]):
            return global_step.assign_add(1, read_value=False)

    def _update(
        self, device: str, gradients: dict[int, Any], own: dict[str, tf.Variable]
    ) -> tf.Operation:
        traced = self._step.update(specs_of(gradients))
        flat = tf.nest.flatten([gradients[n] for n in sorted(gradients)], expand_composites=True)
        # Without copies the update is computed where the step is.
        with tf.device(next(iter(own.values())).device if device else ""):
            built = build(traced, flat, self._made_for(device, own))
        return tf.group(*built.effects)

    def _made_for(self, device: str, own: dict[str, tf.Variable]) -> Callable[[Any], tf.Variable]:
        """The variables of the set of copies, and the optimizer's own for it."""

        def variable(eager: Any) -> tf.Variable:
            held = self._variables.get(eager, SLOT)
            if held.name in own:
                return own[held.name]
            if not device:
                return held.graph[0] if held.graph else held.make()
            # A weight that no gradient moves, or a slot of the copy.
            known = {v.op.name: v for v in tf.global_variables()}
            copy = f"{device}{held.graph[0].op.name if held.graph else held.name}"
            return known[copy] if copy in known else held.make_copy(copy)

        return variable

    def _numbers(self) -> dict[str, int]:
        """The numbers of the trained variables by the name of the graph's."""
        plain = self._step.plain
        return {
            self._variables.get(plain(variable)).name: number
            for number, variable in enumerate(self._step.trained)
        }


def _device(variable: tf.Variable) -> str:
    """What a copy's name begins with; empty for a variable of the first device."""
    name = variable.op.name
    return name[: name.index("/") + 1] if name.startswith(PREFIX) else ""


def _original(variable: tf.Variable) -> str:
    return variable.op.name[len(_device(variable)) :]


def _held_back(gradient: Any) -> Any:
    """The gradient behind the control dependencies in force, which imported operations ignore."""
    if isinstance(gradient, tf.IndexedSlices):
        shape = gradient.dense_shape
        values, indices = tf.identity(gradient.values), tf.identity(gradient.indices)
        return tf.IndexedSlices(values, indices, shape)
    return tf.identity(gradient)
