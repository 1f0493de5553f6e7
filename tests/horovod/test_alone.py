"""Horovod's calls in a process that is alone, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import moxing.horovod.keras as horovod_keras
import moxing.horovod.tensorflow as hvd
from moxing import horovod
from moxing.errors import MoxAttributeError, MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.horovod.tensorflow import compression, mpi_ops


@pytest.fixture
def initialized() -> Iterator[None]:
    hvd.init()
    yield
    hvd.shutdown()


def test_before_init_its_name_is_said() -> None:
    with pytest.raises(MoxValueError, match=r"use hvd\.init\(\)"):
        hvd.rank()


def test_alone_everything_is_as_it_is(initialized: None) -> None:
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()) == (0, 1, 0, 1)
    tensor = tf.constant([1.0, 2.0])
    for result in (hvd.allreduce(tensor), hvd.allgather(tensor), hvd.broadcast(tensor, 0)):
        np.testing.assert_array_equal(result, [1.0, 2.0])
    assert hvd.allreduce(tensor, prescale_factor=3.0).numpy().tolist() == [3.0, 6.0]
    for result in (mpi_ops._allreduce(tensor, name="sum"), mpi_ops.broadcast(tensor, 0)):
        np.testing.assert_array_equal(result, [1.0, 2.0])
    assert hvd.mpi_ops.size() == 1
    assert hvd.broadcast_object({"a": 1}) == {"a": 1}
    with tf.GradientTape() as tape:
        weight = tf.Variable(2.0)  # type: ignore
        loss = weight * weight
    assert hvd.DistributedGradientTape(tape).gradient(loss, [weight])[0] == 4.0


def test_keras_functions_give_values_where_a_program_builds_graphs(initialized: None) -> None:
    with tf.Graph().as_default():
        assert horovod_keras.broadcast(3, 0, name="resume_from_epoch") > 2
        assert horovod_keras.allreduce(2.0, prescale_factor=3.0) == 6.0
        assert horovod_keras.allgather([1, 2]).tolist() == [1, 2]
    assert horovod_keras.broadcast(3, 0).numpy() == 3


def test_factors_apply_to_every_kind_of_tensor(initialized: None) -> None:
    dense, slices = tf.constant([1.0, 2.0]), tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3]))
    factors: dict[str, Any] = {"prescale_factor": 3.0, "postscale_factor": 2.0}

    for found in (
        [hvd.allreduce(t, **factors) for t in (dense, slices)],
        hvd.grouped_allreduce([dense, slices], **factors),
    ):
        np.testing.assert_array_equal(found[0], [6.0, 12.0])
        np.testing.assert_array_equal(found[1].values, [[6.0, 6.0]])
        np.testing.assert_array_equal(found[1].indices, [3])


def test_what_is_refused(initialized: None) -> None:
    with pytest.raises(MoxValueError, match="root_rank=1, and there are 1 ranks"):
        hvd.broadcast(tf.constant(1.0), 1)
    with pytest.raises(MoxNotSupportedError, match=r"Use hvd\.Average"):
        hvd.allreduce(tf.constant(1.0), op=hvd.Adasum)
    with pytest.raises(MoxNotSupportedError, match="a batch that is larger by this factor"):
        hvd.DistributedOptimizer(tf.optimizers.SGD(), backward_passes_per_step=2)
    with pytest.raises(MoxTypeError, match=r"needs an optimizer of tf\.train or of Keras"):
        hvd.DistributedOptimizer(3)
    with pytest.raises(MoxNotSupportedError, match="mox launch --workers=N"):
        horovod.run(print, np=2)
    with pytest.raises(MoxAttributeError, match=r"horovod\.torch is not here"):
        _ = horovod.torch
    with pytest.raises(MoxAttributeError, match="--max_restarts=N"):
        _ = hvd.elastic
    assert not hasattr(hvd, "elastic")  # As programs ask before they use its parts.


def test_compressors_stand_at_the_path_of_their_module() -> None:
    assert compression.Compression is hvd.Compression
    sent, dtype = compression.FP16Compressor.compress(tf.constant([1.5]))
    assert (sent.dtype, dtype) == (tf.float16, tf.float32)
    assert compression.FP16Compressor.decompress(sent, dtype).dtype == tf.float32
