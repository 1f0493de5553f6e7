"""Reads the data arguments of `fit`, and counts the batches of an epoch."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.engine.graph.structure import is_dataset
from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.keras import described, generated
from moxing.keras.building.trace import eager_mode

_FORMS = (
    "arrays (x, y) or (x, y, sample_weight), a tf.data.Dataset of them, a keras.utils.Sequence or"
    " generator of such batches, or a function that returns one of these"
)


@dataclass(frozen=True)
class Arrays:
    """Arrays of samples.

    Attributes:
        nest: a tuple (x,), (x, y) or (x, y, sample_weight) of arrays or nests of arrays.
        samples: the number of samples.
        batch_size: the number of samples in a batch, over all devices together.
    """

    nest: Any
    samples: int
    batch_size: int

    @property
    def batches(self) -> int:
        """The number of batches in an epoch."""
        return -(-self.samples // self.batch_size)

    @property
    def element(self) -> tuple[Any, ...]:
        """The specs of a batch."""

        def spec(array: np.ndarray) -> tf.TensorSpec:
            return tf.TensorSpec([None, *array.shape[1:]], tf.as_dtype(array.dtype))

        return tf.nest.map_structure(spec, self.nest)


@dataclass(frozen=True)
class Made:
    """A tf.data.Dataset of the eager runtime.

    Attributes:
        dataset: the dataset.
        batch_size: the number of samples in a batch, for a dataset of single samples; None: the
            dataset has batches.
        own: whether the dataset has the batches of this process only.
        batches: the number of batches in an epoch; None: unknown.
    """

    dataset: Any
    batch_size: int | None
    own: bool
    batches: int | None

    @property
    def batched(self) -> Any:
        """The dataset of batches; read it in the mode, eager or graph, of the dataset."""
        return self.dataset if self.batch_size is None else self.dataset.batch(self.batch_size)

    @property
    def element(self) -> tuple[Any, ...]:
        """The specs of a batch."""
        with eager_mode():
            found = self.batched.element_spec
        return found if isinstance(found, tuple) else (found,)


def read(
    data: Any, batch_size: int | None, name: str, index: int = 0, size: int = 1
) -> Arrays | Made:
    """Converts data to Arrays or Made; calls it first if it is a function.

    Args:
        data: the value of an argument of `fit`.
        batch_size: the number of samples in a batch; None: 32 for arrays, while a dataset already
            has batches.
        name: the name of the argument.
        index, size: the index of this process, and the number of processes.

    Raises:
        MoxTypeError, MoxValueError: the data has no supported form, or is empty.
    """
    own, again = False, None
    if callable(data) and not is_dataset(data):
        own = any(
            parameter.default is parameter.empty and parameter.kind in _POSITIONAL
            for parameter in inspect.signature(data).parameters.values()
        )
        again = data
        with eager_mode():
            data = data(*[tf2.distribute.InputContext(size, index, size)] if own else [])
        if own and not is_dataset(data):
            raise MoxTypeError(
                f"{name} is a function of one argument (a tf.distribute.InputContext), so it must"
                f" return a tf.data.Dataset, not {shown(data)}."
            )
    if generated.is_generated(data):
        if batch_size is not None and name == "train_data":
            raise MoxValueError(
                f"fit has batch_size={batch_size} beside a {type(data).__name__}, which gives whole"
                " batches. Leave batch_size out."
            )
        batch_size = None
        with eager_mode():
            data = generated.dataset(data, name, again)
    if not is_dataset(data):
        return _arrays(data, 32 if batch_size is None else batch_size, name)
    with eager_mode():
        known = int(data.cardinality().numpy())
    batches = None if known < 0 else known
    if batches is not None and batch_size is not None:
        batches = -(-batches // batch_size)
    if batches == 0:
        raise MoxValueError(f"The dataset of {name} is empty.")
    if own and size > 1:
        batches = None  # The number may differ between processes, which must agree.
    return Made(data, batch_size, own, batches)


def endless(given: Arrays | Made) -> bool:
    """Whether the data is a dataset that TensorFlow knows to be infinite."""
    if isinstance(given, Arrays):
        return False
    with eager_mode():
        return int(given.dataset.cardinality().numpy()) == tf2.data.INFINITE_CARDINALITY


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _arrays(data: Any, batch_size: int, name: str) -> Arrays:
    if isinstance(data, list):
        data = tuple(data)
    if data is None:
        raise MoxTypeError(f"{name}=None; it must be {_FORMS}.")
    given = list(data) if isinstance(data, tuple) else [data]
    while given and given[-1] is None:
        given.pop()
    if not 1 <= len(given) <= 3:
        raise MoxTypeError(
            f"{name} is a {type(data).__name__} of {len(given)}; it must be {_FORMS}."
        )
    if any(part is None for part in given):
        raise MoxValueError(f"{name} has None before other arrays; it must be {_FORMS}.")
    parts = [_as_arrays(part, name) for part in given]
    nest: Any = tuple(parts)
    sizes = {array.shape[0] for array in tf.nest.flatten(nest)}
    if len(sizes) != 1 or 0 in sizes:
        raise MoxValueError(
            f"The arrays of {name} have {sorted(sizes)} samples along their first axis; all must"
            " have the same number, and some."
        )
    return Arrays(nest, sizes.pop(), batch_size)


def _as_arrays(part: Any, name: str) -> Any:
    """Converts pandas objects, eager tensors and lists of numbers in a nest to arrays."""

    def convert(leaf: Any) -> np.ndarray:
        if hasattr(leaf, "to_numpy"):
            leaf = leaf.to_numpy()
        if not hasattr(leaf, "__array__"):
            raise MoxTypeError(_no_array(leaf, name))
        array = np.asarray(leaf)
        if (
            array.dtype == object
            and array.size
            and all(isinstance(one, str | bytes) for one in array.flat)
        ):
            # Columns of pandas and eager tensors hold strings as Python objects.
            array = np.array([tf.compat.as_bytes(one) for one in array.flat]).reshape(array.shape)
        if array.dtype == object:
            raise MoxTypeError(
                f"{name} holds an array of Python objects, of shape {array.shape}; an array of"
                " numbers or strings is needed. Convert it: array.astype(...)."
            )
        if array.ndim == 0:
            raise MoxTypeError(
                f"{name} holds {shown(leaf)}; an array with samples along its first axis is needed."
            )
        # Keras, too, converts float64 to float32.
        return array.astype(np.float32) if array.dtype == np.float64 else array

    if hasattr(part, "to_numpy"):
        return convert(part)
    if isinstance(part, list) and _first_leaf(part) is not None:
        try:
            return convert(np.asarray(part))
        except ValueError as error:
            raise MoxValueError(
                f"{name} holds lists of different lengths ({shown(part)}). Make a"
                " tf.ragged.constant of them, in a tf.data.Dataset, or fill them up."
            ) from error
    return tf.nest.map_structure(convert, part)


def _first_leaf(part: Any) -> int | float | str | None:
    """Returns the first number or string in nested lists; None: the first leaf is neither."""
    while isinstance(part, list) and part:
        part = part[0]
    return part if isinstance(part, int | float | str) else None


def _no_array(leaf: Any, name: str) -> str:
    kinds = {tf.RaggedTensor: "ragged tensor", tf.SparseTensor: "sparse tensor"}
    kind = next((told for known, told in kinds.items() if isinstance(leaf, known)), None)
    if kind is not None:
        return (
            f"{name} holds a {kind} ({described.leaf(leaf.dtype, leaf.shape)}), which only a"
            " Dataset may hold: pass tf.data.Dataset.from_tensor_slices((x, y)).batch(32)."
        )
    if hasattr(leaf, "toarray"):
        return (
            f"{name} holds a sparse matrix of SciPy ({described.leaf(leaf.dtype, leaf.shape)})."
            " Pass an array: matrix.toarray(), or a Dataset of a tf.SparseTensor."
        )
    return f"{name} holds {shown(leaf)}; it must be {_FORMS}."
