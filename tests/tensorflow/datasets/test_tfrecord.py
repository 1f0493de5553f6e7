"""Reading TFRecord files: images, subclasses, handlers, counting, order, damage."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.data.feed import Feed, Taken
from moxing.errors import MoxError, MoxTypeError, MoxValueError
from moxing.tensorflow.datasets import (
    BaseTFRecordDataset,
    BaseTFRecordMetadata,
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
    ImageClassificationTFRecordDataset,
    ImageClassificationTFRecordMetadata,
    get_tfrecord,
)
from moxing.tensorflow.datasets.folders.convert import to_tfrecord
from moxing.tensorflow.preprocessing import get_data_augmentation_fn

SCALAR = tf.io.FixedLenFeature([], tf.int64)


def example(**features: Any) -> bytes:
    def feature(value: Any) -> tf.train.Feature:
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    named = {name.replace("__", "/"): feature(value) for name, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()


def write(path: Path, records: list[bytes]) -> None:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """Files `a.tfrecord` to `c.tfrecord` with the numbers 0 to 10 as feature x; one is empty."""
    folder = tmp_path / "records"
    folder.mkdir()
    for name, some in (("a", range(4)), ("b", []), ("c", range(4, 11))):
        write(folder / f"{name}.tfrecord", [example(x=number, y=[0.5, 1.5]) for number in some])
    return folder


def plain(folder: Path, **options: Any) -> BaseTFRecordDataset:
    metadata = BaseTFRecordMetadata(folder, "*.tfrecord", options.pop("num_samples", None))
    return BaseTFRecordDataset(metadata, ["x"], [SCALAR], **options)


def column(rows: list[list[Any]]) -> list[int]:
    return [int(row[0]) for row in rows]


def test_records_in_order(numbers: Path, read: Any) -> None:
    rows = read(lambda: plain(numbers, shuffle=False, num_epochs=2), ["x"])
    assert column(rows) == list(range(11)) * 2


def test_every_epoch_is_a_permutation_of_all_files(numbers: Path, read: Any) -> None:
    def order(**demand: Any) -> list[int]:
        return column(read(lambda: plain(numbers, num_epochs=2), ["x"], Feed(seed=4, **demand)))

    whole = order()
    assert sorted(whole[:11]) == sorted(whole[11:]) == list(range(11))
    assert whole[:11] != whole[11:]
    assert order(start=15) == whole[15:]
    for shards in (2, 3):
        shares = [order(shard=shard, shards=shards) for shard in range(shards)]
        assert shares == [whole[shard::shards] for shard in range(shards)]


def test_batches(numbers: Path, read: Any) -> None:
    rows = read(lambda: plain(numbers, shuffle=False, num_epochs=1, batch_size=4), ["x"])
    assert [row[0].tolist() for row in rows] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_counts_and_says_so(numbers: Path, messages: Any) -> None:
    metadata = BaseTFRecordMetadata(numbers, "*.tfrecord")
    assert metadata.total_num_samples == metadata.num_samples == 11
    assert [Path(file).name for file in metadata.files] == [f"{x}.tfrecord" for x in "abc"]
    assert messages() == [
        "Find tfrecord files. Using tfrecord files in this job.",
        f"Automatically extracting num_samples from tfrecord: 3 files in {numbers}. Pass"
        " num_samples to do that later.",
    ]


def test_a_given_count_is_believed_until_the_files_are_read(
    numbers: Path, read: Any, messages: Any
) -> None:
    (numbers / "z.tfrecord").write_bytes(b"no record at all, but nobody looked")
    assert BaseTFRecordMetadata(numbers, "*.tfrecord", 99).total_num_samples == 99
    (numbers / "z.tfrecord").unlink()
    assert len(read(lambda: plain(numbers, num_samples=99, num_epochs=1), ["x"])) == 11
    assert messages()[-1] == (
        "BaseTFRecordMetadata: num_samples=99 was given, but there are 11 records in 3 files; each"
        " epoch has all of them."
    )


def test_a_subclass_makes_items(numbers: Path, read: Any) -> None:
    class Pairs(BaseTFRecordDataset):
        def _build_features(self, x: Any, y: Any) -> None:
            self._add_feature("twice", 2 * x)
            self._add_feature("sum", tf.reduce_sum(y))
            self._add_feature("chance", tf.random.uniform([]))

    def dataset() -> Pairs:
        return Pairs(
            BaseTFRecordMetadata(numbers, "*.tfrecord"),
            feature_keys=["x", "y"],
            feature_values=[SCALAR, tf.io.FixedLenFeature([2], tf.float32)],
            shuffle=False,
            num_parallel=1,
            num_epochs=1,
        )

    rows = read(dataset, ["sum", "twice", "chance"], Feed(seed=2))
    assert [row[:2] for row in rows] == [[2.0, 2 * number] for number in range(11)]
    assert len({row[2] for row in rows}) == 11
    resumed = read(dataset, ["chance"], Feed(seed=2, start=4))
    assert [row[0] for row in resumed] == [row[2] for row in rows[4:]]


def test_features_of_any_length(numbers: Path, read: Any) -> None:
    def dataset() -> BaseTFRecordDataset:
        metadata = BaseTFRecordMetadata(numbers, "*.tfrecord")
        kinds = [tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)]
        return BaseTFRecordDataset(metadata, ["y"], kinds, num_epochs=1)

    rows = read(dataset, ["y"])
    assert [row[0].tolist() for row in rows] == [[0.5, 1.5]] * 11


class _Shaped:
    """What slim's tfexample_decoder.Tensor is to its callers."""

    def __init__(self, key: str, shape: list[int]) -> None:
        self.keys = [key]
        self._shape = shape

    def tensors_to_item(self, features: dict[str, Any]) -> Any:
        return tf.reshape(features[self.keys[0]], self._shape)


