"""Linear regression from a CSV file through TextLineReader and decode_csv: error below 0.1."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
with open("data.csv", "w") as f:
    f.write("a,b,target\n")
    for _ in range(300):
        a, b = rng.uniform(-1, 1, 2)
        f.write("%f,%f,%f\n" % (a, b, 3 * a - 2 * b + 0.5))

filename_queue = tf.train.string_input_producer(["data.csv"])
reader = tf.TextLineReader(skip_header_lines=1)
key, value = reader.read(filename_queue)
a, b, target = tf.decode_csv(value, record_defaults=[[0.0], [0.0], [0.0]])
features, targets = tf.train.batch([tf.stack([a, b]), target], batch_size=16, capacity=64)
w = tf.get_variable("w", shape=[2, 1], initializer=tf.zeros_initializer())
bias = tf.get_variable("b", shape=[1], initializer=tf.constant_initializer(0.0))
predicted = tf.squeeze(tf.matmul(features, w) + bias, squeeze_dims=[1])
loss = tf.reduce_mean(tf.square(predicted - targets))
train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(coord=coord)
    for step in range(200):
        sess.run(train)
    found = np.append(sess.run(w).ravel(), sess.run(bias))
    coord.request_stop()
    coord.join(threads)
print(found)
assert np.abs(found - [3, -2, 0.5]).max() < 0.1
