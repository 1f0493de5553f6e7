"""Between-graph replication: a parameter server and two workers by tf.train.Server: loss below 0.01."""
import socket
import threading

import numpy as np
import tensorflow as tf


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


cluster = tf.train.ClusterSpec({
    "ps": ["localhost:%d" % free_port()],
    "worker": ["localhost:%d" % free_port() for _ in range(2)]})
ps = tf.train.Server(cluster, job_name="ps", task_index=0)
results = {}


def work(task_index):
    server = tf.train.Server(cluster, job_name="worker", task_index=task_index)
    rng = np.random.RandomState(task_index)
    with tf.Graph().as_default():
        tf.set_random_seed(15)
        with tf.device(tf.train.replica_device_setter(
                worker_device="/job:worker/task:%d" % task_index, cluster=cluster)):
            x = tf.placeholder(tf.float32, [None, 4])
            y_ = tf.placeholder(tf.float32, [None, 1])
            W = tf.get_variable("W", [4, 1], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, W) - y_))
            global_step = tf.train.get_or_create_global_step()
            train_op = tf.train.AdagradOptimizer(0.5).minimize(loss, global_step=global_step)
        hooks = [tf.train.StopAtStepHook(last_step=200)]
        with tf.train.MonitoredTrainingSession(
                master=server.target, is_chief=task_index == 0, hooks=hooks) as mon_sess:
            value = None
            while not mon_sess.should_stop():
                data = rng.randn(32, 4)
                feed = {x: data, y_: data.dot([[1.], [2.], [-1.], [0.5]])}
                _, value, step = mon_sess.run([train_op, loss, global_step], feed)
            results[task_index] = (value, step, W.device)


threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
assert sorted(results) == [0, 1]
assert max(step for _, step, _ in results.values()) >= 198
assert all("/job:ps" in device for _, _, device in results.values())
assert min(value for value, _, _ in results.values()) < 0.01