def test_get_tfrecord_with_handlers(numbers: Path, read: Any) -> None:
    rows = read(
        lambda: get_tfrecord(
            dataset_dir=numbers,
            file_pattern="*.tfrecord",
            keys_to_features={"x": SCALAR, "y": tf.io.FixedLenFeature((2,), tf.float32)},
            items_to_handlers={"number": _Shaped("x", []), "pair": _Shaped("y", [1, 2])},
            shuffle=False,
            num_epochs=1,
        ),
        ["pair", "number"],
    )
    assert [row[1] for row in rows] == list(range(11))
    assert rows[0][0].tolist() == [[0.5, 1.5]]


def test_slims_own_handlers(tmp_path: Path, read: Any, encode: Any, smooth: Any) -> None:
    decoder = pytest.importorskip("tf_slim.data.tfexample_decoder")
    image = smooth(6, 5, 3)
    record = example(
        image__encoded=encode(image, "png"),
        image__format=b"png",
        image__class__label=[4],
        box__y0=[0.1],
        box__x0=[0.2],
        box__y1=[0.3],
        box__x1=[0.4],
    )
    write(tmp_path / "x.tfrecord", [record] * 3)
    corners = [f"box/{corner}" for corner in ("y0", "x0", "y1", "x1")]
    features = {
        "image/encoded": tf.io.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.io.FixedLenFeature((), tf.string, default_value=""),
        "image/class/label": tf.io.FixedLenFeature(
            [1], tf.int64, default_value=tf.zeros([1], dtype=tf.int64)
        ),
        **{corner: tf.io.VarLenFeature(tf.float32) for corner in corners},
    }
    handlers = {
        "image": decoder.Image(shape=[6, 5, 3], channels=3),
        "label": decoder.Tensor("image/class/label", shape=[]),
        "box": decoder.BoundingBox(["y0", "x0", "y1", "x1"], prefix="box/"),
        "twice": decoder.ItemHandlerCallback(
            "image/class/label", lambda found: 2 * found["image/class/label"]
        ),
    }
    rows = read(
        lambda: get_tfrecord(tmp_path, "*.tfrecord", features, handlers, num_epochs=1),
        ["image", "label", "box", "twice"],
    )
    assert len(rows) == 3
    np.testing.assert_array_equal(rows[0][0], image)
    assert (rows[0][1], rows[0][3].tolist()) == (4, [8])
    np.testing.assert_allclose(rows[0][2], [[0.1, 0.2, 0.3, 0.4]])


