"""tf.train.Supervisor keeps checkpoints by global step and goes on: loss below 0.01 at step 120."""
import os

import numpy as np
import tensorflow as tf

LOGDIR = "train_logs"


def train(until):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        global_step = tf.Variable(0, name="global_step", trainable=False)
        x = tf.random_normal([32, 3])
        y = tf.matmul(x, tf.constant([[1.0], [-2.0], [0.5]]))
        w = tf.Variable(tf.zeros([3, 1]), name="weights")
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
        tf.summary.scalar("loss", loss)
        sv = tf.train.Supervisor(logdir=LOGDIR, global_step=global_step, save_model_secs=0,
                                 save_summaries_secs=0, summary_op=None)
        with sv.managed_session() as sess:
            started = sess.run(global_step)
            value = None
            while not sv.should_stop():
                _, value, step = sess.run([train_op, loss, global_step])
                if step >= until:
                    break
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
            return started, value


first, _ = train(60)
second, loss = train(120)
print("went on at step %d, loss %g" % (second, loss))
assert (first, second) == (0, 60)
assert os.path.exists(os.path.join(LOGDIR, "model.ckpt-120.index"))
assert loss < 0.01
