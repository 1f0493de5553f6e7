"""Checks the result of an input function, and makes the lists and dicts for model functions."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

from moxing.errors import MoxTypeError, MoxValueError

COMPOSITE = (tf.SparseTensor, tf.RaggedTensor)


def is_dataset(value: Any) -> bool:
    """Whether `value` is a tf.data Dataset, of either TensorFlow generation."""
    return isinstance(value, tf.data.Dataset | tf2.data.Dataset)


def is_variable(value: Any) -> bool:
    """Whether `value` is a variable, of either TensorFlow generation."""
    return isinstance(value, tf2.Variable)


def check_dataset(dataset: Any) -> None:
    """Raises if a tf.data Dataset belongs to another graph, or to none.

    Raises:
        MoxValueError: the dataset can't be read in this graph.
    """
    variant = getattr(dataset, "_variant_tensor", None)
    if variant is not None and getattr(variant, "graph", None) is not tf.get_default_graph():
        raise MoxValueError(
            "input_fn returned a tf.data.Dataset that was made outside of it, in another graph."
            " Each run has a graph of its own: build the dataset inside input_fn."
        )


def normalize(result: Any) -> list[Any] | dict[str, Any]:
    """Turns the result of an input_fn into the list or dict of tensors that a model function gets.

    A single tensor becomes a list; tuples become lists, at every depth; dicts stay dicts.

    Raises:
        MoxTypeError: the result is None, or has a leaf that is not a tensor.
        MoxValueError: an empty result, or a tensor of another graph.
    """
    if result is None:
        raise MoxTypeError(
            "input_fn returned None. It must return a tf.Tensor, a list, tuple or dict of"
            " tensors, or a tf.data.Dataset; is a `return` missing?"
        )
    try:
        plain = _plain(result, "input_fn's result")
    except RecursionError:
        raise MoxTypeError(
            "input_fn returned a list or dict that contains itself. Return a tf.Tensor, or lists,"
            " tuples and dicts of tensors."
        ) from None
    if isinstance(plain, list | dict):
        if not leaves(plain):
            raise MoxValueError(
                "input_fn returned no tensors (an empty list or dict). Return at least one tensor."
            )
        return plain
    return [plain]


def leaves(structure: Any, path: str = "inputs") -> list[tuple[str, Any]]:
    """Every tensor of a normalized structure with its path, such as `inputs[0]`."""
    if isinstance(structure, dict):
        items = [(f"{path}[{key!r}]", value) for key, value in structure.items()]
    elif isinstance(structure, list):
        items = [(f"{path}[{index}]", value) for index, value in enumerate(structure)]
    else:
        return [(path, structure)]
    return [leaf for name, value in items for leaf in leaves(value, name)]


def labels(structure: Any) -> set[int]:
    """The places of leaves that are labels, so far as the form of the structure tells.

    Labels are the second of two inputs, the later inputs of a longer list that have one number a
    sample, and the inputs of a dict whose name is `y` or holds `label` or `target`.
    """
    found = set()
    for place, (path, leaf) in enumerate(leaves(structure)):
        key = path.removeprefix("inputs[").split("]")[0]
        if isinstance(structure, dict):
            name = key.strip("'\"").lower()
            is_label = name == "y" or "label" in name or "target" in name
        else:
            scalar = leaf.shape.rank in (0, 1) or leaf.shape[1:].as_list() == [1]
            is_label = key != "0" and (len(structure) == 2 or scalar)
        if is_label:
            found.add(place)
    return found


def tensors(structure: Any) -> list[tf.Tensor]:
    """Every plain tensor of a normalized structure, and the parts of sparse and ragged tensors."""
    return [
        part
        for _, leaf in leaves(structure)
        for part in tf.nest.flatten(leaf, expand_composites=True)
    ]


def replace(structure: Any, tensors: list[Any]) -> Any:
    """The same structure with its leaves, in order, replaced by `tensors`."""
    remaining = iter(tensors)

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item) for item in value]
        return next(remaining)

    return walk(structure)


def describe(structure: Any) -> str:
    """`inputs[0]: float32 [32, 784], inputs[1]: int64 [32]`, for messages."""
    return ", ".join(f"{path}: {describe_tensor(leaf)}" for path, leaf in leaves(structure))


def describe_tensor(tensor: Any) -> str:
    """`float32 [32, 784]`, with `?` for unknown dimensions."""
    return f"{tensor.dtype.base_dtype.name} {describe_shape(tensor.shape)}"


def describe_shape(shape: tf.TensorShape) -> str:
    """`[32, ?, 3]`, or `of unknown rank`."""
    if shape.rank is None:
        return "of unknown rank"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape.as_list()) + "]"


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item, f"{path}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return _tensor(value, path)


def _tensor(value: Any, path: str) -> Any:
    if isinstance(value, COMPOSITE):
        return value
    if is_variable(value):
        value = tf.convert_to_tensor(value)
    if not isinstance(value, tf.Tensor):
        raise MoxTypeError(
            f"{path} is a {type(value).__module__}.{type(value).__qualname__}, not a tensor."
            " input_fn must return tf.Tensor values: wrap constant data in tf.constant(...), and"
            " data that changes from step to step in tf.data.Dataset.from_tensor_slices(...) or"
            " tf.data.Dataset.from_generator(...)."
        )
    if getattr(value, "graph", None) is not tf.get_default_graph():
        raise MoxValueError(
            f"{path} was made outside of input_fn, in another graph. Each run has a graph of its"
            " own: build the tensor inside input_fn."
        )
    return value
