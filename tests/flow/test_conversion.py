"""`mox convert` to and from OFRecord parts, and of checkpoints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.cli import convert as cli
from moxing.flow.data import convert, files
from moxing.framework import file
from moxing.framework.file import publish
from moxing.tensorflow.datasets.folders.tree import class_folders


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    with tf.Graph().as_default(), tf.Session() as session:
        for label in range(2):
            (tmp_path / "tree" / f"class{label}").mkdir(parents=True)
            for i in range(3):
                pixels = np.full((2, 2, 3), label * 100 + i, np.uint8)
                content = session.run(tf.io.encode_png(pixels))
                (tmp_path / "tree" / f"class{label}" / f"{i}.png").write_bytes(content)
    return tmp_path / "tree"


def _images(folder: str) -> list[tuple[bytes, int]]:
    return sorted((image, label) for _, image, label in convert.samples(folder))


def test_images_go_through_every_format_unchanged(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of, tfr, back = (str(tmp_path / name) for name in ("of", "tfr", "back"))

    assert cli.main([str(tree), of, "--to=ofrecord", "--parts=2"]) == 0
    assert cli.main([of, tfr, "--to=tfrecord", "--parts=1"]) == 0
    assert cli.main([tfr, back, "--to=folders"]) == 0

    assert capsys.readouterr().out == (
        f"Wrote 6 images to 2 files in {of}.\nWrote 6 images to 1 file in {tfr}.\n"
        f"Wrote 6 images to 6 files in {back}.\n"
    )
    assert [len(list(files.read(f"{of}/part-{n}"))) for n in range(2)] == [3, 3]
    wanted = _images(str(tree))
    assert _images(of) == _images(tfr) == _images(back) == wanted
    assert sorted(p.name for p in Path(back).iterdir()) == ["class0", "class1"]


def test_the_numbers_of_a_labels_file_count_not_the_order_of_its_lines(
    tree: Path, tmp_path: Path
) -> None:
    of, back, again = (str(tmp_path / name) for name in ("of", "back", "again"))
    assert cli.main([str(tree), of, "--to=ofrecord"]) == 0
    Path(of, "labels.txt").write_text("1: daisy \n0:\ttulips\n", encoding="utf-8")
    assert cli.main([of, back, "--to=folders"]) == 0
    pixels = {
        name: sorted(path.read_bytes() for path in Path(back, name).iterdir())
        for name in ("tulips", "daisy")
    }
    for label, name in enumerate(("tulips", "daisy")):
        source = tree / f"class{label}"
        assert pixels[name] == sorted(path.read_bytes() for path in source.iterdir())
    # The order of the folders' names would number them the other way round.
    assert Path(back, "labels.txt").read_text(encoding="utf-8") == "0: tulips\n1: daisy\n"
    assert cli.main([back, again, "--to=ofrecord"]) == 0
    assert _images(again) == _images(of) == _images(str(tree))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0: ../../x\n1: b\n", "the class name '../../x' can't be the name of a folder"),
        ("daisy\n1: tulips\n", "line 1: 'daisy' is no label"),
        ("1: a\n2: b\n", "must be numbered 0 to 1; 0 is missing"),
    ],
)
def test_labels_files_that_name_no_classes(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    of = str(tmp_path / "of")
    assert cli.main([str(tree), of, "--to=ofrecord"]) == 0
    Path(of, "labels.txt").write_text(text, encoding="utf-8")
    assert cli.main([of, str(tmp_path / "back"), "--to=folders"]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "back").exists()


def test_folders_of_systems_are_no_classes(tree: Path) -> None:
    before = _images(str(tree))
    for name in ("__MACOSX", "@eaDir", "$RECYCLE.BIN"):
        (tree / name).mkdir()
        (tree / name / "0.png").write_bytes(b"no image")
    assert _images(str(tree)) == before
    assert [folder.name for folder in class_folders(str(tree))] == ["class0", "class1"]


def _through_a_store(tree: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.copy_parallel(str(tree), f"{url}/tree")
    pairs = [("tree", "of", "ofrecord"), ("of", "tfr", "tfrecord"), ("tfr", "back", "folders")]
    for src, dst, to in pairs:
        assert cli.main([f"{url}/{src}", f"{url}/{dst}", f"--to={to}"]) == 0
    assert capsys.readouterr().out == (
        f"Wrote 6 images to 1 file in {url}/of.\nWrote 6 images to 1 file in {url}/tfr.\n"
        f"Wrote 6 images to 6 files in {url}/back.\n"
    )
    wanted = _images(str(tree))
    for name in ("tree", "of", "tfr", "back"):
        assert _images(f"{url}/{name}") == wanted
    assert file.list_directory(f"{url}/of") == ["labels.txt", "part-0"]


def test_images_go_through_every_format_in_a_store(
    tree: Path, tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _through_a_store(tree, "s3://bucket", capsys)
    assert cli.main(["s3://bucket/of", "s3://bucket/back", "--to=ofrecord"]) == 1
    assert cli.main(["s3://bucket/none", "s3://bucket/new", "--to=ofrecord"]) == 1
    assert capsys.readouterr().err == (
        "mox: error: s3://bucket/back is there already and not empty. Choose another folder.\n"
        "mox: error: there is no folder s3://bucket/none.\n"
    )
    file.write(f"s3://bucket/of/{publish.MARK}1", '["part-0"]')
    assert cli.main(["s3://bucket/of", "s3://bucket/new", "--to=folders"]) == 1
    assert "s3://bucket/of is not complete: it is being" in capsys.readouterr().err
    # The next conversion to there takes the place of what was left.
    (store / "bucket" / "of" / "labels.txt").unlink()
    assert cli.main([str(tree), "s3://bucket/of", "--to=ofrecord"]) == 0
    assert _images("s3://bucket/of") == _images(str(tree))


@pytest.mark.slow
def test_images_go_through_every_format_in_s3(
    tree: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _through_a_store(tree, bucket, capsys)


def test_a_conversion_that_fails_leaves_nothing(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "class0" / "0.png").write_bytes(b"text")

    assert cli.main([str(tree), str(tmp_path / "of"), "--to=ofrecord"]) == 1
    assert capsys.readouterr().err == (
        f"mox: error: {tree}/class0/0.png: an image of 4 bytes is no JPEG, PNG, GIF or BMP file."
        " Mend or delete it, or pass --skip-bad to leave out images that can't be read.\n"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["tree"]


def test_bad_images_are_left_out_and_counted_in_every_format(
    tree: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    good, bad = tree / "class0" / "1.png", tree / "class1" / "2.png"
    bad.write_bytes(good.read_bytes()[:-20])
    (tree / "class0" / "0.png").write_bytes(b"")
    of, tfr, back = (str(tmp_path / name) for name in ("of", "tfr", "back"))
    # A record whose image was damaged later.
    assert cli.main([str(tree), of, "--to=ofrecord", "--skip-bad"]) == 0
    assert sorted(record.getMessage() for record in caplog.records) == [
        f"left out {tree}/class0/0.png: the image is empty (0 bytes)",
        f"left out {bad}: the image of {bad.stat().st_size} bytes is damaged or cut short",
    ]
    path = f"{of}/part-0"
    content = Path(path).read_bytes()
    Path(path).write_bytes(content.replace(good.read_bytes()[30:50], bytes(20)))

    assert cli.main([of, tfr, "--to=tfrecord"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]  # Warnings may stand before it.
    assert re.fullmatch(
        rf"mox: error: {path}, record \d \(at byte \d+\): the image of \d+ bytes is damaged or cut"
        r" short\. Mend or delete it, or pass --skip-bad to leave out images that can't be read\.",
        error,
    )
    assert cli.main([of, tfr, "--to=tfrecord", "--skip-bad"]) == 0
    assert cli.main([of, back, "--to=folders", "--skip_bad"]) == 0
    assert capsys.readouterr().out == (
        f"Wrote 3 images to 1 file in {tfr}, left out 1 that can't be read.\n"
        f"Wrote 3 images to 3 files in {back}, left out 1 that can't be read.\n"
    )
    assert _images(tfr) == _images(back)


def test_a_folder_of_bad_images_only_is_an_error(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in tree.glob("*/*.png"):
        path.write_bytes(b"text")

    assert cli.main([str(tree), str(tmp_path / "of"), "--to=ofrecord", "--skip-bad"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"mox: error: {tree} holds no image that can be read; 6 can't."
    )
    assert not (tmp_path / "of").exists()


@pytest.mark.parametrize("remote", [False, True])
def test_checkpoints_go_to_tensorflow_and_back(tmp_path: Path, store: Path, remote: bool) -> None:
    place = store / "bucket" if remote else tmp_path
    base = "s3://bucket" if remote else str(tmp_path)
    values = {
        "fc-w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "a/step": np.array([7], np.int64),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.get_variable(name, initializer=value, use_resource=True)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(place / "model"))
    prefix, flow, again = f"{base}/model", f"{base}/flow", f"{base}/again"

    assert cli.main(["checkpoint", prefix, flow]) == 0
    assert (place / "flow" / "fc-w" / "out").read_bytes() == values["fc-w"].tobytes()
    assert cli.main(["checkpoint", flow, again, f"--like={prefix}"]) == 0

    reader = tf.train.NewCheckpointReader(str(place / "again"))
    for name, value in values.items():
        np.testing.assert_array_equal(reader.get_tensor(name), value)


def test_a_folder_without_snapshot_done_is_no_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "torn").mkdir()

    assert cli.main(["checkpoint", str(tmp_path / "torn"), str(tmp_path / "model")]) == 1
    assert capsys.readouterr().err == (
        f"mox: error: {tmp_path}/torn has no snapshot_done: it is no checkpoint, or its save was"
        " cut short.\n"
    )
