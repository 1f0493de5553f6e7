"""`mox convert` to and from OFRecord parts, and of checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.cli import convert as cli
from moxing.flow.data import convert, files


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
    wanted = sorted(convert.samples(str(tree)))
    assert sorted(convert.samples(of)) == sorted(convert.samples(tfr)) == wanted
    assert sorted(convert.samples(back)) == wanted
    assert sorted(p.name for p in Path(back).iterdir()) == ["class0", "class1"]


def test_a_conversion_that_fails_leaves_nothing(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "class0" / "0.png").write_bytes(b"text")

    assert cli.main([str(tree), str(tmp_path / "of"), "--to=ofrecord"]) == 1
    assert capsys.readouterr().err == (
        "mox: error: an image of 4 bytes is no JPEG, PNG, GIF or BMP file.\n"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["tree"]


def test_checkpoints_go_to_tensorflow_and_back(tmp_path: Path) -> None:
    values = {
        "fc-w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "a/step": np.array([7], np.int64),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.get_variable(name, initializer=value, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model"))
    flow, again = str(tmp_path / "flow"), str(tmp_path / "again")

    assert cli.main(["checkpoint", prefix, flow]) == 0
    assert Path(flow, "fc-w", "out").read_bytes() == values["fc-w"].tobytes()
    assert cli.main(["checkpoint", flow, again, f"--like={prefix}"]) == 0

    reader = tf.train.NewCheckpointReader(again)
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
