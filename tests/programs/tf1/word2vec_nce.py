"""Skip-gram word vectors by noise-contrastive estimation: words of a pair are nearest in 8 of 10."""
from __future__ import division

import collections
import random

import numpy as np
import tensorflow as tf
from six.moves import xrange

random.seed(3)
pairs = [("left%d" % i, "right%d" % i) for i in range(10)]
words = []
for _ in range(1500):
    pair = list(random.choice(pairs))
    random.shuffle(pair)
    words += pair
count = [["UNK", -1]] + collections.Counter(words).most_common(30)
dictionary = dict((word, i) for i, (word, _) in enumerate(count))
data = [dictionary[word] for word in words]
data_index = 0


def generate_batch(batch_size, num_skips, skip_window):
    global data_index
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    for _ in range(span):
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    for i in range(batch_size // num_skips):
        target, targets_to_avoid = skip_window, [skip_window]
        for j in range(num_skips):
            while target in targets_to_avoid:
                target = random.randint(0, span - 1)
            targets_to_avoid.append(target)
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[target]
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    return batch, labels


vocabulary_size, embedding_size, num_sampled = len(dictionary), 16, 8
train_inputs = tf.placeholder(tf.int32, shape=[128])
train_labels = tf.placeholder(tf.int32, shape=[128, 1])
embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
embed = tf.nn.embedding_lookup(embeddings, train_inputs)
nce_weights = tf.Variable(tf.truncated_normal([vocabulary_size, embedding_size], stddev=0.25))
nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
loss = tf.reduce_mean(tf.nn.nce_loss(
    weights=nce_weights, biases=nce_biases, labels=train_labels, inputs=embed,
    num_sampled=num_sampled, num_classes=vocabulary_size))
optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
scores = tf.matmul(embeddings, nce_weights, transpose_b=True)

with tf.Session() as session:
    tf.global_variables_initializer().run()
    for step in xrange(800):
        batch_inputs, batch_labels = generate_batch(128, 2, 1)
        session.run(optimizer, {train_inputs: batch_inputs, train_labels: batch_labels})
    final, vectors = session.run([scores, embeddings / norm])
found = 0
for left, right in pairs:
    row = final[dictionary[left]].copy()
    row[0] = row[dictionary[left]] = -1e9
    found += int(np.argmax(row) == dictionary[right])
print("%d of 10 pairs" % found)
assert found >= 8
assert np.allclose((vectors ** 2).sum(1), 1, atol=1e-4)
