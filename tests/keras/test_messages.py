"""What `moxing.keras.fit` says is in the words of its own parameters."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

import pytest
from models import BATCH, X, Y, dense

import moxing.keras
from moxing.errors import CheckpointError, MoxValueError


def said(caplog: pytest.LogCaptureFixture, **arguments: Any) -> list[str]:
    """The log of a run."""
    caplog.clear()
    with caplog.at_level(logging.INFO, "tensorflow"):
        moxing.keras.fit(dense("keras"), (X, Y), batch_size=BATCH, **arguments)
    return [record.getMessage() for record in caplog.records if record.name == "tensorflow"]


def test_a_finished_run_names_the_option_that_was_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    last = said(caplog, epochs=1)[-1]
    assert last.endswith("No output_dir was given, so nothing was saved.")
    said(caplog, epochs=1, output_dir=tmp_path)
    assert said(caplog, epochs=1, output_dir=tmp_path) == [
        f"checkpoint in {tmp_path} is already at step 5 >= epochs=1 (5 steps); nothing to train:"
        " raise it or use another output_dir"
    ]
    assert said(caplog, steps=4, output_dir=tmp_path) == [
        f"checkpoint in {tmp_path} is already at step 5 >= steps=4; nothing to train: raise it or"
        " use another output_dir"
    ]


def test_errors_of_the_folder_name_it_as_the_user_does(tmp_path: Path) -> None:
    keras: Any = importlib.import_module("keras")
    (tmp_path / "file").write_text("")
    with pytest.raises(MoxValueError) as caught:
        moxing.keras.fit(dense("keras"), (X, Y), output_dir=tmp_path / "file")
    assert str(caught.value) == (
        f"output_dir '{tmp_path}/file' can't be a directory: {tmp_path}/file is a file. Choose"
        " another output_dir."
    )
    moxing.keras.fit(dense("keras"), (X, Y), epochs=1, output_dir=tmp_path / "run")
    other = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3, name="other")])
    other.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(CheckpointError) as changed:
        moxing.keras.fit(other, (X, Y), epochs=2, output_dir=tmp_path / "run")
    assert str(changed.value).endswith(
        "The model, or its optimizer, is not the one that was trained in this output_dir. Go back"
        " to that one, or choose a new output_dir."
    )


def test_a_folder_in_a_store_may_be_a_path_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pathlib folds the slashes of a URL, so that it looks like a local folder `s3:`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOX_FILE_S3_ROOT", str(tmp_path / "store"))
    folder = Path("s3://bucket/run")
    result = moxing.keras.fit(dense("tf_keras"), (X, Y), epochs=1, output_dir=folder)
    assert str(result.checkpoint).startswith("s3://bucket/run/model.ckpt-")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
