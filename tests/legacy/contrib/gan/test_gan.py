"""`tf.contrib.gan`: losses against NumPy, and networks that learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.legacy.contrib.gan import estimator, losses, models, names, of_models, training

_REAL = np.array([[0.5], [2.0], [-1.0]], np.float32)
_MADE = np.array([[1.5], [-0.5], [0.25]], np.float32)


def _value(tensor: Any) -> Any:
    with tf.Session(graph=tensor.graph) as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


def _cross_entropy(logits: np.ndarray, target: float) -> float:
    chance = 1 / (1 + np.exp(-logits))
    return float(-(target * np.log(chance) + (1 - target) * np.log(1 - chance)).mean())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wasserstein_generator_loss", -_MADE.mean()),
        ("wasserstein_discriminator_loss", _MADE.mean() - _REAL.mean()),
        ("minimax_discriminator_loss", _cross_entropy(_REAL, 0.875) + _cross_entropy(_MADE, 0.0)),
        ("minimax_generator_loss", -_cross_entropy(_MADE, 0.0)),
        ("modified_generator_loss", _cross_entropy(_MADE, 1.0)),
        ("least_squares_generator_loss", ((_MADE - 1) ** 2).mean() / 2),
        (
            "least_squares_discriminator_loss",
            ((_REAL - 1) ** 2).mean() / 2 + (_MADE**2).mean() / 2,
        ),
    ],
)
def test_losses_are_those_of_their_formulas(name: str, expected: float) -> None:
    with tf.Graph().as_default() as graph:
        real, made = tf.constant(_REAL), tf.constant(_MADE)
        loss = getattr(losses, name)(
            *([made] if "generator" in name else [real, made]), add_summaries=True
        )
        kept = graph.get_collection(tf.GraphKeys.LOSSES)
        summaries = graph.get_collection(tf.GraphKeys.SUMMARIES)

        assert _value(loss) == pytest.approx(expected, rel=1e-5)
    assert kept == [loss]
    assert len(summaries) == 1


def _generator(noise: Any) -> Any:
    return tf.layers.dense(noise, 1, name="out")


def _judge(data: Any, noise: Any) -> Any:
    hidden = tf.layers.dense(data, 8, tf.nn.tanh, name="hidden")
    return tf.layers.dense(hidden, 1, name="out")


def test_a_model_has_its_tensors_and_variables_by_scope() -> None:
    with tf.Graph().as_default():
        model = models.gan_model(_generator, _judge, tf.ones([4, 1]), tf.zeros([4, 2]))

        assert [v.name for v in model.generator_variables] == [
            "Generator/out/kernel:0",
            "Generator/out/bias:0",
        ]
        assert len(model.discriminator_variables) == 4
        assert model.generated_data.shape.as_list() == [4, 1]
        with pytest.raises(ValueError, match="must be the same shape as real data"):
            models.gan_model(
                *(_generator, lambda data, noise: data, tf.ones([4, 2]), tf.zeros([4, 2])),
                generator_scope="Other",
            )


@pytest.mark.parametrize(("one_sided", "expected"), [(False, 0.25), (True, 0.0)])
def test_the_gradient_penalty_is_the_distance_of_the_slope_from_one(
    one_sided: bool, expected: float
) -> None:
    with tf.Graph().as_default():
        model = models.gan_model(
            _generator, lambda data, noise: 0.5 * data, tf.ones([4, 1]), tf.zeros([4, 2])
        )
        without = training.gan_loss(model, add_summaries=False)
        loss = training.gan_loss(
            model, gradient_penalty_weight=10.0, gradient_penalty_one_sided=one_sided
        )
        more = loss.discriminator_loss - without.discriminator_loss

        assert _value(more) == pytest.approx(10 * expected, abs=1e-4)


def test_regularization_of_each_network_is_in_its_loss() -> None:
    def regularized(noise: Any) -> Any:
        ones = tf.ones_initializer()
        return tf.layers.dense(
            *(noise, 1), kernel_initializer=ones, kernel_regularizer=lambda w: tf.reduce_sum(w)
        )

    with tf.Graph().as_default():
        model = models.gan_model(
            regularized, lambda data, noise: data, tf.ones([4, 1]), tf.zeros([4, 2])
        )
        loss = training.gan_loss(model)

        assert _value(loss.generator_loss) == pytest.approx(2.0)
        assert _value(loss.discriminator_loss) == pytest.approx(-1.0)


@pytest.mark.parametrize("joint", [False, True])
def test_both_networks_learn_by_their_hooks(joint: bool) -> None:
    steps = training.GANTrainSteps(1, 2)
    hooks_of = training.get_joint_train_hooks if joint else training.get_sequential_train_hooks
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        noise = tf.random_normal([32, 2])
        real = 3.0 + 0.1 * tf.random_normal([32, 1])
        model = models.gan_model(_generator, _judge, real, noise)
        loss = training.gan_loss(
            *(model, of_models.modified_generator_loss, of_models.minimax_discriminator_loss)
        )
        ops = training.gan_train_ops(
            *(model, loss, tf.train.AdamOptimizer(0.05, 0.5), tf.train.AdamOptimizer(0.05, 0.5))
        )
        hooks = [*hooks_of(steps)(ops), tf.train.StopAtStepHook(last_step=150)]
        mean = tf.reduce_mean(model.generated_data)
        with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
            seen = []
            while not session.should_stop():
                step, now = session.run([ops.global_step_inc_op, mean])
                seen.append(now)

    assert step == 150
    assert abs(np.mean(seen[-40:]) - 3.0) < 1.0, seen[-40:]


def test_updates_of_neither_network_are_an_error_unless_they_are_allowed() -> None:
    with tf.Graph().as_default():
        model = models.gan_model(_generator, _judge, tf.ones([4, 1]), tf.zeros([4, 2]))
        loss = training.gan_loss(model)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op("stray"))
        two = [tf.train.GradientDescentOptimizer(0.1) for _ in range(2)]

        with pytest.raises(ValueError, match="neither network: stray"):
            training.gan_train_ops(model, loss, *two)
        training.gan_train_ops(model, loss, *two, check_for_unused_update_ops=False)


def test_a_cycle_of_two_models_adds_the_ways_back() -> None:
    with tf.Graph().as_default():
        cycle = models.cyclegan_model(
            lambda data: data + 2.0, lambda data, given: data, tf.zeros([2, 1]), tf.ones([2, 1])
        )
        loss = training.cyclegan_loss(cycle, cycle_consistency_loss_weight=3.0)

        # Each way back is 4 off; the outputs are 2 and 3, with the label 1.
        assert _value(loss.loss_x2y.generator_loss) == pytest.approx(0.5 + 12.0)
        assert _value(loss.loss_y2x.generator_loss) == pytest.approx(2.0 + 12.0)


def test_the_estimator_trains_evaluates_and_predicts(tmp_path: Path) -> None:
    def data() -> Any:
        return tf.random_normal([16, 2]), 3.0 + 0.1 * tf.random_normal([16, 1])

    made = estimator.GANEstimator(
        str(tmp_path),
        *(_generator, _judge),
        generator_loss_fn=of_models.modified_generator_loss,
        discriminator_loss_fn=of_models.minimax_discriminator_loss,
        generator_optimizer=lambda: tf.train.AdamOptimizer(0.05, 0.5),
        discriminator_optimizer=tf.train.AdamOptimizer(0.05, 0.5),
    )
    made.train(data, max_steps=120)
    scores = made.evaluate(data, steps=2)
    predicted = made.predict(lambda: tf.data.Dataset.from_tensors(np.zeros((5, 2), np.float32)))

    assert scores["global_step"] == 120
    assert {"generator_loss", "discriminator_loss"} <= set(scores)
    assert abs(np.mean(list(predicted)) - 3.0) < 1.5


def test_every_loss_has_both_forms() -> None:
    shown = names.GAN.names["losses"].names
    for name, path in shown.items():
        if name != "wargs":
            assert path == f"{of_models.__name__}:{name}"
            assert callable(getattr(of_models, name))
            assert callable(getattr(losses, name))
