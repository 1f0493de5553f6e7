"""The seed of a run fixes what Keras' layers start from."""

from __future__ import annotations

import random

import tensorflow.compat.v1 as tf
import tf_keras

from moxing.engine.graph import keras_seed


def first_weight(seed: int | None) -> float:
    with tf.Graph().as_default(), keras_seed.fixed(seed), tf.Session() as session:
        weight = tf_keras.layers.Dense(1)
        weight.build([1, 4])
        session.run(tf.global_variables_initializer())
        return float(session.run(weight.kernel)[0, 0])


def test_layers_of_one_seed_start_alike() -> None:
    assert first_weight(7) == first_weight(7)
    assert first_weight(7) != first_weight(8)


def test_without_a_seed_they_start_each_in_its_own_way() -> None:
    assert first_weight(None) != first_weight(None)


def test_the_user_s_own_generator_is_back_afterwards() -> None:
    from tf_keras.src import backend

    own = random.Random(1)
    backend._SEED_GENERATOR.generator = own
    try:
        first_weight(7)
        assert backend._SEED_GENERATOR.generator is own
    finally:
        backend._SEED_GENERATOR.generator = None
