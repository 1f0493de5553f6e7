"""What `mox.run` accepts, and what it makes of it; what it refuses is in ../malformed."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.executor import arguments


class Text(str):
    """A string of a program's own class."""


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL", "PREDICT", Text("EVAL"), np.str_("TRAIN")])
def test_mode(mode: Any) -> None:
    checked = arguments.check_mode(mode)
    assert checked == mode
    assert type(checked) is str


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (4.0, 4),
        (1e3, 1000),
        (np.int32(8), 8),
        (np.uint8(8), 8),
        (np.float32(8), 8),
        (np.array(8), 8),
        (Fraction(8, 2), 4),
        (sys.maxsize, sys.maxsize),
    ],
)
def test_count(value: Any, number: int) -> None:
    counted = arguments.check_count("log_every_n_steps", value, 1)
    assert counted == number
    assert type(counted) is int


def test_batch_size() -> None:
    assert arguments.check_batch_size(None) is None
    assert arguments.check_batch_size(np.int64(32)) == 32


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        (60, 60.0),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (float("inf"), float("inf")),
        (10**400, float("inf")),
    ],
)
def test_seconds(value: Any, seconds: float | None) -> None:
    assert arguments.check_seconds("save_model_secs", value) == seconds


@pytest.mark.parametrize("value", [True, False, np.bool_(True), np.bool_(False)])
def test_truth(value: Any) -> None:
    assert arguments.check_flag("auto_batch", value) is bool(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, None),
        ("", None),
        ("out", "out"),
        ("with space/日志", "with space/日志"),
        ("out/model.ckpt-7-?????-of-00002", "out/model.ckpt-7-?????-of-00002"),
        (Path("a/b"), "a/b"),
        (Text("out"), "out"),
    ],
)
def test_path(value: Any, path: str | None) -> None:
    assert arguments.check_path("log_dir", value) == path


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert arguments.check_path("log_dir", "~/out") == "/home/me/out"


@pytest.mark.parametrize(
    ("value", "exports"),
    [
        (None, ()),
        (False, ()),
        (np.bool_(False), ()),
        (True, ("TF_SERVING",)),
        (np.bool_(True), ("TF_SERVING",)),
        ("TF_SERVING", ("TF_SERVING",)),
        (Text("TF_SERVING"), ("TF_SERVING",)),
        ("TFLITE", ("TFLITE",)),
        (["TF_SERVING", "FROZEN_GRAPH", True], ("TF_SERVING", "FROZEN_GRAPH")),
        (("TFLITE", "TFLITE"), ("TFLITE",)),
    ],
)
def test_export(value: Any, exports: tuple[str, ...]) -> None:
    assert arguments.check_export(value, "out", "EVAL") == exports


@pytest.mark.parametrize("value", [[], ["TF_SERVING", "tflite"], [None], ["ONNX", False], [[]]])
def test_kinds_that_are_none(value: Any) -> None:
    with pytest.raises(MoxValueError) as raised:
        arguments.check_export(value, "out", "EVAL")
    assert str(raised.value) == (
        f"export_model={value!r}: it must be mox.ExportKeys.TF_SERVING or False. Other kinds are"
        " FROZEN_GRAPH, TFLITE, ONNX; several go into a list."
    )


def test_optimizers() -> None:
    def one() -> Any:
        return tf.train.AdamOptimizer()

    assert arguments.check_optimizers(one, "TRAIN") == (one,)
    assert arguments.check_optimizers([one, one], "TRAIN") == (one, one)
    assert arguments.check_optimizers((one,), "TRAIN") == (one,)
    assert arguments.check_optimizers(None, "EVAL") == ()
    assert arguments.check_optimizers(None, "PREDICT") == ()
