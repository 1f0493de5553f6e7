"""A run on a dataset goes on at the next batch, in the middle of any epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf2
from models import BATCH, X, Y, assert_equal, dense

import moxing.keras
from moxing.keras import imported
from moxing.keras.building.trace import eager_mode

SAMPLES, SIZE = 40, 4
STEPS = SAMPLES // SIZE


def made(make: Any) -> Any:
    """A dataset as a program that is started again makes it: with the same seeds."""
    tf2.random.set_seed(0)
    with eager_mode():
        return make()


def counter() -> Any:
    """A model whose weight of a sample grows by 1 / SIZE each time that the sample is seen."""
    inner = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.layers.Input((SAMPLES,)), inner])
    model.compile(keras.optimizers.SGD(1.0), loss=lambda y, x: -x)
    return model


def numbered() -> Any:
    """Each sample's number, one-hot, in an order without a seed."""
    numbers = tf2.data.Dataset.range(SAMPLES).shuffle(SAMPLES)
    return numbers.map(lambda n: (tf2.one_hot(n, SAMPLES), 0.0)).batch(SIZE)


def arrays() -> Any:
    data = tf2.data.Dataset.from_tensor_slices((X, Y)).cache().shuffle(50)
    return data.map(lambda x, y: (x + 0.0, y), num_parallel_calls=2).batch(BATCH).prefetch(2)


def generated() -> Any:
    def batches() -> Any:
        for at in range(0, len(X), BATCH):
            yield X[at : at + BATCH], Y[at : at + BATCH]

    signature = (tf2.TensorSpec([None, 8], tf2.float32), tf2.TensorSpec([None], tf2.int64))
    return tf2.data.Dataset.from_generator(batches, output_signature=signature)


def test_each_sample_is_seen_once_an_epoch_in_an_order_without_seed(tmp_path: Path) -> None:
    for steps in (3, STEPS, 2 * STEPS + 6, 3 * STEPS):
        model = counter()
        moxing.keras.fit(model, made(numbered), steps=steps, output_dir=tmp_path / "run")
        seen = np.asarray(model.get_weights()[0])[:, 0] * SIZE
        assert set(np.round(seen, 3)) <= {steps // STEPS, -(-steps // STEPS)}
    assert list(tmp_path.glob("run/model.ckpt-30.input"))


@pytest.mark.parametrize("kind", [arrays, generated])
def test_a_run_in_parts_equals_a_whole_one(
    kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="tensorflow")
    whole = dense("keras")
    given = {"seed": 3, "steps_per_epoch": 5}
    moxing.keras.fit(whole, made(kind), steps=13, **given)
    for steps in (7, 13):
        part = dense("keras")
        moxing.keras.fit(part, made(kind), steps=steps, output_dir=tmp_path / "run", **given)
    assert_equal(part, whole)
    again = [line for line in caplog.messages if line.startswith("Skipped the data of the 7 steps")]
    assert len(again) == (kind is generated)


def test_another_number_of_parts_of_a_batch_goes_on_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="tensorflow")
    for steps, parts in ((7, 1), (STEPS, 2)):
        model = counter()
        moxing.keras.fit(
            model,
            made(numbered),
            steps=steps,
            accumulate_steps=parts,
            output_dir=tmp_path / "run",
        )
    np.testing.assert_allclose(np.asarray(model.get_weights()[0])[:, 0] * SIZE, 1.0, rtol=1e-5)
    assert any("other numbers of processes, devices or parts share" in m for m in caplog.messages)


def test_another_dataset_starts_over_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="tensorflow")
    for steps, kind in ((7, arrays), (9, lambda: arrays().map(lambda x, y: (2.0 * x, y)))):
        moxing.keras.fit(dense("keras"), made(kind), steps=steps, output_dir=tmp_path / "run")
    assert any("the pipeline is not that of the checkpoint" in line for line in caplog.messages)


def test_large_constants_and_resources_of_the_eager_runtime_stay_out_of_the_graph() -> None:
    values = np.arange(40_000, dtype=np.float32)
    given = made(lambda: tf2.data.Dataset.from_tensor_slices(values).cache().shuffle(9).batch(2))
    tf = tf2.compat.v1
    with tf.Graph().as_default() as graph, tf.Session() as session:
        found = imported.dataset(given)
        assert graph.as_graph_def().ByteSize() < 20_000
        kinds = {op.type for op in graph.get_operations()}
        assert {"ShuffleDataset", "CacheDataset", "PyFunc"} <= kinds
        iterator = tf.data.make_initializable_iterator(found)
        session.run(iterator.initializer)
        assert session.run(iterator.get_next()).shape == (2,)
