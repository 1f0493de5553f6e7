"""Checks the arguments of `fit`."""

from __future__ import annotations

import numbers
import os
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.job.ranking import Ranking
from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flags import saving
from moxing.framework.file import urls
from moxing.keras.building.trace import eager_mode
from moxing.keras.data import Arrays, Made

# A number of batches that no dataset reaches: repeated data counts as having no end.
_ENDLESS = 1 << 40
# TensorFlow counts steps in 64-bit integers; this maximum leaves room for sums.
_MOST = 1 << 62


def count(name: str, value: Any, face: str = "fit") -> int | None:
    """Returns a whole number above 0 as an int, or None for None.

    Args:
        name, value: the argument.
        face: the name of the called function.

    Raises:
        MoxTypeError, MoxValueError: anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise MoxTypeError(f"{face} has {name}={shown(value)}; it must be a whole number.")
    if int(value) < 1:
        raise MoxValueError(f"{face} has {name}={value}; it must be at least 1.")
    if int(value) > _MOST:
        raise MoxValueError(f"{face} has {name}={value}; it must be at most {_MOST}.")
    return int(value)


def duration(name: str, value: Any, unit: str = "seconds") -> float | None:
    """Returns a length of time above 0, in `unit`, as a float, or None for None.

    Raises:
        MoxTypeError, MoxValueError: anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise MoxTypeError(f"fit has {name}={shown(value)}; it must be a number of {unit}.")
    if not float(value) > 0:
        raise MoxValueError(f"fit has {name}={value}; it must be above 0.")
    return float(value)


def seed_of(value: Any) -> int | None:
    """Returns a whole number of any size as an int, or None for None.

    Raises:
        MoxTypeError: anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise MoxTypeError(f"fit has seed={shown(value)}; it must be a whole number.")
    return int(value)


def directory(value: Any) -> str | None:
    """Returns a path or URL as a string, or None for None.

    Raises:
        MoxTypeError, MoxValueError: anything else.
    """
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise MoxTypeError(f"fit has output_dir={shown(value)}; it must be a path.")
    path = urls.text(value)
    if not path or not isinstance(path, str):
        raise MoxValueError(f"fit has output_dir={shown(path)}; name a folder, or leave it out.")
    return path


def ranking(keep_best: Any, directory: str | None, evaluates: bool) -> Ranking | None:
    """Returns the metric whose best checkpoints are kept; None: there is none.

    Args:
        keep_best: the argument of `fit`.
        directory: the run's folder of checkpoints; None: it has none.
        evaluates: whether the run evaluates.

    Raises:
        MoxValueError: the argument has another form, or the run can't have such a metric.
    """
    found = saving.best(keep_best, "fit's keep_best")
    if found is None or found.asked_by.startswith(saving.KEEP_BEST):
        return found
    if directory is None:
        raise MoxValueError(
            f"fit has keep_best={keep_best!r} without output_dir=, the folder for these"
            " checkpoints."
        )
    if found.metric.startswith("val_") and not evaluates:
        raise MoxValueError(
            f"fit has keep_best={keep_best!r} without eval_data, on which that metric is computed."
            " Pass eval_data, or a metric of the training, such as 'loss'."
        )
    return found


def all_steps(epochs: Any, steps: Any, per_epoch: int | None) -> int:
    """Returns the global step at which training ends.

    Raises:
        MoxValueError: both `epochs` and `steps` are given, or the length of an epoch is unknown.
    """
    wanted, passes = count("steps", steps), count("epochs", epochs)
    if wanted is not None and passes is not None:
        raise MoxValueError(f"fit has steps={wanted} and epochs={passes}; give one of them.")
    if wanted is not None:
        return wanted
    if per_epoch is None or per_epoch >= _ENDLESS:
        raise MoxValueError(
            "fit can't tell how many batches train_data has, so it can't tell how long an epoch is."
            " Pass steps= in place of epochs=, or steps_per_epoch= beside it."
        )
    return per_epoch * (passes or 1)


def option_names(epochs: int | None, steps: int | None) -> dict[str, str]:
    """Returns the names that messages use for the options of `fit`, by the engine's names."""
    passes = "epochs" if steps is None else "steps"
    given = "steps={}" if steps is not None else f"epochs={epochs or 1} ({{}} steps)"
    return {
        "log_dir": "output_dir",
        "max_number_of_steps": passes,
        "limit": given,
        "input_fn": "train_data",
        "model_fn": "the model's",
        "--checkpoint_path": "",
        "--loss_scale": "",
        "--num_gpus": "num_gpus",
        "--seed": "seed",
        "--accumulate_steps": "accumulate_steps",
        "--checkpoint_exclude_patterns": "",
        "servers": "parameter_server=True",
        "ps_hosts": "ps processes in TF_CONFIG's cluster",
        "one set": "Give it a fixed shape, or train on one device (num_gpus=1)",
    }


