"""A small fully convolutional network with skip and transposed convolutions: overlap above 0.7."""
from __future__ import print_function

import numpy as np
import tensorflow as tf
from six.moves import xrange

rng = np.random.RandomState(24)


def batch(size):
    images = rng.uniform(-0.3, 0.3, (size, 16, 16, 1))
    masks = np.zeros((size, 16, 16, 1), np.int32)
    for image, mask in zip(images, masks):
        y, x = rng.randint(0, 9, 2)
        image[y:y + 7, x:x + 7] += 1
        mask[y:y + 7, x:x + 7] = 1
    return images, masks


image = tf.placeholder(tf.float32, shape=[None, 16, 16, 1], name="input_image")
annotation = tf.placeholder(tf.int32, shape=[None, 16, 16, 1], name="annotation")


def conv(x, filters, name, stride):
    with tf.variable_scope(name):
        W = tf.get_variable("W", [3, 3, x.shape[3].value, filters],
                            initializer=tf.truncated_normal_initializer(stddev=0.2))
        b = tf.get_variable("b", [filters], initializer=tf.constant_initializer(0.0))
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, W, [1, stride, stride, 1], "SAME"), b))


with tf.variable_scope("inference"):
    conv1 = conv(image, 8, "conv1", 1)
    conv2 = conv(conv1, 16, "conv2", 2)
    conv3 = conv(conv2, 24, "conv3", 2)
    W_t1 = tf.get_variable("W_t1", [4, 4, 16, 24], initializer=tf.truncated_normal_initializer(
        stddev=0.1))
    up1 = tf.nn.conv2d_transpose(conv3, W_t1, tf.shape(conv2), strides=[1, 2, 2, 1])
    fuse_1 = tf.add(up1, conv2, name="fuse_1")
    W_t2 = tf.get_variable("W_t2", [4, 4, 2, 16], initializer=tf.truncated_normal_initializer(
        stddev=0.1))
    shape = tf.shape(image)
    logits = tf.nn.conv2d_transpose(
        fuse_1, W_t2, tf.stack([shape[0], shape[1], shape[2], 2]), strides=[1, 2, 2, 1])
pred = tf.expand_dims(tf.argmax(logits, dimension=3), dim=3)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
    logits=logits, labels=tf.squeeze(annotation, squeeze_dims=[3]), name="entropy"))
trainable_var = tf.trainable_variables()
optimizer = tf.train.AdamOptimizer(0.01)
grads = optimizer.compute_gradients(loss, var_list=trainable_var)
train_op = optimizer.apply_gradients(grads)
iou, update = tf.metrics.mean_iou(annotation, pred, 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(tf.local_variables_initializer())
    for itr in xrange(150):
        x, y = batch(16)
        _, train_loss = sess.run([train_op, loss], {image: x, annotation: y})
    x, y = batch(64)
    sess.run(update, {image: x, annotation: y})
    result = sess.run(iou)
print("Step: %d, loss: %g, mean overlap: %.3f" % (itr, train_loss, result))
assert result > 0.7
