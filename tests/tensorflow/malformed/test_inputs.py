"""What input_fn must not return is refused, naming the place in its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

import moxing.tensorflow as mox

pytestmark = pytest.mark.timeout(240)


EAGER = tf2.data.Dataset.range(3)


def elsewhere(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default():
        return make()


def itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def generator(mode: str) -> Iterator[Any]:
    yield tf.constant(1.0)


def deeper(number: int) -> int:
    return deeper(number + 1)


def fails() -> Iterator[float]:
    yield 1.0
    raise LookupError("the third file is broken")


def rows(*lengths: int) -> Iterator[np.ndarray]:
    return (np.zeros(length, np.float32) for length in lengths)


def data(make: Callable[[], Iterator[Any]], shape: list[int | None]) -> Any:
    return tf.data.Dataset.from_generator(make, tf.float32, shape)


RESULTS: dict[str, tuple[Callable[[str], Any], str]] = {
    "None": (lambda mode: None, "input_fn returned None. It must return a tf.Tensor, a list"),
    "number": (lambda mode: 1, "input_fn's result is a builtins.int, not a tensor."),
    "text": (lambda mode: "mnist", "input_fn's result is a builtins.str, not a tensor."),
    "path": (lambda mode: Path("mnist"), "input_fn's result is a pathlib.PosixPath, not a tensor."),
    "array": (lambda mode: np.zeros(3), "wrap constant data in tf.constant(...)"),
    "arrays": (
        lambda mode: [np.zeros(3)],
        "input_fn's result[0] is a numpy.ndarray, not a tensor.",
    ),
    "numpy number": (lambda mode: np.float32(1), "input_fn's result is a numpy.float32, not a"),
    "empty list": (lambda mode: [], "input_fn returned no tensors (an empty list or dict)."),
    "empty tuple": (lambda mode: (), "input_fn returned no tensors (an empty list or dict)."),
    "empty dict": (lambda mode: {}, "input_fn returned no tensors (an empty list or dict)."),
    "empty lists": (lambda mode: [[], {}], "input_fn returned no tensors"),
    "None in a list": (lambda mode: [None], "input_fn's result[0] is a builtins.NoneType, not a"),
    "None in a dict": (lambda mode: {"a": None}, "input_fn's result['a'] is a builtins.NoneType"),
    "None far inside": (
        lambda mode: {"a": [tf.constant(1.0), {"b": (None,)}]},
        "input_fn's result['a'][1]['b'][0] is a builtins.NoneType, not a tensor.",
    ),
    "set": (lambda mode: {1}, "input_fn's result is a builtins.set, not a tensor."),
    "itself": (lambda mode: itself(), "input_fn returned a list or dict that contains itself."),
    "class": (lambda mode: tf.Tensor, "not a tensor. input_fn must return tf.Tensor values"),
    "function": (
        lambda mode: tf.constant,
        "input_fn's result is a builtins.function, not a tensor.",
    ),
    "operation": (lambda mode: tf.no_op(), "framework.ops.Operation, not a tensor."),
    "generator": (generator, "tf.data.Dataset.from_generator(...)"),
    "iterator": (
        lambda mode: tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)),
        "iterator_ops.Iterator, not a tensor.",
    ),
    "data set class": (lambda mode: tf.data.Dataset, "not a tensor. input_fn must return"),
    "data set in a list": (
        lambda mode: [tf.data.Dataset.range(3), tf.constant(1)],
        "input_fn's result[0] is a tensorflow.python.data.ops.dataset_ops.DatasetV1Adapter",
    ),
    "windows": (lambda mode: tf.data.Dataset.range(4).window(2), "_VariantDataset, not a tensor."),
    "slices": (
        lambda mode: tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])),
        "IndexedSlices, not a tensor.",
    ),
    "array of tensors": (lambda mode: tf.TensorArray(tf.float32, 3), "TensorArray, not a tensor."),
    "another graph's tensor": (
        lambda mode: elsewhere(lambda: tf.constant(1.0)),
        "input_fn's result was made outside of input_fn, in another graph.",
    ),
    "another graph's data set": (
        lambda mode: elsewhere(lambda: tf.data.Dataset.range(3)),
        "input_fn returned a tf.data.Dataset that was made outside of it, in another graph.",
    ),
    "eager data set": (
        lambda mode: EAGER,
        "input_fn returned a tf.data.Dataset that was made outside of it, in another graph.",
    ),
    "division": (lambda mode: 1 / 0, "raised while calling input_fn <lambda> (test_inputs.py:"),
    "recursion": (lambda mode: deeper(0), "raised while calling input_fn <lambda> (test_inputs.py"),
    "stop": (lambda mode: next(iter([])), "raised while calling input_fn <lambda>"),
    "missing file": (lambda mode: open("/no/such"), "raised while calling input_fn <lambda>"),  # noqa: SIM115
    "future": (
        lambda mode: asyncio.sleep,
        "input_fn's result is a builtins.function, not a tensor",
    ),
    "no data": (
        lambda mode: tf.data.Dataset.from_tensor_slices(np.zeros([0, 3], np.float32)),
        "input_fn gave no data: it ended before the first step.",
    ),
    "placeholder": (
        lambda mode: tf.placeholder(tf.float32, [], name="fed"),
        "of TRAIN, by 'fed' (test_inputs.py:",
    ),
    "missing data file": (
        lambda mode: tf.string_to_number(
            tf.data.make_one_shot_iterator(tf.data.TextLineDataset("/no/such")).get_next()
        ),
        "raised in step 0 (global step 0) of TRAIN",
    ),
    "failing generator": (
        lambda mode: data(fails, []),
        "raised in step 1 (global step 1) of TRAIN",
    ),
    "generator of text": (
        lambda mode: data(lambda: iter(["a"]), []),  # type: ignore[list-item]
        "raised in step 0 (global step 0) of TRAIN",
    ),
    "missing file in a queue": (
        lambda mode: tf.reduce_sum(
            tf.decode_raw(tf.train.batch([tf.read_file("/no/such")], 2), tf.uint8)
        ),
        "raised in a thread that fills a queue of input_fn",
    ),
}


def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
    first = next(iter(inputs.values())) if isinstance(inputs, dict) else inputs[0]
    scale = tf.get_variable("scale", [])
    return mox.ModelSpec(loss=scale * tf.reduce_mean(tf.cast(first, tf.float32)))


@pytest.mark.parametrize("case", RESULTS)
def test_result(case: str, refused: Callable[..., None], run: Callable[..., Any]) -> None:
    input_fn, told = RESULTS[case]
    refused(lambda: run(input_fn=input_fn, model_fn=model_fn, log_dir="out"), told)


SAMPLES: dict[str, tuple[Callable[[str], Any], str]] = {
    "unknown size": (
        lambda mode: tf.placeholder_with_default(np.zeros([2, 2, 3], np.float32), [None, None, 3]),
        "inputs[0] has shape [?, ?, 3]: with auto_batch=True and batch_size=4 every sample",
    ),
    "unknown rank": (
        lambda mode: tf.placeholder_with_default(np.zeros([2], np.float32), None),
        "inputs[0] has shape of unknown rank: with auto_batch=True and batch_size=4",
    ),
    "second input": (
        lambda mode: [tf.constant(1.0), tf.placeholder_with_default([1.0], [None])],
        "inputs[1] has shape [?]: with auto_batch=True",
    ),
    "input of a dict": (
        lambda mode: {"image": tf.placeholder_with_default([1.0], [None])},
        "inputs['image'] has shape [?]: with auto_batch=True",
    ),
    "sparse": (
        lambda mode: tf.sparse.from_dense(np.eye(3, dtype=np.float32)),
        "inputs[0] is a SparseTensor, which auto_batch=True cannot batch.",
    ),
    "ragged": (
        lambda mode: tf.ragged.constant([[1.0], [1.0, 2.0]]),
        "inputs[0] is a RaggedTensor, which auto_batch=True cannot batch.",
    ),
    "less than a batch": (
        lambda mode: tf.data.Dataset.range(3),
        "that a batch is not larger than the data.",
    ),
    "shapes that differ": (
        lambda mode: data(lambda: rows(1, 2), [None]).map(lambda row: tf.ensure_shape(row, [1])),
        "raised in step 0 (global step 0) of TRAIN",
    ),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_sample(case: str, refused: Callable[..., None], run: Callable[..., Any]) -> None:
    input_fn, told = SAMPLES[case]
    refused(lambda: run(input_fn=input_fn, model_fn=model_fn, batch_size=4, log_dir="out"), told)
