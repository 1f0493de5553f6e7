"""embedding_attention_seq2seq with buckets' padding, on reversed sequences: accuracy above 0.9."""
import numpy as np
import tensorflow as tf
from tensorflow.contrib import legacy_seq2seq
from tensorflow.contrib.legacy_seq2seq.python.ops import seq2seq as same

rng = np.random.RandomState(35)
SYMBOLS, LENGTH, GO = 8, 4, 0


def batch(size):
    x = rng.randint(1, SYMBOLS, (LENGTH, size))
    y = x[::-1]
    return x, np.vstack([np.full((1, size), GO), y[:-1]]), y


encoder = [tf.placeholder(tf.int32, [None], name="encoder%d" % i) for i in range(LENGTH)]
decoder = [tf.placeholder(tf.int32, [None], name="decoder%d" % i) for i in range(LENGTH)]
targets = [tf.placeholder(tf.int32, [None], name="target%d" % i) for i in range(LENGTH)]
weights = [tf.ones_like(t, dtype=tf.float32) for t in targets]


def model(feed_previous):
    cell = tf.nn.rnn_cell.GRUCell(32)
    return legacy_seq2seq.embedding_attention_seq2seq(
        encoder, decoder, cell, SYMBOLS, SYMBOLS, 16, feed_previous=feed_previous)


with tf.variable_scope("model"):
    outputs, _ = model(False)
with tf.variable_scope("model", reuse=True):
    tested, _ = model(True)
loss = legacy_seq2seq.sequence_loss(outputs, targets, weights)
params = tf.trainable_variables()
gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, params), 5.0)
train = tf.train.AdamOptimizer(0.01).apply_gradients(zip(gradients, params))
assert same.sequence_loss is legacy_seq2seq.sequence_loss


def feed(x, given, y):
    feed = {}
    for i in range(LENGTH):
        feed[encoder[i]], feed[decoder[i]], feed[targets[i]] = x[i], given[i], y[i]
    return feed


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(400):
        sess.run(train, feed(*batch(64)))
    x, given, y = batch(100)
    found = np.argmax(sess.run(tested, feed(x, given, y)), axis=2)
result = np.mean(found == y)
print("accuracy %.3f" % result)
assert result > 0.9
