"""Gives tf_keras' models and layers the attributes and methods' arguments of Keras 1 and 2."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from moxing.legacy.keras import metric_functions
from moxing.legacy.sessions import first

_PARTS = {"input": "inputs", "output": "outputs"}
_FIT = {"nb_epoch": "epochs"}
_GENERATOR = {
    "nb_epoch": "epochs",
    "nb_worker": "workers",
    "max_q_size": "max_queue_size",
    "pickle_safe": "use_multiprocessing",
}
# Arguments of Keras 1 that count samples -> the arguments that count batches.
_SAMPLES = {
    "samples_per_epoch": ("generator", "steps_per_epoch"),
    "nb_val_samples": ("validation_data", "validation_steps"),
    "val_samples": ("generator", "steps"),
}
_OF_GENERATORS = ("fit_generator", "evaluate_generator", "predict_generator")


def install() -> None:
    """Makes tf_keras' models accept the arguments of Keras 1 and 2 from now on."""
    from tf_keras.src.engine import (
        base_layer,
        base_layer_v1,
        functional,
        sequential,
        training,
        training_v1,
    )

    for layer in (base_layer.Layer, base_layer_v1.Layer):
        _add(layer, "apply", _apply)
        _restore_attributes(layer)
    for kind in (training.Model, training_v1.Model):
        _rename(kind, "fit", _FIT)
        for name in ("fit", "fit_generator"):
            first.before(kind, name, functools.partial(first.refuse, f"Model.{name}"))
        for name in _OF_GENERATORS:
            _count_batches(kind, name)
    # A functional model is made by two calls with the same arguments.
    _rename_new(training.Model)
    _rename(functional.Functional, "__init__", _PARTS)
    _skip_containers(functional.Functional)
    _take_other_shapes(functional.Functional)
    _add(sequential.Sequential, "predict_classes", _predict_classes)
    _add(sequential.Sequential, "predict_proba", _predict_proba)


def _apply(self: Any, inputs: Any, *given: Any, **named: Any) -> Any:
    """Calls the layer, as layers of `tf.keras` did under this name in TensorFlow 1.x."""
    return self(inputs, *given, **named)


def _graph(layer: Any) -> Any:
    """The graph that a model was built in; None in eager execution."""
    import tensorflow.compat.v1 as tf

    for output in tf.nest.flatten(getattr(layer, "outputs", None) or []):
        if isinstance(output, tf.Tensor):
            return output.graph
    return None if tf.executing_eagerly() else tf.get_default_graph()


def _layers(layer: Any) -> Any:
    """The layers inside a layer or model: a list that programs also change."""
    return layer._self_tracked_trackables


# Attributes that Keras had until TensorFlow 2.4, and that programs read. tf_keras does not follow
# what is assigned to a name that a class has, so these are no attributes of the class.
_MISSING = {
    "_graph": _graph,
    "_layers": _layers,
    "metrics_tensors": metric_functions.Tensors,
}


def _restore_attributes(kind: Any) -> None:
    if "__getattr__" in kind.__dict__:
        return

    def __getattr__(self: Any, name: str) -> Any:
        if name in _MISSING and (name == "_layers" or hasattr(type(self), "fit")):
            return _MISSING[name](self)
        # Again, for the error of a property of this name, or for Python's own.
        return object.__getattribute__(self, name)

    kind.__getattr__ = __getattr__


def _rename(kind: type, name: str, table: dict[str, str]) -> None:
    original = kind.__dict__.get(name)
    if original is None or getattr(original, "takes_old_names", False):
        return

    @functools.wraps(original)
    def method(self: Any, *given: Any, **named: Any) -> Any:
        return original(self, *given, **{table.get(k, k): v for k, v in named.items()})

    method.takes_old_names = True  # type: ignore[attr-defined]
    setattr(kind, name, method)


def _rename_new(kind: Any) -> None:
    original = kind.__new__
    if getattr(original, "takes_old_names", False):
        return

    def __new__(cls: type, *given: Any, **named: Any) -> Any:
        return original(cls, *given, **{_PARTS.get(k, k): v for k, v in named.items()})

    __new__.takes_old_names = True  # type: ignore[attr-defined]
    kind.__new__ = staticmethod(__new__)


def _take_other_shapes(kind: Any) -> None:
    """Lets models be called on tensors of other shapes than their inputs', as until TensorFlow 2.3.

    Their layers say which shapes they take: a Reshape, as the first one, takes many. That concerns
    models of graphs; models that are made eagerly are those of later programs, too.
    """
    import tensorflow as tf

    checked = kind.input_spec
    if getattr(checked.fget, "takes_other_shapes", False):
        return

    def input_spec(self: Any) -> Any:
        known = checked.fget(self)
        is_own = isinstance(known, list) and len(known) == len(self.inputs)
        return None if is_own and all(isinstance(x, tf.Tensor) for x in self.inputs) else known

    input_spec.takes_other_shapes = True  # type: ignore[attr-defined]
    kind.input_spec = property(input_spec, checked.fset, doc=checked.__doc__)


