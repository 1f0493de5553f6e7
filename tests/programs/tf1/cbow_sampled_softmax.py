"""Continuous bag of words with a sampled softmax loss: accuracy above 0.9."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
VOCAB = 40
# The middle word is the sum of its neighbors modulo a few.
left, right = rng.randint(0, 6, 2000), rng.randint(0, 6, 2000)
context = np.stack([left, right + 6], axis=1)
middle = (left * 6 + right).reshape(-1, 1)

inputs = tf.placeholder(tf.int32, [None, 2])
labels = tf.placeholder(tf.int64, [None, 1])
with tf.device("/cpu:0"):
    table = tf.get_variable("table", [12, 32], initializer=tf.random_uniform_initializer(-1, 1))
    hidden = tf.reshape(tf.nn.embedding_lookup(table, inputs), [-1, 64])
    hidden = tf.contrib.layers.fully_connected(hidden, 32, activation_fn=tf.nn.relu)
w = tf.get_variable("w", [VOCAB, 32], initializer=tf.contrib.layers.xavier_initializer())
b = tf.get_variable("b", [VOCAB], initializer=tf.constant_initializer(0.0))
loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(w, b, labels, hidden, 12, VOCAB))
train = tf.train.AdagradOptimizer(0.5).minimize(loss)
logits = tf.nn.bias_add(tf.matmul(hidden, tf.transpose(w)), b)
accuracy = tf.reduce_mean(tf.to_float(tf.nn.in_top_k(logits, tf.squeeze(labels, [1]), 1)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(600):
        chosen = rng.choice(len(context), 128)
        sess.run(train, {inputs: context[chosen], labels: middle[chosen]})
    result = sess.run(accuracy, {inputs: context, labels: middle})
print(result)
assert result > 0.9
