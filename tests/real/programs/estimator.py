"""A line, learned by an Estimator of TensorFlow 1.x."""

import sys

import numpy as np
import tensorflow as tf

x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, w) + b - labels))
    step = tf.train.GradientDescentOptimizer(0.1)
    train = step.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def input_fn():
    return tf.data.Dataset.from_tensor_slices((x, 3 * x - 1)).repeat().batch(16)


estimator = tf.estimator.Estimator(model_fn, model_dir=sys.argv[1])
train = tf.estimator.TrainSpec(input_fn, max_steps=200)
tf.estimator.train_and_evaluate(estimator, train, tf.estimator.EvalSpec(input_fn, steps=2))
if estimator.config.is_chief:
    print("learned", round(float(estimator.get_variable_value("w")[0, 0]), 3))
