"""Writes TFRecord files and trains from queues with a Coordinator: accuracy above 0.95."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def write(name, count):
    writer = tf.python_io.TFRecordWriter(name)
    for _ in range(count):
        label = rng.randint(2)
        image = rng.randint(0, 120, size=(8, 8)) + 120 * label * (np.arange(8) > 3)
        features = {"label": _int64_feature(label),
                    "image_raw": _bytes_feature(image.astype(np.uint8).tostring())}
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())
    writer.close()


def inputs(files, batch_size, num_epochs):
    queue = tf.train.string_input_producer(files, num_epochs=num_epochs)
    reader = tf.TFRecordReader()
    _, serialized = reader.read(queue)
    features = tf.parse_single_example(serialized, features={
        "image_raw": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64)})
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([64])
    image = tf.cast(image, tf.float32) * (1. / 255) - 0.5
    label = tf.cast(features["label"], tf.int32)
    return tf.train.shuffle_batch([image, label], batch_size=batch_size, num_threads=2,
                                  capacity=200 + 3 * batch_size, min_after_dequeue=100)


for part in range(2):
    write("train-%d.tfrecords" % part, 200)
images, labels = inputs(["train-0.tfrecords", "train-1.tfrecords"], 20, 8)
hidden = tf.layers.dense(images, 16, activation=tf.nn.relu)
logits = tf.layers.dense(hidden, 2)
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
accuracy = tf.reduce_mean(tf.to_float(tf.nn.in_top_k(logits, labels, 1)))
init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())

sess = tf.Session()
sess.run(init_op)
coord = tf.train.Coordinator()
threads = tf.train.start_queue_runners(sess=sess, coord=coord)
step, last = 0, []
try:
    while not coord.should_stop():
        _, value = sess.run([train_op, accuracy])
        last = (last + [value])[-20:]
        step += 1
except tf.errors.OutOfRangeError:
    print("Done training for 8 epochs, %d steps." % step)
finally:
    coord.request_stop()
coord.join(threads)
sess.close()
assert step == 160, step
assert np.mean(last) > 0.95