def _skip_containers(kind: Any) -> None:
    """Lets `add_loss` work on models that have lists and dicts as attributes: `_losses = []`.

    tf_keras follows these as it does layers, and fails as it makes a set of all these.
    """
    original = kind._insert_layers
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def insert(self: Any, *given: Any, **named: Any) -> Any:
        followed = self._self_tracked_trackables
        held = [each for each in followed if isinstance(each, list | dict)]
        followed[:] = [each for each in followed if not isinstance(each, list | dict)]
        try:
            return original(self, *given, **named)
        finally:
            followed.extend(held)

    kind._insert_layers = insert


def _count_batches(kind: type, name: str) -> None:
    original = kind.__dict__.get(name)
    if original is None or getattr(original, "takes_old_names", False):
        return

    @functools.wraps(original)
    def method(self: Any, generator: Any, *given: Any, **named: Any) -> Any:
        named = {_GENERATOR.get(k, k): v for k, v in named.items()}
        named["generator"] = _iterated(generator)
        if named.get("validation_data") is not None:
            named["validation_data"] = _iterated(named["validation_data"])
        if getattr(self, "loss", None) and name != "predict_generator":
            for source in ("generator", "validation_data"):
                if source in named:
                    named[source] = _in_tuples(named[source])
        for old in [key for key in named if key in _SAMPLES]:
            samples, (source, new) = named.pop(old), _SAMPLES[old]
            named[source], size = _first_size(named[source])
            named[new] = max(1, math.ceil(samples / size))
        return original(self, named.pop("generator"), *given, **named)

    method.takes_old_names = True  # type: ignore[attr-defined]
    setattr(kind, name, method)


def _iterated(batches: Any) -> Any:
    """Returns batches that Python can iterate over: Keras 2 took anything that has `__next__`."""
    if hasattr(batches, "__next__") and not hasattr(batches, "__iter__"):
        return _followed(batches)
    return batches


def _followed(batches: Any) -> Iterator[Any]:
    while True:
        try:
            yield next(batches)
        except StopIteration:
            return


def _first_size(batches: Any) -> tuple[Any, int]:
    """Returns the batches, and the number of samples in the first batch; 1 if it is not known."""
    size = getattr(batches, "batch_size", None)
    if isinstance(size, int) and size:
        return batches, size
    if not isinstance(batches, Iterator):
        return batches, 1
    first = next(batches)
    return _chained(first, batches), len(_leaf(first))


def _chained(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield from itertools.chain([first], rest)


def _leaf(batch: Any) -> Any:
    while isinstance(batch, list | tuple | dict):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return batch


def _in_tuples(batches: Any) -> Any:
    """Returns a generator's or Sequence's batches, with `[x, y]` and `[x, y, weights]` as tuples.

    Keras 2 took such a list for the inputs and targets of a model, as it took a tuple. tf_keras
    takes the whole list for inputs.
    """
    from tf_keras.utils import Sequence

    if isinstance(batches, Sequence):
        return _sequence_in_tuples(batches)
    return _IteratorInTuples(batches) if isinstance(batches, Iterator) else batches


class _IteratorInTuples:
    """An iterator whose batches are tuples; as safe to share between threads as the other one."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return _as_tuple(next(self._batches))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)


def _sequence_in_tuples(batches: Any) -> Any:
    from tf_keras.utils import Sequence

    class SequenceInTuples(Sequence):
        """A Sequence whose batches are tuples."""

        def __len__(self) -> int:
            return len(batches)

        def __getitem__(self, index: int) -> Any:
            return _as_tuple(batches[index])

        def on_epoch_end(self) -> None:
            batches.on_epoch_end()

        def __getattr__(self, name: str) -> Any:
            return getattr(batches, name)

    return SequenceInTuples()


def _as_tuple(batch: Any) -> Any:
    return tuple(batch) if isinstance(batch, list) and len(batch) in (2, 3) else batch


def _add(kind: type, name: str, function: Callable[..., Any]) -> None:
    if not hasattr(kind, name):
        setattr(kind, name, function)


def _predict_proba(self: Any, x: Any, batch_size: int | None = None, verbose: int = 0) -> Any:
    """Returns the predictions of a Sequential model."""
    return self.predict(x, batch_size=batch_size, verbose=verbose)


def _predict_classes(self: Any, x: Any, batch_size: int | None = None, verbose: int = 0) -> Any:
    """Returns the class of each sample: the index of the largest output; of a single output,
    1 if the output is above 0.5, else 0."""
    probabilities = self.predict(x, batch_size=batch_size, verbose=verbose)
    if probabilities.shape[-1] > 1:
        return np.argmax(probabilities, axis=-1)
    return (probabilities > 0.5).astype("int32")
