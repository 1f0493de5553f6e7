"""An image variable optimized for content and Gram matrices, images by scipy.misc: loss to a fifth."""
import numpy as np
import scipy.misc
import tensorflow as tf

rng = np.random.RandomState(21)
scipy.misc.imsave("content.png", np.tri(40) * 255)
scipy.misc.imsave("style.jpg", (np.indices((50, 60)).sum(0) % 8 < 4) * 255)


def load(path, shape):
    image = scipy.misc.imread(path, mode="RGB").astype(np.float32)
    return scipy.misc.imresize(image, shape).astype(np.float32)[np.newaxis] / 255. - 0.5


content, style = load("content.png", (32, 32)), load("style.jpg", (32, 32, 3))
kernels = [tf.constant(rng.randn(3, 3, i, o).astype(np.float32) * 0.2) for i, o in ((3, 8), (8, 8))]


def net(image):
    layers = []
    for kernel in kernels:
        image = tf.nn.relu(tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME"))
        layers.append(image)
        image = tf.nn.avg_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return layers


def gram(features):
    flat = tf.reshape(features, [-1, features.get_shape()[-1].value])
    return tf.matmul(flat, flat, transpose_a=True) / tf.to_float(tf.size(flat))


target_content = net(tf.constant(content))[1]
target_grams = [gram(layer) for layer in net(tf.constant(style))]
image = tf.Variable(tf.random_normal([1, 32, 32, 3], stddev=0.3))
made = net(image)
content_loss = 2 * tf.nn.l2_loss(made[1] - target_content) / tf.to_float(tf.size(made[1]))
style_loss = tf.add_n([tf.nn.l2_loss(gram(m) - t) for m, t in zip(made, target_grams)])
variation = tf.reduce_mean(tf.image.total_variation(image)) / 3000
total = content_loss + 20 * style_loss + 0.01 * variation
train = tf.train.AdamOptimizer(0.05).minimize(total)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(total)
    for _ in range(150):
        sess.run(train)
    last, picture = sess.run([total, image])
scipy.misc.toimage(np.clip(picture[0] + 0.5, 0, 1), cmin=0, cmax=1).save("out.png")
print("loss %.4f -> %.4f" % (first, last))
assert scipy.misc.imread("out.png").shape == (32, 32, 3)
assert last < first / 5
