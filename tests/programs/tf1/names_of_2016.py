"""Names of TensorFlow 0.x: tf.mul, tf.sub, tf.concat(dim, ...), SummaryWriter: loss below 0.01."""
import glob

import numpy as np
import tensorflow as tf

x_data = np.random.rand(100).astype("float32")
y_data = x_data * 0.1 + 0.3
W = tf.Variable(tf.random_uniform([1], -1.0, 1.0))
b = tf.Variable(tf.zeros([1]))
x = tf.placeholder("float", [None])
y = tf.add(tf.mul(W, x), b)
loss = tf.reduce_mean(tf.square(tf.sub(y, y_data)))
tf.scalar_summary("loss", loss)
merged = tf.merge_all_summaries()
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
both = tf.concat(1, [tf.pack([x, x], axis=1), tf.expand_dims(x, 1)])
left, right = tf.split(1, 3, both)[:2]
negative = tf.neg(x)
init = tf.initialize_all_variables()

sess = tf.Session()
writer = tf.train.SummaryWriter("logs", sess.graph)
sess.run(init)
for step in xrange(201):
    summary, _ = sess.run([merged, train], {x: x_data})
    writer.add_summary(summary, step)
    if step % 100 == 0:
        print step, sess.run(W), sess.run(b)
value, shapes = sess.run([loss, [both, left, negative]], {x: x_data})
sess.close()
writer.close()
print [part.shape for part in shapes]
assert [part.shape for part in shapes] == [(100, 3), (100, 1), (100,)]
assert glob.glob("logs/events*")
assert value < 0.01
