"""What is said where memory is exhausted: the tensor that was asked for, and the largest ones."""

from __future__ import annotations

import re

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph import blame, exhausted
from moxing.engine.graph.fitting import Room
from moxing.engine.wording import report


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (203, "203 bytes"),
        (1500, "1.5 KB"),
        (999_499, "999 KB"),
        (999_700, "1 MB"),
        (10.24e12, "10.2 TB"),
        (2e18, "2e+03 PB"),
    ],
)
def test_sizes(count: float, text: str) -> None:
    assert report.size(count) == text


def test_memory_that_is_asked_for_and_the_largest_tensors() -> None:
    with tf.Graph().as_default() as graph:
        count = tf.placeholder_with_default(1 << 40, [])
        small = tf.ones([1000, 10]) + 1.0
        big = tf.random_uniform([count, 1000], name="big")
        with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError) as raised:
            session.run(tf.reduce_sum(big) + tf.reduce_sum(small))
        note = blame.about(raised.value, graph, "in step 3")

    assert note.startswith("openmox: raised in step 3")
    assert "by 'big/RandomUniform' (test_exhausted.py:" in note
    assert "4.4 PB were asked for: float32 of shape [1099511627776, 1000]" in note
    assert "40 KB" in note
    assert note.endswith(
        " To need less, lower the batch size, take it in parts (--accumulate_steps=N), or compute"
        " in 16 bits."
    )


def test_where_the_message_names_no_operation_those_of_the_shape_are_named() -> None:
    with tf.Graph().as_default() as graph:
        tf.zeros([4, 8], name="other")
        tf.ones([2, tf.placeholder_with_default(3, [])])
        message = (
            "OOM when allocating tensor with shape[2,3] and type float on CPU by allocator cpu"
        )
        error = tf.errors.ResourceExhaustedError(None, None, message)

        note = blame.about(error, graph, "in step 0")

    assert "24 bytes were asked for: float32 of shape [2, 3], as 'ones' (test_exhausted.py:" in note


def test_other_errors_say_nothing_of_memory() -> None:
    with tf.Graph().as_default() as graph:
        error = tf.errors.InvalidArgumentError(None, None, "bad")

        assert exhausted.told(error, graph, lambda op: op.name) == ""


def trained(batch: int | None) -> tf.Graph:
    """A step whose activations take 4 KB a sample and layer."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [batch, 1024], "x")
        for layer in range(8):
            w = tf.get_variable(f"w{layer}", [1024, 1024])
            x = tf.nn.relu(tf.matmul(x, w, name=f"layer{layer}"))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x))
    return graph


# The texts of TensorFlow 2.x where the memory of a GPU is full.
ON_GPU = (
    "OOM when allocating tensor with shape[{batch},1024] and type float on"
    " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "\t [[{{{{node layer5}}}}]]\nHint: If you want to see a list of allocated tensors when OOM"
    " happens, add report_tensor_allocations_upon_oom to RunOptions for current allocation info."
)
BY_XLA = """Out of memory while trying to allocate 2147483648 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:   32.00MiB
              constant allocation:         0B
        maybe_live_out allocation:   64.00MiB
     preallocated temp allocation:    2.00GiB
Peak buffers:
\tBuffer 1:
\t\tSize: 64.00MiB
\t\tOperator: op_type="MatMul" op_name="layer5"
\t\tXLA Label: custom-call
\t\tShape: f32[16384,1024]
\t\t==========================

\tBuffer 2:
\t\tSize: 64.00MiB
\t\tOperator: op_type="Relu" op_name="optimizer_made_this"
\t\tXLA Label: fusion
\t\tShape: f32[16384,1024]
\t\t==========================

\t [[{{node cluster_1_1/xla_run}}]]
"""
NOT_COPIED = "Dst tensor is not initialized.\n\t [[{{node x}}]]"


def note(kind: type[tf.errors.OpError], message: str, room: Room | None) -> str:
    graph = trained(16384)
    return blame.about(kind(None, None, message), graph, "in step 0", room)  # pyright: ignore


@pytest.mark.parametrize("batch", [16384, None])
def test_the_batch_that_would_have_fit_is_told(batch: int | None) -> None:
    """Also where the graph does not know its size, which the message then tells."""
    error = tf.errors.ResourceExhaustedError(None, None, ON_GPU.format(batch=16384))
    told = blame.about(error, trained(batch), "in step 0", Room(500_000_000, batch))

    assert "by 'layer5' (test_exhausted.py:" in told
    assert "67.1 MB were asked for: float32 of shape [16384, 1024]" in told
    found = re.search(
        r"By its tensors, a batch of about (\d+) instead of 16384 would have fit into the 500 MB of"
        r" the device\. --accumulate_steps=(\d+) with batches of (\d+) trains as before",
        told,
    )
    assert found is not None, told
    fits, parts, size = (int(text) for text in found.groups())
    # 8 activations, with what back-propagation makes of them: 40 to 100 KB a sample.
    assert 4000 < fits < 12_000
    assert size <= fits
    assert parts * size >= 16384


def test_a_cluster_of_xla_is_told_by_its_largest_tensors() -> None:
    told = note(tf.errors.ResourceExhaustedError, BY_XLA, Room(2_000_000_000, 16384))

    assert "2.15 GB were asked for at once by operations that XLA compiled together" in told
    assert "most of it for 'layer5' (test_exhausted.py:" in told
    assert "pipeline" not in told
    assert "instead of 16384 would have fit into the 2 GB of the device" in told


def test_a_copy_to_a_full_device_is_exhausted_memory() -> None:
    told = note(tf.errors.InternalError, NOT_COPIED, None)

    assert "by 'x' (test_exhausted.py:" in told
    assert "A tensor was to be copied to the device." in told
    assert told.endswith("or compute in 16 bits.")
    assert not exhausted.is_exhausted(tf.errors.InternalError(None, None, "other"))


def test_not_one_sample_fits() -> None:
    told = note(tf.errors.ResourceExhaustedError, ON_GPU.format(batch=16384), Room(10_000, 16384))

    assert "not even a batch of one sample fits into the 10 KB of the device" in told
    assert "--recompute" in told
