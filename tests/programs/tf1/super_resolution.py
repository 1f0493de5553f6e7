"""SRCNN: learns to sharpen images that scipy.misc enlarged: 1 dB above the bicubic image."""
import math

import numpy as np
import scipy.misc
import scipy.ndimage
import tensorflow as tf

rng = np.random.RandomState(25)


def sharp_and_blurred(count):
    sharp, blurred = [], []
    for _ in range(count):
        grid = rng.rand(8, 8) > 0.5
        image = np.kron(grid, np.ones((4, 4))).astype(np.float32)
        small = scipy.misc.imresize(image, 0.5, interp="bicubic")
        large = scipy.misc.imresize(small, image.shape, interp="bicubic") / 255.
        sharp.append(image[..., None])
        blurred.append(large[..., None])
    return np.array(sharp), np.array(blurred)


def psnr(a, b):
    return 20 * math.log10(1 / math.sqrt(np.mean((a - b) ** 2)))


class SRCNN(object):
    def __init__(self):
        self.images = tf.placeholder(tf.float32, [None, 32, 32, 1], name="images")
        self.labels = tf.placeholder(tf.float32, [None, 32, 32, 1], name="labels")
        shapes = {"w1": [5, 5, 1, 16], "w2": [1, 1, 16, 8], "w3": [5, 5, 8, 1]}
        self.weights = {name: tf.Variable(tf.random_normal(shape, stddev=0.1), name=name)
                        for name, shape in sorted(shapes.items())}
        self.biases = {"b%d" % (i + 1): tf.Variable(tf.zeros([n]), name="b%d" % (i + 1))
                       for i, n in enumerate((16, 8, 1))}
        self.pred = self.model()
        self.loss = tf.reduce_mean(tf.square(self.labels - self.pred))
        self.train_op = tf.train.AdamOptimizer(0.005).minimize(self.loss)

    def model(self):
        conv = tf.nn.conv2d
        one = tf.nn.relu(conv(self.images, self.weights["w1"], strides=[1, 1, 1, 1],
                              padding="SAME") + self.biases["b1"])
        two = tf.nn.relu(conv(one, self.weights["w2"], strides=[1, 1, 1, 1], padding="SAME")
                         + self.biases["b2"])
        return self.images + conv(two, self.weights["w3"], strides=[1, 1, 1, 1],
                                  padding="SAME") + self.biases["b3"]


net = SRCNN()
with tf.Session() as sess:
    tf.initialize_all_variables().run()
    for ep in range(120):
        labels, images = sharp_and_blurred(12)
        sess.run(net.train_op, feed_dict={net.images: images, net.labels: labels})
    labels, images = sharp_and_blurred(30)
    result = net.pred.eval({net.images: images})
before, after = psnr(images, labels), psnr(np.clip(result, 0, 1), labels)
print("PSNR %.2f -> %.2f" % (before, after))
assert after > before + 1
