"""The directory of an export: numbers, names, and what is refused."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from moxing.engine import export
from moxing.errors import ExportExistsError, MoxValueError


def test_minus_one_is_the_number_after_the_largest(tmp_path: Path) -> None:
    assert export.target(str(tmp_path / "new"), -1) == str(tmp_path / "new" / "1")
    assert not (tmp_path / "new").exists()
    for name in ("2", "10", "9", "model", "11.tmp", "x12"):
        (tmp_path / name).mkdir()
    assert export.target(str(tmp_path), -1) == str(tmp_path / "11")


@pytest.mark.parametrize(
    ("version", "name"), [(0, "0"), (7, "7"), (np.int64(7), "7"), ("model", "model"), ("7", "7")]
)
def test_numbers_and_names(tmp_path: Path, version: int | str, name: str) -> None:
    assert export.target(str(tmp_path), version) == str(tmp_path / name)


@pytest.mark.parametrize(("name", "hinted"), [("model", True), ("3", False)])
def test_a_name_that_serving_will_not_find_is_pointed_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, hinted: bool
) -> None:
    with caplog.at_level(logging.INFO, "tensorflow"):
        export.target(str(tmp_path), name)
    hint = (
        f"The model will be exported to {tmp_path / name}. TensorFlow Serving only finds"
        " directories named by a number: pass version=-1, or an int, where it has to."
    )
    assert caplog.messages == [hint] * hinted


@pytest.mark.parametrize("version", ["model", 5])
@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_what_exists_is_refused(tmp_path: Path, version: int | str, kind: str) -> None:
    path = tmp_path / str(version)
    make = {"directory": path.mkdir, "file": path.touch}
    make.get(kind, lambda: path.symlink_to(tmp_path / "nowhere"))()
    with pytest.raises(ExportExistsError) as raised:
        export.target(str(tmp_path), version)
    assert isinstance(raised.value, AssertionError)
    assert str(raised.value) == (
        "Export directory already exists. Please specify a different export directory:"
        f" {tmp_path}/{version}"
    )


@pytest.mark.parametrize(
    "version",
    ["", " ", ".", "..", "a/b", "/a", "../a", ".hidden", "a\n", "a\0", "x" * 201]
    + [-2, True, False, 1.0, None, b"model", np.bool_(True)],
)
def test_what_names_no_directory_is_refused(tmp_path: Path, version: object) -> None:
    with pytest.raises(MoxValueError) as raised:
        export.target(str(tmp_path), version)  # type: ignore[arg-type]
    assert str(raised.value) == (
        f"Export version {version!r} can't be the name of a directory in {tmp_path}. Use -1 for the"
        " next number, an int from 0 on, or a name without '/'."
    )


@pytest.mark.parametrize("version", ["checkpoint", "model.ckpt-5", "events.out.tfevents.1"])
def test_names_of_training_files_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(MoxValueError) as raised:
        export.target(str(tmp_path), version)
    assert str(raised.value) == (
        f"Export version {version!r} is the name of a file that training itself writes into"
        f" {tmp_path}. Choose another name, a number, or -1."
    )
