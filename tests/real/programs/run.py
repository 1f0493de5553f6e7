"""A line, learned by mox.run."""

import sys

import numpy as np
import tensorflow as tf

import moxing.tensorflow as mox

x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]


def input_fn(mode):
    data = tf.data.Dataset.from_tensor_slices((x, 3 * x - 1)).repeat().batch(16)
    return data.make_one_shot_iterator().get_next()


def model_fn(inputs, mode):
    features, labels = inputs
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, w) - 1.0 - labels))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss, "w": w[0, 0]})


result = mox.run(
    input_fn=input_fn,
    model_fn=model_fn,
    optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
    run_mode=mox.ModeKeys.TRAIN,
    max_number_of_steps=200,
    log_dir=sys.argv[1],
    auto_batch=False,
)
print("learned", round(float(result.metrics["w"]), 3))
