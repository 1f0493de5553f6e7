"""A conditional random field over an LSTM, Viterbi in Python: accuracy above 0.95."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(34)
TAGS, WORDS, LENGTH = 3, 8, 9


def sentences(count):
    """A tag is that before it plus the word, so that only the chain knows it."""
    words = rng.randint(0, WORDS, (count, LENGTH))
    tags = np.cumsum(words % TAGS, axis=1) % TAGS
    lengths = rng.randint(4, LENGTH + 1, count)
    return words, tags.astype(np.int32), lengths.astype(np.int32)


words = tf.placeholder(tf.int32, [None, LENGTH])
tags = tf.placeholder(tf.int32, [None, LENGTH])
lengths = tf.placeholder(tf.int32, [None])
embedded = tf.nn.embedding_lookup(tf.get_variable("words", [WORDS, 12]), words)
cell = tf.contrib.rnn.LSTMCell(40)
output, _ = tf.nn.dynamic_rnn(cell, embedded, lengths, dtype=tf.float32)
scores = tf.layers.dense(output, TAGS)
log_likelihood, transition_params = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths)
loss = tf.reduce_mean(-log_likelihood)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(300):
        w, t, n = sentences(32)
        sess.run(train, {words: w, tags: t, lengths: n})
    w, t, n = sentences(100)
    unary, transitions = sess.run([scores, transition_params], {words: w, tags: t, lengths: n})
right = total = 0
for score, tag, length in zip(unary, t, n):
    viterbi, _ = tf.contrib.crf.viterbi_decode(score[:length], transitions)
    right += np.sum(np.equal(viterbi, tag[:length]))
    total += length
print("accuracy %.3f" % (right / float(total)))
assert right / float(total) > 0.95
