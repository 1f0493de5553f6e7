"""An AlexNet program of the documents' style under `mox run`, on one device and on two."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import warm

from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

PROGRAM = """\
import argparse
import oneflow as flow

parser = argparse.ArgumentParser()
parser.add_argument("-g", "--gpu_num_per_node", type=int, default=1)
parser.add_argument("-load", "--model_load_dir", default="")
parser.add_argument("-save", "--model_save_dir", default="")
args = parser.parse_args()
INIT = flow.variance_scaling_initializer(1.0, "fan_in", "random_normal")
relu = flow.keras.activations.relu


def load(folder):
    image = flow.data.BlobConf(
        "encoded", shape=(67, 67, 3), dtype=flow.float,
        codec=flow.data.ImageCodec([flow.data.ImageResizePreprocessor(67, 67)]),
        preprocessors=[flow.data.NormByChannelPreprocessor((104.0, 117.0, 124.0), (60.0,) * 3)],
    )
    label = flow.data.BlobConf("class/label", (), flow.int32, flow.data.RawCodec())
    return flow.data.decode_ofrecord(folder, (label, image), batch_size=4, data_part_num=2)


def conv(name, x, filters, kernel, stride, padding):
    shape = (filters, x.static_shape[1], kernel, kernel)
    weight = flow.get_variable(name + "-weight", shape, flow.float, INIT)
    return relu(flow.nn.conv2d(x, weight, stride, padding, "NCHW", name=name))


def alexnet(images, labels):
    x = flow.transpose(images, perm=[0, 3, 1, 2])
    x = flow.nn.avg_pool2d(conv("conv1", x, 16, 11, 4, "VALID"), 3, 2, "VALID", "NCHW")
    x = flow.nn.avg_pool2d(conv("conv2", x, 32, 5, 1, "SAME"), 3, 2, "VALID", "NCHW")
    x = conv("conv3", x, 32, 3, 1, "SAME")
    assert x.static_shape[0] == 4
    x = flow.reshape(x, shape=(x.static_shape[0], -1))
    x = flow.layers.dense(x, 32, relu, False, INIT, False, name="fc1")
    x = flow.layers.dense(x, 5, None, False, INIT, False, name="fc2")
    return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x, name="softmax_loss")


@flow.function
def train_job():
    flow.config.train.primary_lr(0.01)
    flow.config.train.model_update_conf(dict(naive_conf={}))
    labels, images = load("records")
    loss = alexnet(images, labels)
    flow.losses.add_loss(loss)
    return loss


@flow.function
def eval_job():
    labels, images = load("records")
    return alexnet(images, labels)


flow.config.gpu_device_num(args.gpu_num_per_node)
flow.config.default_data_type(flow.float)
point = flow.train.CheckPoint()
point.load(args.model_load_dir) if args.model_load_dir else point.init()
if args.model_save_dir:
    point.save(args.model_save_dir)
for i in range(6):
    losses = train_job().get()
    assert losses.shape == (4,)
    print("train {:.7f}".format(losses.mean()))
print("eval {:.7f}".format(eval_job().get().mean()))
"""


def _write_records(folder: Path) -> None:
    """Two parts of the same two images again and again: one reader and two see the same batches."""
    folder.mkdir()
    random = np.random.default_rng(2)
    with tf.Graph().as_default(), tf.Session() as native:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        encoded = tf.image.encode_jpeg(pixels)
        images = [
            native.run(encoded, {pixels: random.integers(0, 256, (size, 80, 3), np.uint8)})
            for size in (70, 90)
        ]
    for part in range(2):
        with files.Writer(str(folder / f"part-{part}")) as writer:
            for label, image in [*enumerate(images, 1)] * 4:
                record = OFRecord()
                record.feature["encoded"].bytes_list.value.append(image)
                record.feature["class/label"].int32_list.value.append(label)
                writer.write(record)


def _run(folder: Path, *arguments: str) -> list[float]:
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "alexnet.py", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [kind for kind, _ in lines] == ["train"] * 6 + ["eval"]
    return [float(value) for _, value in lines]


@pytest.mark.slow
def test_the_program_trains_on_two_devices_as_on_one(tmp_path: Path) -> None:
    (tmp_path / "alexnet.py").write_text(PROGRAM)
    _write_records(tmp_path / "records")

    one = _run(tmp_path, "-g", "1", "-save", "start")
    two = _run(tmp_path, "-g", "2", "-load", "start")

    assert one[-1] < one[0]
    assert len(set(one)) == 7
    np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-4)
