"""Translates arguments of Keras' own `fit` to the equivalent arguments of `moxing.keras.fit`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from moxing.engine.graph.structure import is_dataset
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.keras.generated import is_generated

# A log interval that exceeds the steps of any run.
_NEVER = 1 << 60
# These arguments control prefetching in Keras; here, the pipeline prefetches by itself.
_NO_EFFECT = ("max_queue_size", "use_multiprocessing", "workers")
# After the model and two arguments for data, values without a name are in the order of Keras' fit.
_OWN = 3
_POSITIONS = (
    *("batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data"),
    *("shuffle", "class_weight", "sample_weight"),
)
_R = TypeVar("_R")


@dataclass(frozen=True)
class Given:
    """The translated arguments of `fit`.

    Attributes:
        train_data, eval_data, eval_steps, log_every: see `fit`.
        others: the keyword arguments that were not translated.
    """

    train_data: Any
    eval_data: Any
    eval_steps: Any
    log_every: Any
    others: Mapping[str, Any]


def taken(
    model: Any, train_data: Any, eval_data: Any, eval_steps: Any, log_every: Any, others: Any
) -> Given:
    """Translates Keras' arguments to those of `moxing.keras.fit`.

    Args:
        model: the compiled model.
        train_data, eval_data, eval_steps, log_every: the arguments of `moxing.keras.fit`.
        others: the keyword arguments that `moxing.keras.fit` does not have.

    Raises:
        MoxTypeError, MoxValueError: an argument is given under both names, or is invalid.
        MoxNotSupportedError: an argument needs data in arrays, or labels that are classes.
    """
    given = dict(others)
    for name in _NO_EFFECT:
        given.pop(name, None)
    train_data = _one("train_data", train_data, "x", given.pop("x", None))
    y = given.pop("y", None)
    if y is None and getattr(model, "loss", None) and _bare(train_data) and _bare(eval_data):
        # The call is fit(model, x, y), like Keras' model.fit(x, y).
        y, eval_data = eval_data, None
    weight = given.pop("sample_weight", None)
    if y is not None or weight is not None:
        train_data = joined(train_data, y, weight, "fit", "train_data")
    split = given.pop("validation_split", None)
    if split:
        if eval_data is not None or given.get("validation_data") is not None:
            raise MoxValueError("fit has validation_split= and data to evaluate on; give one.")
        train_data, eval_data = _split(train_data, split)
    eval_data = _one("eval_data", eval_data, "validation_data", given.pop("validation_data", None))
    steps = given.pop("validation_steps", None)
    eval_steps = _one("eval_steps", eval_steps, "validation_steps", steps)
    classes = given.pop("class_weight", None)
    if classes:
        train_data = _weighted(train_data, classes)
    if given.pop("verbose", "auto") == 0:
        log_every = _NEVER
    return Given(train_data, eval_data, eval_steps, log_every, given)


def positions(fit: Callable[..., _R]) -> Callable[..., _R]:
    """Lets `fit` be called as Keras' own: (x, y, batch_size, epochs, verbose, callbacks, ...).

    Raises:
        MoxTypeError: there are more values than Keras has arguments by position, or one is given
            both by position and by name.
    """

    @functools.wraps(fit)
    def called(*values: Any, **named: Any) -> _R:
        further = values[_OWN:]
        if len(further) > len(_POSITIONS):
            raise MoxTypeError(
                f"moxing.keras.fit has {len(values)} values without a name. Name them; those of"
                f" Keras' own fit after x and y are {', '.join(_POSITIONS)}."
            )
        for name, value in zip(_POSITIONS, further, strict=False):
            if name in named:
                raise MoxTypeError(f"fit has {name} by position and by name; give one.")
            named[name] = value
        return fit(*values[:_OWN], **named)

    return called


def _one(name: str, value: Any, other: str, another: Any) -> Any:
    if value is not None and another is not None:
        raise MoxTypeError(f"fit has {name} and {other}=, which are the same; give one.")
    return another if value is None else value


def _bare(data: Any) -> bool:
    """Whether data is x alone: not None, a tuple, a function or a dataset."""
    return not (data is None or isinstance(data, tuple) or _made(data))


def _made(data: Any) -> bool:
    """Whether data gives its batches itself, so that fit sees no arrays."""
    return callable(data) or is_dataset(data) or is_generated(data)


def joined(x: Any, y: Any, weight: Any, face: str, name: str) -> tuple[Any, ...]:
    """Returns arrays that were given one by one as one tuple.

    Args:
        x: the samples.
        y, weight: the labels and sample weights, or None.
        face: the name of the called function, for messages.
        name: the name of the argument that holds `x`, for messages.

    Raises:
        MoxTypeError: `x` is not the samples alone.
    """
    if x is None or isinstance(x, tuple) or _made(x):
        raise MoxTypeError(
            f"{face} has y= or sample_weight= beside {name} that is no array of samples alone. Give"
            f" all of it together: {face}(model, (x, y, sample_weight)), or in the dataset."
        )
    return (x, y) if weight is None else (x, y, weight)


def _arrays(data: Any, name: str) -> tuple[Any, ...]:
    if data is None or _made(data):
        raise MoxNotSupportedError(
            f"fit has {name}=, which needs train_data of arrays. Do it in the dataset, with take,"
            " skip and map."
        )
    return data if isinstance(data, tuple) else (data,)


def _split(data: Any, share: float) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns the first samples for training and the last for evaluation, split as in Keras."""
    import tensorflow as tf

    parts = tf.nest.map_structure(np.asarray, _arrays(data, "validation_split"))
    if not 0 < share < 1:
        raise MoxValueError(f"fit has validation_split={share}; it must be between 0 and 1.")
    count = len(tf.nest.flatten(parts)[0])
    at = int(np.floor(count * (1.0 - share)))
    if not 0 < at < count:
        raise MoxValueError(
            f"fit has validation_split={share} of {count} samples, which leaves none for one side."
        )
    first = tf.nest.map_structure(lambda array: array[:at], parts)
    return first, tf.nest.map_structure(lambda array: array[at:], parts)


def _weighted(data: Any, classes: Mapping[int, float]) -> tuple[Any, ...]:
    """Adds each sample's class weight to the data; an unlisted class has weight 1."""
    x, y, weight = (*_arrays(data, "class_weight"), None, None)[:3]
    labels = np.asarray(y) if not isinstance(y, Mapping | list | tuple) else None
    if labels is None or labels.ndim not in (1, 2):
        raise MoxNotSupportedError(
            "fit has class_weight=, which needs one output with classes as labels. Give each sample"
            " its weight as the third array: fit(model, (x, y, sample_weight))."
        )
    if labels.ndim == 2:
        labels = labels.argmax(-1) if labels.shape[1] > 1 else labels[:, 0]
    found = np.asarray([classes.get(int(label), 1.0) for label in labels], np.float32)
    return (x, y, found if weight is None else found * np.asarray(weight))
