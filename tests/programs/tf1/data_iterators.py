"""tf.data with initializable, reinitializable and feedable iterators: accuracy above 0.9."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(30)
points = rng.uniform(-1, 1, (300, 2)).astype(np.float32)
classes = (np.hypot(points[:, 0], points[:, 1]) < 0.7).astype(np.int64)


def _noise(point, label):
    return point + tf.random_normal([2], stddev=0.02), label


def dataset(first, last):
    data = tf.contrib.data.Dataset.from_tensor_slices((points[first:last], classes[first:last]))
    return data


train = dataset(0, 200).map(_noise, num_parallel_calls=2).shuffle(200, seed=1).repeat().batch(40)
valid = dataset(200, 300).batch(50)
handle = tf.placeholder(tf.string, shape=[])
iterator = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes)
x, y = iterator.get_next()
training_iterator = train.make_one_shot_iterator()
validation_iterator = valid.make_initializable_iterator()
reinitializable = tf.data.Iterator.from_structure(valid.output_types, valid.output_shapes)
refill = reinitializable.make_initializer(valid)
again = reinitializable.get_next()

hidden = tf.layers.dense(x, 24, activation=tf.nn.elu, name="h1")
hidden = tf.layers.dense(hidden, 12, activation=tf.nn.elu, name="h2")
logits = tf.layers.dense(hidden, 2, name="logits")
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
optimizer = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)
train_op = optimizer.minimize(loss)
right = tf.equal(tf.argmax(logits, 1), y)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    training_handle = sess.run(training_iterator.string_handle())
    validation_handle = sess.run(validation_iterator.string_handle())
    for _ in range(300):
        sess.run(train_op, feed_dict={handle: training_handle})
    sess.run(validation_iterator.initializer)
    found = []
    while True:
        try:
            found.extend(sess.run(right, feed_dict={handle: validation_handle}))
        except tf.errors.OutOfRangeError:
            break
    for _ in range(2):
        sess.run(refill)
        assert len(sess.run(again)[1]) == 50
print("accuracy %.3f of %d" % (np.mean(found), len(found)))
assert len(found) == 100 and np.mean(found) > 0.9
