"""Traces a Keras model's training step in two parts: the gradients, and the update.

Between the two parts, the engine averages the gradients of all devices and processes. The first
part is the model's own `train_step`, with an optimizer that only records its gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError
from moxing.keras import shards
from moxing.keras.building import fused
from moxing.keras.building.families import Family
from moxing.keras.building.trace import Traced, trace

_METHODS = ("apply_gradients", "apply")


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
        # The trained variables, in the order of train_step's gradients.
        self.trained: list[Any] = []

    @property
    def optimizer(self) -> Any:
        """The optimizer that the model was compiled with."""
        return self._model.optimizer

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
            optimizer, trained = self._model.optimizer, self.trained
            numbers = sorted(specs)

            def update(*flat: Any) -> None:
                gradients = tf.nest.pack_sequence_as(
                    [specs[n] for n in numbers], list(flat), expand_composites=True
                )
                pairs = zip(gradients, [trained[n] for n in numbers], strict=True)
                with fused.updates(optimizer) if self._fuses else nullcontext():
                    optimizer.apply_gradients(pairs)

            flat = tf.nest.flatten([specs[n] for n in numbers], expand_composites=True)
            self._updates[key] = trace("optimizer", update, flat, self._known)
        return self._updates[key]

    def rate(self) -> Traced | None:
        """Returns the traced learning rate; None if the optimizer has none of a known form."""
        optimizer = self._model.optimizer

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
        taken: list[list[tuple[Any, Any]]] = []
        losses: list[Any] = []
        with _noting(self._model.optimizer, taken, losses), shards.random_numbers_of(share):
            logs = self._model.train_step(data)
        if len(taken) != 1:
            raise MoxNotSupportedError(
                f"train_step of {type(self._model).__name__} updates weights {len(taken)} times"
                " with the optimizer it was compiled with; it must do so once. Train such a model"
                " with moxing.tensorflow: mox.run takes several losses and optimizers."
            )
        self.trained = [variable for _, variable in taken[0]]
        if not isinstance(logs, dict):
            logs = {}
        loss = losses[0] if losses else logs.get("loss", tf.constant(0.0))
        gradients = [shards.scaled(gradient, scale) for gradient, _ in taken[0]]
        return {"logs": logs, "loss": tf.cast(loss, tf.float32), "gradients": gradients}


@contextmanager
def _noting(optimizer: Any, taken: list[Any], losses: list[Any]) -> Iterator[None]:
    """In the block, the optimizer records gradients and the loss, and updates nothing."""

    def note(pairs: Any, *arguments: Any, **named: Any) -> Any:
        variables = named.get("trainable_variables", arguments[0] if arguments else None)
        if variables is not None and not hasattr(variables, "name"):
            pairs = zip(pairs, variables, strict=True)
        taken.append(list(pairs))
        return tf.constant(0, tf.int64)

    def scale_loss(loss: Any) -> Any:
        losses.append(loss)
        return original_scale(loss)

    def minimize(loss: Any, *arguments: Any, **named: Any) -> Any:
        losses.append(loss() if callable(loss) else loss)
        return original_minimize(losses[-1] if callable(loss) else loss, *arguments, **named)

    own: dict[str, Any] = dict.fromkeys(_METHODS, note)
    original_scale: Any = getattr(optimizer, "scale_loss", None)
    original_minimize: Any = getattr(optimizer, "minimize", None)
    if original_scale is not None:
        own["scale_loss"] = scale_loss
    elif original_minimize is not None:
        own["minimize"] = minimize
    own = {name: method for name, method in own.items() if hasattr(type(optimizer), name)}
    before = {name: vars(optimizer)[name] for name in own if name in vars(optimizer)}
    vars(optimizer).update(own)
    try:
        yield
    finally:
        for name in own:
            del vars(optimizer)[name]
        vars(optimizer).update(before)


def specs_of(gradients: dict[int, Any]) -> dict[int, Any]:
    """Returns the TensorFlow type specs of gradients, dense tensors or IndexedSlices."""
    return {number: tf2.type_spec_from_value(gradient) for number, gradient in gradients.items()}
