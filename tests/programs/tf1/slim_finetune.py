"""slim: trains a network, restores all but its last layer for a new task: accuracy above 0.9."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib.slim.nets import resnet_v1

rng = np.random.RandomState(13)
IMAGES = rng.rand(240, 16, 16, 3).astype(np.float32)
QUADRANT = rng.randint(0, 4, 240)
for image, place in zip(IMAGES, QUADRANT):
    y, x = 8 * (place // 2), 8 * (place % 2)
    image[y:y + 8, x:x + 8] += 1.5


def network(images, classes, is_training):
    blocks = [resnet_v1.resnet_v1_block("block1", base_depth=4, num_units=1, stride=2)]
    with slim.arg_scope(resnet_v1.resnet_arg_scope(batch_norm_decay=0.9)):
        net, end_points = resnet_v1.resnet_v1(
            images, blocks, None, is_training=is_training, global_pool=False,
            include_root_block=False, scope="resnet")
    net = slim.flatten(net)
    return slim.fully_connected(net, classes, activation_fn=None, scope="logits")


def train(classes, labels, steps, logdir, checkpoint=None, exclude=()):
    with tf.Graph().as_default():
        tf.set_random_seed(13)
        images, targets = tf.train.shuffle_batch(
            list(tf.train.slice_input_producer([tf.constant(IMAGES), tf.constant(labels)])),
            batch_size=24, capacity=96, min_after_dequeue=24)
        logits = network(images, classes, True)
        slim.losses.softmax_cross_entropy(logits, slim.one_hot_encoding(targets, classes))
        train_op = slim.learning.create_train_op(
            slim.losses.get_total_loss(), tf.train.AdamOptimizer(0.01))
        init_fn = None
        if checkpoint:
            variables = slim.get_variables_to_restore(exclude=list(exclude))
            init_fn = slim.assign_from_checkpoint_fn(checkpoint, variables)
        return slim.learning.train(
            train_op, logdir, init_fn=init_fn, number_of_steps=steps, log_every_n_steps=50,
            save_summaries_secs=600, save_interval_secs=600)


def accuracy(classes, labels, logdir):
    with tf.Graph().as_default():
        logits = network(tf.constant(IMAGES), classes, False)
        value, update = slim.metrics.streaming_accuracy(tf.argmax(logits, 1), labels)
        slim.get_or_create_global_step()
        return slim.evaluation.evaluate_once(
            "", tf.train.latest_checkpoint(logdir), logdir + "/eval", num_evals=1,
            eval_op=[update], final_op=value)


train(4, QUADRANT, 80, "first")
last = tf.train.latest_checkpoint("first")
left_right = QUADRANT % 2
train(2, left_right, 40, "second", last, ["resnet/logits", "logits", "global_step"])
result = accuracy(2, left_right, "second")
print("accuracy %.3f" % result)
assert result > 0.9
