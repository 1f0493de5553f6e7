"""Arguments under the names, and in the places, that they had in any version of the original."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxTypeError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

f: Any = flow
X = np.random.default_rng(9).normal(size=(4, 4)).astype(np.float32)
PLACES = np.array([2, 0, 1, 2], np.int32)
ONE, TWO, HALF = (flow.constant_initializer(value) for value in (1.0, 2.0, 0.5))
L2 = flow.regularizers.l2(0.1)

# The call as in another version, and the same call with today's names.
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "clip_by_value": (
        lambda x, i: f.clip_by_value(t=x, clip_value_min=-1, clip_value_max=0.5),
        lambda x, i: f.clip_by_value(x, -1, 0.5),
    ),
    "expand_dims": (lambda x, i: f.expand_dims(inputs=x, axis=1), lambda x, i: f.expand_dims(x, 1)),
    "squeeze": (
        lambda x, i: f.squeeze(inputs=f.expand_dims(x, 1), axis=[1]),
        lambda x, i: f.identity(x),
    ),
    "identity": (lambda x, i: f.identity(input=x), lambda x, i: f.identity(x)),
    "parallel_cast": (
        lambda x, i: f.parallel_cast(input=x, distribute=f.distribute.broadcast()),
        lambda x, i: f.identity(x),
    ),
    "slice": (
        lambda x, i: f.slice(x=x, begin=[None, 1], size=[None, 2]),
        lambda x, i: f.slice(x, [None, 1], [None, 2]),
    ),
    "slice_v2": (
        lambda x, i: f.slice_v2(input=x, slice_tup_list=[(1, 3, None)]),
        lambda x, i: f.slice_v2(x, [(1, 3, None)]),
    ),
    "gather along axis 1": (lambda x, i: f.gather(x, i, 1), lambda x, i: f.gather(x, i, axis=1)),
    "gather by batch": (
        lambda x, i: f.gather(x, f.reshape(i, (4, 1)), 1, 1, "by_batch"),
        lambda x, i: f.gather(x, f.reshape(i, (4, 1)), axis=1, batch_dims=1),
    ),
    "reduce_mean": (
        lambda x, i: f.math.reduce_mean(input_blob=x, axis=1),
        lambda x, i: f.math.reduce_mean(x, 1),
    ),
    "reduce_min": (lambda x, i: f.math.reduce_min(x=x), lambda x, i: f.math.reduce_min(x)),
    "logical_and": (
        lambda x, i: f.math.naive_logical_and(lhs=x, rhs=f.math.relu(x)),
        lambda x, i: f.math.logical_and(x, f.math.relu(x)),
    ),
    "argmax": (lambda x, i: f.math.argmax(x, "largest"), lambda x, i: f.math.argmax(x)),
    "unsorted_segment_sum": (
        lambda x, i: f.unsorted_segment_sum(x, i, 3, "sums"),
        lambda x, i: f.unsorted_segment_sum(x, i, 3),
    ),
    "get_variable": (
        lambda x, i: f.get_variable("v", (4,), f.float, ONE, None, True, "bias"),
        lambda x, i: f.get_variable("v", (4,), f.float, ONE, True, "bias"),
    ),
    "dense": (
        lambda x, i: f.layers.dense(x, 2, None, True, ONE, TWO, False, "d"),
        lambda x, i: f.layers.dense(
            x, 2, use_bias=True, kernel_initializer=ONE, bias_initializer=TWO, name="d"
        ),
    ),
    "dense, trainable by default": (
        lambda x, i: f.layers.dense(
            x, 2, kernel_initializer=ONE, bias_initializer=TWO, trainable=None, name="d"
        ),
        lambda x, i: f.layers.dense(x, 2, None, True, ONE, TWO, name="d"),
    ),
    "nn.conv2d": (
        lambda x, i: f.nn.conv2d(*_image(x), 1, "SAME", "NCHW", 1, 2, "c"),
        lambda x, i: f.nn.conv2d(*_image(x), 1, "SAME", "NCHW", groups=2),
    ),
    "layers.conv2d": (
        lambda x, i: f.layers.conv2d(
            _image(x)[0], 2, 3, 1, "SAME", "NCHW", 1, 2, f.math.relu, True, ONE, TWO, None, None,
            True, "c",
        ),
        lambda x, i: f.layers.conv2d(
            _image(x)[0], 2, 3, padding="SAME", groups=2, activation=f.math.relu,
            kernel_initializer=ONE, bias_initializer=TWO, name="c",
        ),
    ),
    "layer_norm": (
        lambda x, i: f.layers.layer_norm(x, True, True, True, 1, -1, 0.5, "n"),
        lambda x, i: f.layers.layer_norm(x, epsilon=0.5, name="n"),
    ),
    "batch_normalization with regularizers": (
        lambda x, i: f.layers.batch_normalization(
            x, 1, 0.9, 0.1, True, True, ONE, TWO, L2, L2, HALF, TWO, True, "b"
        ),
        lambda x, i: _norm(x),
    ),
    "batch_normalization with training": (
        lambda x, i: f.layers.batch_normalization(
            x, 1, 0.9, 0.1, True, True, ONE, TWO, None, None, HALF, TWO, True, False, "b"
        ),
        lambda x, i: _norm(x),
    ),
    "batch_normalization of 2019": (
        lambda x, i: f.layers.batch_normalization(
            x, 1, 0.9, 0.1, True, True, ONE, TWO, HALF, TWO, True, "b"
        ),
        lambda x, i: _norm(x),
    ),
}  # fmt: skip


def _image(x: Any) -> tuple[Any, Any]:
    return f.reshape(x, (1, 4, 2, 2)), f.constant(0.5, f.float, (2, 2, 3, 3))


def _norm(x: Any) -> Any:
    return f.layers.batch_normalization(
        x, 1, 0.9, 0.1, beta_initializer=ONE, gamma_initializer=TWO,
        moving_mean_initializer=HALF, moving_variance_initializer=TWO, name="b",
    )  # fmt: skip


def _job(name: str, call: Callable[..., Any]) -> Any:
    def job(
        x: Any = f.FixedTensorDef((4, 4)),  # noqa: B008
        i: Any = f.FixedTensorDef((4,), f.int32),  # noqa: B008
    ) -> Any:
        with f.deprecated.variable_scope(name):
            return call(x, i)

    job.__name__ = name
    return flow.function(job)


def test_calls_of_every_version_mean_the_same() -> None:
    jobs = [
        _job(f"job{number}v{version}", call)
        for number, pair in enumerate(CALLS.values())
        for version, call in enumerate(pair)
    ]
    flow.train.CheckPoint().init()
    found = [np.asarray(job(X, PLACES).get()) for job in jobs]
    for name, earlier, later in zip(CALLS, found[::2], found[1::2], strict=True):
        assert earlier.shape == later.shape, name
        np.testing.assert_array_equal(earlier, later, name)


def test_groups_names_and_regularizers_are_told_apart_by_place(tmp_path: Path) -> None:
    record = OFRecord()
    record.feature["n"].int32_list.value.append(7)
    files.write(str(tmp_path / "part-0"), [record])
    seen: dict[str, Any] = {}
    config = f.FunctionConfig()
    config.train.primary_lr(1.0)
    config.train.model_update_conf({"naive_conf": {}})

    @f.function(function_config=config)
    def train(x: Any = f.FixedTensorDef((4, 4))) -> Any:  # noqa: B008
        w = f.get_variable("w", (4,), f.float, ONE, L2, None)
        fixed = f.get_variable("fixed", (4,), f.float, ONE, False)
        f.watch(watched=w, handler=lambda value: seen.update(w=value.tolist()))
        f.losses.add_loss(x * w * fixed)
        conf = f.data.BlobConf("n", (), f.int32, f.data.RawCodec())
        numbers = f.data.decode_ofrecord(str(tmp_path), conf, 2, 1, "part-", -1, "decode")
        return w, fixed, numbers[0]

    flow.train.CheckPoint().init()
    train(X).get()
    w, fixed, numbers = train(X).get()
    np.testing.assert_allclose(w, 1 - X.sum(0) / 16 - 0.1, rtol=1e-4)
    assert (fixed.tolist(), numbers.tolist(), seen["w"]) == ([1] * 4, [7, 7], w.tolist())


def test_settings_take_their_value_by_its_name() -> None:
    f.config.gpu_device_num(val=2)
    f.env.log_dir(val="logs")
    f.config.enable_debug_mode(val=True)
    f.config.collective_boxing.enable_fusion(val=False)
    f.FunctionConfig().enable_inplace(value=False)
    assert f.env.current_resource().gpu_device_num == 2
    with pytest.raises(MoxTypeError, match="gpu_device_num takes an int, not '2'"):
        f.config.gpu_device_num("2")


def test_two_names_of_one_argument_are_told() -> None:
    with pytest.raises(MoxTypeError, match="identity was given x and input, which are names of"):
        f.identity(x=1, input=2)
