"""What input_fn may return, and how samples become the batches that model_fn sees."""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

import moxing.tensorflow as mox

Run = Callable[..., Any]
Pair = collections.namedtuple("Pair", "image label")
once = tf.data.make_one_shot_iterator


@pytest.fixture
def seen(run: Run) -> Run:
    """`seen(input_fn, ...)`: what model_fn was given, and the values of all its steps."""

    def follow(input_fn: Any, steps: int = 100, **arguments: Any) -> tuple[Any, list[Any]]:
        given: list[Any] = []
        values: list[Any] = []

        def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
            given.append(inputs)
            leaves = tf.nest.flatten(inputs)
            moved = tf.get_variable("w", [], initializer=tf.ones_initializer())
            dense = [tf.sparse.to_dense(x) if isinstance(x, tf.SparseTensor) else x for x in leaves]
            outputs = {f"input{number}": tf.identity(x) for number, x in enumerate(dense)}
            return mox.ModelSpec(loss=moved * moved, output_info=outputs)

        def output_fn(outputs: list[dict[str, Any]]) -> None:
            values.extend([step[f"input{n}"] for n in range(len(step))] for step in outputs)

        run(
            input_fn=input_fn,
            model_fn=model_fn,
            output_fn=output_fn,
            output_every_n_steps=3,
            max_number_of_steps=steps,
            **arguments,
        )
        return given[0], values

    return follow


def numbers(count: int = 10) -> Any:
    return tf.data.Dataset.range(count)


def shapes(inputs: Any) -> Any:
    return tf.nest.map_structure(lambda tensor: tensor.shape.as_list(), inputs)


RESULTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "tensor": (lambda: tf.zeros([4, 3]), [[4, 3]]),
    "scalar": (lambda: tf.constant(1.0), [[]]),
    "list": (lambda: [tf.zeros([4, 3]), tf.zeros([4])], [[4, 3], [4]]),
    "tuple": (lambda: (tf.zeros([4, 3]), tf.zeros([4])), [[4, 3], [4]]),
    "named tuple": (lambda: Pair(tf.zeros([4, 3]), tf.zeros([4])), [[4, 3], [4]]),
    "dict": (
        lambda: {"image": tf.zeros([4, 3]), "id": tf.zeros([4])},
        {"image": [4, 3], "id": [4]},
    ),
    "nested": (lambda: ({"a": tf.zeros([2])}, [tf.zeros([3])]), [{"a": [2]}, [[3]]]),
    "variable": (lambda: tf.get_variable("v", [3], trainable=False), [[3]]),
    "dataset": (lambda: numbers().batch(4), [[None]]),
    "dataset of tensors": (lambda: tf.data.Dataset.from_tensors((1.0, [1, 2])), [[], [2]]),
    "dataset of dicts": (lambda: tf.data.Dataset.from_tensors({"a": [1, 2]}), {"a": [2]}),
    "dataset of 2.x": (lambda: tf2.data.Dataset.from_tensors([1.0, 2.0]), [[2]]),
    "sparse": (lambda: tf.sparse.from_dense(np.eye(3, dtype=np.float32)), [[3, 3]]),
    "dataset of sparse": (
        lambda: tf.data.Dataset.from_tensors(tf.sparse.from_dense(np.eye(2, dtype=np.float32))),
        [[2, 2]],
    ),
}


@pytest.mark.parametrize("case", RESULTS)
def test_model_fn_gets_lists_and_dicts_of_tensors(case: str, seen: Run) -> None:
    make, expected = RESULTS[case]
    given, values = seen(make, steps=1)
    assert type(given) is type(expected)
    assert shapes(given) == expected
    assert len(values) == 1
    if case.endswith("sparse"):
        assert isinstance(given[0], tf.SparseTensor)
        np.testing.assert_array_equal(values[0][0], np.eye(len(values[0][0])))


@pytest.mark.parametrize(("auto_batch", "batch_size"), [(True, None), (False, 4), (False, None)])
def test_batches_of_the_input_go_through_untouched(
    auto_batch: bool, batch_size: int | None, seen: Run
) -> None:
    given, values = seen(
        lambda: once(numbers().batch(4)).get_next(), auto_batch=auto_batch, batch_size=batch_size
    )
    assert shapes(given) == [[None]]
    assert [batch.tolist() for (batch,) in values] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def samples() -> list[tf.Tensor]:
    """Sample n: an image of n's, the number n, its name, and whether it is even."""
    number = once(numbers()).get_next()
    image = tf.ones([2, 2, 1]) * tf.cast(number, tf.float32)
    return [image, number, tf.as_string(number), tf.equal(number % 2, 0)]


