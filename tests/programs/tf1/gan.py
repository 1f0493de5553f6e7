"""Two networks that play against each other over a normal distribution: mean within 0.7, std too."""
import numpy as np
import tensorflow as tf

np.random.seed(6)


def linear(input, output_dim, scope=None, stddev=0.3):
    with tf.variable_scope(scope or "linear"):
        w = tf.get_variable("w", [input.get_shape()[1], output_dim],
                            initializer=tf.random_normal_initializer(stddev=stddev))
        b = tf.get_variable("b", [output_dim], initializer=tf.constant_initializer(0.0))
        return tf.matmul(input, w) + b


def generator(z, h_dim):
    h0 = tf.nn.softplus(linear(z, h_dim, "g0"))
    return linear(h0, 1, "g1")


def minibatch(input, num_kernels=5, kernel_dim=3):
    x = linear(input, num_kernels * kernel_dim, scope="minibatch", stddev=0.02)
    activation = tf.reshape(x, (-1, num_kernels, kernel_dim))
    diffs = tf.expand_dims(activation, 3) - tf.expand_dims(tf.transpose(activation, [1, 2, 0]), 0)
    abs_diffs = tf.reduce_sum(tf.abs(diffs), 2)
    return tf.concat([input, tf.reduce_sum(tf.exp(-abs_diffs), 2)], 1)


def discriminator(x, h_dim):
    h0 = tf.nn.relu(linear(x, h_dim * 2, "d0"))
    h1 = tf.nn.relu(linear(h0, h_dim * 2, "d1"))
    return tf.sigmoid(linear(minibatch(h1), 1, "d2"))


def optimizer(loss, var_list):
    return tf.train.AdamOptimizer(0.003, beta1=0.5).minimize(loss, var_list=var_list)


with tf.variable_scope("G"):
    z = tf.placeholder(tf.float32, shape=(64, 1))
    G = generator(z, 8)
x = tf.placeholder(tf.float32, shape=(64, 1))
with tf.variable_scope("D"):
    D1 = discriminator(x, 8)
with tf.variable_scope("D", reuse=True):
    D2 = discriminator(G, 8)
loss_d = tf.reduce_mean(-tf.log(D1 + 1e-7) - tf.log(1 - D2 + 1e-7))
loss_g = tf.reduce_mean(-tf.log(D2 + 1e-7))
opt_d = optimizer(loss_d, [v for v in tf.trainable_variables() if v.name.startswith("D/")])
opt_g = optimizer(loss_g, tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="G"))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(1000):
        real = np.random.normal(4, 0.5, (64, 1))
        noise = np.linspace(-2, 2, 64)[:, None] + np.random.random((64, 1)) * 0.01
        session.run([loss_d, opt_d], {x: real, z: noise})
        session.run([loss_g, opt_g], {z: noise})
    made = session.run(G, {z: noise})
print("mean %.2f, std %.2f" % (made.mean(), made.std()))
assert abs(made.mean() - 4) < 0.7 and made.std() < 1.2
