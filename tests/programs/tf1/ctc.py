"""Connectionist temporal classification with sparse labels and a greedy decoder: error below 0.1."""
import time

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(28)
num_classes, num_features = 4 + 1, 6
patterns = rng.randn(4, num_features)


def sparse_tuple_from(sequences, dtype=np.int32):
    indices, values = [], []
    for n, seq in enumerate(sequences):
        indices.extend(zip([n] * len(seq), range(len(seq))))
        values.extend(seq)
    shape = [len(sequences), np.asarray(indices).max(0)[1] + 1]
    return (np.asarray(indices, dtype=np.int64), np.asarray(values, dtype=dtype),
            np.asarray(shape, dtype=np.int64))


def batch(size):
    data, labels, lengths = np.zeros((size, 20, num_features), np.float32), [], []
    for row in data:
        label, frames = rng.randint(0, 4, rng.randint(3, 5)), []
        for symbol in label:
            frames += [patterns[symbol]] * rng.randint(2, 4) + [np.zeros(num_features)]
        row[:len(frames)] = frames
        row += rng.randn(*row.shape) * 0.1
        labels.append(label)
        lengths.append(len(frames))
    return data, labels, np.array(lengths)


inputs = tf.placeholder(tf.float32, [None, None, num_features])
targets = tf.sparse_placeholder(tf.int32)
seq_len = tf.placeholder(tf.int32, [None])
cell = tf.contrib.rnn.LSTMCell(32, state_is_tuple=True)
outputs, _ = tf.nn.dynamic_rnn(cell, inputs, seq_len, dtype=tf.float32)
shape = tf.shape(inputs)
W = tf.Variable(tf.truncated_normal([32, num_classes], stddev=0.1))
b = tf.Variable(tf.constant(0., shape=[num_classes]))
logits = tf.matmul(tf.reshape(outputs, [-1, 32]), W) + b
logits = tf.transpose(tf.reshape(logits, [shape[0], -1, num_classes]), (1, 0, 2))
cost = tf.reduce_mean(tf.nn.ctc_loss(targets, logits, seq_len))
optimizer = tf.train.AdamOptimizer(0.02).minimize(cost)
decoded, log_prob = tf.nn.ctc_greedy_decoder(logits, seq_len)
ler = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    start = time.clock()
    for step in range(150):
        data, labels, lengths = batch(24)
        feed = {inputs: data, targets: sparse_tuple_from(labels), seq_len: lengths}
        value, _ = session.run([cost, optimizer], feed)
    data, labels, lengths = batch(100)
    feed = {inputs: data, targets: sparse_tuple_from(labels), seq_len: lengths}
    result = session.run(ler, feed)
print("cost %.3f, label error rate %.3f, %.1f s" % (value, result, time.clock() - start))
assert result < 0.1
