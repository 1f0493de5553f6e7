"""A variational autoencoder of two-dimensional latents: reconstruction below a third of its start."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
prototypes = (rng.rand(4, 64) > 0.5).astype(np.float32)


def next_batch(size):
    chosen = prototypes[rng.randint(0, 4, size)]
    flipped = rng.rand(size, 64) < 0.02
    return np.abs(chosen - flipped)


class VariationalAutoencoder(object):
    def __init__(self, architecture, learning_rate=0.005):
        self.net = architecture
        self.x = tf.placeholder(tf.float32, [None, 64])
        mean, log_sigma_sq = self._recognition(self.x)
        eps = tf.random_normal(tf.shape(mean), 0, 1, dtype=tf.float32)
        self.z = tf.add(mean, tf.multiply(tf.sqrt(tf.exp(log_sigma_sq)), eps))
        self.reconstructed = self._generator(self.z)
        self.reconstruction = -tf.reduce_sum(
            self.x * tf.log(1e-10 + self.reconstructed)
            + (1 - self.x) * tf.log(1e-10 + 1 - self.reconstructed), 1)
        latent = -0.5 * tf.reduce_sum(
            1 + log_sigma_sq - tf.square(mean) - tf.exp(log_sigma_sq), 1)
        self.cost = tf.reduce_mean(self.reconstruction + latent)
        self.optimizer = tf.train.AdamOptimizer(learning_rate).minimize(self.cost)

    def _recognition(self, x):
        h = tf.nn.softplus(tf.contrib.layers.linear(x, self.net["hidden"]))
        return (tf.contrib.layers.linear(h, self.net["z"]),
                tf.contrib.layers.linear(h, self.net["z"]))

    def _generator(self, z):
        h = tf.nn.softplus(tf.contrib.layers.linear(z, self.net["hidden"]))
        return tf.nn.sigmoid(tf.contrib.layers.linear(h, 64))


vae = VariationalAutoencoder({"hidden": 48, "z": 2})
sess = tf.InteractiveSession()
sess.run(tf.global_variables_initializer())
first = sess.run(tf.reduce_mean(vae.reconstruction), {vae.x: next_batch(100)})
for step in range(800):
    sess.run([vae.optimizer, vae.cost], feed_dict={vae.x: next_batch(64)})
last = sess.run(tf.reduce_mean(vae.reconstruction), {vae.x: next_batch(400)})
made = sess.run(vae.reconstructed, {vae.z: rng.randn(5, 2)})
sess.close()
print("reconstruction %.1f -> %.1f" % (first, last))
assert made.shape == (5, 64) and last < first / 3
