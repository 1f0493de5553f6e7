"""`tensorflow.examples.tutorials.mnist.mnist`: a network with two hidden layers."""

from __future__ import annotations

import math
from typing import Any

import tensorflow.compat.v1 as tf

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """Returns the logits, of shape [batch, 10], of images of shape [batch, 784]."""
    layers = (
        ("hidden1", IMAGE_PIXELS, hidden1_units, tf.nn.relu),
        ("hidden2", hidden1_units, hidden2_units, tf.nn.relu),
        ("softmax_linear", hidden2_units, NUM_CLASSES, tf.identity),
    )
    values = images
    for scope, rows, columns, activation in layers:
        with tf.name_scope(scope):
            start = tf.truncated_normal([rows, columns], stddev=1.0 / math.sqrt(float(rows)))
            weights = tf.Variable(start, name="weights")
            biases = tf.Variable(tf.zeros([columns]), name="biases")
            values = activation(tf.matmul(values, weights) + biases)
    return values


def loss(logits: Any, labels: Any) -> Any:
    """Returns the mean cross-entropy."""
    labels = tf.cast(labels, tf.int64)
    return tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """Returns the operation of a gradient descent step, and adds a summary of the loss."""
    tf.summary.scalar("loss", loss)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(learning_rate)
    return optimizer.minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """Returns the number of correct predictions."""
    correct = tf.nn.in_top_k(predictions=logits, targets=labels, k=1)
    return tf.reduce_sum(tf.cast(correct, tf.int32))
