"""Images written by scipy.misc and read by WholeFileReader and decode_png: accuracy above 0.95."""
import os

import numpy as np
import scipy.misc
import tensorflow as tf
from PIL import Image

rng = np.random.RandomState(23)
filenames, labels = [], []
for i in range(60):
    image = rng.randint(0, 80, (20, 24, 3))
    if i % 2:
        image[:, :, 0] += 150
    name = os.path.join(os.getcwd(), "image%d.png" % i)
    scipy.misc.imsave(name, image.astype(np.uint8))
    filenames.append(name)
    labels.append(i % 2)
Image.open(filenames[0]).resize((8, 8), Image.ANTIALIAS).save("thumbnail.png")

filename, label = tf.train.slice_input_producer(
    [tf.constant(filenames), tf.constant(labels)], shuffle=True)
image = tf.image.decode_png(tf.read_file(filename), channels=3)
image = tf.image.convert_image_dtype(image, tf.float32)
image = tf.image.resize_images(image, [12, 12])
image = tf.image.random_flip_left_right(image)
image = tf.random_crop(image, [10, 10, 3])
image = tf.image.per_image_standardization(image) + 5 * tf.reduce_mean(image)
image_batch, label_batch = tf.train.batch([image, label], batch_size=16, num_threads=2, capacity=64)
net = tf.contrib.layers.conv2d(image_batch, 6, 3, scope="conv")
net = tf.contrib.layers.max_pool2d(net, 2)
logits = tf.contrib.layers.fully_connected(
    tf.contrib.layers.flatten(net), 2, activation_fn=None)
loss = tf.reduce_mean(
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label_batch, logits=logits))
train_op = tf.contrib.layers.optimize_loss(
    loss, tf.train.get_or_create_global_step(), learning_rate=0.01, optimizer="Adam",
    summaries=[])
accuracy = tf.contrib.metrics.accuracy(tf.cast(tf.argmax(logits, 1), tf.int32), label_batch)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    for step in range(80):
        _, value = sess.run([train_op, accuracy])
    values = [sess.run(accuracy) for _ in range(5)]
    coord.request_stop()
    coord.join(threads)
print("accuracy %.3f" % np.mean(values))
assert np.mean(values) > 0.95
