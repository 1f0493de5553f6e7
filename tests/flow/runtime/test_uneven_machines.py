"""Batches that do not divide evenly over machines, as processes on loopback: values and gradients
are those of one device, and batch norm's those of as many devices of one machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warm

from moxing.flow.runtime import addresses
from moxing.launch.ports import free_ports

PROGRAM = """\
import json
import sys

import numpy as np
import oneflow as flow

BATCH = 7
machines, devices, kind = sys.argv[1].split(",") if sys.argv[1] else [], sys.argv[2], sys.argv[3]
INIT = flow.random_normal_initializer(0, 0.3)
found = {}


def keep(name):
    return lambda value: found.setdefault(name, []).append(np.asarray(value).tolist())


def variable(name, *shape, distribute=None):
    return flow.get_variable(
        name, shape, initializer=INIT, random_seed=len(name), distribute=distribute
    )


def images(x, y):
    # Parts of one machine's samples, and what needs all samples at once.
    x = flow.nn.conv2d(x, variable("filters", 4, 2, 3, 3), 1, "SAME", "NCHW")
    if kind == "norm":
        x = flow.layers.batch_normalization(x, 1, name="bn")
    x = flow.nn.max_pool2d(flow.nn.relu(x), 2, 2, "VALID", "NCHW")
    x = flow.reshape(x, (BATCH, -1))
    columns = flow.distribute.split(1)
    x = flow.matmul(x, variable("columns", 36, 6, distribute=columns), name="fc")
    x = x - 0.3 * flow.math.reduce_mean(x, 0, keepdims=True)
    x = x * flow.constant(1.5, flow.float, (BATCH, 1))
    return flow.nn.sparse_softmax_cross_entropy_with_logits(y, x), x


def texts(words, y):
    # Two rows of tokens for each row of samples: (7, 2) and (14,) are in the same parts.
    vectors = flow.gather(variable("table", 6, 4), words)
    rows = flow.reshape(vectors, (-1, 4))
    flat = flow.one_hot(flow.reshape(words, (-1,)), 4, dtype=flow.float)
    rows = flow.matmul(rows + flat, variable("square", 4, 4))
    x = flow.math.reduce_sum(flow.reshape(rows, (BATCH, 2, 4)), 1)
    x = flow.concat([x, flow.cast(flow.reshape(y, (-1, 1)), flow.float)], 1)
    x = flow.math.tanh(flow.layers.layer_norm(x, name="ln"))
    pairs = flow.matmul(x, x, transpose_b=True)
    return flow.math.reduce_sum(pairs, 1), x


@flow.function
def train(
    x=flow.FixedTensorDef((BATCH, 2, 6, 6)),
    words=flow.FixedTensorDef((BATCH, 2), flow.int32),
    y=flow.FixedTensorDef((BATCH,), flow.int32),
):
    flow.config.train.primary_lr(0.05)
    flow.config.train.model_update_conf({"momentum_conf": {}})
    loss, z = texts(words, y) if kind == "texts" else images(x, y)
    flow.losses.add_loss(loss)
    flow.watch(z, keep("watched"))
    flow.watch_diff(z, keep("gradient"))
    flow.watch_diff(loss, keep("gradient of the loss"))
    assert z.shape[0] == loss.shape[0] == BATCH, (z, loss)
    return loss, z, flow.concat([z, z], 0), flow.math.reduce_max(loss)


flow.config.gpu_device_num(int(devices))
if machines:
    flow.env.machine(machines)
point = flow.train.CheckPoint()
point.init()
random = np.random.default_rng(4)
for _ in range(3):
    x = random.normal(size=(BATCH, 2, 6, 6)).astype(np.float32)
    words = random.integers(0, 6, (BATCH, 2)).astype(np.int32)
    y = random.integers(0, 4, BATCH).astype(np.int32)
    for name, value in zip(("loss", "z", "both", "most"), train(x, words, y).get()):
        keep(name)(value)
with open("found.json", "w") as output:
    json.dump(found, output)
"""


def _found(folder: Path, kind: str, machines: int, devices: int) -> dict[str, Any]:
    """What the program's jobs return and watch on machines of that many devices."""
    folder = folder / f"{machines}x{devices}"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    listed = [f"127.0.0.1:{port}" for port in free_ports(machines)] if machines > 1 else []
    processes = [
        warm.Popen(
            [*(sys.executable, "-m", "moxing", "run", "program.py")]
            + [",".join(listed), str(devices), kind],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, addresses.VARIABLE: str(number), "CUDA_VISIBLE_DEVICES": "-1"},
        )
        for number in range(machines)
    ]
    try:
        for process in processes:
            output, _ = process.communicate(timeout=300)
            assert process.returncode == 0, output
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return json.loads((folder / "found.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "places", "alike"),
    [
        ("images", (2, 2), (1, 1)),
        ("texts", (3, 1), (1, 1)),
        ("norm", (2, 2), (1, 4)),
    ],
)
def test_machines_share_a_batch_that_does_not_come_out_even(
    kind: str, places: tuple[int, int], alike: tuple[int, int], tmp_path: Path
) -> None:
    found, wanted = _found(tmp_path, kind, *places), _found(tmp_path, kind, *alike)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert np.shape(values)[0] == 3, name
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-5, err_msg=name)
    assert np.ptp(wanted["most"]) > 1e-3  # The variables have changed.
