"""Calls Keras callbacks around epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.keras.building.trace import eager_mode

# These callbacks write files, so only the chief calls them.
_WRITERS = ("ModelCheckpoint", "CSVLogger", "TensorBoard", "BackupAndRestore", "RemoteMonitor")
_OF_BATCHES = (
    *("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"),
    *("on_predict_batch_begin", "on_predict_batch_end"),
)
_INSTEAD = {
    "BackupAndRestore": "Leave it out: a run with output_dir resumes by itself.",
    "TensorBoard": "Leave it out: summaries for TensorBoard are in output_dir.",
    "ProgbarLogger": "Leave it out: the console shows progress.",
    "SwapEMAWeights": "Compile with an optimizer that has use_ema=True.",
    "TerminateOnNaN": "Leave it out: a loss that is not finite ends the run with an error.",
}


class Callbacks:
    """The callbacks of a run.

    Args:
        given: the `callbacks` argument of `fit`: a callback or a list of callbacks.
        model: the eager model that the callbacks get.
        chief: whether this process is the chief, which saves.
        package: the package of the model, "keras" or "tf_keras".

    Raises:
        MoxTypeError: an object is not a Keras callback.
        MoxValueError: a callback is from the other Keras package.
        MoxNotSupportedError: a callback works in every batch, or is not needed here.
    """

    def __init__(self, given: Sequence[Any], model: Any, chief: bool, package: str) -> None:
        given = list(given) if isinstance(given, list | tuple) else [given] if given else []
        for callback in given:
            _check(callback, package)
        self._model = model
        self._called = [c for c in given if chief or type(c).__name__ not in _WRITERS]

    def __bool__(self) -> bool:
        return bool(self._called)

    def begin(self, parameters: Mapping[str, Any]) -> None:
        """Calls `on_train_begin`, before the first epoch."""
        for callback in self._called:
            callback.set_params(dict(parameters))
            callback.set_model(self._model)
        self._model.stop_training = False
        self._call("on_train_begin", {})

    def epoch_begin(self, epoch: int) -> bool:
        """Calls `on_epoch_begin`; returns whether training should stop."""
        return self._call("on_epoch_begin", epoch, {})

    def epoch_end(self, epoch: int, logs: dict[str, float]) -> bool:
        """Calls `on_epoch_end`, where callbacks may add to the logs; returns whether to stop."""
        return self._call("on_epoch_end", epoch, logs)

    def end(self, logs: Mapping[str, float]) -> None:
        """Calls `on_train_end`, after the last epoch."""
        self._call("on_train_end", dict(logs))

    def _call(self, method: str, *arguments: Any) -> bool:
        with eager_mode():
            for callback in self._called:
                getattr(callback, method)(*arguments)
        return stopped(self._model)


def stopped(model: Any) -> bool:
    """Whether a callback ended the training of a model."""
    return bool(getattr(model, "stop_training", False))


def changed(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> bool:
    """Whether any array differs from its counterpart."""
    return any(not np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def _check(callback: Any, package: str) -> None:
    kinds = [kind for kind in type(callback).__mro__ if kind.__name__ == "Callback"]
    if not kinds:
        raise MoxTypeError(f"callbacks has {shown(callback)}; it must hold Keras callbacks.")
    base = kinds[0]
    if base.__module__.split(".")[0] != package:
        raise MoxValueError(
            f"callbacks has a {type(callback).__name__} of {base.__module__.split('.')[0]}, but"
            f" the model is of {package}. Take it from {package}.callbacks."
        )
    name = type(callback).__name__
    if name in _INSTEAD:
        raise MoxNotSupportedError(f"The callback {name} is not supported. {_INSTEAD[name]}")
    if name == "ModelCheckpoint" and callback.save_freq == "epoch":
        return
    if name in ("EarlyStopping", "LearningRateScheduler", "ReduceLROnPlateau", "CSVLogger"):
        return
    if name == "ModelCheckpoint":
        raise MoxNotSupportedError(
            "ModelCheckpoint with save_freq in batches is not supported. Use save_freq='epoch', or"
            " save_every= of fit, which writes checkpoints that a run resumes from."
        )
    for method in _OF_BATCHES:
        # LambdaCallback stores its functions in the instance.
        own = vars(callback).get(method)
        if own or getattr(type(callback), method, None) is not getattr(base, method, None):
            raise MoxNotSupportedError(
                f"The callback {name} has {method}, which would stop training after every step."
                " Let it do its work in on_epoch_end; values of every step are in output_dir, for"
                " TensorBoard."
            )
