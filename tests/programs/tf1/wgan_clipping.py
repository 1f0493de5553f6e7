"""A Wasserstein GAN: critic steps with clipped weights, RMSProp: means within 0.5."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(37)
corners = np.array([[2., 2.], [2., -2.]])


def real(size):
    return corners[rng.randint(0, 2, size)] + rng.randn(size, 2) * 0.1


def net(x, size, name, reuse=None):
    with tf.variable_scope(name, reuse=reuse):
        x = tf.layers.dense(x, 24, activation=tf.nn.relu, name="one")
        x = tf.layers.dense(x, 24, activation=tf.nn.relu, name="two")
        return tf.layers.dense(x, size, name="out")


X = tf.placeholder(tf.float32, [None, 2])
Z = tf.placeholder(tf.float32, [None, 4])
made = net(Z, 2, "generator")
critic_real, critic_made = net(X, 1, "critic"), net(made, 1, "critic", reuse=True)
d_loss = tf.reduce_mean(critic_made) - tf.reduce_mean(critic_real)
g_loss = -tf.reduce_mean(critic_made)
theta_d = [v for v in tf.trainable_variables() if v.name.startswith("critic")]
theta_g = [v for v in tf.trainable_variables() if v.name.startswith("generator")]
d_solver = tf.train.RMSPropOptimizer(1e-3).minimize(d_loss, var_list=theta_d)
g_solver = tf.train.RMSPropOptimizer(1e-3).minimize(g_loss, var_list=theta_g)
with tf.control_dependencies([d_solver]):
    clip = [p.assign(tf.clip_by_value(p, -0.1, 0.1)) for p in theta_d]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    means = []
    for it in range(1000):
        for _ in range(5):
            sess.run(clip, {X: real(64), Z: rng.randn(64, 4)})
        sess.run(g_solver, {Z: rng.randn(64, 4)})
        if it >= 400 and it % 10 == 0:
            means.append(sess.run(made, {Z: rng.randn(256, 4)}).mean(0))
    largest = max(np.abs(v).max() for v in sess.run(theta_d))
mean = np.mean(means, 0)
print("mean", mean)
assert largest <= 0.1 + 1e-6
assert np.abs(mean - [2, 0]).max() < 0.5
