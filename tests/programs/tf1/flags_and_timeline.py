"""tf.app.flags, RunOptions with a timeline, tf.logging and restoring an average: loss below 0.01."""
import json
import os

import numpy as np
import tensorflow as tf
from tensorflow.python.client import timeline

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_integer("timeline_steps", 150, "Number of steps.")
flags.DEFINE_float("timeline_rate", 0.1, "Learning rate.")
flags.DEFINE_string("timeline_dir", "run", "Where to write.")
flags.DEFINE_boolean("timeline_trace", True, "Whether to trace.")


def main(unused_argv):
    tf.logging.set_verbosity(tf.logging.WARN)
    if tf.gfile.Exists(FLAGS.timeline_dir):
        tf.gfile.DeleteRecursively(FLAGS.timeline_dir)
    tf.gfile.MakeDirs(FLAGS.timeline_dir)
    data = np.random.RandomState(38).randn(100, 3).astype(np.float32)
    target = data.dot(np.array([[1.], [2.], [3.]], np.float32))
    w = tf.Variable(tf.zeros([3, 1]), name="w")
    loss = tf.reduce_mean(tf.squared_difference(tf.matmul(data, w), target))
    step = tf.contrib.framework.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(FLAGS.timeline_rate).minimize(loss, step)
    ema = tf.train.ExponentialMovingAverage(0.8)
    with tf.control_dependencies([train]):
        train = ema.apply([w])
    saver = tf.train.Saver()
    path = os.path.join(FLAGS.timeline_dir, "model")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.timeline_steps):
            sess.run(train)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(train, options=options, run_metadata=metadata)
        trace = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
        with tf.gfile.Open(os.path.join(FLAGS.timeline_dir, "timeline.json"), "w") as f:
            f.write(trace)
        saver.save(sess, path)
    restorer = tf.train.Saver(ema.variables_to_restore())
    with tf.Session() as sess:
        restorer.restore(sess, path)
        value, found = sess.run([loss, w])
    print("loss %.5f" % value, found.ravel())
    assert json.loads(trace)["traceEvents"]
    assert value < 0.01


if __name__ == "__main__":
    tf.app.run()
