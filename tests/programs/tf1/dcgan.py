"""A DCGAN with transposed convolutions and contrib's batch norm; images by scipy.misc: bars appear."""
import numpy as np
import scipy.misc
import tensorflow as tf

rng = np.random.RandomState(7)


def real_images(size):
    """A white vertical bar in a black picture."""
    images = -np.ones((size, 8, 8, 1), np.float32)
    for image in images:
        start = rng.randint(1, 6)
        image[:, start:start + 2] = 1
    return images


def merge(images, size):
    h, w = images.shape[1], images.shape[2]
    img = np.zeros((h * size[0], w * size[1]))
    for idx, image in enumerate(images):
        i = idx % size[1]
        j = idx // size[1]
        img[j * h:j * h + h, i * w:i * w + w] = image[:, :, 0]
    return img


def batch_norm(x, name, train=True):
    return tf.contrib.layers.batch_norm(
        x, decay=0.9, updates_collections=None, epsilon=1e-5, scale=True, is_training=train,
        scope=name)


def lrelu(x, leak=0.2):
    return tf.maximum(x, leak * x)


def generator(z, train=True):
    with tf.variable_scope("generator", reuse=not train):
        h0 = tf.reshape(tf.layers.dense(z, 2 * 2 * 16, name="g_h0"), [-1, 2, 2, 16])
        h0 = tf.nn.relu(batch_norm(h0, "g_bn0", train))
        h1 = tf.layers.conv2d_transpose(h0, 8, 4, strides=2, padding="same", name="g_h1")
        h1 = tf.nn.relu(batch_norm(h1, "g_bn1", train))
        return tf.nn.tanh(
            tf.layers.conv2d_transpose(h1, 1, 4, strides=2, padding="same", name="g_h2"))


def discriminator(image, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        h0 = lrelu(tf.layers.conv2d(image, 8, 4, strides=2, padding="same", name="d_h0"))
        h1 = lrelu(tf.layers.conv2d(h0, 16, 4, strides=2, padding="same", name="d_h1"))
        return tf.layers.dense(tf.contrib.layers.flatten(h1), 1, name="d_h2")


z = tf.placeholder(tf.float32, [None, 8])
images = tf.placeholder(tf.float32, [None, 8, 8, 1])
fake = generator(z)
d_real, d_fake = discriminator(images), discriminator(fake, reuse=True)
sampler = generator(z, train=False)


def bce(logits, value):
    labels = tf.ones_like(logits) * value
    return tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels))


d_loss, g_loss = bce(d_real, 0.9) + bce(d_fake, 0.0), bce(d_fake, 1.0)
t_vars = tf.trainable_variables()
d_vars = [var for var in t_vars if "d_" in var.name]
g_vars = [var for var in t_vars if "g_" in var.name]
d_optim = tf.train.AdamOptimizer(0.002, beta1=0.5).minimize(d_loss, var_list=d_vars)
g_optim = tf.train.AdamOptimizer(0.004, beta1=0.5).minimize(g_loss, var_list=g_vars)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(400):
        noise = rng.uniform(-1, 1, (32, 8))
        sess.run(d_optim, {images: real_images(32), z: noise})
        sess.run(g_optim, {z: noise})
    samples = sess.run(sampler, {z: rng.uniform(-1, 1, (64, 8))})
scipy.misc.imsave("samples.png", merge(samples, [8, 8]))
assert scipy.misc.imread("samples.png").shape == (64, 64)
# Columns of a bar are all white or all black; of noise they are neither.
columns = np.abs(samples[..., 0].mean(axis=1)).mean()
print("columns are of one color to %.2f" % columns)
assert columns > 0.6
