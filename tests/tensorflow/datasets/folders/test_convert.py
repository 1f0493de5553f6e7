"""Trees become TFRecord files whose count is checked, or nothing is written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.cli.main import main
from moxing.errors import MoxValueError
from moxing.framework.file import publish
from moxing.framework.file.copying import trees
from moxing.tensorflow.datasets import ImageClassificationTFRecordMetadata
from moxing.tensorflow.datasets.folders.convert import to_tfrecord


def examples(path: Any) -> list[dict[str, Any]]:
    found = []
    for content in tf.io.tf_record_iterator(str(path)):
        features = tf.train.Example.FromString(content).features.feature
        found.append(
            {
                key: (value.bytes_list.value or value.int64_list.value)[0]
                for key, value in features.items()
            }
        )
    return found


def test_parts_hold_every_image_once(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"daisy": 3, "roses": 4})
    done = to_tfrecord(base, tmp_path / "out", parts=3)
    names = [f"images-{part:05d}-of-00003.tfrecord" for part in range(3)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [*names, "labels.txt"]
    assert [path.name for path in done.files] == names
    assert (done.images, done.left_out) == (7, 0)
    assert (tmp_path / "out" / "labels.txt").read_text() == "0: daisy\n1: roses\n"
    parts = [examples(path) for path in done.files]
    assert [len(part) for part in parts] == [3, 2, 2]
    found = [example for part in parts for example in part]
    for example in found:
        name = example["image/filename"].decode()
        assert example["image/encoded"] == (base / name).read_bytes()
        assert example["image/class/text"].decode() == name.split("/")[0]
        assert example["image/class/label"] == ["daisy", "roses"].index(name.split("/")[0])
        index = int(name.split("/")[1].split(".")[0])
        assert (example["image/height"], example["image/width"]) == (20 + index, 30 - index)
        assert example["image/format"] == b"jpg"
    order = [example["image/filename"] for example in found]
    assert len(set(order)) == 7
    assert order != sorted(order)

    again = to_tfrecord(base, tmp_path / "again", parts=3)
    assert [path.read_bytes() for path in again.files] == [path.read_bytes() for path in done.files]


def test_formats_that_slim_does_not_read_become_png(
    make_tree: Any, tmp_path: Path, encode: Any, smooth: Any
) -> None:
    base = make_tree({"a": 0})
    png = encode(smooth(5, 6, 1), "png")
    (base / "a" / "1.png").write_bytes(png)
    gif = b"GIF89a\x01\0\x01\0\x80\0\0\xff\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
    (base / "a" / "2.gif").write_bytes(gif)
    [path] = to_tfrecord(base, tmp_path / "out").files
    assert path.name == "images-00000-of-00001.tfrecord"
    found = {example["image/filename"]: example for example in examples(path)}
    assert found[b"a/1.png"]["image/encoded"] == png
    assert found[b"a/2.gif"]["image/encoded"].startswith(b"\x89PNG")
    assert {example["image/format"] for example in found.values()} == {b"png"}


def test_a_tree_in_a_store_becomes_files_in_a_store(
    make_tree: Any, tmp_path: Path, store: Path, capsys: Any
) -> None:
    base = make_tree({"daisy": 3, "roses": 4})
    wanted = to_tfrecord(base, tmp_path / "out", parts=2)
    shutil.copytree(base, store / "bucket" / "images")
    arguments = ["convert", "s3://bucket/images", "s3://bucket/out/", "--to=tfrecord", "--parts=2"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "Wrote 7 images to 2 files in s3://bucket/out/.\n"
    found = {path.name: path.read_bytes() for path in (store / "bucket" / "out").iterdir()}
    assert found == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert len(found) == len(wanted.files) + 1
    assert main(arguments) == 1
    assert capsys.readouterr().err.endswith(
        "mox: error: s3://bucket/out/images-00000-of-00002.tfrecord exists already. Delete it or"
        " choose another folder.\n"
    )
    assert list((tmp_path / "staging").iterdir()) == []


def test_a_conversion_to_a_store_that_is_killed_looks_unfinished(
    make_tree: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, url = make_tree({"daisy": 2}), "s3://bucket/out"
    with monkeypatch.context() as patch:
        patch.setattr(publish, "_undo", lambda *_: None)
        patch.setattr(trees, "copy_files", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            to_tfrecord(base, url)
    with pytest.raises(MoxValueError, match="out is not complete: it is being written"):
        ImageClassificationTFRecordMetadata(url, "*.tfrecord")
    assert to_tfrecord(base, url).files == (f"{url}/images-00000-of-00001.tfrecord",)
    assert ImageClassificationTFRecordMetadata(url, "*.tfrecord").total_num_samples == 2


def test_a_bad_image_is_named_and_nothing_is_written(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"daisy": 3})
    (base / "daisy" / "1.jpg").write_bytes(b"")
    with pytest.raises(MoxValueError) as caught:
        to_tfrecord(base, tmp_path / "out")
    assert str(caught.value) == (
        f"{base}/daisy/1.jpg is empty (0 bytes). Mend or delete it, or pass skip_bad=True to leave"
        " out samples that can't be read."
    )
    assert list((tmp_path / "out").iterdir()) == []
    done = to_tfrecord(base, tmp_path / "out", skip_bad=True)
    assert (done.images, done.left_out) == (2, 1)


def test_files_are_not_overwritten(make_tree: Any, tmp_path: Path) -> None:
    base = make_tree({"daisy": 2})
    [path] = to_tfrecord(base, tmp_path / "out").files
    with pytest.raises(MoxValueError) as caught:
        to_tfrecord(base, tmp_path / "out")
    assert str(caught.value) == f"{path} exists already. Delete it or choose another folder."


def test_the_command(make_tree: Any, tmp_path: Path, capsys: Any) -> None:
    base, out = make_tree({"daisy": 2, "roses": 1}), tmp_path / "out"
    assert main(["convert", str(base), str(out), "--to=tfrecord", "--parts=2"]) == 0
    assert capsys.readouterr().out == f"Wrote 3 images to 2 files in {out}.\n"
    (base / "daisy" / "0.jpg").write_bytes(b"")
    assert main(["convert", str(base), str(tmp_path / "new"), "--to=tfrecord"]) == 1
    assert capsys.readouterr().err.endswith(
        f"mox: error: {base}/daisy/0.jpg is empty (0 bytes). Mend or delete it, or pass --skip-bad"
        " to leave out samples that can't be read.\n"
    )
    arguments = ["convert", str(base), str(tmp_path / "new"), "--to=tfrecord", "--skip-bad"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == (
        f"Wrote 2 images to 1 file in {tmp_path}/new, left out 1 that can't be read.\n"
    )
    assert main(["convert", str(base / "no"), str(out), "--to=tfrecord"]) == 1
    assert capsys.readouterr().err.endswith(
        f"mox: error: the folder {base}/no does not exist. {base} is there.\n"
    )
