"""Labels files: what they may look like, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.datasets import (
    ImageClassificationRawDataset,
    ImageClassificationRawMetadata,
    labels,
)


@pytest.mark.parametrize(
    "text",
    [
        "0: rose\n1: red tulip\n",
        "\ufeff1:red tulip\r\n0 :  rose  \r\n\r\n",
    ],
)
def test_lines(text: str) -> None:
    assert labels.parse(text, "labels.txt") == ["rose", "red tulip"]


def test_names_without_numbers_are_in_order() -> None:
    """A sample of MoXing writes its file so."""
    assert labels.parse("\ufefficeberg\n\n ship: large\r\n", "l.txt") == ["iceberg", "ship: large"]
    with pytest.raises(MoxValueError, match="line 3: 'a' is label 0 already, and now 2"):
        labels.parse("a\nb\na\n", "l.txt")


def test_all_in_one_line() -> None:
    assert labels.parse("0: a 1: b 2: c", "labels.txt") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "l.txt is empty. One class a line, numbered from 0: `0: daisy`."),
        (
            "0: a\nb\n",
            "l.txt, line 2: 'b' is no label. One class a line, numbered from 0: `0: daisy`.",
        ),
        (
            "0: a\n0: b\n",
            "l.txt, line 2: label 0 is 'a' already, and now 'b'. Each number may stand once.",
        ),
        (
            "0: a\n1: a\n",
            "l.txt, line 2: 'a' is label 0 already, and now 1. Each name may stand once.",
        ),
        (
            "1: a\n2: b\n",
            "l.txt: 2 labels must be numbered 0 to 1; 0 is missing. One class a line, numbered"
            " from 0: `0: daisy`.",
        ),
    ],
)
def test_wrong_lines(text: str, message: str) -> None:
    with pytest.raises(MoxValueError) as caught:
        labels.parse(text, "l.txt")
    assert str(caught.value) == message


def test_the_labels_file_decides(make_tree: Any, messages: Any) -> None:
    base = make_tree({"daisy": 1, "roses": 2})
    (base / "labels.txt").write_text("0: roses\n1: daisy\n", encoding="utf-8")
    metadata = ImageClassificationRawMetadata(base)
    assert metadata.labels_list == ["roses", "daisy"]
    assert metadata.labels_to_names == {0: "roses", 1: "daisy"}
    assert metadata.names_to_labels == {"roses": 0, "daisy": 1}
    assert (metadata.total_num_samples, metadata.num_classes) == (3, 2)
    assert messages() == [f"Labels ({base}/labels.txt): 0: roses, 1: daisy"]


def test_a_labels_file_that_disagrees(make_tree: Any) -> None:
    base = make_tree({"daisy": 1, "rose": 1})
    (base / "names.txt").write_text("0: roses\n1: daisy\n2: tulips\n", encoding="utf-8")
    with pytest.raises(MoxValueError) as caught:
        ImageClassificationRawMetadata(base, labels_filename="names.txt")
    assert str(caught.value) == (
        f"{base}/names.txt and the folders of {base} do not agree: labels without a folder:"
        " 'roses', 'tulips'. Did you mean 'rose'? folders without a label: 'rose'. Correct or"
        " delete the file, or rename the folders."
    )


def test_a_labels_file_that_is_no_text(make_tree: Any) -> None:
    base = make_tree({"daisy": 1})
    (base / "labels.txt").write_bytes("0: 菊".encode("gbk"))
    with pytest.raises(MoxValueError, match=r"labels.txt is not UTF-8 text: .* Save it as UTF-8"):
        ImageClassificationRawMetadata(base)


def test_folders_are_sorted_and_logged(make_tree: Any, messages: Any) -> None:
    base = make_tree({"b": 1, "a": 1, "玫瑰 花": 1, ".hidden": 1})
    assert ImageClassificationRawMetadata(base).labels_list == ["a", "b", "玫瑰 花"]
    assert messages() == [f"Labels (sorted folders of {base}): 0: a, 1: b, 2: 玫瑰 花"]


def test_numbers_out_of_order_are_said(make_tree: Any, messages: Any) -> None:
    base = make_tree({f"label_{number}": 1 for number in range(11)})
    assert ImageClassificationRawMetadata(base).labels_list[:3] == [
        "label_0",
        "label_1",
        "label_10",
    ]
    assert messages()[0] == (
        "The class folders are in the order of text, not of numbers: label 2 is 'label_10', not"
        " 'label_2'. If that is not meant, write labels.txt with lines such as `2: label_2`."
    )


def test_of_many_labels_some_are_logged() -> None:
    shown = labels.describe([f"c{number:02}" for number in range(40)])
    assert shown == (
        "0: c00, 1: c01, 2: c02, 3: c03, 4: c04, 5: c05, 6: c06, 7: c07, 8: c08, 9: c09, ...,"
        " 39: c39"
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    labels.write(["rose", "玫瑰 花"], path)
    assert path.read_bytes() == "0: rose\n1: 玫瑰 花\n".encode()
    assert labels.read(str(path)) == ["rose", "玫瑰 花"]
    assert [item.name for item in tmp_path.iterdir()] == ["labels.txt"]


def test_the_graph_knows_the_labels_of_its_reader(make_tree: Any) -> None:
    metadata = ImageClassificationRawMetadata(make_tree({"daisy": 1, "roses": 1}))
    with tf.Graph().as_default() as graph:
        assert labels.announced(graph) is None
        for _ in range(2):
            ImageClassificationRawDataset(metadata).get(["label"])
        assert labels.announced(graph) == ("daisy", "roses")
        labels.announce(["other"])
        assert labels.announced(graph) is None