def compile_model(model: Any, optimizer: Any, loss: Any, metrics: Any, loss_weights: Any) -> None:
    """Compiles the model if `loss` is given.

    Raises:
        MoxValueError: the model is not compiled, or an argument that compiling needs is missing.
    """
    known = getattr(model, "optimizer", None)
    if optimizer is None and loss is None:
        if metrics is not None or loss_weights is not None:
            raise MoxValueError("fit has metrics= or loss_weights=, which need loss= beside them.")
        if known is None or not getattr(model, "compiled", getattr(model, "_is_compiled", True)):
            raise MoxValueError(
                "The model is not compiled: call model.compile(optimizer, loss), or pass optimizer="
                " and loss= to fit."
            )
        return
    if optimizer is None and known is None:
        raise MoxValueError("fit has loss= without optimizer=, and the model is not compiled.")
    if loss is None:
        raise MoxValueError("fit has optimizer= without loss=; pass both, or compile the model.")
    with eager_mode():
        model.compile(
            optimizer=known if optimizer is None else optimizer,
            loss=loss,
            metrics=metrics,
            loss_weights=loss_weights,
        )


def check_rank(model: Any, given: Arrays | Made, name: str) -> None:
    """Raises an error if a dataset of single samples is not batched, or batches are batched again.

    Raises:
        MoxValueError: the dataset's rank does not match the model's input; the message says what to
            pass.
    """
    shape = getattr(model, "input_shape", None) if getattr(model, "built", False) else None
    if not isinstance(given, Made) or not isinstance(shape, tuple):
        return
    if not all(size is None or isinstance(size, int) for size in shape):
        return  # Several inputs.
    spec = given.dataset.element_spec
    inputs = spec[0] if isinstance(spec, tuple) else spec
    if not isinstance(inputs, tf.TensorSpec) or inputs.shape.rank is None:
        return
    rank, wanted = inputs.shape.rank, len(shape)
    if given.batch_size is None and rank == wanted - 1:
        raise MoxValueError(
            f"{name} has elements of shape {tuple(inputs.shape)}, and the model takes batches"
            f" of shape {shape}: they seem to be single samples. Pass batch_size=, or a dataset"
            " with .batch(...)."
        )
    if given.batch_size is not None and rank == wanted:
        raise MoxValueError(
            f"{name} has elements of shape {tuple(inputs.shape)}, which seem to be batches"
            f" already, and batch_size={given.batch_size} would batch them again. Leave"
            f" {'batch_size' if name == 'train_data' else '.batch(...)'} out."
        )


def finalize(model: Any) -> None:
    """Replaces the weights by the optimizer's moving averages, if it keeps them, as Keras does."""
    finish = getattr(model.optimizer, "finalize_variable_values", None)
    if finish is not None and getattr(model.optimizer, "use_ema", False):
        with eager_mode():
            finish(model.trainable_variables)
