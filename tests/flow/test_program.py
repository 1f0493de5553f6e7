"""A program that imports oneflow, under `mox run`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = """\
import argparse
import numpy as np
import oneflow as flow
import oneflow.core.record.record_pb2 as record_pb2

parser = argparse.ArgumentParser()
parser.add_argument("-g", "--gpu", type=int, default=1)
parser.add_argument("-load", "--load", default="")
args = parser.parse_args()
assert record_pb2.OFRecord().SerializeToString() == b""


@flow.function
def train(x=flow.input_blob_def((4, 3))):
    flow.config.train.primary_lr(0.1)
    flow.config.train.model_update_conf(dict(momentum_conf={}))
    y = flow.layers.dense(x, 2, name="fc", kernel_initializer=flow.random_uniform_initializer())
    loss = flow.math.reduce_sum(flow.math.square(y), 1)
    flow.losses.add_loss(loss)
    return loss


flow.config.gpu_device_num(args.gpu)
flow.config.ctrl_port(9788)
flow.config.default_data_type(flow.float)
point = flow.train.CheckPoint()
point.load(args.load) if args.load else point.init()
x = np.eye(4, 3, dtype=np.float32)
if not args.load:
    train(x).get()
    point.save("saved")
for _ in range(3):
    print("{:.9f}".format(train(x).get().mean()))
"""


def _run(folder: Path, *flags: str) -> list[str]:
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "train.py", *flags],
        cwd=folder, capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_program_saves_loads_and_continues_with_identical_losses(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)

    first = _run(tmp_path, "-g", "1")

    assert len(first) == 3
    assert _run(tmp_path, "-g", "1", "-load", "saved") == first
