"""Checkpoints of any types become TensorFlow's, with their shapes, and those of others by rule."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.flow as flow
from moxing.cli import convert as cli
from moxing.errors import CheckpointError, MoxValueError
from moxing.flow.saving import conversion

VALUES = {
    "double": np.full((2, 3), 1.5),
    "half": np.ones((4,), np.float16),
    "float": np.full((2, 1, 2), -0.25, np.float32),
    "of-int32": np.full((2,), 7, np.int32),
    "of-int8/b": np.full((5,), -3, np.int8),
    "empty": np.zeros((0, 3), np.float32),
}


def _save(folder: Path) -> None:
    types = {"float64": flow.double, "float16": flow.half, "float32": flow.float}
    types |= {"int32": flow.int32, "int8": flow.int8}

    @flow.function
    def job() -> Any:
        return [
            flow.get_variable(
                name,
                value.shape,
                types[value.dtype.name],
                flow.constant_initializer(value.flat[0].item() if value.size else 0),
            )
            for name, value in VALUES.items()
        ]

    point = flow.train.CheckPoint()
    point.init()
    point.save(str(folder))


def _read(prefix: Path) -> dict[str, np.ndarray]:
    reader = tf.train.NewCheckpointReader(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def _assert_equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype, name
        np.testing.assert_array_equal(found[name], value, name, strict=True)


def test_variables_keep_their_types_and_shapes_there_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    _save(tmp_path / "saved")
    there, back, again = (str(tmp_path / name) for name in ("model", "back", "again"))

    assert cli.main(["checkpoint", str(tmp_path / "saved"), there]) == 0
    assert cli.main(["checkpoint", there, back]) == 0
    assert cli.main(["checkpoint", back, again]) == 0

    assert capsys.readouterr().out == (
        f"Wrote 6 variables to the TensorFlow checkpoint {there}.\n"
        f"Wrote 6 variables to the flow checkpoint {back}.\n"
        f"Wrote 6 variables to the TensorFlow checkpoint {again}.\n"
    )
    _assert_equal(_read(tmp_path / "model"), VALUES)
    _assert_equal(_read(tmp_path / "again"), VALUES)
    assert not caplog.records


def test_shapes_come_along_from_a_store(tmp_path: Path, store: Path) -> None:
    _save(tmp_path / "saved")
    conversion.convert(str(tmp_path / "saved"), "s3://bucket/model")
    conversion.convert("s3://bucket/model", "s3://bucket/back")
    conversion.convert("s3://bucket/back", str(tmp_path / "model"))

    _assert_equal(_read(tmp_path / "model"), VALUES)


def test_without_the_file_float32_is_presumed_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As of a checkpoint of the original, or of an older version."""
    folder = tmp_path / "saved"
    for name, value in {
        "w": np.ones((2, 2), "<f4"),
        "System-Train-TrainStep-j": np.array([3]),
    }.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "out").write_bytes(value.tobytes())
    (folder / "snapshot_done").touch()

    conversion.convert(str(folder), str(tmp_path / "model"))

    wanted = {"w": np.ones(4, np.float32), "System-Train-TrainStep-j": np.array([3])}
    _assert_equal(_read(tmp_path / "model"), wanted)
    assert [record.getMessage() for record in caplog.records] == [
        f"{folder} does not say what its bytes are, so they are taken for vectors of float32: w."
        " Give shapes and types with --like."
    ]
    (folder / "w" / "out").write_bytes(bytes(6))
    with pytest.raises(CheckpointError) as caught:
        conversion.convert(str(folder), str(tmp_path / "other"))
    assert str(caught.value) == (
        f"variable w of {folder} has 6 bytes, which is no float32 of shape (1,). Give its shape and"
        " type with --like."
    )


def test_what_the_file_says_must_fit_and_be_readable(tmp_path: Path) -> None:
    _save(tmp_path / "saved")
    (tmp_path / "saved" / ".digests.json").unlink()  # Or the change below would be damage.
    (tmp_path / "saved" / "half" / "out").write_bytes(bytes(6))
    with pytest.raises(CheckpointError) as caught:
        conversion.convert(str(tmp_path / "saved"), str(tmp_path / "model"))
    assert str(caught.value) == (
        f"variable half of {tmp_path}/saved has 6 bytes, which is no float16 of shape (4,). Give"
        " its shape and type with --like."
    )
    for content in ('{"half": ["float17", [4]]}', '{"half": [', "[1]", '{"half": 4}'):
        (tmp_path / "saved" / "shapes.json").write_text(content)
        with pytest.raises(CheckpointError, match=r"its shapes.json can't be read \(.*\)\. Delete"):
            conversion.convert(str(tmp_path / "saved"), str(tmp_path / "model"))


def test_a_checkpoint_loads_with_and_without_the_file(tmp_path: Path) -> None:
    _save(tmp_path / "saved")
    point = flow.train.CheckPoint()
    point.load(str(tmp_path / "saved"))
    (tmp_path / "saved" / "shapes.json").unlink()
    point.load(str(tmp_path / "saved"))
    shutil.rmtree(tmp_path / "saved" / "half")
    with pytest.raises(CheckpointError, match="it lacks half"):
        point.load(str(tmp_path / "saved"))


@pytest.mark.parametrize("name", ["shapes.json", "shapes.json/w", "snapshot_done"])
def test_no_variable_takes_the_name_of_a_file(name: str) -> None:
    @flow.function
    def job() -> Any:
        return flow.get_variable(name, (1,), initializer=flow.ones_initializer())

    with pytest.raises(MoxValueError, match=f"'{name}' can't name a variable"):
        flow.train.CheckPoint().init()
