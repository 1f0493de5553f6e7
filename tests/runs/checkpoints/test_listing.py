"""Checkpoints of all dialects are listed, on the disk and in stores, without TensorFlow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.runs.checkpoints import listing

Make = Callable[..., str]

# Imports of these fail in the program.
WITHOUT = """
import sys
from moxing.cli import main

class Refused:
    def find_spec(self, name, path=None, target=None):
        assert name not in ("tensorflow", "numpy"), name

sys.meta_path.insert(0, Refused())
sys.exit(main.main(["checkpoints", *sys.argv[1:]]))
"""


def _of_another_program(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "theirs"), 7)


def _of_flow(folder: Path, value: float | None = None) -> None:
    (folder / "w").mkdir(parents=True)
    (folder / "w" / "out").write_bytes(b"\0" * 8)
    (folder / "snapshot_done").touch()
    if value is not None:
        (folder / "best.json").write_text(json.dumps({"metric": "accuracy", "value": value}))


@pytest.fixture
def run(tmp_path: Path, make: Make) -> Path:
    """A folder with checkpoints of each kind."""
    folder = tmp_path / "run"
    make(folder, 10, {"w": 1.0})
    make(folder / "best", 5, {"w": 1.0}, extra={"best": {"metric": "loss", "value": 0.25}})
    _of_another_program(folder)
    _of_flow(folder / "snapshot_1")
    _of_flow(folder / "best" / "snapshot_0", 0.75)
    (folder / "snapshot_2").mkdir()  # Its save was cut short.
    return folder


NOTES = {
    "best/model.ckpt-5": "best loss: 0.25",
    "best/snapshot_0": "best accuracy: 0.75",
    "model.ckpt-10": "",
    "snapshot_1": "of a flow program",
    "theirs-7": "by another program",
}


def test_no_kind_needs_tensorflow(run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(run)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    _, *lines = done.stdout.splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(NOTES)
    assert all(any(note in line for line in lines) for note in NOTES.values())


def test_checkpoints_with_digests_are_verified_without_tensorflow(
    tmp_path: Path, make: Make
) -> None:
    make(tmp_path, 1, {"w": 1.0})
    data = Path(make(tmp_path, 2, {"w": 1.0}) + ".data-00000-of-00001")
    data.write_bytes(b"\1" * data.stat().st_size)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path), "--verify"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "DAMAGED: model.ckpt-2.data-00000-of-00001 is damaged" in done.stdout
    assert done.stdout.endswith("1 of 2 are whole.\n")


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("verified", [False, True])
def test_a_store_shows_what_the_disk_shows(run: Path, verified: bool) -> None:
    file.copy_parallel(str(run), "s3://bucket/run")
    found = listing.listed("s3://bucket/run", verified)
    assert {one.name: one.note for one in found} == NOTES
    assert not any(one.fault for one in found)
    sizes = {one.name: one.bytes for one in listing.listed(str(run))}
    known = {one.name: one.bytes for one in found if one.bytes is not None}
    assert known.items() <= sizes.items()
    assert set(sizes) - set(known) == (
        set() if verified else {n for n in NOTES if "/s" in n or n[0] in "st"}
    )
