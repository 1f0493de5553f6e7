"""An LSTM over sequences of several lengths, by dynamic_rnn: accuracy above 0.95."""
import random

import numpy as np
import tensorflow as tf

random.seed(0)


def sequences(count, longest=10):
    """Rising sequences are of class 0, random ones of class 1."""
    data, labels, lengths = [], [], []
    for i in range(count):
        length = random.randint(4, longest)
        if i % 2:
            start = random.randint(0, 20)
            values, label = [[(start + k) / 30.] for k in range(length)], [1, 0]
        else:
            values, label = [[random.randint(0, 30) / 30.] for _ in range(length)], [0, 1]
        data.append(values + [[0.]] * (longest - length))
        labels.append(label)
        lengths.append(length)
    return np.array(data), np.array(labels), np.array(lengths)


x = tf.placeholder("float", [None, 10, 1])
y = tf.placeholder("float", [None, 2])
seqlen = tf.placeholder(tf.int32, [None])
weights = tf.Variable(tf.random_normal([24, 2]))
biases = tf.Variable(tf.random_normal([2]))
cell = tf.contrib.rnn.BasicLSTMCell(24)
outputs, states = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, sequence_length=seqlen)
batch_size = tf.shape(outputs)[0]
index = tf.range(0, batch_size) * 10 + (seqlen - 1)
last = tf.gather(tf.reshape(outputs, [-1, 24]), index)
pred = tf.matmul(last, weights) + biases
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
optimizer = tf.train.AdamOptimizer(learning_rate=0.02).minimize(cost)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(250):
        data, labels, lengths = sequences(64)
        sess.run(optimizer, feed_dict={x: data, y: labels, seqlen: lengths})
    data, labels, lengths = sequences(400)
    result = sess.run(accuracy, feed_dict={x: data, y: labels, seqlen: lengths})
print("accuracy %.3f" % result)
assert result > 0.95
