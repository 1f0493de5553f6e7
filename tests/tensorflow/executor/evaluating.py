"""Trains with an evaluation hook that stops early, for the tests of hooks on several workers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

X = np.random.RandomState(0).randn(64, 4).astype(np.float32)


def input_fn(mode: str) -> Any:
    data = tf.data.Dataset.from_tensor_slices(X)
    if mode == "TRAIN":
        data = data.repeat()
    return tf.data.make_one_shot_iterator(data).get_next()


def model_fn(inputs: Any, mode: str) -> Any:
    x = inputs[0]
    # The metric never gets better, and is not the same on all workers.
    own = float(mox.get_flag("task_index"))
    loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
    hooks = []
    if mode == "EVAL":
        metrics = {"worst": tf.constant(1.0 + own)}
        hooks = [mox.EarlyStoppingHook(metrics, "worst", 8, 64, 64, patience=2)]
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=hooks)


mox.run(
    input_fn=input_fn,
    model_fn=model_fn,
    optimizer_fn=mox.get_optimizer_fn("sgd", 0.1),
    run_mode=mox.ModeKeys.TRAIN,
    inter_mode=mox.ModeKeys.EVAL,
    batch_size=8,
    log_dir=sys.argv[1],
    max_number_of_steps=1000,
)
