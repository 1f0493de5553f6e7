"""The profile of some steps can be opened, whatever becomes of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import runs
import tensorflow.compat.v1 as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from moxing.engine.job.job import Loss, Model


def _profiles(log_dir: Path) -> list[Any]:
    files = sorted(log_dir.glob("plugins/profile/*/*.xplane.pb"))
    return [xplane_pb2.XSpace.FromString(path.read_bytes()) for path in files]


def _events(space: Any, name: str) -> int:
    return sum(
        plane.event_metadata[event.metadata_id].name.split(":")[0] == name
        for plane in space.planes
        for line in plane.lines
        for event in line.events
    )


def test_the_steps_asked_for_are_profiled(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    result = runs.execute(log_dir=tmp_path, max_steps=20, profile=(5, 8))
    assert result.global_step == 20
    (space,) = _profiles(tmp_path)
    assert _events(space, "SessionRun") == 3
    assert (
        f"Profiled steps 5:8: tensorboard --logdir {tmp_path}, with tensorboard-plugin-profile"
        " installed"
    ) in runs.messages(log)


def test_a_profile_ends_with_its_run(tmp_path: Path) -> None:
    for name in ("one", "two"):
        runs.execute(log_dir=tmp_path / name, max_steps=5, profile=(3, 1000))
        assert len(_profiles(tmp_path / name)) == 1


def test_an_error_inside_the_steps_ends_it_too(tmp_path: Path) -> None:
    def model_fn(inputs: Any, mode: str) -> Model:
        step = tf.cast(tf.train.get_or_create_global_step(), tf.float32)
        with tf.control_dependencies([tf.debugging.assert_less(step, 3.0)]):
            loss = tf.get_variable("w", []) * inputs[0]
        return Model(losses=(Loss(loss),), log={"loss": loss})

    with pytest.raises(tf.errors.InvalidArgumentError):
        runs.execute(log_dir=tmp_path, model_fn=model_fn, profile=(1, 1000))
    assert len(_profiles(tmp_path)) == 1


def test_a_profiler_that_runs_already_is_told(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    from tensorflow import profiler

    profiler.experimental.start(str(tmp_path / "other"))
    try:
        runs.execute(log_dir=tmp_path / "out", profile=(1, 3))
    finally:
        profiler.experimental.stop()
    warnings = [r.getMessage() for r in log.records if r.levelname == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].startswith("Can't profile steps 1:3: ")
    assert _profiles(tmp_path / "out") == []
