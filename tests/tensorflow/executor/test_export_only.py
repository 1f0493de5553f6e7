"""What `mox export` asks for: the first `mox.run` exports a checkpoint and ends the program."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.errors import CheckpointError, MoxValueError
from moxing.tensorflow.executor import export_only
from moxing.tensorflow.executor.export_only import Exported, Request

Run = Callable[..., Any]
Said = Callable[..., list[str]]
SERVING = ("TF_SERVING",)


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def weights_in(directory: Path) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(directory))
        signature = meta.signature_def["serving_default"]
        feed = {signature.inputs["features"].name: np.eye(4, 3)}
        return session.run(signature.outputs["logits"].name, feed)[:3]


def weights_of(prefix: Path) -> np.ndarray:
    return tf.train.load_checkpoint(str(prefix)).get_tensor("w")


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL", "PREDICT"])
def test_a_run_of_any_mode_exports_its_newest_checkpoint(
    mode: str, run: Run, said: Said, tmp_path: Path
) -> None:
    run(log_dir=tmp_path)
    before = files(tmp_path)
    with export_only.instead_of_running(Request(SERVING)), pytest.raises(Exported) as ended:
        run(log_dir=tmp_path, run_mode=mode, max_number_of_steps=99)
    assert ended.value.code == 0
    assert files(tmp_path) == sorted([*before, "1"])
    assert said()[-1] == f"Exported the checkpoint {tmp_path}/model.ckpt-3 to {tmp_path}/1."
    np.testing.assert_allclose(weights_in(tmp_path / "1"), weights_of(tmp_path / "model.ckpt-3"))


def test_outside_the_block_programs_run(run: Run, tmp_path: Path) -> None:
    assert export_only.requested() is None
    with export_only.instead_of_running(Request(SERVING)):
        assert export_only.requested() == Request(SERVING)
    assert run(log_dir=tmp_path).steps == 3


def test_a_checkpoint_that_is_named_wins(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path / "a")
    run(log_dir=tmp_path / "b", max_number_of_steps=5)
    named = str(tmp_path / "a" / "model.ckpt-3")
    request = Request(SERVING, named, str(tmp_path / "served"))
    with export_only.instead_of_running(request), pytest.raises(Exported):
        run(log_dir=tmp_path / "b")
    assert files(tmp_path / "served") == ["1"]
    np.testing.assert_allclose(weights_in(tmp_path / "served" / "1"), weights_of(Path(named)))
    request = Request(SERVING, str(tmp_path / "a"))
    with export_only.instead_of_running(request), pytest.raises(Exported):
        run()
    assert "1" in files(tmp_path / "a")


def test_the_programs_checkpoint_goes_to_another_directory(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path / "a")
    (tmp_path / "a" / "labels.txt").write_text("0: no\n1: yes\n")
    for name, arguments in {
        "b": {"log_dir": tmp_path / "a"},
        "c": {"log_dir": tmp_path / "new", "checkpoint_path": tmp_path / "a"},
    }.items():
        request = Request(("FROZEN_GRAPH",), None, str(tmp_path / name))
        with export_only.instead_of_running(request), pytest.raises(Exported):
            run(**arguments)
        assert files(tmp_path / name / "1" / "assets") == ["labels.txt"]
        assert (tmp_path / name / "1" / "frozen_graph.pb").is_file()
        assert (tmp_path / name / "1" / "saved_model.pb").is_file()
    assert not (tmp_path / "new").exists()


def test_what_there_is_none_of(run: Run, tmp_path: Path) -> None:
    with export_only.instead_of_running(Request(SERVING)):
        with pytest.raises(CheckpointError, match="^You must provide a checkpoint"):
            run(log_dir=tmp_path / "a")
        with pytest.raises(CheckpointError, match="^You must provide a checkpoint"):
            run()
    missing = Request(SERVING, str(tmp_path / "none"), str(tmp_path / "served"))
    with export_only.instead_of_running(missing), pytest.raises(CheckpointError):
        run()
    assert files(tmp_path) == []


def test_a_model_of_other_variables_names_the_checkpoint(run: Run, tmp_path: Path) -> None:
    run(log_dir=tmp_path)

    def other(inputs: Any, mode: str) -> mox.ModelSpec:
        logits = tf.matmul(inputs[0], tf.get_variable("v", [3, 2]))
        return mox.ModelSpec(export_spec=mox.ExportSpec({"x": inputs[0]}, {"y": logits}))

    with (
        export_only.instead_of_running(Request(SERVING)),
        pytest.raises(
            MoxValueError, match=f"variables that the checkpoint {tmp_path}/model.ckpt-3"
        ),
    ):
        run(log_dir=tmp_path, model_fn=other)


def test_requests_are_checked() -> None:
    request = export_only.make_request(["TFLITE", "TFLITE"], "~/a", "")
    assert request == Request(("TFLITE",), os.path.expanduser("~/a"), None)
    with pytest.raises(MoxValueError, match="^--checkpoint='a\\*'"):
        export_only.make_request(["TFLITE"], "a*", None)
