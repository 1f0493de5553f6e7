"""The classifier of together.py under tf.distribute.MirroredStrategy; prints its weights as JSON.

python mirrored.py DEVICES BATCH STEPS
"""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow as tf

DEVICES, BATCH, STEPS = (int(argument) for argument in sys.argv[1:])
random = np.random.RandomState(0)
FEATURES = random.randn(400, 8).astype(np.float32)
LABELS = (FEATURES @ random.randn(8, 3)).argmax(1)

cpu = tf.config.list_physical_devices("CPU")[0]
logical = [tf.config.LogicalDeviceConfiguration() for _ in range(DEVICES)]
tf.config.set_logical_device_configuration(cpu, logical)
strategy = tf.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(DEVICES)])
start = tf.compat.v1.glorot_uniform_initializer
with strategy.scope():
    weights = [
        tf.Variable(start(seed=1)([8, 16], tf.float32)),
        tf.Variable(tf.zeros([16])),
        tf.Variable(start(seed=2)([16, 3], tf.float32)),
        tf.Variable(tf.zeros([3])),
    ]
    slots = [tf.Variable(tf.zeros_like(weight)) for weight in weights]


def gradients(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(x @ weights[0] + weights[1])
        logits = hidden @ weights[2] + weights[3]
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        loss = tf.reduce_mean(each) + 0.001 * tf.nn.l2_loss(weights[2])
    found = tape.gradient(loss, weights)
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.MEAN, found)


def update(x: tf.Tensor, y: tf.Tensor) -> None:
    for weight, slot, gradient in zip(weights, slots, gradients(x, y), strict=True):
        slot.assign(0.9 * slot + gradient)
        weight.assign_sub(0.1 * slot)


@tf.function
def step(batch: tuple[tf.Tensor, tf.Tensor]) -> None:
    strategy.run(update, batch)


data = tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).repeat().batch(BATCH)
batches = iter(strategy.experimental_distribute_dataset(data))
for _ in range(STEPS):
    step(next(batches))
names = ("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias")
values = {n: strategy.experimental_local_results(w)[0] for n, w in zip(names, weights, strict=True)}
print(json.dumps({name: value.numpy().tolist() for name, value in values.items()}))
