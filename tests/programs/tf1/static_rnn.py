"""Digits read row by row by an unrolled LSTM, tf.unstack and static_rnn: accuracy above 0.75."""
import os

import tensorflow as tf
from tensorflow.contrib import rnn
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets(os.environ["DIGITS"], one_hot=True, validation_size=50)
timesteps, num_hidden = 28, 48
X = tf.placeholder("float", [None, timesteps, 28])
Y = tf.placeholder("float", [None, 10])
weights = {"out": tf.Variable(tf.random_normal([num_hidden, 10], stddev=0.1))}
biases = {"out": tf.Variable(tf.random_normal([10], stddev=0.1))}


def RNN(x):
    x = tf.unstack(x, timesteps, 1)
    lstm_cell = rnn.BasicLSTMCell(num_hidden, forget_bias=1.0)
    outputs, _ = rnn.static_rnn(lstm_cell, x, dtype=tf.float32)
    return tf.matmul(outputs[-1], weights["out"]) + biases["out"]


logits = RNN(X)
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=Y))
train_op = tf.train.AdamOptimizer(learning_rate=0.01).minimize(loss_op)
correct = tf.equal(tf.argmax(tf.nn.softmax(logits), 1), tf.argmax(Y, 1))
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(150):
        batch_x, batch_y = mnist.train.next_batch(64)
        sess.run(train_op, feed_dict={X: batch_x.reshape((64, timesteps, 28)), Y: batch_y})
    test = mnist.test.images[:300].reshape((-1, timesteps, 28))
    result = sess.run(accuracy, feed_dict={X: test, Y: mnist.test.labels[:300]})
print("Testing Accuracy:", result)
assert result > 0.75
