"""Horovod's Keras callbacks, made for the Keras package that the program uses."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from moxing.errors import MoxTypeError
from moxing.horovod import world
from moxing.horovod.operations import allreduce
from moxing.horovod.variables import broadcast_variables


def keras() -> Any:
    """Returns tf_keras or Keras 3, whichever the environment or the program's imports select."""
    old = os.environ.get("TF_USE_LEGACY_KERAS", "0").lower() in ("1", "true")
    if old or ("tf_keras" in sys.modules and "keras" not in sys.modules):
        import tf_keras

        return tf_keras
    import keras

    return keras


def make() -> SimpleNamespace:
    """Makes the callback classes as subclasses of that package's Callback."""
    package = keras()
    base: Any = package.callbacks.Callback

    class BroadcastGlobalVariablesCallback(base):
        """Broadcasts the weights and optimizer variables of one process after the first batch."""

        def __init__(self, root_rank: int, device: str = "") -> None:
            super().__init__()
            del device
            self._root, self._done = root_rank, False

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            # After a batch, the model and its optimizer have all their variables.
            if not self._done:
                self._done = True
                _broadcast(self.model, self._root)

        on_batch_end = on_train_batch_end

    class MetricAverageCallback(base):
        """Averages the logs of an epoch over processes, for the callbacks that come later."""

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            names = sorted(name for name, value in (logs or {}).items() if _is_number(value))
            for name in names:
                value = _eagerly(
                    lambda value=logs[name], name=name: allreduce(
                        tf.constant(float(value), tf.float64), name=f"metric {name}"
                    )
                )
                logs[name] = float(value)

    class LearningRateScheduleCallback(base):
        """Multiplies the initial learning rate by a factor in a range of epochs.

        Args:
            initial_lr: the initial learning rate; None, as in versions up to 0.19: the optimizer's
                when training starts.
            multiplier: a factor, or a function from the epoch to a factor; alone, it may be the
                first argument.
            start_epoch, end_epoch: the first epoch of the range, and the first epoch after it;
                `end_epoch=None`: no end.
            staircase: whether the rate changes only at the start of an epoch; otherwise it changes
                with every batch.
            momentum_correction: not used.
            steps_per_epoch: the number of batches in an epoch, for `staircase=False`; None: as
                Keras knows it.
        """

        def __init__(
            self,
            initial_lr: float | None = None,
            multiplier: Any = None,
            start_epoch: int = 0,
            end_epoch: int | None = None,
            staircase: bool = True,
            momentum_correction: bool = True,
            steps_per_epoch: int | None = None,
            **others: Any,
        ) -> None:
            super().__init__()
            del momentum_correction, others
            if multiplier is None:
                initial_lr, multiplier = None, initial_lr
            if multiplier is None:
                raise MoxTypeError("This callback needs multiplier=, a factor or a function.")
            self.initial_lr = None if initial_lr is None else float(initial_lr)
            self.staircase = staircase
            self.multiplier: Any = multiplier if callable(multiplier) else lambda _: multiplier
            self.start_epoch, self.end_epoch = start_epoch, end_epoch
            self.steps_per_epoch, self.current_epoch = steps_per_epoch, 0

        def on_train_begin(self, logs: Any = None) -> None:
            if self.initial_lr is None:
                self.initial_lr = _rate(package, self.model)

        def _set(self, epoch: float) -> None:
            past = self.end_epoch is not None and epoch >= self.end_epoch
            if epoch >= self.start_epoch and not past:
                _set_rate(package, self.model, self.initial_lr * self.multiplier(epoch))

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.current_epoch = epoch
            if self.staircase:
                self._set(epoch)

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            steps = self.steps_per_epoch or (self.params or {}).get("steps")
            if not self.staircase and steps:
                self._set(self.current_epoch + float(batch) / steps)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if logs is not None:
                logs["lr"] = _rate(package, self.model)

    class LearningRateWarmupCallback(LearningRateScheduleCallback):
        """Increases the learning rate from `initial_lr / size` to `initial_lr` over some epochs.

        From Goyal et al., "Accurate, Large Minibatch SGD", arXiv 1706.02677, section 2.2.

        Args:
            initial_lr: the learning rate after warmup, scaled for the number of processes; see
                LearningRateScheduleCallback.
            warmup_epochs: the number of epochs of the warmup.
            momentum_correction, steps_per_epoch: see LearningRateScheduleCallback.
            verbose: if above 0, the rate is printed at the end of the warmup.
        """

        def __init__(
            self,
            initial_lr: float | None = None,
            warmup_epochs: int = 5,
            momentum_correction: bool = True,
            steps_per_epoch: int | None = None,
            verbose: int = 0,
            **others: Any,
        ) -> None:
            size, self.verbose = world.size(), verbose

            def multiplier(epoch: float) -> float:
                steps = self.steps_per_epoch or (self.params or {}).get("steps") or 1
                grown = (epoch + 1.0 / steps) / warmup_epochs
                return 1.0 / size * (grown * (size - 1) + 1)

            super().__init__(
                initial_lr,
                multiplier,
                end_epoch=warmup_epochs,
                staircase=False,
                momentum_correction=momentum_correction,
                steps_per_epoch=steps_per_epoch,
                **others,
            )

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            super().on_epoch_end(epoch, logs)
            if self.end_epoch is not None and epoch == self.end_epoch - 1 and self.verbose > 0:
                rate = _rate(package, self.model)
                print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {rate:g}.")

    found = (
        BroadcastGlobalVariablesCallback,
        MetricAverageCallback,
        LearningRateScheduleCallback,
        LearningRateWarmupCallback,
    )
    return SimpleNamespace(**{kind.__name__: kind for kind in found})


def _broadcast(model: Any, root: int) -> None:
    optimizer = model.optimizer
    variables = list(model.variables)
    known: Any = getattr(optimizer, "variables", None) or getattr(optimizer, "weights", [])
    known = known() if callable(known) else known
    variables += [v for v in known if all(v is not one for one in variables)]
    if tf.executing_eagerly():
        broadcast_variables(variables, root)
        return
    from tf_keras.src import backend

    session: Any = backend.get_session()
    with session.graph.as_default():
        session.run(broadcast_variables(variables, root))


def _eagerly(make: Any) -> Any:
    """Makes a tensor in eager mode, even in a graph-mode program, and returns its value."""
    from tensorflow.python.eager import context

    with context.eager_mode():
        return make().numpy()


def _is_number(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 0 and not isinstance(value, str | bytes)


def _holder(model: Any) -> tuple[Any, Any]:
    optimizer = model.optimizer
    rate = optimizer.learning_rate if hasattr(optimizer, "learning_rate") else optimizer.lr
    return optimizer, rate


def _set_rate(package: Any, model: Any, value: float) -> None:
    optimizer, rate = _holder(model)
    if hasattr(package.backend, "set_value") and hasattr(rate, "assign"):
        package.backend.set_value(rate, value)
    else:
        optimizer.learning_rate = value


def _rate(package: Any, model: Any) -> float:
    _, rate = _holder(model)
    return (
        float(package.backend.get_value(rate))
        if hasattr(package.backend, "get_value")
        else (float(rate.numpy()))
    )
