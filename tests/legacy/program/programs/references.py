"""A program of TensorFlow 1.x that uses variables in the ways only reference variables allow."""

import glob
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.contrib import slim

import moxing.tensorflow as mox

FOLDER = sys.argv[1]


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def by_name():
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    double = 2 * tf.get_default_graph().get_tensor_by_name("w:0")
    with started() as s:
        for name in ("w:0", "w/read:0", w, w._ref(), w.value(), w.initialized_value()):
            np.testing.assert_array_equal(s.run(name), [1, 2])
        for key in ("w:0", w, "w/read:0"):
            np.testing.assert_array_equal(s.run(w + 1, {key: [3.0, 4.0]}), [4, 5])
        np.testing.assert_array_equal(s.run(double, {"w:0": [3.0, 4.0]}), [6, 8])


def grows():
    w = tf.Variable([1.0], name="w", validate_shape=False)
    longer = tf.assign(w, [1.0, 2.0, 3.0], validate_shape=False)
    v = tf.Variable(1.0)
    twice = tf.Variable(v.initialized_value() * 2)
    v += 1.0
    with started() as s:
        s.run(longer)
        assert s.run([tf.size(w), v, twice]) == [3, 2.0, 2.0]


def supervised():
    step = tf.Variable(0, name="global_step", trainable=False)
    w = tf.Variable([1.0, 2.0])
    loss = tf.reduce_sum(w * w)
    tf.summary.scalar("loss", loss)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    merged = tf.summary.merge_all()
    assert tf.train.get_global_step() is step or tf.train.get_global_step().name == step.name
    sv = tf.train.Supervisor(logdir=FOLDER, summary_op=None, save_model_secs=0)
    with sv.managed_session() as s:
        for _ in range(5):
            s.run(train)
        sv.summary_computed(s, s.run(merged))
        sv.saver.save(s, sv.save_path, global_step=sv.global_step)
    assert os.path.exists(os.path.join(FOLDER, "model.ckpt-5.index"))
    events = [e for f in glob.glob(FOLDER + "/events*") for e in tf.train.summary_iterator(f)]
    assert [e.step for e in events if e.summary.value and e.summary.value[0].tag == "loss"] == [5]


def read_again():
    saver = tf.train.import_meta_graph(FOLDER + "/model.ckpt-5.meta")
    with tf.Session() as s:
        saver.restore(s, tf.train.latest_checkpoint(FOLDER))
        assert s.run("global_step:0") == 5
        frozen = tf.graph_util.convert_variables_to_constants(
            s, tf.get_default_graph().as_graph_def(), ["Variable/read"]
        )
        expected = s.run("Variable:0")
    with tf.Graph().as_default():
        (value,) = tf.import_graph_def(frozen, return_elements=["Variable/read:0"])
        with tf.Session() as s:
            np.testing.assert_array_equal(s.run(value), expected)


def sparse():
    names = "GradientDescent Adam Adagrad RMSProp Ftrl Adadelta ProximalAdagrad"
    for name in names.split():
        with tf.Graph().as_default():
            table = tf.get_variable("table", [6, 2])
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1, 3]) ** 2)
            train = getattr(tf.train, name + "Optimizer")(0.1).minimize(loss)
            with started() as s:
                before = s.run("table:0")
                s.run(train)
                changed = (s.run("table:0") != before).any(axis=1)
                np.testing.assert_array_equal(changed, [0, 1, 0, 1, 0, 0], err_msg=name)


def layers():
    x = tf.random_normal([2, 8, 8, 3], seed=1)
    h = tf.layers.batch_normalization(tf.layers.conv2d(x, 4, 3), training=True)
    with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm):
        h = slim.flatten(slim.conv2d(h, 4, 3))
    cell = tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, num_proj=3), tf.nn.rnn_cell.GRUCell(3)]
    )
    y, _ = tf.nn.dynamic_rnn(cell, tf.reshape(h, [2, 8, -1]), dtype=tf.float32)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(y**2))
    assert all(v.op.type == "VariableV2" for v in tf.global_variables())
    with started() as s:
        s.run(train)
        assert s.run("conv2d/kernel:0").shape == (3, 3, 3, 4)
        assert s.run("batch_normalization/moving_mean/read:0").any()


def keras():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(8, input_shape=(3,)), tf.keras.layers.BatchNormalization()]
    )
    model.add(tf.keras.layers.Dense(1))
    model.compile(tf.train.AdamOptimizer(0.05), "mse")
    x = np.random.RandomState(0).rand(256, 3)
    losses = model.fit(x, x.sum(1), epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 4


def asked():
    kinds = [tf.get_variable("a", [1], use_resource=True), tf.Variable(0.0, use_resource=True)]
    with tf.variable_scope("inside", use_resource=True):
        kinds.append(tf.get_variable("b", [1]))
    tf.enable_resource_variables()
    kinds.append(tf.get_variable("c", [1]))
    tf.disable_resource_variables()
    assert [v.op.type for v in kinds] == ["VarHandleOp"] * 4


class Hook(mox.AggregativeSessionRunHook):
    def begin(self):
        self.seen = [tf.get_variable("of_a_hook", initializer=0.0, trainable=False)]
        self.seen += tf.global_variables()


def runs():
    hook = Hook()

    def model_fn(inputs, mode, **kwargs):
        w = tf.get_variable("w", [2])
        v = tf.Variable(1.0)
        loss = tf.reduce_sum(tf.layers.dense(tf.reshape(w, [1, 2]), 1) * v * inputs[0])
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])

    mox.run(
        input_fn=lambda mode, **kwargs: tf.constant(1.0),
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.AdamOptimizer(0.1),
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=2,
        auto_batch=False,
    )
    assert {v.op.type for v in hook.seen} == {"VarHandleOp"}
    assert not tf.resource_variables_enabled()


for case in (by_name, grows, supervised, read_again, sparse, layers, keras, asked, runs):
    with tf.Graph().as_default():
        case()
    print("right:", case.__name__)