@pytest.fixture
def converted(make_tree: Callable[..., Path], tmp_path: Path) -> Path:
    """Seven images in two files, with labels.txt."""
    to_tfrecord(make_tree({"daisy": 3, "roses": 4}), tmp_path / "out", parts=2)
    return tmp_path / "out"


def test_images_are_those_of_the_tree(converted: Path, tmp_path: Path, read: Any) -> None:
    metadata = ImageClassificationTFRecordMetadata(converted, file_patterns="*.tfrecord")
    assert metadata.labels_to_names == {0: "daisy", 1: "roses"}
    assert metadata.num_classes == 2
    items = ["image", "label", "label_desc", "image_name"]
    rows = read(lambda: ImageClassificationTFRecordDataset(meta=metadata, num_epochs=1), items)
    tree = ImageClassificationRawMetadata(tmp_path / "images")
    raw = read(lambda: ImageClassificationRawDataset(tree, num_epochs=1), items)
    assert len(rows) == len(raw) == 7
    by_name = {row[3]: row for row in raw}
    for row in rows:
        np.testing.assert_array_equal(row[0], by_name[row[3]][0])
        assert row[1:] == by_name[row[3]][1:]


def test_images_in_batches_augmented_with_one_hot_labels(converted: Path, read: Any) -> None:
    metadata = ImageClassificationTFRecordMetadata(converted, "*.tfrecord")
    augment = get_data_augmentation_fn("resnet_v1_50", "TRAIN", 8, 8)

    def rows(start: int = 0) -> list[list[Any]]:
        return read(
            lambda: ImageClassificationTFRecordDataset(
                metadata, batch_size=3, augmentation_fn=augment, label_one_hot=True
            ),
            ["image", "label"],
            Feed(seed=1, start=start),
            most=4 - start,
        )

    whole = rows()
    assert (whole[0][0].shape, whole[0][0].dtype) == ((3, 8, 8, 3), np.float32)
    assert whole[0][1].sum(1).tolist() == [1, 1, 1]
    for seen, wanted in zip(rows(2), whole[2:], strict=True):
        np.testing.assert_array_equal(seen[0], wanted[0])
        np.testing.assert_array_equal(seen[1], wanted[1])


def test_more_features_become_items(converted: Path, read: Any) -> None:
    metadata = ImageClassificationTFRecordMetadata(converted, "*.tfrecord", num_classes=5)
    assert metadata.num_classes == 5
    rows = read(
        lambda: ImageClassificationTFRecordDataset(
            metadata,
            num_epochs=1,
            custom_feature_keys=["image/height"],
            custom_feature_values=[SCALAR],
            preprocess_fn=lambda name, content, label, text: (name, content, label, text),
        ),
        ["image/height", "image_name", "image"],
    )
    for height, name, content in rows:
        assert height == 20 + int(name.split(b"/")[1].split(b".")[0])
        assert content.startswith(b"\xff\xd8")


def test_in_a_session_of_the_program(converted: Path) -> None:
    metadata = ImageClassificationTFRecordMetadata(converted, "*.tfrecord")
    with tf.Graph().as_default():
        image, label = ImageClassificationTFRecordDataset(metadata).get(["image", "label"])
        assert image.shape.as_list() == [None, None, 3]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            for _ in range(10):
                assert session.run([image, label])[0].ndim == 3
            coordinator.request_stop()
            coordinator.join(threads)


REMEDY = " Mend or delete it, or pass skip_bad=True to leave out samples that can't be read."


def complaint(read: Any, dataset: Any, item: str = "x") -> str:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(dataset, [item])
    return caught.value.message.split("MoxValueError: ", 1)[1].split("\n")[0]


