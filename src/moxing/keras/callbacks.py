"""Calls Keras callbacks around epochs, and around batches where a callback works in them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.keras.building.trace import eager_mode
from moxing.logs import TENSORFLOW

# These callbacks write files, so only the chief calls them.
_WRITERS = ("ModelCheckpoint", "CSVLogger", "TensorBoard", "RemoteMonitor")
_OF_BATCHES = (*("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"),)
_INSTEAD = {"SwapEMAWeights": "Compile with an optimizer that has use_ema=True."}
# Callbacks whose work a run does itself, so that they are not called.
_DONE = {
    "BackupAndRestore": "the run resumes from its checkpoints in {}",
    "ProgbarLogger": "the console shows progress",
    "TerminateOnNaN": "a loss that is not finite ends the run with an error",
}


def without_done(given: Any, directory: str | None) -> tuple[list[Any], str | None]:
    """Takes out callbacks whose work a run does itself, and says so.

    Args:
        given: the `callbacks` argument of `fit`: a callback or a list of callbacks.
        directory: the run's folder of checkpoints; None: it has none.

    Returns:
        The other callbacks, and the folder: that of BackupAndRestore if `directory` is None.
    """
    given = list(given) if isinstance(given, list | tuple) else [given] if given else []
    for callback in given:
        if _name(callback) == "BackupAndRestore" and directory is None:
            directory = str(callback.backup_dir)
    done = {name for name in map(_name, given) if name in _DONE}
    for name in sorted(done):
        TENSORFLOW.info("%s is left out: %s.", name, _DONE[name].format(directory))
    return [callback for callback in given if _name(callback) not in done], directory


def without_writers(given: Any) -> tuple[list[Any], list[str]]:
    """Takes out Keras' own callbacks that write files, for a run that leaves none.

    Args:
        given: the `callbacks` argument of `fit`: a callback or a list of callbacks.

    Returns:
        The other callbacks, and the names of those that were taken out.
    """
    given = list(given) if isinstance(given, list | tuple) else [given] if given else []
    writers = (*_WRITERS, "BackupAndRestore")
    kept = [callback for callback in given if _name(callback) not in writers]
    return kept, [_name(callback) for callback in given if _name(callback) in writers]


def _name(callback: Any) -> str:
    """Returns the name of a callback's class; that of Keras' own classes alone counts."""
    kind = type(callback)
    return kind.__name__ if kind.__module__.split(".")[0] in ("keras", "tf_keras") else ""


class Callbacks:
    """The callbacks of a run.

    Args:
        given: callbacks, as `without_done` returned them.
        model: the eager model that the callbacks get.
        chief: whether this process is the chief, which saves.
        package: the package of the model, "keras" or "tf_keras".

    Raises:
        MoxTypeError: an object is not a Keras callback.
        MoxValueError: a callback is from the other Keras package.
        MoxNotSupportedError: a callback has no place here, or needs a package that is missing.
    """

    def __init__(self, given: Sequence[Any], model: Any, chief: bool, package: str) -> None:
        for callback in given:
            _check(callback, package)
        self._model = model
        # The same in all processes, which pause together: also where only the chief calls it.
        self.of_batches = [type(c).__name__ for c in given if _works_in_batches(c)]
        self._in_batches = {id(c) for c in given if _works_in_batches(c)}
        self._called = [c for c in given if chief or type(c).__name__ not in _WRITERS]

    def __bool__(self) -> bool:
        return bool(self._called or self.of_batches)

    def begin(self, parameters: Mapping[str, Any]) -> None:
        """Calls `on_train_begin`, before the first epoch."""
        with eager_mode():
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

    def batch_begin(self, batch: int) -> bool:
        """Calls `on_train_batch_begin` with the batch's number in its epoch; whether to stop."""
        return self._call("on_train_batch_begin", batch, {}, of_batches=True)

    def batch_end(self, batch: int, logs: Mapping[str, float]) -> bool:
        """Calls `on_train_batch_end` with the epoch's metrics until now; whether to stop."""
        return self._call("on_train_batch_end", batch, dict(logs), of_batches=True)

    def end(self, logs: Mapping[str, float]) -> None:
        """Calls `on_train_end`, after the last epoch."""
        self._call("on_train_end", dict(logs))

    def _call(self, method: str, *arguments: Any, of_batches: bool = False) -> bool:
        with eager_mode():
            for callback in self._called:
                if of_batches and id(callback) not in self._in_batches:
                    continue
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
    if name == "TensorBoard" and importlib.util.find_spec("tensorboard") is None:
        raise MoxNotSupportedError(
            "The callback TensorBoard needs the package tensorboard, which is not installed."
            " Install it (pip install tensorboard), or leave the callback out: summaries are in"
            " output_dir."
        )


def _works_in_batches(callback: Any) -> bool:
    """Whether a callback has work to do before or after a batch."""
    name = type(callback).__name__
    if name == "ModelCheckpoint":
        return callback.save_freq != "epoch"
    if name == "TensorBoard":
        profiles = getattr(callback, "_start_batch", 0) or getattr(callback, "_stop_batch", 0)
        steps = getattr(callback, "write_steps_per_second", False)
        return callback.update_freq != "epoch" or bool(profiles or steps)
    if name in ("EarlyStopping", "LearningRateScheduler", "ReduceLROnPlateau", "CSVLogger"):
        return False
    base = next(kind for kind in type(callback).__mro__ if kind.__name__ == "Callback")
    # LambdaCallback stores its functions in the instance.
    return any(
        vars(callback).get(method)
        or getattr(type(callback), method, None) is not getattr(base, method, None)
        for method in _OF_BATCHES
    )
