"""Errors inside a pipeline end in a sentence that says which data is at fault."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.engine.graph import blame

sys.path.insert(0, str(Path(__file__).parents[1]))
from runs import execute, generated  # noqa: E402


def note(input_fn: Callable[[str], Any]) -> str:
    """The last note of the error that ends a run."""
    with pytest.raises(tf.errors.OpError) as caught:
        execute(input_fn=input_fn, max_steps=50)
    return str(caught.value.__notes__[-1])


def lengths(files: Any) -> Callable[[str], Any]:
    def input_fn(mode: str) -> Any:
        data = tf.data.TFRecordDataset(files() if callable(files) else files)
        return data.map(lambda record: tf.cast(tf.strings.length(record), tf.float32)).batch(1)

    return input_fn


@pytest.fixture
def records(tmp_path: Path) -> list[str]:
    """Two files of eight records of 84 bytes, which take 100."""
    paths = [str(tmp_path / name) for name in ("a.tfrecord", "b.tfrecord")]
    for path in paths:
        with tf.io.TFRecordWriter(path) as writer:
            for _ in range(8):
                writer.write(b"x" * 84)
    return paths


@pytest.mark.parametrize("listed", [False, True])
def test_a_truncated_file_and_its_record_are_named(
    records: list[str], tmp_path: Path, listed: bool
) -> None:
    os.truncate(records[1], 550)

    def listing() -> Any:
        return tf.data.Dataset.list_files(str(tmp_path / "*.tfrecord"), shuffle=False)

    assert note(lengths(listing if listed else records)).endswith(
        f": record 5 (from 0) of {records[1]} is truncated, at byte 500. Get the file again, or"
        " leave it out."
    )


def test_a_damaged_record_is_named(records: list[str]) -> None:
    with open(records[0], "r+b") as file:
        file.seek(350)
        file.write(b"?")
    told = note(lengths(records))
    assert f": record 3 (from 0) of {records[0]} is corrupted, at byte 3" in told


def test_a_broken_image_is_told_with_its_operation() -> None:
    def input_fn(mode: str) -> Any:
        data = tf.data.Dataset.from_tensors(b"\xff\xd8\xff no image")
        return data.map(
            lambda image: tf.cast(tf.shape(tf.image.decode_jpeg(image))[:1], tf.float32)
        )

    told = note(input_fn)
    assert ", by 'DecodeJpeg' in a function of the input's pipeline (test_blame.py:" in told
    assert ": data = " not in told  # The line of the map, not that of the image.
    assert ": return data.map(): jpeg::Uncompress" in told


def test_the_first_of_several_errors_is_told() -> None:
    several = (
        "2 root error(s) found.\n  (0) INVALID_ARGUMENT: assertion failed: [too few]\n\t"
        " [[{{node Assert}}]]\n  (1) INVALID_ARGUMENT: assertion failed: [others]"
    )
    error = tf.errors.InvalidArgumentError(None, None, several)
    told = blame.about(error, tf.Graph(), "in step 0")
    assert told.endswith(
        "by 'Assert' in a function of the input's pipeline: assertion failed: [too few]."
    )


def test_a_sentence_of_a_reader_of_openmox_stands_alone(tmp_path: Path) -> None:
    for name in ("a/0.jpg", "b/0.jpg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"\xff\xd8\xff\xe0 broken")

    def input_fn(mode: str) -> Any:
        metadata = mox.ImageClassificationRawMetadata(base_dir=str(tmp_path))
        image, label = mox.ImageClassificationRawDataset(metadata, shuffle=False).get(
            ["image", "label"]
        )
        return tf.cast(tf.reshape(image, [-1])[:1], tf.float32), label

    told = note(input_fn)
    assert f": {tmp_path}/a/0.jpg is a JPEG image that is cut off: " in told
    assert "MoxValueError" not in told
    assert "TensorFlow refuses" not in told


def test_an_element_of_a_generator_that_tensorflow_refuses() -> None:
    def generator() -> Iterator[Any]:
        yield 1.0
        yield "text"

    told = note(generated(generator))
    assert (
        "TensorFlow refuses a value that Python code of the input gave: TypeError: `generator`"
        " yielded" in told
    )
    assert "the yielded element was text, by 'FlatMapDataset' (" in told
    assert "from_generator(" in told


@pytest.mark.parametrize(
    "message",
    ["Serialized HLO does not match.", "/kept/xla_1.pb.tmp; No space left on device"],
)
def test_kept_code_that_can_not_be_used_is_told_of(
    message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=/kept")
    with tf.Graph().as_default() as graph:
        error = tf.errors.InvalidArgumentError(None, None, message)
        note = blame.about(error, graph, "in step 0")
        monkeypatch.delenv("TF_XLA_FLAGS")
        other = blame.about(error, graph, "in step 0")
    assert "keeps in /kept can't be used: remove the folder, free space there, or set" in note
    assert "MOX_XLA_CACHE_DIR" in note
    assert "MOX_XLA_CACHE_DIR" not in other


def _said(message: str, build: Callable[[], Any]) -> str:
    """The note for an error of this message, which names no operation."""
    with tf.Graph().as_default() as graph:
        build()
        return blame.about(tf.errors.InvalidArgumentError(None, None, message), graph, "here")


def test_an_operation_that_is_not_named_is_found_by_the_words() -> None:
    def build() -> None:
        loss = tf.losses.sparse_softmax_cross_entropy(tf.zeros([4], tf.int64), tf.zeros([4, 3]))
        tf.gradients(loss, loss)

    told = _said("Received a label value of 7 which is outside the valid range of [0, 3)", build)

    assert told.startswith("openmox: raised here, by 'sparse_softmax_cross_entropy_loss/xentropy")
    assert "(test_blame.py:" in told
    assert told.endswith(
        ": loss = tf.losses.sparse_softmax_cross_entropy(tf.zeros([4], tf.int64),"
        " tf.zeros([4, 3]))), of float32 [4, 3], int64 [4]."
    )


def test_the_assertion_of_these_words_is_found() -> None:
    def build() -> None:
        for text in ("too few", "too many"):
            tf.debugging.Assert(tf.constant(False), [text, tf.constant(3)], name=text[4:])

    told = _said("assertion failed: [too many] [3]", build)

    assert ", by 'many/Assert' (" in told or ", by 'many' (" in told
    assert "few" not in told


def test_many_operations_that_may_have_said_it_are_not_named() -> None:
    def build() -> None:
        for _ in range(9):
            tf.reshape(tf.zeros([4]), [-1])

    assert _said("Input to reshape is a tensor with 4 values", build) == "openmox: raised here."
    assert _said("words of no operation", build) == "openmox: raised here."


def test_a_missing_file_is_told_with_the_line_that_reads_it(tmp_path: Path) -> None:
    def input_fn(mode: str) -> Any:
        return tf.data.TextLineDataset(str(tmp_path / "no.csv")).map(lambda line: tf.zeros([1]))

    told = note(input_fn)
    assert ", in a function of the input's pipeline (test_blame.py:" in told
    assert "return tf.data.TextLineDataset(" in told