def test_a_flipped_bit_in_a_record_is_located(numbers: Path, read: Any, messages: Any) -> None:
    path = numbers / "c.tfrecord"
    content = bytearray(path.read_bytes())
    size = len(content) // 7
    content[2 * size + 20] ^= 4  # In the content of the third record.
    path.write_bytes(content)
    assert complaint(read, lambda: plain(numbers)) == (
        f"record 2 of {path} is damaged: its content does not have its checksum.{REMEDY}"
    )
    rows = read(lambda: plain(numbers, skip_bad=True, num_epochs=1), ["x"])
    assert sorted(column(rows)) == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10]
    assert messages()[-1] == "skip_bad=True left out 1 of 11 samples in epoch 1."


def test_a_flipped_bit_in_a_length_is_located(numbers: Path, read: Any) -> None:
    path = numbers / "c.tfrecord"
    content = bytearray(path.read_bytes())
    size = len(content) // 7
    content[3 * size] ^= 4
    path.write_bytes(content)
    damage = (
        f"{path}: the head of record 3 (byte {3 * size}) is damaged; it and all that follow can't"
        " be found."
    )
    with pytest.raises(MoxValueError) as caught:
        read(lambda: plain(numbers), ["x"])
    assert str(caught.value) == (
        f"{damage} Write the file again, or pass skip_bad=True to use the records before that."
    )
    rows = read(lambda: plain(numbers, skip_bad=True, num_epochs=1), ["x"])
    assert sorted(column(rows)) == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_file_that_is_cut_off(numbers: Path, read: Any, messages: Any, cut: int) -> None:
    path = numbers / "c.tfrecord"
    content = path.read_bytes()[:-cut]
    path.write_bytes(content)
    damage = f"{path} is cut off in the middle of record 6 (byte {len(content)})."
    assert BaseTFRecordMetadata(numbers, "*.tfrecord").total_num_samples == 10
    assert messages()[-1] == damage
    with pytest.raises(MoxValueError) as caught:
        read(lambda: plain(numbers), ["x"])
    assert str(caught.value) == (
        f"{damage} Write the file again, or pass skip_bad=True to use the records before that."
    )
    rows = read(lambda: plain(numbers, skip_bad=True, num_epochs=1), ["x"])
    assert sorted(column(rows)) == list(range(10))


def test_a_missing_feature_is_named(numbers: Path, read: Any) -> None:
    def dataset() -> BaseTFRecordDataset:
        metadata = BaseTFRecordMetadata(numbers, "a.tfrecord")
        return BaseTFRecordDataset(metadata, ["image/x"], [SCALAR], shuffle=False)

    assert complaint(read, dataset, "image/x") == (
        f"record 0 of {numbers}/a.tfrecord has no feature 'image/x'. It has 'x', 'y'.{REMEDY}"
    )


def test_a_feature_of_another_type_is_named(numbers: Path, read: Any) -> None:
    def dataset() -> BaseTFRecordDataset:
        metadata = BaseTFRecordMetadata(numbers, "a.tfrecord")
        return BaseTFRecordDataset(
            metadata, ["x"], [tf.io.FixedLenFeature([], tf.string)], shuffle=False
        )

    said = complaint(read, dataset)
    assert said.startswith(f"record 0 of {numbers}/a.tfrecord can't be used: ")
    assert "Data types don't match" in said


def test_what_is_no_example_is_named(tmp_path: Path, read: Any) -> None:
    write(tmp_path / "x.tfrecord", [example(x=1), b"\xff\xff"])
    assert complaint(read, lambda: plain(tmp_path)) == (
        f"record 1 of {tmp_path}/x.tfrecord is no tf.train.Example.{REMEDY}"
    )


def test_a_bad_image_in_a_record_is_named(converted: Path, tmp_path: Path, read: Any) -> None:
    write(tmp_path / "x.tfrecord", [example(image__encoded=b"text", image__class__label=1)])
    metadata = ImageClassificationTFRecordMetadata(tmp_path, "x.tfrecord")
    assert complaint(read, lambda: ImageClassificationTFRecordDataset(metadata), "image") == (
        f"record 0 of {tmp_path}/x.tfrecord can't be used: its image/encoded is not an image: it"
        f" begins with b'text'.{REMEDY}"
    )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            "d*.tfrecord",
            "no file in {folder} matches 'd*.tfrecord'. It holds 3 files: a.tfrecord, b.tfrecord,"
            " c.tfrecord.",
        ),
        (
            "a*.tfrecords",
            "no file in {folder} matches 'a*.tfrecords'. It holds 3 files: a.tfrecord, b.tfrecord,"
            " c.tfrecord. 'a*' would match.",
        ),
        (
            "b.tfrecord",
            "BaseTFRecordMetadata: {folder}/b.tfrecord have no records.",
        ),
    ],
)
def test_patterns_that_find_nothing(numbers: Path, pattern: str, message: str) -> None:
    with pytest.raises(MoxValueError) as caught:
        BaseTFRecordMetadata(numbers, pattern)
    assert str(caught.value) == message.format(folder=numbers)


