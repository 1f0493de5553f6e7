"""Towers with shared variables and averaged gradients, on CPU where GPUs lack: accuracy above 0.9."""
import numpy as np
import tensorflow as tf

FLAGS_num_gpus = 2
TOWER_NAME = "tower"
rng = np.random.RandomState(14)
centers = rng.randn(5, 10) * 2


def _variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = _variable_on_cpu(name, shape, tf.truncated_normal_initializer(stddev=stddev))
    if wd is not None:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss")
        tf.add_to_collection("losses", weight_decay)
    return var


def inference(x):
    with tf.variable_scope("local"):
        weights = _variable_with_weight_decay("weights", [10, 24], 0.1, 0.001)
        biases = _variable_on_cpu("biases", [24], tf.constant_initializer(0.1))
        local = tf.nn.relu(tf.matmul(x, weights) + biases, name="local")
    with tf.variable_scope("softmax_linear"):
        weights = _variable_with_weight_decay("weights", [24, 5], 0.1, None)
        biases = _variable_on_cpu("biases", [5], tf.constant_initializer(0.0))
        return tf.add(tf.matmul(local, weights), biases)


def tower_loss(scope, x, labels):
    logits = inference(x)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(entropy))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss"), logits


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.reduce_mean(tf.concat(axis=0, values=grads), 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


with tf.Graph().as_default(), tf.device("/cpu:0"):
    tf.set_random_seed(14)
    global_step = tf.get_variable(
        "global_step", [], initializer=tf.constant_initializer(0), trainable=False)
    lr = tf.train.exponential_decay(0.2, global_step, 50, 0.9, staircase=True)
    opt = tf.train.GradientDescentOptimizer(lr)
    x = tf.placeholder(tf.float32, [64, 10])
    y = tf.placeholder(tf.int32, [64])
    xs, ys = tf.split(x, FLAGS_num_gpus), tf.split(y, FLAGS_num_gpus)
    tower_grads, tower_logits = [], []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(FLAGS_num_gpus):
            with tf.device("/gpu:%d" % i), tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                loss, logits = tower_loss(scope, xs[i], ys[i])
                tf.get_variable_scope().reuse_variables()
                tower_grads.append(opt.compute_gradients(loss))
                tower_logits.append(logits)
    grads = average_gradients(tower_grads)
    apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
    variable_averages = tf.train.ExponentialMovingAverage(0.9, global_step)
    variables_averages_op = variable_averages.apply(tf.trainable_variables())
    train_op = tf.group(apply_gradient_op, variables_averages_op)
    accuracy = tf.reduce_mean(
        tf.cast(tf.nn.in_top_k(tf.concat(tower_logits, 0), y, 1), tf.float32))
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(200):
            labels = rng.randint(0, 5, 64)
            feed = {x: centers[labels] + rng.randn(64, 10), y: labels}
            _, value = sess.run([train_op, accuracy], feed)
        step = sess.run(global_step)
print("accuracy %.3f at step %d" % (value, step))
assert len(tf.trainable_variables()) == 0
assert step == 200 and value > 0.9
