"""Modes and kinds of export are plain strings, as programs pass them."""

from __future__ import annotations

import moxing.tensorflow as mox
from moxing.engine import export


def test_modes_are_their_own_names() -> None:
    modes = {name: value for name, value in vars(mox.ModeKeys).items() if name.isupper()}
    assert modes == {name: name for name in ("TRAIN", "EVAL", "PREDICT", "EXPORT")}


def test_export_keys() -> None:
    kinds = {name: value for name, value in vars(mox.ExportKeys).items() if name.isupper()}
    names = ("TF_SERVING", "FROZEN_GRAPH", "TFLITE", "ONNX")
    assert kinds == {name: name for name in names}
    assert names == export.KINDS
