"""Horovod with eager loops and tf.function; checks itself against one process."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
X = random.rand(64, 4).astype("float32")
Y = X.dot(np.array([[1.0], [2.0], [-1.0], [0.5]], "float32"))


def train(weights, optimizer, first, size, wrapped):
    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, weights) - y) ** 2)
        tape = wrapped(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, [weights]), [weights], strict=True))
        return loss

    for number in range(8):
        start = number % 4 * 16 + first
        step(X[start : start + size], Y[start : start + size])


hvd.init()
shared = tf.Variable(tf.fill([4, 1], 1.0 + hvd.rank()))
hvd.broadcast_variables([shared], root_rank=0)
own = 16 // hvd.size()
train(shared, tf.optimizers.Adam(0.05), hvd.rank() * own, own, hvd.DistributedGradientTape)
gathered = hvd.allgather(tf.transpose(shared)).numpy()
assert (gathered == gathered[0]).all(), gathered

alone = tf.Variable(tf.ones([4, 1]))
train(alone, tf.optimizers.Adam(0.05), 0, 16, lambda tape: tape)
np.testing.assert_allclose(shared.numpy(), alone.numpy(), rtol=1e-5)

rows = hvd.allgather(tf.fill([hvd.rank() + 1, 2], hvd.rank())).numpy()
assert rows[:, 0].tolist() == [rank for rank in range(hvd.size()) for _ in range(rank + 1)], rows
assert hvd.allreduce(tf.constant(float(hvd.rank())), op=hvd.Max).numpy() == hvd.size() - 1
assert hvd.allreduce(hvd.rank(), average=False).numpy() == sum(range(hvd.size()))
print("equal", hvd.rank(), hvd.size())
