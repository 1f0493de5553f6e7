"""The pipeline that a graph is lifted into yields what the graph's tensors would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data.lift import CannotLiftError, lift

once = tf.data.make_one_shot_iterator


def elements(build: Callable[[], list[tf.Tensor]], most: int = 100) -> list[list[Any]]:
    """The first elements of the lifted pipeline, as plain Python values."""
    with tf.Graph().as_default():
        iterator = tf.data.make_initializable_iterator(lift(build()).dataset)
        element = iterator.get_next()
        with tf.Session() as session:
            session.run([tf.tables_initializer(), tf.global_variables_initializer()])
            session.run(iterator.initializer)
            found: list[list[Any]] = []
            try:
                while len(found) < most:
                    found.append([value.tolist() for value in session.run(element)])
            except tf.errors.OutOfRangeError:
                pass
            return found


def counted(stop: int) -> tf.Tensor:
    return once(tf.data.Dataset.range(stop)).get_next()


def test_operations_behind_an_iterator_are_mapped_in_order() -> None:
    found = elements(lambda: [tf.square(counted(100))])
    assert found == [[n * n] for n in range(100)]


def test_tensors_of_the_iterator_itself_keep_their_order_and_may_repeat() -> None:
    def build() -> list[tf.Tensor]:
        data = tf.data.Dataset.from_tensor_slices((np.arange(3), np.arange(3) + 0.5))
        whole, half = once(data).get_next()
        return [half, whole, half]

    assert elements(build) == [[0.5, 0, 0.5], [1.5, 1, 1.5], [2.5, 2, 2.5]]


def test_several_iterators_advance_together_and_end_with_the_shortest() -> None:
    def build() -> list[tf.Tensor]:
        short, long = counted(2), counted(5)
        return [short + long, long]

    assert elements(build) == [[0, 0], [2, 1]]


def test_a_generator_behind_an_iterator_is_read_once() -> None:
    read = []

    def generator() -> Any:
        for number in range(4):
            read.append(number)
            yield number

    def build() -> list[tf.Tensor]:
        return [once(tf.data.Dataset.from_generator(generator, tf.int64, [])).get_next()]

    assert elements(build) == [[0], [1], [2], [3]]
    assert read == [0, 1, 2, 3]


def test_python_code_that_makes_elements_keeps_its_order_and_ends_them() -> None:
    numbers = iter(range(50))

    def build() -> list[tf.Tensor]:
        return [tf.py_func(lambda: next(numbers), [], tf.int64)]

    assert elements(build) == [[n] for n in range(50)]


def test_lookup_tables_and_variables_are_read_through_their_handles() -> None:
    def build() -> list[tf.Tensor]:
        keys, values = tf.constant([0, 1], tf.int64), tf.constant([5.0, 6.0])
        pairs = tf.lookup.KeyValueTensorInitializer(keys, values)
        with tf.variable_scope("input", use_resource=True):
            factor = tf.get_variable("factor", initializer=10.0)
        return [tf.lookup.StaticHashTable(pairs, -1.0).lookup(counted(3)) * factor]

    assert elements(build) == [[50.0], [60.0], [-10.0]]


@pytest.mark.usefixtures("control_flow")
def test_conditions_are_lifted() -> None:
    def build() -> list[tf.Tensor]:
        number = counted(4)
        return [tf.cond(number > 1, lambda: number + 100, lambda: number)]

    assert elements(build) == [[0], [1], [102], [103]]


@pytest.mark.usefixtures("control_flow")
def test_conditions_on_operations_of_their_own_are_lifted() -> None:
    """Python code that calls each branch's operations for its elements alone."""

    def build() -> list[tf.Tensor]:
        double = counted(4) * 2
        even = tf.equal(double % 4, 0)
        inner = lambda: tf.cond(double > 3, lambda: double * 10, lambda: double - 1)  # noqa: E731
        return [tf.cond(even, inner, lambda: tf.py_func(lambda x: x + 7, [double], tf.int64))]

    assert elements(build) == [[-1], [9], [40], [13]]


def test_an_initializable_iterator_is_lifted_too() -> None:
    def build() -> list[tf.Tensor]:
        return [tf.data.make_initializable_iterator(tf.data.Dataset.range(3)).get_next() * 2]

    assert elements(build) == [[0], [2], [4]]


def test_a_shuffled_dataset_is_lifted() -> None:
    def build() -> list[tf.Tensor]:
        shuffled = tf.data.Dataset.range(20).shuffle(10, seed=1).repeat(2)
        return [once(shuffled).get_next() * 2]

    found = elements(build)
    assert sorted(found) == [[2 * n] for n in range(20) for _ in range(2)]


def test_random_and_constant_tensors_have_no_end() -> None:
    found = elements(lambda: [tf.random_uniform([]), tf.constant(7)], most=20)
    assert len(found) == 20
    assert len({value for value, _ in found}) == 20
    assert {constant for _, constant in found} == {7}


def test_shapes_that_the_user_declared_stay() -> None:
    with tf.Graph().as_default():
        image = tf.py_func(lambda: np.zeros([2, 3], np.float32), [], tf.float32)
        image.set_shape([2, None])
        (shape,) = tf.data.get_output_shapes(lift([image]).dataset)
        assert shape.as_list() == [2, None]


def test_the_cut_names_what_the_pipeline_replaces() -> None:
    with tf.Graph().as_default():
        number = counted(3)
        assert [op.name for op in lift([number + 1]).cut] == [number.op.name]
        assert lift([tf.constant(1)]).cut == ()


def queue() -> tf.Tensor:
    return tf.train.input_producer(tf.constant([1, 2, 3])).dequeue()


def twice() -> tf.Tensor:
    iterator = once(tf.data.Dataset.range(4))
    return iterator.get_next() + iterator.get_next()


def fed_dataset() -> tf.Tensor:
    size = tf.placeholder(tf.int64, [])
    return tf.data.make_initializable_iterator(tf.data.Dataset.range(size)).get_next()


def reinitializable() -> tf.Tensor:
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    iterator.make_initializer(tf.data.Dataset.range(3))
    iterator.make_initializer(tf.data.Dataset.range(5))
    return iterator.get_next()


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: tf.placeholder(tf.float32, [], name="fed"), "it reads the placeholder fed"),
        (queue, "QueueDequeueV2"),
        (twice, "several elements of one iterator"),
        (fed_dataset, "its dataset reads the placeholder Placeholder"),
        (reinitializable, "has 2 initializers, not one"),
    ],
)
def test_what_only_a_session_step_can_give_is_not_lifted(
    build: Callable[[], tf.Tensor], reason: str
) -> None:
    with tf.Graph().as_default():
        tensor = build()
        with pytest.raises(CannotLiftError, match=reason):
            lift([tensor])
