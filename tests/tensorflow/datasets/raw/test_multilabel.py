"""Images with several labels: label files of every shape, k-hot labels, missing files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moxing.engine.data.feed import Feed
from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import (
    MultilabelClassificationRawDataset,
    MultilabelClassificationRawMetadata,
)

ITEMS = ["image", "label", "label_desc", "image_name"]


@pytest.fixture
def make(tmp_path: Path, encode: Any, smooth: Any) -> Callable[..., Path]:
    """`make("a b", "b", None)`: images 0.jpg ff. with these label files; None: without."""

    def build(*texts: str | None, labels: str | None = None) -> Path:
        for folder in ("images", "labels"):
            (tmp_path / folder).mkdir()
        for number, text in enumerate(texts):
            content = encode(smooth(10, 12, number))
            (tmp_path / "images" / f"{number}.jpg").write_bytes(content)
            if text is not None:
                (tmp_path / "labels" / f"{number}.jpg.txt").write_text(text, encoding="utf-8")
        if labels is not None:
            (tmp_path / "labels.txt").write_text(labels, encoding="utf-8")
        return tmp_path

    return build


def rows(read: Any, base: Path, **options: Any) -> list[list[Any]]:
    metadata = MultilabelClassificationRawMetadata(base)
    return read(
        lambda: MultilabelClassificationRawDataset(
            metadata, num_epochs=1, shuffle=False, **options
        ),
        ITEMS,
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("cat dog", "dog", "cat"),
        ("cat\ndog\n", "dog\n", "cat"),
        ("cat, dog", "dog", "cat"),
        ("\ufeffcat\r\ndog", "dog", "cat\r\n"),
    ],
)
def test_labels_become_k_hot(make: Any, read: Any, texts: tuple[str, ...]) -> None:
    found = rows(read, make(*texts))
    assert [row[1].tolist() for row in found] == [[1, 1], [0, 1], [1, 0]]
    assert found[0][1].dtype == np.float32
    assert [row[2] for row in found] == [b"cat,dog", b"dog", b"cat"]
    assert [row[3] for row in found] == [f"images/{index}.jpg".encode() for index in range(3)]
    assert found[0][0].shape == (10, 12, 3)


def test_lines_keep_spaces_and_the_labels_file_decides(make: Any, read: Any) -> None:
    base = make("red tulip\nrose", "rose", labels="0: rose\n1: red tulip\n2: daisy\n")
    metadata = MultilabelClassificationRawMetadata(base)
    assert metadata.labels_to_names == {0: "rose", 1: "red tulip", 2: "daisy"}
    assert metadata.names_to_labels["daisy"] == 2
    assert (metadata.num_classes, metadata.total_num_samples) == (3, 2)
    assert [row[1].tolist() for row in rows(read, base, label_sep="n")] == [[1, 1, 0], [1, 0, 0]]


def test_labels_in_one_line_of_the_labels_file(make: Any) -> None:
    base = make("a b", labels="0: b 1: a")
    assert MultilabelClassificationRawMetadata(base).labels_list == ["b", "a"]


def test_an_image_without_any_label(make: Any, read: Any) -> None:
    found = rows(read, make("cat", "", "dog"))
    assert [row[1].tolist() for row in found] == [[1, 0], [0, 0], [0, 1]]
    assert found[1][2] == b""


def test_batches_in_an_order_of_their_own(make: Any, read: Any) -> None:
    base = make("a", "b", "a b", "b", "a")
    metadata = MultilabelClassificationRawMetadata(base)
    found = read(
        lambda: MultilabelClassificationRawDataset(
            metadata, num_epochs=2, batch_size=5, image_size=8
        ),
        ["label", "image_name"],
        Feed(seed=1),
    )
    assert [row[0].shape for row in found] == [(5, 2)] * 2
    assert found[0][1].tolist() != found[1][1].tolist()
    assert sorted(found[0][1].tolist()) == sorted(found[1][1].tolist())


def test_a_missing_label_file_is_named(make: Any, read: Any, messages: Any) -> None:
    base = make("a", None, "b")
    metadata = MultilabelClassificationRawMetadata(base)
    with pytest.raises(MoxValueError) as caught:
        MultilabelClassificationRawDataset(metadata)
    assert str(caught.value) == (
        f"1 of 3 images in {base} have no label file: labels/1.jpg.txt is missing. Add it, or pass"
        " skip_label_not_found=True to leave out such images."
    )
    assert len(rows(read, base, skip_label_not_found=True)) == 2
    assert messages()[-1] == (
        f"Left out 1 of 3 images in {base}, which have no label file, such as 1.jpg."
    )


def test_an_unknown_label_is_named(make: Any, read: Any) -> None:
    base = make("cat", "cart", labels="0: cat\n1: dog\n")
    with pytest.raises(MoxValueError) as caught:
        rows(read, base)
    assert str(caught.value) == (
        f"{base}/labels/1.jpg.txt: 'cart' is no label. Did you mean 'cat'? The labels are 0: cat,"
        " 1: dog. If it is several, say what stands between them with label_sep."
    )
