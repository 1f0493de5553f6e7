"""MonitoredTrainingSession with hooks of its own and of TensorFlow's: loss below 0.05."""
import glob

import tensorflow as tf


class LossHook(tf.train.SessionRunHook):
    def __init__(self, loss):
        self.loss, self.seen, self.last = loss, 0, None

    def begin(self):
        self.seen = 0

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, run_context, run_values):
        self.seen, self.last = self.seen + 1, run_values.results
        if run_values.results < 0.02:
            run_context.request_stop()


dataset = tf.data.Dataset.from_tensor_slices(tf.linspace(-1.0, 1.0, 64)).repeat().batch(32)
x = tf.expand_dims(dataset.make_one_shot_iterator().get_next(), 1)
hidden = tf.layers.dense(x, 16, activation=tf.tanh)
loss = tf.losses.mean_squared_error(tf.sin(3 * x), tf.layers.dense(hidden, 1))
global_step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.03, global_step, 200, 0.9, staircase=True)
train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=global_step)
hook = LossHook(loss)
hooks = [tf.train.StopAtStepHook(last_step=600), tf.train.NanTensorHook(loss), hook]
with tf.train.MonitoredTrainingSession(checkpoint_dir="ckpt", hooks=hooks,
                                       save_checkpoint_secs=600, log_step_count_steps=100) as sess:
    while not sess.should_stop():
        sess.run(train_op)
steps = tf.train.load_variable("ckpt", "global_step")
print("loss %g after %d steps" % (hook.last, steps))
assert steps == hook.seen and glob.glob("ckpt/events*")
assert hook.last < 0.05
