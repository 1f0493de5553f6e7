"""A coordinator, workers and parameter servers of TensorFlow 2.4; checks itself against NumPy."""

import os

import numpy as np
import tensorflow as tf

os.environ["GRPC_FAIL_FAST"] = "use_caller"
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    print("server of", resolver.task_type, resolver.task_id, flush=True)
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    server.join()
    raise AssertionError("join returned")

strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
random = np.random.RandomState(0)
x = random.rand(8, 4).astype("float32")
y = x.dot(np.array([[1.0], [2.0], [-1.0], [0.5]], "float32"))

with strategy.scope():
    weights = tf.Variable(tf.zeros([4, 1]))
    optimizer = tf.keras.optimizers.SGD(0.1)
assert "/job:ps" in weights.device, weights.device


@tf.function
def step(iterator):
    def in_replica(iterator):
        features, labels = next(iterator)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(features, weights) - labels) ** 2)
        gradients = tape.gradient(loss, [weights])
        optimizer.apply_gradients(zip(gradients, [weights], strict=True))
        return loss

    losses = strategy.run(in_replica, args=(iterator,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


def dataset():
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)


coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
iterator = iter(coordinator.create_per_worker_dataset(dataset))
for _ in range(5):
    coordinator.schedule(step, args=(iterator,))
    coordinator.join()

expected = np.zeros([4, 1], "float32")
for _ in range(5):
    expected -= 0.1 * 2 / 8 * x.T.dot(x.dot(expected) - y)
np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-4)
print("equal to NumPy", flush=True)
