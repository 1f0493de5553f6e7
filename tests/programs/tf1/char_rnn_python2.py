"""A character RNN of Python 2 with cPickle, xrange, iteritems and `print`: loss below 0.3."""
import cPickle
import os

import numpy as np
import tensorflow as tf
from six.moves import urllib

BATCH, SEQ, SIZE = 8, 10, 48


class TextLoader():
	def __init__(self, data_dir, batch_size, seq_length):
		self.batch_size = batch_size
		self.seq_length = seq_length
		with open(os.path.join(data_dir, "input.txt"), "r") as f:
			data = f.read()
		counts = {}
		for c in data:
			counts[c] = counts.get(c, 0) + 1
		pairs = sorted(counts.items(), key=lambda x: -x[1])
		self.chars, _ = zip(*pairs)
		self.vocab = dict(zip(self.chars, range(len(self.chars))))
		with open(os.path.join(data_dir, "vocab.pkl"), 'w') as f:
			cPickle.dump(self.chars, f)
		self.tensor = np.array(map(self.vocab.get, data))
		self.num_batches = self.tensor.size / (batch_size * seq_length)
		assert isinstance(self.num_batches, int)
		self.tensor = self.tensor[:self.num_batches * batch_size * seq_length]
		xdata, ydata = self.tensor, np.copy(self.tensor)
		ydata[:-1] = xdata[1:]
		ydata[-1] = xdata[0]
		self.x_batches = np.split(xdata.reshape(batch_size, -1), self.num_batches, 1)
		self.y_batches = np.split(ydata.reshape(batch_size, -1), self.num_batches, 1)


with open("input.txt", "w") as f:
    print >>f, "hello world, how are you? " * 60
loader = TextLoader(".", BATCH, SEQ)
inputs = tf.placeholder(tf.int32, [BATCH, SEQ])
targets = tf.placeholder(tf.int32, [BATCH, SEQ])
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(SIZE) for _ in xrange(2)])
start = cell.zero_state(BATCH, tf.float32)
table = tf.get_variable("embedding", [len(loader.vocab), SIZE])
outputs, final = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, inputs), initial_state=start)
logits = tf.layers.dense(outputs, len(loader.vocab))
loss = tf.reduce_mean(
    tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=targets))
train = tf.train.AdamOptimizer(0.02).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for e in xrange(7):
        state = sess.run(start)
        for x, y in zip(loader.x_batches, loader.y_batches):
            feed = {inputs: x, targets: y}
            for i, (c, h) in enumerate(start):
                feed[c], feed[h] = state[i].c, state[i].h
            value, state, _ = sess.run([loss, final, train], feed)
        print "epoch %d: loss" % e, value
with open("vocab.pkl") as f:
    chars = cPickle.load(f)
for name, code in sorted(loader.vocab.iteritems())[:3]:
    print repr(name), code,
print
assert chars == loader.chars and loader.vocab.has_key("h")
assert value < 0.3
