"""Trains until it is told to stop."""

from __future__ import annotations

import sys

import tensorflow as tf

import moxing.tensorflow as mox


def model_fn(inputs, mode):
    w = tf.get_variable("w", [200, 200], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w - inputs[0]))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


mox.run(
    input_fn=lambda mode: [tf.constant([3.0])],
    model_fn=model_fn,
    optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
    run_mode=mox.ModeKeys.TRAIN,
    max_number_of_steps=10**8,
    log_every_n_steps=200,
    log_dir=sys.argv[1],
)
