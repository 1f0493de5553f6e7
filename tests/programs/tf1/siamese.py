"""Two branches that share variables, with a contrastive loss: pairs told apart, above 0.95."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(27)
centers = rng.randn(4, 12)


def pairs(count):
    first, second = rng.randint(0, 4, count), rng.randint(0, 4, count)
    second = np.where(rng.rand(count) < 0.5, first, second)
    noise = rng.randn(2, count, 12) * 0.3
    return centers[first] + noise[0], centers[second] + noise[1], (first == second).astype(float)


class siamese:
    def __init__(self):
        self.x1 = tf.placeholder(tf.float32, [None, 12])
        self.x2 = tf.placeholder(tf.float32, [None, 12])
        with tf.variable_scope("siamese") as scope:
            self.o1 = self.network(self.x1)
            scope.reuse_variables()
            self.o2 = self.network(self.x2)
        self.y_ = tf.placeholder(tf.float32, [None])
        self.loss = self.loss_with_spring()

    def network(self, x):
        fc1 = tf.nn.relu(self.fc_layer(x, 24, "fc1"))
        return self.fc_layer(fc1, 2, "fc2")

    def fc_layer(self, bottom, n_weight, name):
        assert len(bottom.get_shape()) == 2
        n_prev_weight = bottom.get_shape()[1]
        initer = tf.truncated_normal_initializer(stddev=0.3)
        W = tf.get_variable(name + "W", dtype=tf.float32, shape=[n_prev_weight, n_weight],
                            initializer=initer)
        b = tf.get_variable(name + "b", dtype=tf.float32,
                            initializer=tf.constant(0.01, shape=[n_weight], dtype=tf.float32))
        return tf.nn.bias_add(tf.matmul(bottom, W), b)

    def loss_with_spring(self):
        labels_t, margin = self.y_, 3.0
        labels_f = tf.subtract(1.0, self.y_, name="1-yi")
        eucd2 = tf.reduce_sum(tf.pow(tf.subtract(self.o1, self.o2), 2), 1)
        self.distance = tf.sqrt(eucd2 + 1e-6, name="eucd")
        neg = tf.multiply(labels_f, tf.pow(tf.maximum(tf.subtract(margin, self.distance), 0), 2))
        return tf.reduce_mean(tf.add(tf.multiply(labels_t, eucd2), neg), name="loss")


network = siamese()
train_step = tf.train.AdamOptimizer(0.01).minimize(network.loss)
assert len(tf.trainable_variables()) == 4
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(300):
        x1, x2, y = pairs(64)
        sess.run(train_step, {network.x1: x1, network.x2: x2, network.y_: y})
    x1, x2, y = pairs(300)
    distance = sess.run(network.distance, {network.x1: x1, network.x2: x2})
result = np.mean((distance < 1.5) == (y > 0))
print("accuracy %.3f" % result)
assert result > 0.95