def test_samples_become_full_batches_in_training(seen: Run) -> None:
    given, values = seen(samples, batch_size=4)
    assert shapes(given) == [[4, 2, 2, 1], [4], [4], [4]]
    assert [tensor.dtype for tensor in given] == [tf.float32, tf.int64, tf.string, tf.bool]
    assert [step[1].tolist() for step in values] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert values[1][2].tolist() == [b"4", b"5", b"6", b"7"]
    assert values[1][3].tolist() == [True, False, True, False]
    np.testing.assert_array_equal(values[1][0][:, 1, 1, 0], [4, 5, 6, 7])


@pytest.mark.parametrize("mode", ["EVAL", "PREDICT"])
def test_the_last_batch_is_short_in_other_modes(
    mode: str, run: Run, tmp_path: Any, model_with: Run
) -> None:
    def input_fn() -> list[Any]:
        number = once(numbers()).get_next()
        return [tf.ones([3]), tf.cast(number % 2, tf.int32)]

    run(log_dir=tmp_path)
    sizes: list[int] = []
    result = run(
        run_mode=mode,
        input_fn=input_fn,
        model_fn=model_with(),
        output_fn=lambda outputs: sizes.extend(len(step["logits"]) for step in outputs),
        output_every_n_steps=1,
        batch_size=4,
        log_dir=tmp_path,
        max_number_of_steps=100,
    )
    assert sizes == [4, 4, 2]
    assert result.steps == 3


def test_dataset_of_samples_is_batched_too(seen: Run) -> None:
    given, values = seen(lambda: numbers().map(lambda n: {"n": n}), batch_size=5)
    assert shapes(given) == {"n": [5]}
    assert [batch.tolist() for (batch,) in values] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_samples_of_a_generator_come_in_its_order(seen: Run) -> None:
    def generate() -> Iterator[tuple[np.ndarray, int]]:
        for number in range(6):
            yield np.full([2], number, np.float32), number

    def input_fn() -> Any:
        dataset = tf.data.Dataset.from_generator(generate, (tf.float32, tf.int32), ([2], []))
        return once(dataset).get_next()

    given, values = seen(input_fn, batch_size=2)
    assert type(given) is list
    assert [step[1].tolist() for step in values] == [[0, 1], [2, 3], [4, 5]]


def test_python_functions_and_queues_are_batched(seen: Run) -> None:
    counter = iter(range(1000))

    def input_fn() -> Any:
        number = tf.py_func(lambda: np.int64(next(counter)), [], tf.int64)
        number.set_shape([])
        (queued,) = tf.train.slice_input_producer([tf.range(7)], num_epochs=2, shuffle=False)
        return [number, queued]

    _, values = seen(input_fn, batch_size=4)
    queued = np.concatenate([step[1] for step in values])
    assert len(queued) == 12
    assert collections.Counter(queued) <= collections.Counter([*range(7), *range(7)])
    assert all(len(step[0]) == 4 for step in values)


def test_a_batch_that_is_batched_again_is_mentioned(
    seen: Run, said: Callable[[str], list[str]]
) -> None:
    given, _ = seen(lambda: [tf.zeros([16, 5]), tf.zeros([16])], steps=1, batch_size=12)
    assert shapes(given) == [[12, 16, 5], [12, 16]]
    (line,) = said("seems to yield a batch")
    assert line == (
        "input_fn seems to yield a batch of 16 already, and auto_batch=True adds a dimension of 12"
        " in front (inputs[0]: [12, 16, 5], inputs[1]: [12, 16]). If that is not meant, pass"
        " auto_batch=False."
    )


def test_finite_data_ends_the_run_and_nothing_is_lost(
    seen: Run, tmp_path: Any, said: Callable[[str], list[str]]
) -> None:
    _, values = seen(
        lambda: once(numbers(9).repeat(2)).get_next(),
        steps=sys.maxsize,
        batch_size=3,
        log_dir=tmp_path,
    )
    assert len(values) == 6
    assert len(said("Saving checkpoints for 6 into")) == 1
    assert said("Trained 6 steps, from global step 0 to 6")
