"""A convolutional network with dropout, by tf.nn and helper functions: accuracy above 0.85."""
from __future__ import print_function

import os

import tensorflow as tf
from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets

mnist = read_data_sets(os.environ["DIGITS"], one_hot=True, validation_size=50)


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


x = tf.placeholder("float", shape=[None, 784])
y_ = tf.placeholder("float", shape=[None, 10])
keep_prob = tf.placeholder("float")
image = tf.reshape(x, [-1, 28, 28, 1])
W_conv1, b_conv1 = weight_variable([5, 5, 1, 8]), bias_variable([8])
h_conv1 = tf.nn.relu(tf.nn.conv2d(image, W_conv1, strides=[1, 2, 2, 1], padding="SAME") + b_conv1)
h_pool1 = tf.nn.max_pool(h_conv1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
flat = tf.reshape(h_pool1, [-1, 7 * 7 * 8])
W_fc1, b_fc1 = weight_variable([7 * 7 * 8, 64]), bias_variable([64])
h_fc1 = tf.nn.dropout(tf.nn.relu(tf.matmul(flat, W_fc1) + b_fc1), keep_prob)
W_fc2, b_fc2 = weight_variable([64, 10]), bias_variable([10])
y_conv = tf.nn.softmax(tf.matmul(h_fc1, W_fc2) + b_fc2)
cross_entropy = -tf.reduce_sum(y_ * tf.log(tf.clip_by_value(y_conv, 1e-10, 1.0)))
train_step = tf.train.AdamOptimizer(2e-3).minimize(cross_entropy)
correct = tf.equal(tf.argmax(y_conv, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct, "float"))

with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(250):
        batch = mnist.train.next_batch(50)
        if i % 100 == 0:
            print("step %d, training accuracy %g" % (
                i, accuracy.eval(feed_dict={x: batch[0], y_: batch[1], keep_prob: 1.0})))
        train_step.run(feed_dict={x: batch[0], y_: batch[1], keep_prob: 0.5})
    test = {x: mnist.test.images[:500], y_: mnist.test.labels[:500], keep_prob: 1.0}
    result = sess.run(accuracy, test)
print("test accuracy %g" % result)
assert result > 0.85