def test_files_of_another_kind(numbers: Path) -> None:
    path = numbers / "x.tfrecord"
    for content, hint in (
        (b"just some text, long enough", "it begins with b'just some te'"),
        (b"short", "it has only 5 bytes"),
    ):
        path.write_bytes(content)
        with pytest.raises(MoxValueError) as caught:
            BaseTFRecordMetadata(numbers, "x.tfrecord")
        assert str(caught.value) == f"{path} is not a TFRecord file: {hint}."


def test_wrong_use_is_explained(numbers: Path) -> None:
    metadata = BaseTFRecordMetadata(numbers, "*.tfrecord")
    for make, kind, message in (
        (
            lambda: BaseTFRecordDataset(metadata, ["x", "y"], [SCALAR]),
            MoxValueError,
            "BaseTFRecordDataset: 2 feature_keys, but 1 feature_values; they belong together one by"
            " one.",
        ),
        (
            lambda: BaseTFRecordDataset(metadata),
            MoxTypeError,
            "BaseTFRecordDataset needs feature_keys and feature_values.",
        ),
        (
            lambda: BaseTFRecordMetadata(numbers),
            MoxTypeError,
            "BaseTFRecordMetadata: give file_pattern, such as '*.tfrecord'.",
        ),
    ):
        with pytest.raises(MoxError) as caught:
            make()
        assert (type(caught.value), str(caught.value)) == (kind, message)


def test_handlers_are_checked(numbers: Path) -> None:
    for handlers, message in (
        (
            {"x": "x"},
            "items_to_handlers['x'] is 'x'; it must be a handler such as"
            " slim.tfexample_decoder.Tensor('x').",
        ),
        (
            {"x": _Shaped("xx", [])},
            "items_to_handlers['x'] reads the feature 'xx', which is not among keys_to_features."
            " Did you mean 'x'?",
        ),
    ):
        with tf.Graph().as_default(), pytest.raises(MoxError) as caught:
            get_tfrecord(numbers, "*.tfrecord", {"x": SCALAR}, handlers).get(["x"])
        assert str(caught.value) == message


def test_an_item_that_is_not_there(numbers: Path) -> None:
    with tf.Graph().as_default(), pytest.raises(MoxValueError) as caught:
        plain(numbers).get(["z"])
    assert str(caught.value) == (
        "BaseTFRecordDataset.get: there is no item 'z'. The items are 'x'."
    )


@pytest.mark.parametrize("size", [None, 2])
def test_each_sample_is_seen_once_an_epoch_whatever_the_number_of_workers(
    numbers: Path, read: Any, size: int | None
) -> None:
    seen: list[int] = []
    per_step = 4 if size is None else 2  # Elements of a worker's step: 4 samples, or 2 batches.
    taken = 0
    for workers, steps in ((2, 3), (1, 1), (3, 2), (2, 1), (1, 2)):
        for worker in range(workers):
            demand = Feed.behind(Taken(taken), worker, workers, seed=4, order=None)
            make = functools.partial(plain, numbers, num_epochs=None, batch_size=size)
            rows = read(make, ["x"], demand, most=steps * per_step)
            seen += [int(x) for row in rows for x in np.ravel(row[0])]
        taken += workers * steps * per_step
    epochs, rest = divmod(len(seen), 11)
    assert (epochs, rest) == (6, 2)
    counts = np.bincount(seen, minlength=11)
    assert sorted(counts) == [6] * 9 + [7] * 2
