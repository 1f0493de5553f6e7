"""k-means by tensor operations and variable assignment: every point with its own cluster."""
import random

import numpy as np
import tensorflow as tf

random.seed(20)
num_points, k = 90, 3
true = np.array([[0, 0], [6, 0], [0, 6]], np.float32)
vectors_set = np.concatenate([c + np.random.normal(0, 0.5, (30, 2)) for c in true])
vectors = tf.constant(vectors_set.astype(np.float32))
centroids = tf.Variable(tf.slice(vectors, [28, 0], [k, -1]))
expanded_vectors = tf.expand_dims(vectors, 0)
expanded_centroids = tf.expand_dims(centroids, 1)
distances = tf.reduce_sum(tf.square(tf.subtract(expanded_vectors, expanded_centroids)), 2)
assignments = tf.argmin(distances, 0)
means = tf.concat([
    tf.reduce_mean(tf.gather(vectors, tf.reshape(tf.where(tf.equal(assignments, c)), [1, -1])),
                   reduction_indices=[1])
    for c in range(k)], 0)
update_centroids = tf.assign(centroids, means)
farthest = tf.assign(centroids, tf.gather(vectors, [0, 30, 60]))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(farthest)
    for step in range(10):
        _, centers, found = sess.run([update_centroids, centroids, assignments])
print(centers)
assert [len(set(found[i * 30:i * 30 + 30])) for i in range(3)] == [1, 1, 1]
assert np.abs(np.sort(centers, 0) - np.sort(true, 0)).max() < 0.4
