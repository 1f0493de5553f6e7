"""Models of the kinds that OneFlow programs of 2019 and 2020 trained, each of a few layers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import warm

from moxing.launch.ports import free_ports

PROGRAM = '''\
import argparse
import math

import numpy as np
import oneflow as flow
import oneflow.core.operator.op_conf_pb2 as op_conf_util

parser = argparse.ArgumentParser()
parser.add_argument("-g", "--gpu_num_per_node", type=int, default=1)
parser.add_argument("-n", "--node_list", default="")
parser.add_argument("--save", default="")
parser.add_argument("--load", default="")
args = parser.parse_args()

BATCH, CLASSES, WORDS, LENGTH, MASKED, SIZE = 8, 5, 30, 6, 2, 8
INIT = flow.variance_scaling_initializer(1.0, "fan_in", "random_normal")


def conf(update, rate=0.02):
    config = flow.FunctionConfig()
    config.default_data_type(flow.float)
    config.default_distribute_strategy(flow.distribute.consistent_strategy())
    config.train.primary_lr(rate)
    config.train.model_update_conf(update)
    return config


MOMENTUM = {"momentum_conf": {"beta": 0.9}}
ADAM = {
    "learning_rate_decay": {"polynomial_conf": {"decay_batches": 100, "end_learning_rate": 0.0}},
    "warmup_conf": {"linear_conf": {"warmup_batches": 2, "start_multiplier": 0}},
    "clip_conf": {"clip_by_global_norm": {"clip_norm": 1.0}},
    "adam_conf": {"epsilon": 1e-6},
}


def conv(x, filters, size, strides=1, activation=op_conf_util.kRelu, name=None):
    weight = flow.get_variable(
        name + "-weight", (filters, x.static_shape[1], size, size), x.dtype, INIT
    )
    y = flow.nn.conv2d(x, weight, strides, "SAME", "NCHW", name=name)
    y = flow.layers.batch_normalization(y, 1, 0.9, 1e-5, name=name + "_bn")
    return flow.keras.activations.relu(y) if activation == op_conf_util.kRelu else y


def entropy(x, labels, name):
    logits = flow.layers.dense(x, CLASSES, kernel_initializer=INIT, name=name)
    return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


def finished(loss):
    flow.losses.add_loss(loss)
    return loss


IMAGES = flow.FixedTensorDef((BATCH, 3, 16, 16), dtype=flow.float)
LABELS = flow.FixedTensorDef((BATCH,), dtype=flow.int32)


@flow.function(conf(MOMENTUM))
def resnet(images=IMAGES, labels=LABELS):
    with flow.deprecated.variable_scope("resnet"):
        x = conv(images, 4, 3, 2, name="stem")
        x = flow.nn.max_pool2d(x, 3, 2, "SAME", "NCHW")
        for block, filters in enumerate((4, 8)):
            y = conv(x, filters, 1, name="a%d" % block)
            y = conv(y, filters, 3, name="b%d" % block)
            y = conv(y, 2 * filters, 1, activation=None, name="c%d" % block)
            short = conv(x, 2 * filters, 1, activation=None, name="s%d" % block)
            x = flow.math.relu(y + short)
        x = flow.nn.avg_pool2d(x, 4, 1, "VALID", "NCHW")
        return finished(entropy(flow.reshape(x, (BATCH, -1)), labels, "fc"))


@flow.function(conf(MOMENTUM))
def vgg(images=IMAGES, labels=LABELS):
    with flow.deprecated.variable_scope("vgg"):
        x = images
        for stage, filters in enumerate((4, 8)):
            x = flow.layers.conv2d(
                x, filters, 3, padding="SAME", activation=flow.nn.relu, kernel_initializer=INIT,
                name="conv%d" % stage,
            )
            x = flow.nn.max_pool2d(x, 2, 2, "VALID", "NCHW")
        x = flow.reshape(x, (BATCH, -1))
        x = flow.layers.dense(x, 16, flow.math.relu, kernel_initializer=INIT, name="fc1")
        return finished(entropy(flow.nn.dropout(x, rate=0.0), labels, "fc2"))


@flow.function(conf({"rmsprop_conf": {"decay_rate": 0.9, "epsilon": 1.0}}))
def inception(images=IMAGES, labels=LABELS):
    with flow.deprecated.variable_scope("inception"):
        def plain(x, filters, size, name):
            return flow.layers.conv2d(
                x, filters, size, padding="SAME", activation=flow.nn.relu,
                kernel_initializer=INIT, name=name,
            )

        branches = [
            plain(images, 4, 1, "one"),
            plain(plain(images, 2, 1, "before"), 4, 3, "three"),
            plain(flow.nn.avg_pool2d(images, 3, 1, "SAME", "NCHW"), 4, 1, "pool"),
        ]
        x = flow.concat(branches, axis=1)
        x = flow.math.reduce_mean(x, axis=[2, 3])
        return finished(entropy(x, labels, "fc"))


@flow.function(conf({"adam_conf": {}}))
def wide_and_deep(
    labels=flow.FixedTensorDef((BATCH, 1), dtype=flow.float),
    dense=flow.FixedTensorDef((BATCH, 3), dtype=flow.float),
    wide=flow.FixedTensorDef((BATCH, 2), dtype=flow.int32),
    deep=flow.FixedTensorDef((BATCH, 4), dtype=flow.int32),
):
    first = flow.random_uniform_initializer(-0.05, 0.05)
    wide_table = flow.get_variable("wide_embedding", (WORDS, 1), initializer=first)
    deep_table = flow.get_variable("deep_embedding", (WORDS, SIZE), initializer=first)
    scores = flow.reshape(flow.gather(wide_table, wide), (-1, 2))
    scores = flow.math.reduce_sum(scores, axis=[1], keepdims=True)
    x = flow.reshape(flow.gather(deep_table, deep), (-1, 4 * SIZE))
    x = flow.concat([x, dense], axis=1)
    x = flow.layers.dense(x, 16, flow.math.relu, kernel_initializer=INIT, name="deep_fc")
    x = flow.layers.dense(x, 1, kernel_initializer=INIT, name="deep_out")
    loss = flow.nn.sigmoid_cross_entropy_with_logits(labels, x + scores)
    flow.losses.add_loss(loss)  # Of two axes.
    return loss, flow.math.sigmoid(x + scores)


@flow.function(conf(MOMENTUM))
def face(images=IMAGES, labels=LABELS):
    """Cosines of normed embeddings and normed classes, with a margin at the label."""
    with flow.deprecated.variable_scope("face"):
        x = flow.layers.conv2d(images, 4, 3, 2, "SAME", kernel_initializer=INIT, name="conv")
        x = flow.layers.prelu(x, flow.constant_initializer(0.25), shared_axes=[2, 3], name="prelu")
        x = flow.layers.dense(
            flow.reshape(x, (BATCH, -1)), SIZE, kernel_initializer=INIT, name="embedding"
        )
        x = flow.math.l2_normalize(x, 1)
        classes = flow.get_variable(
            "classes", (CLASSES, SIZE), initializer=INIT,
            distribute=flow.distribute.split(0) if args.gpu_num_per_node > 1 else None,
        )
        cosines = flow.matmul(x, flow.math.l2_normalize(classes, 1), transpose_b=True)
        at_label = flow.one_hot(labels, CLASSES, dtype=flow.float)
        logits = flow.where(at_label, cosines - 0.35, cosines) * 8.0
        return finished(flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


@flow.function(conf(MOMENTUM))
def yolo(
    images=IMAGES,
    boxes=flow.FixedTensorDef((BATCH, 16, 4), dtype=flow.float),
    present=flow.FixedTensorDef((BATCH, 16, 1), dtype=flow.float),
):
    """A grid of 4 x 4 cells, each with a box and whether there is one."""
    with flow.deprecated.variable_scope("yolo"):
        x = flow.layers.conv2d(images, 4, 3, 2, "SAME", kernel_initializer=INIT, name="one")
        x = flow.nn.leaky_relu(x, 0.1)
        x = flow.layers.conv2d(x, 5, 3, 2, "SAME", kernel_initializer=INIT, name="two")
        x = flow.transpose(x, perm=[0, 2, 3, 1])
        x = flow.reshape(x, (BATCH, 16, 5))
        box = flow.slice(x, [None, None, 0], [None, None, 4])
        score = flow.slice(x, [None, None, 4], [None, None, 1])
        of_boxes = flow.smooth_l1_loss(flow.math.sigmoid(box), boxes) * present
        of_scores = flow.nn.sigmoid_cross_entropy_with_logits(present, score)
        each = flow.math.reduce_sum(of_boxes, axis=[1, 2])
        return finished(each + flow.math.reduce_sum(of_scores, axis=[1, 2]))


IDS = flow.FixedTensorDef((BATCH, LENGTH), dtype=flow.int32)


# At a rate of 0.02 the loss rises between steps and grows the rounding of sums a thousandfold.
@flow.function(conf(ADAM, rate=0.005))
def bert(
    ids=IDS,
    mask=IDS,
    places=flow.FixedTensorDef((BATCH, MASKED), dtype=flow.int32),
    words=flow.FixedTensorDef((BATCH, MASKED), dtype=flow.int32),
    following=LABELS,
):
    def dense(x, units, name, activation=None):
        return flow.layers.dense(x, units, activation, kernel_initializer=INIT, name=name)

    def norm(x, name):
        return flow.layers.layer_norm(x, begin_norm_axis=-1, begin_params_axis=-1, name=name)

    with flow.deprecated.variable_scope("bert"):
        table = flow.get_variable("words", (WORDS, SIZE), initializer=INIT)
        x = flow.gather(params=table, indices=ids, axis=0)
        x = x + flow.get_variable("positions", (1, LENGTH, SIZE), initializer=INIT)
        x = flow.reshape(norm(x, "norm"), (-1, SIZE))

        def heads(name):
            split = flow.reshape(dense(x, SIZE, name), (-1, LENGTH, 2, SIZE // 2))
            return flow.transpose(split, perm=[0, 2, 1, 3])

        scores = flow.matmul(heads("query"), heads("key"), transpose_b=True)
        bias = flow.reshape(flow.cast(mask, flow.float), (-1, 1, 1, LENGTH))
        scores = scores * (1 / math.sqrt(SIZE / 2)) + (bias - 1.0) * 10000.0
        mixed = flow.matmul(flow.nn.softmax(scores), heads("value"))
        mixed = flow.reshape(flow.transpose(mixed, perm=[0, 2, 1, 3]), (-1, SIZE))
        x = norm(dense(mixed, SIZE, "output") + x, "attended")
        x = norm(dense(dense(x, 16, "inner", flow.math.gelu), SIZE, "outer") + x, "done")
        x = flow.reshape(x, (-1, LENGTH, SIZE))
        chosen = flow.gather(params=x, indices=places, axis=2, batch_dims=2)
        chosen = flow.reshape(chosen, (-1, SIZE))
        logits = flow.matmul(chosen, table, transpose_b=True)
        each = flow.nn.sparse_softmax_cross_entropy_with_logits(flow.reshape(words, (-1,)), logits)
        of_words = flow.math.reduce_mean(flow.reshape(each, (-1, MASKED)), axis=[-1])
        first = flow.reshape(flow.slice(x, [None, 0, 0], [None, 1, -1]), (-1, SIZE))
        pooled = dense(first, SIZE, "pooler", flow.math.tanh)
        of_next = flow.nn.sparse_softmax_cross_entropy_with_logits(
            following, dense(pooled, 2, "next")
        )
        return finished(of_words + of_next)


flow.config.gpu_device_num(args.gpu_num_per_node)
flow.env.grpc_use_no_signal()
if args.node_list:
    flow.env.machine([{"addr": node} for node in args.node_list.split(",")])
check_point = flow.train.CheckPoint()
if args.load:
    check_point.load(args.load)
else:
    check_point.init()
if args.save:
    check_point.save(args.save)
chance = np.random.default_rng(1)


def floats(*shape):
    return chance.normal(size=shape).astype(np.float32)


def whole(high, *shape):
    return chance.integers(0, high, shape).astype(np.int32)


images, labels = floats(BATCH, 3, 16, 16), whole(CLASSES, BATCH)
given = {
    resnet: (images, labels),
    vgg: (images, labels),
    inception: (images, labels),
    wide_and_deep: (
        whole(2, BATCH, 1).astype(np.float32), floats(BATCH, 3), whole(WORDS, BATCH, 2),
        whole(WORDS, BATCH, 4),
    ),
    face: (images, labels),
    yolo: (images, np.abs(floats(BATCH, 16, 4)) % 1, whole(2, BATCH, 16, 1).astype(np.float32)),
    bert: (
        whole(WORDS, BATCH, LENGTH), np.ones((BATCH, LENGTH), np.int32),
        whole(LENGTH, BATCH, MASKED), whole(WORDS, BATCH, MASKED), whole(2, BATCH),
    ),
}
for job, arrays in given.items():
    losses = []
    for step in range(12):
        result = job(*arrays).get()
        losses.append(float((result[0] if job is wide_and_deep else result).mean()))
    print(job.__name__, *losses, flush=True)
'''
MODELS = ("resnet", "vgg", "inception", "wide_and_deep", "face", "yolo", "bert")


def _start(folder: Path, number: int | None, *arguments: str) -> warm.Popen:
    own = {"MOX_MACHINE": str(number)} if number is not None else {}
    return warm.Popen(
        [sys.executable, "-m", "moxing", "run", "models.py", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", **own},
    )


def _losses(process: warm.Popen) -> dict[str, np.ndarray]:
    out, error = process.communicate(timeout=500)
    assert process.returncode == 0, error
    rows = [line.split() for line in out.splitlines()]
    return {row[0]: np.array(row[1:], np.float64) for row in rows if row and row[0] in MODELS}


@pytest.mark.slow
def test_models_learn_alike_on_one_device_two_devices_and_two_machines(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(PROGRAM)
    one = _losses(_start(tmp_path, None, "--save", "first"))
    nodes = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    two = _losses(_start(tmp_path, None, "-g", "2", "--load", "first"))
    machines = [_start(tmp_path, n, "-n", nodes, "--load", "first") for n in range(2)]
    far, nothing = _losses(machines[0]), _losses(machines[1])

    assert tuple(one) == tuple(two) == tuple(far) == MODELS
    assert nothing == {}
    for name in MODELS:
        assert one[name][-1] < one[name][0], name
        if name == "resnet":  # Each device normalizes by its own part of the batch.
            assert two[name][-1] < two[name][0]
            np.testing.assert_allclose(far[name], two[name], rtol=1e-3)
            continue
        np.testing.assert_allclose(two[name], one[name], rtol=2e-3, err_msg=name)
        np.testing.assert_allclose(far[name], one[name], rtol=2e-3, err_msg=name)
