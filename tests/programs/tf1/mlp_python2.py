"""A program of Python 2 throughout: classes of old style, exceptions, division: accuracy above 0.9."""
# -*- coding: utf-8 -*-
import sys
reload(sys)
sys.setdefaultencoding('utf-8')
import StringIO
import urllib2
import numpy as np
import tensorflow as tf

config = {'hidden': 24, 'batch': 030, 'epochs': 6L}


class DataSet:
    def __init__(self, n):
        rng = np.random.RandomState(36)
        self.x = rng.rand(n, 4).astype('float32')
        self.y = (self.x[:, 0] + self.x[:, 1] > self.x[:, 2] + self.x[:, 3]).astype('int32')
        self.n = n
        self.cursor = 0

    def next(self):
        if self.cursor + config['batch'] > self.n:
            raise StopIteration, 'epoch is over'
        chosen = slice(self.cursor, self.cursor + config['batch'])
        self.cursor += config['batch']
        return self.x[chosen], self.y[chosen]

    def __iter__(self):
        self.cursor = 0
        return self


def read((lines, sep)):
    return [line.split(sep) for line in lines if line <> '']


log = StringIO.StringIO()
data = DataSet(1000)
steps = data.n / config['batch']
half = range(steps)[:steps / 2]
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.int32, [None])
hidden = tf.contrib.layers.fully_connected(x, config['hidden'])
logits = tf.contrib.layers.fully_connected(hidden, 2, activation_fn=None)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, y, 1), 'float'))
try:
    urllib2.urlopen('file:///no/such/file')
except (urllib2.URLError, IOError), e:
    print >>log, 'no\tpage'
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for epoch in xrange(config['epochs']):
        for xs, ys in data:
            sess.run(train, {x: xs, y: ys})
        print >>log, 'epoch\t%d' % epoch
    result = sess.run(accuracy, {x: data.x, y: data.y})
rows = read((log.getvalue().split('\n'), '\t'))
print 'accuracy', result, u'— %d steps' % steps, `len(rows)`
assert steps == 41 and len(half) == 20 and rows[0] == ['no', 'page'] and len(rows) == 7
assert result > 0.9
