"""Vectors for TensorBoard's projector: variable, metadata and its configuration: loss below 0.1."""
import os

import numpy as np
import tensorflow as tf
from tensorflow.contrib.tensorboard.plugins import projector

LOG_DIR = "projector"
os.makedirs(LOG_DIR)
names = ["item%d" % i for i in range(12)]
with open(os.path.join(LOG_DIR, "metadata.tsv"), "w") as f:
    f.write("\n".join(names))
group = np.arange(12) % 3

vectors = tf.Variable(tf.random_uniform([12, 4], -1, 1, seed=17), name="vectors")
logits = tf.layers.dense(vectors, 3)
loss = tf.losses.sparse_softmax_cross_entropy(group, logits)
train = tf.train.AdamOptimizer(0.05).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(150):
        _, value = sess.run([train, loss])
    writer = tf.summary.FileWriter(LOG_DIR, sess.graph)
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = vectors.name
    embedding.metadata_path = "metadata.tsv"
    projector.visualize_embeddings(writer, config)
    saver.save(sess, os.path.join(LOG_DIR, "model.ckpt"), 150)
    writer.close()
text = open(os.path.join(LOG_DIR, "projector_config.pbtxt")).read()
print(text, "loss %.3f" % value)
assert 'tensor_name: "vectors:0"' in text and "metadata.tsv" in text
assert os.path.exists(os.path.join(LOG_DIR, "model.ckpt-150.meta"))
assert value < 0.1
