"""A convolutional sentence classifier with VocabularyProcessor and summaries: accuracy above 0.9."""
import datetime

import numpy as np
import tensorflow as tf
from tensorflow.contrib import learn

rng = np.random.RandomState(22)
good, bad = ["fine", "great", "lovely"], ["awful", "poor", "sad"]
filler = ["the", "film", "was", "a", "story", "of", "people"]
sentences, labels = [], []
for i in range(300):
    words = list(rng.choice(filler, rng.randint(4, 9)))
    words[rng.randint(len(words))] = rng.choice(good if i % 2 else bad)
    sentences.append(" ".join(words))
    labels.append([0, 1] if i % 2 else [1, 0])
max_document_length = max([len(s.split(" ")) for s in sentences])
vocab_processor = learn.preprocessing.VocabularyProcessor(max_document_length)
x = np.array(list(vocab_processor.fit_transform(sentences)))
y = np.array(labels)
shuffled = rng.permutation(len(y))
x_train, x_dev = x[shuffled[:200]], x[shuffled[200:]]
y_train, y_dev = y[shuffled[:200]], y[shuffled[200:]]


class TextCNN(object):
    def __init__(self, sequence_length, num_classes, vocab_size, embedding_size, filter_sizes,
                 num_filters):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, num_classes], name="input_y")
        self.keep = tf.placeholder(tf.float32, name="dropout_keep_prob")
        with tf.device("/cpu:0"), tf.name_scope("embedding"):
            W = tf.Variable(tf.random_uniform([vocab_size, embedding_size], -1.0, 1.0), name="W")
            embedded = tf.expand_dims(tf.nn.embedding_lookup(W, self.input_x), -1)
        pooled_outputs = []
        for filter_size in filter_sizes:
            with tf.name_scope("conv-maxpool-%s" % filter_size):
                shape = [filter_size, embedding_size, 1, num_filters]
                W = tf.Variable(tf.truncated_normal(shape, stddev=0.1), name="W")
                b = tf.Variable(tf.constant(0.1, shape=[num_filters]), name="b")
                conv = tf.nn.conv2d(embedded, W, strides=[1, 1, 1, 1], padding="VALID")
                h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
                pooled_outputs.append(tf.nn.max_pool(
                    h, ksize=[1, sequence_length - filter_size + 1, 1, 1],
                    strides=[1, 1, 1, 1], padding="VALID"))
        total = num_filters * len(filter_sizes)
        flat = tf.nn.dropout(tf.reshape(tf.concat(pooled_outputs, 3), [-1, total]), self.keep)
        W = tf.get_variable("W", shape=[total, num_classes],
                            initializer=tf.contrib.layers.xavier_initializer())
        b = tf.Variable(tf.constant(0.1, shape=[num_classes]), name="b")
        self.scores = tf.nn.xw_plus_b(flat, W, b, name="scores")
        losses = tf.nn.softmax_cross_entropy_with_logits(logits=self.scores, labels=self.input_y)
        self.loss = tf.reduce_mean(losses) + 0.01 * (tf.nn.l2_loss(W) + tf.nn.l2_loss(b))
        correct = tf.equal(tf.argmax(self.scores, 1), tf.argmax(self.input_y, 1))
        self.accuracy = tf.reduce_mean(tf.cast(correct, "float"), name="accuracy")


session_conf = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
sess = tf.Session(config=session_conf)
with sess.as_default():
    cnn = TextCNN(x.shape[1], 2, len(vocab_processor.vocabulary_), 16, [2, 3], 12)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    optimizer = tf.train.AdamOptimizer(5e-3)
    grads_and_vars = optimizer.compute_gradients(cnn.loss)
    train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)
    summaries = []
    for g, v in grads_and_vars:
        if g is not None:
            summaries.append(tf.summary.histogram("{}/grad/hist".format(v.name), g))
            summaries.append(
                tf.summary.scalar("{}/grad/sparsity".format(v.name), tf.nn.zero_fraction(g)))
    summary_op = tf.summary.merge(summaries)
    writer = tf.summary.FileWriter("summaries", sess.graph)
    vocab_processor.save("vocab")
    sess.run(tf.global_variables_initializer())
    for epoch in range(15):
        for start in range(0, 200, 50):
            chosen = slice(start, start + 50)
            feed = {cnn.input_x: x_train[chosen], cnn.input_y: y_train[chosen], cnn.keep: 0.5}
            _, step, summary, loss = sess.run([train_op, global_step, summary_op, cnn.loss], feed)
        writer.add_summary(summary, step)
    print("{}: step {}, loss {:g}".format(datetime.datetime.now().isoformat(), step, loss))
    result = sess.run(cnn.accuracy, {cnn.input_x: x_dev, cnn.input_y: y_dev, cnn.keep: 1.0})
sess.close()
again = learn.preprocessing.VocabularyProcessor.restore("vocab")
assert (np.array(list(again.transform(sentences[:5]))) == x[:5]).all()
print("accuracy %g" % result)
assert step == 60 and result > 0.9
