"""Traces a Keras model's training step in two parts: the gradients, and the update.

Between the two parts, the engine averages the gradients of all devices and processes. The first
part is the model's own `train_step`, with optimizers that only record their gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError
from moxing.keras import shards
from moxing.keras.building import fused, optimizers
from moxing.keras.building.families import Family
from moxing.keras.building.trace import Traced, trace


class Step:
    """Traces the two parts of a model's training step.

    Args:
        family: the Keras family of the model.
        model: the compiled model, with all its variables built.
        known: every eager variable of the model.
        fuses: whether one operation may update a weight together with its slots; must be False if
            parameter servers hold them, possibly on different servers.
    """

    def __init__(self, family: Family, model: Any, known: Sequence[Any], fuses: bool) -> None:
        self._fuses = fuses
        self._model, self._known = model, known
        self.plain, self.package = family.plain, family.package
        self._forward: dict[Any, Traced] = {}
        self._updates: dict[Any, Traced] = {}
        # The trained variables, in the order of train_step's gradients, and their optimizers.
        self.trained: list[Any] = []
        self.optimizers: list[Any] = []

    def forward(self, pack: Callable[[list[Any]], Any], specs: list[tf.TensorSpec]) -> Traced:
        """Returns the traced computation of the loss and gradients of a batch.

        Args:
            pack: packs the flat tensors into the argument of train_step.
            specs: the specs of the flat tensors.

        Returns:
            A function of tensors of `specs`, a float32 scalar (the factor of the gradients) and an
            int32 scalar (the index of the share). Its result is a dict of "logs", "loss" and
            "gradients".
        """
        key = tuple((tuple(s.shape.as_list()) if s.shape.rank else s.shape, s.dtype) for s in specs)
        key = repr(key)
        if key not in self._forward:
            given = [*specs, tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)]

            def forward(*arguments: Any) -> dict[str, Any]:
                *flat, scale, share = arguments
                return self._train_step(pack(list(flat)), scale, share)

            self._forward[key] = trace("train_step", forward, given, self._known)
        return self._forward[key]

    def update(self, specs: dict[int, Any]) -> Traced:
        """Returns the traced update of some of the variables in `trained`.

        Args:
            specs: the specs of the gradients, by the index of their variable in `trained`.
        """
        key = repr(sorted(specs))
        if key not in self._updates:
            owners = {id(self.optimizers[n]): self.optimizers[n] for n in sorted(specs)}
            numbers = sorted(specs)

            def update(*flat: Any) -> None:
                packed = tf.nest.pack_sequence_as(
                    [specs[n] for n in numbers], list(flat), expand_composites=True
                )
                gradients = dict(zip(numbers, packed, strict=True))
                for optimizer in owners.values():
                    own = [n for n in numbers if self.optimizers[n] is optimizer]
                    with fused.updates(optimizer) if self._fuses else nullcontext():
                        optimizer.apply_gradients([(gradients[n], self.trained[n]) for n in own])

            flat = tf.nest.flatten([specs[n] for n in numbers], expand_composites=True)
            self._updates[key] = trace("optimizer", update, flat, self._known)
        return self._updates[key]

    def rate(self) -> Traced | None:
        """Returns the traced learning rate; None if it has no known form.

        If a model has several optimizers, the rate is that of the optimizer it was compiled with,
        or of the first optimizer if the compiled one updates nothing.
        """
        compiled = self._model.optimizer
        used = any(one is compiled for one in self.optimizers)
        optimizer = compiled if used or not self.optimizers else self.optimizers[0]

        def rate() -> Any:
            if hasattr(optimizer, "_decayed_lr"):  # tf_keras' optimizers of TensorFlow before 2.11
                return optimizer._decayed_lr(tf.float32)
            kept = getattr(optimizer, "_learning_rate", None)
            if callable(kept) and not isinstance(kept, tf.Variable) and not hasattr(kept, "value"):
                return tf.cast(kept(optimizer.iterations), tf.float32)
            return tf.cast(tf.convert_to_tensor(optimizer.learning_rate), tf.float32)

        try:
            return trace("learning_rate", rate, [], self._known)
        except (
            AttributeError,
            TypeError,
            ValueError,
            MoxNotSupportedError,
        ):  # An optimizer of the program's own.
            return None

    def _train_step(self, data: Any, scale: tf.Tensor, share: tf.Tensor) -> dict[str, Any]:
        taken: list[optimizers.Applied] = []
        losses: list[Any] = []
        known = optimizers.of_model(self._model)
        with optimizers.noting(known, taken, losses), shards.random_numbers_of(share):
            logs = self._model.train_step(data)
        optimizers.check(self._model, taken, self.plain)
        self.trained = [variable for one in taken for _, variable in one.pairs]
        self.optimizers = [one.optimizer for one in taken for _ in one.pairs]
        if not isinstance(logs, dict):
            logs = {}
        # A step with several losses may tell none of that name; then log lines have none either.
        if losses:
            logs = {"loss": tf.cast(losses[0], tf.float32), **logs}
        loss = losses[0] if losses else logs.get("loss", tf.constant(0.0))
        pairs = [pair for one in taken for pair in one.pairs]
        gradients = [shards.scaled(gradient, scale) for gradient, _ in pairs]
        return {"logs": logs, "loss": tf.cast(loss, tf.float32), "gradients": gradients}


def specs_of(gradients: dict[int, Any]) -> dict[int, Any]:
    """Returns the TensorFlow type specs of gradients, dense tensors or IndexedSlices."""
    return {number: tf2.type_spec_from_value(gradient) for number, gradient in gradients.items()}
