"""Saves with Saver, restores by import_meta_graph and names, and trains on: loss falls below 0.02."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(18)
data = rng.randn(200, 3)
target = data.dot([[1.], [-1.], [2.]]) + 0.5


def build():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.Variable(tf.zeros([3, 1]), name="w")
    b = tf.Variable(tf.zeros([1]), name="b")
    loss = tf.reduce_mean(tf.square(tf.add(tf.matmul(x, w), b) - y), name="loss")
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    tf.add_to_collection("train_op", train)


build()
saver = tf.train.Saver(max_to_keep=2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1, 31):
        sess.run(tf.get_collection("train_op")[0], {"x:0": data, "y:0": target})
        if step % 10 == 0:
            saver.save(sess, "./model", global_step=step)
    first = sess.run("loss:0", {"x:0": data, "y:0": target})
state = tf.train.get_checkpoint_state(".")
assert len(state.all_model_checkpoint_paths) == 2

tf.reset_default_graph()
with tf.Session() as sess:
    restored = tf.train.import_meta_graph("model-30.meta")
    restored.restore(sess, tf.train.latest_checkpoint("./"))
    graph = tf.get_default_graph()
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
    loss = graph.get_tensor_by_name("loss:0")
    again = sess.run(loss, {x: data, y: target})
    for _ in range(60):
        sess.run(tf.get_collection("train_op")[0], feed_dict={x: data, y: target})
    last, w = sess.run([loss, "w:0"], {x: data, y: target})
print("loss %.3f, restored %.3f, at the end %.4f" % (first, again, last), w.ravel())
assert abs(first - again) < 1e-6 and w.shape == (3, 1)
assert last < 0.02
