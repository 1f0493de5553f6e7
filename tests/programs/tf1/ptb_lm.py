"""A language model in PTB's manner: state carried on, clipped gradients, decay: perplexity < 2.5."""
from __future__ import absolute_import, division, print_function

import collections

import numpy as np
import tensorflow as tf

TEXT = ("the cat sat on the mat <eos> a dog ran in the park <eos> "
        "the bird sang in a tree <eos> ") * 80


class Config(object):
    init_scale = 0.2
    learning_rate = 1.0
    max_grad_norm = 5
    num_layers = 1
    num_steps = 8
    hidden_size = 32
    max_epoch = 3
    max_max_epoch = 5
    keep_prob = 0.9
    lr_decay = 0.5
    batch_size = 10


def build_vocab(words):
    counter = collections.Counter(words)
    pairs = sorted(counter.items(), key=lambda x: (-x[1], x[0]))
    return {word: i for i, (word, _) in enumerate(pairs)}


def producer(raw_data, batch_size, num_steps):
    batch_len = len(raw_data) // batch_size
    data = np.reshape(raw_data[:batch_size * batch_len], [batch_size, batch_len])
    for i in range((batch_len - 1) // num_steps):
        x = data[:, i * num_steps:(i + 1) * num_steps]
        y = data[:, i * num_steps + 1:(i + 1) * num_steps + 1]
        yield x, y


class PTBModel(object):
    def __init__(self, is_training, config, vocab_size):
        batch_size, num_steps, size = config.batch_size, config.num_steps, config.hidden_size
        self.input_data = tf.placeholder(tf.int32, [batch_size, num_steps])
        self.targets = tf.placeholder(tf.int32, [batch_size, num_steps])

        def make_cell():
            cell = tf.contrib.rnn.BasicLSTMCell(
                size, forget_bias=0.0, state_is_tuple=True, reuse=not is_training)
            if is_training and config.keep_prob < 1:
                cell = tf.contrib.rnn.DropoutWrapper(cell, output_keep_prob=config.keep_prob)
            return cell

        cell = tf.contrib.rnn.MultiRNNCell([make_cell() for _ in range(config.num_layers)])
        self.initial_state = state = cell.zero_state(batch_size, tf.float32)
        with tf.device("/cpu:0"):
            embedding = tf.get_variable("embedding", [vocab_size, size])
            inputs = tf.nn.embedding_lookup(embedding, self.input_data)
        outputs = []
        with tf.variable_scope("RNN"):
            for time_step in range(num_steps):
                if time_step > 0:
                    tf.get_variable_scope().reuse_variables()
                output, state = cell(inputs[:, time_step, :], state)
                outputs.append(output)
        output = tf.reshape(tf.concat(outputs, 1), [-1, size])
        softmax_w = tf.get_variable("softmax_w", [size, vocab_size])
        softmax_b = tf.get_variable("softmax_b", [vocab_size])
        logits = tf.nn.xw_plus_b(output, softmax_w, softmax_b)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(self.targets, [-1]), logits=logits)
        self.cost = tf.reduce_sum(loss) / batch_size
        self.final_state = state
        if not is_training:
            return
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), config.max_grad_norm)
        optimizer = tf.train.GradientDescentOptimizer(self.lr)
        self.train_op = optimizer.apply_gradients(zip(grads, tvars))
        self.new_lr = tf.placeholder(tf.float32, shape=[], name="new_learning_rate")
        self.lr_update = tf.assign(self.lr, self.new_lr)


def run_epoch(session, model, data, config, eval_op=None):
    costs, iters = 0.0, 0
    state = session.run(model.initial_state)
    for x, y in producer(data, config.batch_size, config.num_steps):
        fetches = {"cost": model.cost, "final_state": model.final_state}
        if eval_op is not None:
            fetches["eval_op"] = eval_op
        feed_dict = {model.input_data: x, model.targets: y}
        for i, (c, h) in enumerate(model.initial_state):
            feed_dict[c] = state[i].c
            feed_dict[h] = state[i].h
        vals = session.run(fetches, feed_dict)
        state = vals["final_state"]
        costs += vals["cost"]
        iters += config.num_steps
    return np.exp(costs / iters)


def main(_):
    config = Config()
    words = TEXT.split()
    vocab = build_vocab(words)
    data = np.array([vocab[word] for word in words])
    initializer = tf.random_uniform_initializer(-config.init_scale, config.init_scale)
    with tf.name_scope("Train"), tf.variable_scope("Model", initializer=initializer):
        m = PTBModel(True, config, len(vocab))
    with tf.name_scope("Valid"), tf.variable_scope("Model", reuse=True):
        mvalid = PTBModel(False, config, len(vocab))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(config.max_max_epoch):
            lr_decay = config.lr_decay ** max(i + 1 - config.max_epoch, 0.0)
            session.run(m.lr_update, feed_dict={m.new_lr: config.learning_rate * lr_decay})
            train = run_epoch(session, m, data, config, m.train_op)
            valid = run_epoch(session, mvalid, data, config)
            print("Epoch: %d Train Perplexity: %.3f Valid: %.3f" % (i + 1, train, valid))
    assert valid < 2.5


if __name__ == "__main__":
    tf.app.run()
