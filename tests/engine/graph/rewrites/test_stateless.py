"""With a seed, random numbers depend on the seed and the step or element, and on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data.feed import Feed
from moxing.engine.data.lift import lift
from moxing.engine.graph.rewrites import stateless


def noise() -> list[tf.Tensor]:
    """Every random operation that has a stateless counterpart."""
    return [
        tf.random_uniform([2]),
        tf.random_normal([2]),
        tf.truncated_normal([2]),
        tf.random_uniform([2], 0, 1000, tf.int32),
    ]


def elements(start: int, seed: int | None, count: int, shard: int = 0) -> list[list[Any]]:
    with tf.Graph().as_default():
        number = tf.data.make_one_shot_iterator(tf.data.Dataset.range(start, 100)).get_next()
        lifted = lift([number, *noise()], Feed(start=start, seed=seed, shard=shard))
        iterator = tf.data.make_initializable_iterator(lifted.dataset)
        element = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            return [[v.tolist() for v in session.run(element)] for _ in range(count)]


def test_an_element_has_its_own_numbers_wherever_the_pipeline_starts() -> None:
    whole = elements(0, 7, 20)
    assert elements(15, 7, 5) == whole[15:]
    assert elements(0, 8, 1) != whole[:1]
    flat = [value for element in whole for values in element[1:4] for value in values]
    assert len(set(flat)) == len(flat)
    assert all(0 <= value < 1000 for element in whole for value in element[4])


def test_each_process_changes_its_elements_in_its_own_way() -> None:
    first, second = elements(0, 7, 20), elements(0, 7, 20, shard=1)
    assert elements(15, 7, 5, shard=1) == second[15:]
    drawn = [value for element in first + second for values in element[1:4] for value in values]
    assert len(set(drawn)) == len(drawn)


def test_without_a_seed_numbers_are_new_each_time() -> None:
    assert elements(0, None, 3) != elements(0, None, 3)


def steps(
    first: int, count: int, seed: int, process: int = 0, mine: int | None = None
) -> list[list[Any]]:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("w", [3], initializer=tf.random_normal_initializer())
        results = [tf.add_n([*map(tf.to_float, noise())]), tf.nn.dropout(weights, rate=0.5)]
        stateless.replace_in_model(results, seed, step.read_value, results[:mine], process)
        with tf.control_dependencies(results):
            advance = step.assign_add(1, read_value=False)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            step.load(first, session)
            weights.load(np.ones(3, np.float32), session)
            return [
                [value.tolist() for value in session.run([results, advance])[0]]
                for _ in range(count)
            ]


def test_a_step_has_its_own_numbers_wherever_the_run_starts() -> None:
    whole = steps(0, 8, seed=3)
    assert steps(5, 3, seed=3) == whole[5:]
    assert steps(0, 1, seed=4) != whole[:1]
    assert len({tuple(first) for first, _ in whole}) == 8


def test_each_process_has_its_own_numbers() -> None:
    assert steps(0, 8, seed=3, process=1)[5:] == steps(5, 3, seed=3, process=1)
    drawn = [total for p in range(3) for step in steps(0, 8, 3, p) for total in step[0]]
    assert len(set(drawn)) == len(drawn)


def test_an_update_has_the_same_numbers_in_every_process() -> None:
    first, second = steps(0, 8, seed=3), steps(0, 8, seed=3, process=1, mine=1)
    assert [step[1] for step in first] == [step[1] for step in second]
    assert all(a[0] != b[0] for a, b in zip(first, second, strict=True))


def test_the_keys_of_one_process_stay_what_they_were() -> None:
    assert stateless._key(7, stateless._of_process(0) + "dropout/random_uniform") == 2494080275


def seeds(process: int) -> dict[str, tuple[int, int]]:
    """The seeds of random operations that chose one, by name."""
    with tf.Graph().as_default() as graph:
        own = [tf.random_uniform([2], name="free"), tf.random_uniform([2], seed=1, name="chosen")]
        with tf.name_scope("openmox_replica_1"):
            own.append(tf.random_shuffle(tf.range(4), seed=1, name="chosen"))
        stateless.tell_apart(own, process)
        random = [op for op in graph.get_operations() if op.type.startswith("Random")]
        return {op.name: (op.get_attr("seed"), op.get_attr("seed2")) for op in random}


def test_seeds_that_a_program_chose_differ_on_each_device() -> None:
    first, second = seeds(0), seeds(1)
    assert first["free/RandomUniform"] == second["free/RandomUniform"] == (0, 0)
    assert first["chosen/RandomUniform"] == (87654321, 1)
    chosen = [s[n] for s in (first, second) for n in s if "chosen" in n]
    assert len(set(chosen)) == 4


@pytest.mark.parametrize(("process", "device"), [(0, 1), (1, 0), (1, 1)])
def test_functions_of_the_graph_draw_others_on_each_device(process: int, device: int) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        with stateless.seed_of_device(3, process, device):
            assert graph.seed not in (3, None)
        assert graph.seed == 3
        with stateless.seed_of_device(3, 0, 0):
            assert graph.seed == 3


def test_initial_values_stay_as_they_are() -> None:
    with tf.Graph().as_default() as graph, tf.variable_scope("", use_resource=True):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("w", [3], initializer=tf.random_normal_initializer())
        stateless.replace_in_model([weights * 2], 1, step.read_value)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
        assert not [op for op in graph.get_operations() if op.type.startswith("Stateless")]


def test_what_cannot_be_fixed_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        shuffled = tf.random_shuffle(tf.range(4), name="order")
        with caplog.at_level("WARNING", "tensorflow"):
            stateless.replace_in_model([shuffled], 1, step.read_value)
    assert caplog.messages == [
        "--seed can't fix the random operation order (RandomShuffle) over a resumed run: TensorFlow"
        " has no stateless form of it here."
    ]
