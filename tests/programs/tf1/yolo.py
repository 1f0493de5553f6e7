"""One-stage detection with a YOLO-like loss over a grid: mean overlap above 0.6."""
import numpy as np
import tensorflow as tf

slim = tf.contrib.slim
rng = np.random.RandomState(12)
S, SIZE = 4, 32


def batch(count):
    images = rng.uniform(0, 0.2, (count, SIZE, SIZE, 1)).astype(np.float32)
    labels = np.zeros((count, S, S, 5), np.float32)
    for image, label in zip(images, labels):
        w, h = rng.randint(6, 13, 2)
        x, y = rng.randint(0, SIZE - w), rng.randint(0, SIZE - h)
        image[y:y + h, x:x + w] += 0.8
        cx, cy = x + w / 2., y + h / 2.
        column, row = int(cx * S / SIZE), int(cy * S / SIZE)
        label[row, column] = [1, cx * S / SIZE - column, cy * S / SIZE - row,
                              np.sqrt(w / float(SIZE)), np.sqrt(h / float(SIZE))]
    return images, labels


def iou(boxes1, boxes2):
    def corners(b):
        half = tf.square(b[..., 3:5]) / 2.0
        center = b[..., 1:3] / S
        return center - half, center + half

    low1, high1 = corners(boxes1)
    low2, high2 = corners(boxes2)
    side = tf.maximum(0.0, tf.minimum(high1, high2) - tf.maximum(low1, low2))
    inter = side[..., 0] * side[..., 1]
    area1 = tf.reduce_prod(high1 - low1, axis=-1)
    area2 = tf.reduce_prod(high2 - low2, axis=-1)
    return tf.clip_by_value(inter / tf.maximum(area1 + area2 - inter, 1e-10), 0.0, 1.0)


images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 1], name="images")
labels = tf.placeholder(tf.float32, [None, S, S, 5], name="labels")
with slim.arg_scope([slim.conv2d], activation_fn=tf.nn.leaky_relu,
                    weights_regularizer=slim.l2_regularizer(0.0001)):
    net = slim.conv2d(images, 12, 5, stride=2, scope="conv_1")
    net = slim.conv2d(net, 24, 3, stride=2, scope="conv_2")
    net = slim.conv2d(net, 32, 3, stride=2, scope="conv_3")
    net = slim.conv2d(net, 5, 3, activation_fn=None, scope="out")
confidence = tf.sigmoid(net[..., :1])
predicted = tf.concat([confidence, tf.sigmoid(net[..., 1:3]), tf.sigmoid(net[..., 3:5])], 3)
response = labels[..., 0]
object_loss = tf.reduce_mean(tf.reduce_sum(response * tf.square(predicted[..., 0] - 1), [1, 2]))
noobject_loss = tf.reduce_mean(
    tf.reduce_sum((1 - response) * tf.square(predicted[..., 0]), [1, 2])) * 0.5
coordinates = tf.expand_dims(response, 3) * (predicted[..., 1:] - labels[..., 1:])
coord_loss = tf.reduce_mean(tf.reduce_sum(tf.square(coordinates), [1, 2, 3])) * 5
for one in (object_loss, noobject_loss, coord_loss):
    tf.losses.add_loss(one)
total_loss = tf.losses.get_total_loss()
global_step = tf.train.create_global_step()
train_op = slim.learning.create_train_op(
    total_loss, tf.train.AdamOptimizer(0.005), global_step=global_step)
best = tf.reshape(predicted[..., 0], [-1, S * S])
overlap = tf.reshape(iou(predicted, labels), [-1, S * S])
mean_overlap = tf.reduce_mean(tf.reduce_sum(overlap * tf.one_hot(tf.argmax(best, 1), S * S), 1))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(400):
        x, y = batch(32)
        sess.run(train_op, {images: x, labels: y})
    x, y = batch(100)
    result = sess.run(mean_overlap, {images: x, labels: y})
print("mean overlap %.3f" % result)
assert result > 0.6
