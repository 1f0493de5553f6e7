"""Strings that go through input_fn (section 4.7 of MoXing's manual): as they are, or as numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.engine.data import inputs
from moxing.engine.graph import ancestry
from moxing.errors import MoxValueError

NAMES = ["a.jpg", "bb.jpg", "ccc.jpg"]


def predict(input_fn: Callable[[str], Any], model_fn: Callable[..., Any]) -> list[dict[str, Any]]:
    """Trains a step on nothing, to have a checkpoint, and returns what output_fn is given."""
    found: list[dict[str, Any]] = []
    common = {"input_fn": input_fn, "model_fn": model_fn, "batch_size": 3}

    with tempfile.TemporaryDirectory() as log_dir:
        mox.run(
            optimizer_fn=mox.get_optimizer_fn("sgd", 0.1),
            run_mode="TRAIN",
            log_dir=log_dir,
            max_number_of_steps=1,
            **common,
        )
        mox.run(
            run_mode="PREDICT",
            output_fn=found.extend,
            output_every_n_steps=1,
            log_dir=log_dir,
            max_number_of_steps=1,
            **common,
        )
    return found


def name_of(mode: str) -> tf.Tensor:
    names = tf.data.Dataset.from_tensor_slices(NAMES).repeat()
    return tf.data.make_one_shot_iterator(names).get_next()


def outputs_of(**values: tf.Tensor) -> mox.ModelSpec:
    weight = tf.get_variable("w", initializer=1.0)
    return mox.ModelSpec(loss=weight, log_info={"w": weight}, output_info=values)


def test_strings_go_through_as_they_are() -> None:
    found = predict(name_of, lambda inputs, mode: outputs_of(name=inputs[0]))
    assert found[0]["name"].tolist() == [name.encode() for name in NAMES]


def test_the_manual_s_recipe_for_strings_of_one_length() -> None:
    def bytes_to_sequence(text: bytes) -> Any:
        return np.array(list(text), np.int64)

    def sequence_to_bytes(numbers: Any) -> str:
        return "".join(chr(number) for number in numbers if number > 0)

    def input_fn(mode: str) -> tf.Tensor:
        padded = tf.strings.substr(tf.strings.join([name_of(mode), "\0" * 8]), 0, 8)
        numbers = tf.py_func(bytes_to_sequence, inp=[padded], Tout=tf.int64)
        numbers.set_shape([8])
        return numbers

    found = predict(input_fn, lambda inputs, mode: outputs_of(numbers=inputs[0]))
    assert [sequence_to_bytes(row) for row in found[0]["numbers"]] == NAMES


def test_numbers_of_several_lengths_are_refused_with_what_to_do() -> None:
    def input_fn(mode: str) -> tf.Tensor:
        numbers = tf.py_func(lambda text: np.array(list(text)), inp=[name_of(mode)], Tout=tf.int64)
        numbers.set_shape([None])
        return numbers

    with pytest.raises(MoxValueError, match="every sample must have one and the same known shape"):
        predict(input_fn, lambda inputs, mode: outputs_of(numbers=inputs[0]))


def test_the_input_is_on_the_cpu_where_the_model_is_elsewhere() -> None:
    """There is no GPU here; what would be placed there says so in the graph all the same."""
    with tf.Graph().as_default(), tf.device("/device:GPU:0"):
        made = inputs.build(name_of, "TRAIN", 3, True)
        (names,) = made.structure
        model = tf.zeros([1])
        assert names.dtype == tf.string
        operations = [*ancestry.behind([names]), *made.initializers]
    assert model.device == "/device:GPU:0"
    assert {op.device for op in operations} == {"/device:CPU:0"}
