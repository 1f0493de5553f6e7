"""Trains, freezes the graph to a file, loads it elsewhere and predicts: accuracy above 0.95."""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import graph_util
from tensorflow.python.platform import gfile

rng = np.random.RandomState(16)
data = rng.uniform(-1, 1, (400, 2)).astype(np.float32)
labels = (data[:, 0] * data[:, 1] > 0).astype(np.int64)


def train_and_freeze(path):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(16)
        x = tf.placeholder(tf.float32, [None, 2], name="input")
        y = tf.placeholder(tf.int64, [None], name="label")
        hidden = tf.layers.dense(x, 32, activation=tf.nn.relu, name="hidden")
        logits = tf.layers.dense(hidden, 2, name="logits")
        tf.nn.softmax(logits, name="output")
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        train = tf.train.AdamOptimizer(0.02).minimize(loss)
        with tf.Session(graph=graph) as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(250):
                sess.run(train, {x: data, y: labels})
            constant = graph_util.convert_variables_to_constants(
                sess, sess.graph.as_graph_def(), ["output"])
            with tf.gfile.GFile(path, "wb") as f:
                f.write(constant.SerializeToString())
            print("%d ops in the final graph." % len(constant.node))


def predict(path):
    with tf.Graph().as_default() as graph:
        graph_def = tf.GraphDef()
        with gfile.FastGFile(path, "rb") as f:
            graph_def.ParseFromString(f.read())
        output, = tf.import_graph_def(graph_def, return_elements=["output:0"], name="")
        with tf.Session() as sess:
            assert not tf.global_variables()
            return sess.run(output, {"input:0": data})


train_and_freeze("frozen.pb")
result = np.mean(np.argmax(predict("frozen.pb"), 1) == labels)
print("accuracy %.3f" % result)
assert result > 0.95
