"""Several devices: the values of one device, computed in parts; errors name the numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.engine.graph import ancestry
from moxing.errors import MoxValueError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files
from moxing.flow.runtime import session

BATCH = 4
X = np.random.default_rng(3).normal(size=(BATCH, 3, 5, 5)).astype(np.float32)
LABELS = np.array([0, 2, 1, 2], np.int32)


def _ones(name: str, *shape: int) -> Any:
    return flow.get_variable(name, shape, initializer=flow.ones_initializer())


def _flat(x: Any) -> Any:
    return flow.reshape(x, (BATCH, -1))


# Whether each device can do its part; values must be those of one device either way.
PARTED: dict[str, Callable[[Any, Any], Any]] = {
    "conv": lambda x, y: flow.nn.conv2d(x, _ones("w", 2, 3, 3, 3), 1, "SAME", "NCHW"),
    "pool": lambda x, y: flow.nn.max_pool2d(x, 2, 2, "VALID", "NCHW"),
    "literal batch": lambda x, y: _flat(x),
    "rows of pixels": lambda x, y: flow.reshape(x, (-1, 5)),
    "and back": lambda x, y: flow.reshape(flow.reshape(x, (-1, 5)), (BATCH, 3, 25)),
    "dense": lambda x, y: flow.matmul(_flat(x), _ones("w", 75, 2)),
    "batched matmul": lambda x, y: flow.matmul(x, x, transpose_b=True),
    "sum of each sample": lambda x, y: flow.math.reduce_sum(x, [1, 2, 3]),
    "softmax": lambda x, y: flow.nn.softmax(_flat(x)),
    "operators": lambda x, y: (1 - x * 2) / (x * x + 1) - -x,
    "parts and a whole": lambda x, y: x * flow.constant(2.0, flow.float, (BATCH, 1, 1, 1)),
    "loss": lambda x, y: flow.nn.sparse_softmax_cross_entropy_with_logits(
        y, flow.math.reduce_sum(x, [2, 3])
    ),
    "embedding": lambda x, y: flow.gather(_ones("w", 3, 2), y),
    "concat of channels": lambda x, y: flow.concat([x, x], 1),
    "layer_norm": lambda x, y: flow.layers.layer_norm(x),
    "argmax": lambda x, y: flow.math.argmax(_flat(x), 1),
    "one_hot": lambda x, y: flow.one_hot(y, 3),
}  # fmt: skip
WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "mean of the batch": lambda x, y: flow.math.reduce_mean(x),
    "sum over samples": lambda x, y: flow.math.reduce_sum(x, 0),
    "samples to the end": lambda x, y: flow.transpose(x, (1, 2, 3, 0)),
    "concat of samples": lambda x, y: flow.concat([x, x], 0),
    "all pairs": lambda x, y: flow.matmul(_flat(x), _flat(x), transpose_b=True),
    "gram matrix": lambda x, y: flow.matmul(_flat(x), _flat(x), transpose_a=True),
    "odd first size": lambda x, y: flow.reshape(x, (3, -1)),
    "batch as columns": lambda x, y: flow.reshape(x, (75, 4)) + flow.math.reduce_sum(x, [1, 2, 3]),
    "argsort of samples": lambda x, y: flow.argsort(y),
    "classes by count": lambda x, y: flow.math.unsorted_segment_sum(_flat(x), y, 3),
    "array of the batch": lambda x, y: X * x + X,
    "softmax over samples": lambda x, y: flow.nn.softmax(_flat(x), 0),
}  # fmt: skip


def _result(operation: Callable[[Any, Any], Any]) -> tuple[np.ndarray, tuple[int, ...], bool]:
    """What a predict job makes, the shape that its code saw, and whether it was in parts."""
    seen: list[Any] = []

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef(X.shape),  # noqa: B008
        y: Any = flow.FixedTensorDef((BATCH,), flow.int32),  # noqa: B008
    ) -> Any:
        seen.append(operation(x, y))
        return seen[0]

    flow.train.CheckPoint().init()
    found = job(X, LABELS).get().ndarray()
    return found, seen[0].static_shape, bool(seen[0].parts)


@pytest.mark.parametrize("kind", [*PARTED, *WHOLE])
def test_an_operation_makes_the_values_and_shapes_of_one_device(
    kind: str, devices: Callable[[int], None]
) -> None:
    operation = PARTED.get(kind) or WHOLE[kind]
    wanted, shape, _ = _result(operation)
    devices(2)
    found, own, parted = _result(operation)

    assert (own, found.shape) == (shape, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert parted == (kind in PARTED)


def _train(steps: int, start: Path | None = None) -> tuple[list[float], Any]:
    @flow.function
    def job(
        x: Any = flow.FixedTensorDef(X.shape),  # noqa: B008
        y: Any = flow.FixedTensorDef((BATCH,), flow.int32),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(0.1)
        flow.config.train.model_update_conf({"momentum_conf": {}})
        init = flow.random_normal_initializer(0, 0.1)
        w = flow.get_variable("w", (4, 3, 3, 3), initializer=init, random_seed=1)
        x = flow.keras.activations.relu(flow.nn.conv2d(x, w, 1, "SAME", "NCHW", name="conv"))
        x = flow.layers.dense(_flat(x), 3, kernel_initializer=init, name="fc")
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, x)
        flow.losses.add_loss(loss)
        return loss

    point = flow.train.CheckPoint()
    if start is None:
        point.init()
    else:
        point.load(str(start))
    return [float(job(X, LABELS).get().mean()) for _ in range(steps)], point


def _train_operation() -> Any:
    operation = session.default()._built["job"].train
    assert operation is not None
    return operation


def test_a_step_computes_forward_and_backward_on_each_device(
    devices: Callable[[int], None],
) -> None:
    devices(2)
    _train(1)

    run = list(ancestry.behind([_train_operation()]))
    for kind in ("Conv2D", "Conv2DBackpropFilter"):
        places = {op.device for op in run if op.type == kind}
        assert places == {"/device:CPU:0", "/device:CPU:1"}


def test_training_saved_on_two_devices_goes_on_alike_on_one_two_and_four(
    devices: Callable[[int], None], tmp_path: Path
) -> None:
    devices(2)
    _, point = _train(2)
    point.save(str(tmp_path / "saved"))
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    wanted, _ = _train_again(devices, 2, tmp_path / "saved")

    assert names >= {"w", "w-momentum", "fc-weight", "System-Train-TrainStep-job", "snapshot_done"}
    assert not [name for name in names if "device" in name]
    assert wanted == sorted(wanted, reverse=True)
    assert _train_again(devices, 2, tmp_path / "saved")[0] == wanted
    for count in (1, 4):
        found, _ = _train_again(devices, count, tmp_path / "saved")
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def _train_again(
    devices: Callable[[int], None], count: int, start: Path
) -> tuple[list[float], Any]:
    devices(count)
    return _train(4, start)


def test_watchers_get_the_whole_blob_and_its_whole_gradient(devices: Callable[[int], None]) -> None:
    devices(2)
    seen: dict[str, np.ndarray] = {}

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.1)
        flow.config.train.model_update_conf({"naive_conf": {}})
        y = x * _ones("w", 2)
        flow.watch(y, lambda value: seen.update(y=value.ndarray()))
        flow.watch_diff(y, lambda value: seen.update(dy=value.ndarray()))
        loss = flow.math.reduce_sum(flow.math.square(y), 1)
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    job(x).get()

    np.testing.assert_allclose(seen["y"], x)
    np.testing.assert_allclose(seen["dy"], 2 * x)


def test_batch_norm_normalizes_each_device_s_part_and_averages_the_statistics(
    devices: Callable[[int], None],
) -> None:
    devices(2)

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 3))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        y = flow.layers.batch_normalization(x, 1, momentum=0.5, epsilon=0.0, name="bn")
        flow.losses.add_loss(flow.math.reduce_sum(y, 1))
        return y, flow.get_variable("bn-moving_mean"), flow.get_variable("bn-moving_variance")

    flow.train.CheckPoint().init()
    x = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    y = job(x).get()[0]
    _, mean, variance = job(x).get()

    halves = x.reshape(2, 2, 3)
    wanted = (halves - halves.mean(1, keepdims=True)) / halves.std(1, keepdims=True)
    np.testing.assert_allclose(y, wanted.reshape(4, 3), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mean, 0.5 * x.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, 0.5 + 0.5 * halves.var(1).mean(0), rtol=1e-5)


def test_dropout_with_a_seed_drops_others_on_each_device(devices: Callable[[int], None]) -> None:
    devices(2)

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 1000))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(0.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        y = flow.nn.dropout(x * _ones("w", 1000), seed=7, rate=0.5)
        flow.losses.add_loss(flow.math.reduce_sum(y, 1))
        return y

    flow.train.CheckPoint().init()
    first, second = job(np.ones((2, 1000), np.float32)).get() > 0
    assert 300 < (first != second).sum() < 700


def _records(folder: Path, parts: int) -> str:
    """Part p holds the numbers 10 p and 10 p + 1."""
    for part in range(parts):
        with files.Writer(str(folder / f"part-{part}")) as writer:
            for number in (10 * part, 10 * part + 1):
                record = OFRecord()
                record.feature["n"].int32_list.value.append(number)
                writer.write(record)
    return str(folder)


def _read(folder: str, batch: int, parts: int) -> Any:
    @flow.function
    def read() -> Any:
        conf = flow.data.BlobConf("n", (1,), flow.int32, flow.data.RawCodec())
        return flow.data.decode_ofrecord(folder, [conf], batch, parts)[0]

    return read


def test_each_device_reads_its_own_neighboring_parts(
    devices: Callable[[int], None], tmp_path: Path
) -> None:
    devices(2)
    read = _read(_records(tmp_path, 3), 4, 3)

    steps = [read().get().ravel().tolist() for _ in range(3)]

    # The first has parts 0 and 1, the second part 2, which it begins again.
    assert steps == [[0, 1, 20, 21], [10, 11, 20, 21], [0, 1, 20, 21]]


def test_more_devices_than_parts_or_an_odd_batch_are_errors_with_numbers(
    devices: Callable[[int], None], tmp_path: Path
) -> None:
    folder = _records(tmp_path, 3)
    devices(4)
    read = _read(folder, 4, 3)
    with pytest.raises(MoxValueError) as error:
        read().get()
    assert str(error.value) == (
        "decode_ofrecord: 4 devices read, and data_part_num=3: each needs a part of its own at"
        " least. Write more parts, or use fewer devices."
    )
    devices(2)
    read = _read(folder, 5, 3)
    with pytest.raises(MoxValueError) as error:
        read().get()
    assert str(error.value) == (
        "decode_ofrecord: a batch of 5 can't be shared evenly by 2 devices (gpu_device_num). Use a"
        " multiple of 2, or another number of devices."
    )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_devices_share_a_batch_that_does_not_come_out_even(
    devices: Callable[[int], None], count: int
) -> None:
    """Losses, gradients and values are those of one device."""
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    y = np.array([0, 2, 1, 1, 0], np.int32)
    seen: dict[str, Any] = {}

    def run(own: int) -> Any:
        devices(own)

        @flow.function
        def train(
            x: Any = flow.FixedTensorDef((5, 4)),  # noqa: B008
            y: Any = flow.FixedTensorDef((5,), flow.int32),  # noqa: B008
        ) -> Any:
            flow.config.train.primary_lr(0.5)
            flow.config.train.model_update_conf({"momentum_conf": {}})
            first = flow.random_normal_initializer()
            w = flow.get_variable("w", (3, 2), initializer=first, random_seed=3)
            square = flow.reshape(x, (5, 2, 2))
            rows = flow.reshape(square, (-1, 2))
            z = flow.reshape(flow.matmul(rows, w, transpose_b=True), (5, -1, 3))
            z = flow.math.reduce_sum(z * flow.constant(2.0, flow.float, (5, 1, 1)), axis=[1])
            z = z - flow.math.reduce_mean(z, 0, keepdims=True)
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, z)
            flow.watch_diff(z, lambda value: seen.update({own: value}))  # type: ignore
            flow.losses.add_loss(loss)
            return loss, z, flow.concat([z, z], 0), w

        flow.train.CheckPoint().init()
        return [train(x, y).get() for _ in range(3)]

    for found, wanted in zip(run(count), run(1), strict=True):
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen[count], seen[1], rtol=1e-4, atol=1e-5)  # type: ignore


def test_rows_made_of_uneven_parts_stay_where_their_samples_are(
    devices: Callable[[int], None],
) -> None:
    """Blobs of one size may be in different parts; together they are made whole."""
    devices(2)
    seen: list[Any] = []

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef((5, 3, 2)),  # noqa: B008
        other: Any = flow.FixedTensorDef((15, 2)),  # noqa: B008
    ) -> Any:
        rows = flow.reshape(x, (-1, 2))
        seen.extend((rows, flow.reshape(rows, (5, 6)), other, rows + other, rows + rows))
        seen.extend((flow.concat([rows, other], 1), flow.concat([rows, rows], 1)))
        return seen[3], seen[5], seen[6]

    x = np.arange(30, dtype=np.float32).reshape(5, 3, 2)
    other = np.random.default_rng(2).normal(size=(15, 2)).astype(np.float32)
    total, mixed, twice = job(x, other).get()
    rows = x.reshape(15, 2)
    np.testing.assert_array_equal(total, rows + other)
    np.testing.assert_array_equal(mixed, np.concatenate([rows, other], 1))
    np.testing.assert_array_equal(twice, np.concatenate([rows, rows], 1))
    parts = [blob.rows if blob.parts else () for blob in seen]
    assert parts == [(9, 6), (3, 2), (8, 7), (), (9, 6), (), (9, 6)]


def test_each_device_gets_the_whole_of_an_input_of_fewer_samples(
    devices: Callable[[int], None],
) -> None:
    devices(4)

    @flow.function
    def job(
        x: Any = flow.FixedTensorDef((8, 2)),  # noqa: B008
        row: Any = flow.FixedTensorDef((1, 2)),  # noqa: B008
        few: Any = flow.FixedTensorDef((3, 2)),  # noqa: B008
        whole: Any = flow.FixedTensorDef((5, 2), batch_axis=None),  # noqa: B008
    ) -> Any:
        return x * row, few + few, whole + whole

    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    found = job(x, x[1:2], x[:3], x[:5]).get()
    for array, wanted in zip(found, (x * x[1:2], 2 * x[:3], 2 * x[:5]), strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_a_placement_scope_takes_some_of_the_devices(devices: Callable[[int], None]) -> None:
    devices(4)
    seen: list[Any] = []

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        seen.append(flow.placement.current_scope().parallel_size)
        with flow.fixed_placement("cpu", "0:1"):
            y = flow.math.square(x)
            seen.extend([flow.placement.current_scope().parallel_size, y.tensor.device, y.parts])
        return y * 2.0

    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_allclose(job(x).get(), 2 * x * x)
    assert seen == [4, 1, "/device:CPU:1", ()]


def test_places_that_are_not_there_are_refused(devices: Callable[[int], None]) -> None:
    devices(2)

    @flow.function
    def job(x: Any = flow.FixedTensorDef((4, 2))) -> Any:  # noqa: B008
        with flow.fixed_placement("gpu", "0:0-2"):
            return x

    with pytest.raises(MoxValueError) as error:
        job(np.zeros((4, 2), np.float32))
    assert str(error.value) == (
        "placement on '0:0-2': device 2 is not among the 2 of flow.config.gpu_device_num, which"
        " count from 0."
    )
    with (
        pytest.raises(MoxValueError, match="machine 1 is not among the 1 of flow.config.machine"),
        flow.fixed_placement("gpu", "1:0"),
    ):
        pass


@pytest.mark.parametrize("count", [1, 2])
def test_scopes_of_the_cpu_have_as_many_devices_as_they_name(
    devices: Callable[[int], None], count: int
) -> None:
    devices(count)
    seen: list[Any] = []

    @flow.function
    def job(x: Any = flow.FixedTensorDef((5, 2))) -> Any:  # noqa: B008
        flow.config.train.primary_lr(1.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        with flow.fixed_placement("cpu", "0:0-3"):
            w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
            y = flow.math.square(x * w)
            drawn = flow.data.decode_random((2,), flow.float, 8)
            seen.extend([y.parallel_size, y.static_shape, drawn.static_shape])
        flow.losses.add_loss(y)
        return w, y, drawn

    x = np.arange(10, dtype=np.float32).reshape(5, 2) / 10
    flow.train.CheckPoint().init()
    job(x).get()
    w, y, drawn = job(x).get()

    assert seen == [4, (5, 2), (8, 2)]
    assert len(set(drawn.ravel().tolist())) == 16
    np.testing.assert_allclose(w, 1 - 2 * (x * x).sum(0) / 10, rtol=1e-5)
    np.testing.assert_allclose(y, (x * w) ** 2, rtol=1e-5)
