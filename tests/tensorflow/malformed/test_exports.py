"""Exports that could not be served are refused before step 0, and leave nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

pytestmark = pytest.mark.timeout(240)

Made = Callable[..., Any]


def elsewhere() -> tf.Tensor:
    with tf.Graph().as_default():
        return tf.constant(1.0)


def double(x: list[tf.Tensor]) -> dict[str, tf.Tensor]:
    return {"double": x[0] * 2}


SPECS: dict[str, tuple[Any, str]] = {
    "none": (None, "ModelSpec has no export_spec, which EXPORT needs: mox.ModelSpec(export_spec="),
    "text": ("model", "export_spec is 'model'; give mox.ExportSpec"),
    "nothing": (lambda x, loss: mox.ExportSpec(), "raised while calling model_fn"),  # type: ignore[call-arg]
    "unknown word": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, double(x), versions=1),  # type: ignore[call-arg]
        "raised while calling model_fn",
    ),
    "no inputs": (
        lambda x, loss: mox.ExportSpec({}, double(x)),
        "ExportSpec: inputs_dict is empty; name at least one tensor.",
    ),
    "no outputs": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, {}),
        "ExportSpec: outputs_dict is empty; name at least one tensor.",
    ),
    "None inputs": (
        lambda x, loss: mox.ExportSpec(None, double(x)),  # type: ignore[arg-type]
        "ExportSpec: inputs_dict is empty; name at least one tensor.",
    ),
    "list": (
        lambda x, loss: mox.ExportSpec([x[0]], double(x)),  # type: ignore[arg-type]
        "ExportSpec: inputs_dict is a list; give a dict of tensors by name.",
    ),
    "tensor": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, x[0]),  # type: ignore[arg-type]
        "ExportSpec: outputs_dict is the float32 tensor",
    ),
    "number key": (
        lambda x, loss: mox.ExportSpec({0: x[0]}, double(x)),  # type: ignore[dict-item]
        "ExportSpec: inputs_dict has the key 0; keys are names: strings, not empty.",
    ),
    "empty key": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, {"": x[0] * 2}),
        "ExportSpec: outputs_dict has the key ''; keys are names",
    ),
    "number value": (
        lambda x, loss: mox.ExportSpec({"x": 1}, double(x)),  # type: ignore[dict-item]
        "ExportSpec: inputs_dict['x'] is 1, not a tensor",
    ),
    "name as value": (
        lambda x, loss: mox.ExportSpec({"x": "images:0"}, double(x)),  # type: ignore[dict-item]
        "ExportSpec: inputs_dict['x'] is 'images:0', not a tensor",
    ),
    "operation": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, {"y": loss.op}),
        "ExportSpec: outputs_dict['y'] is a tensorflow.python.framework.ops.Operation, not a",
    ),
    "another graph's output": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, {"y": elsewhere()}),
        "ExportSpec: outputs_dict['y'] is a tensor of another graph.",
    ),
    "missing input": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, {"loss": loss}),
        "The exported output 'loss' depends on inputs[1] of model_fn, which is not in inputs_dict.",
    ),
    "placeholder": (
        lambda x, loss: mox.ExportSpec(
            {"x": x[0]}, {"y": x[0] * tf.placeholder(tf.float32, [], name="keep")}
        ),
        "The exported output 'y' depends on placeholder 'keep' (test_exports.py:",
    ),
    "data set": (
        lambda x, loss: mox.ExportSpec(
            {"x": x[0]},
            {"y": tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()},
        ),
        "The exported output 'y' depends on the input pipeline",
    ),
    "two names": (
        lambda x, loss: mox.ExportSpec({"a": x[0], "b": x[0]}, double(x)),
        "inputs_dict has one tensor under two names, 'a' and 'b'. Keep one of them.",
    ),
    "new variable": (
        lambda x, loss: mox.ExportSpec({"x": x[0]}, {"y": x[0] * tf.get_variable("only_here", [])}),
        "only_here",
    ),
}


@pytest.mark.parametrize("case", SPECS)
def test_export_spec(
    case: str, refused: Made, run: Made, model_with: Made, directory: Path
) -> None:
    value, told = SPECS[case]
    steps: list[int] = []

    def model_fn(inputs: Any, mode: str) -> mox.ModelSpec:
        if mode == mox.ModeKeys.EXPORT:
            return model_with(export_spec=value)(inputs, mode)
        return model_with()(inputs, mode)

    refused(
        lambda: run(
            model_fn=model_fn,
            log_dir="out",
            export_model=True,
            output_fn=lambda outputs: steps.append(len(outputs)),
            output_every_n_steps=1,
        ),
        told,
    )
    assert steps == []
    assert [path for path in directory.rglob("*") if path.suffix in (".index", ".pb")] == []


VERSIONS: dict[str, tuple[Any, str]] = {
    "negative": (
        -2,
        "ExportSpec: version is -2; give a number from 0 to 9223372036854775807, or -1",
    ),
    "huge": (2**63, "ExportSpec: version is 9223372036854775808; give a number from 0 to"),
    "gigantic": (10**5000, "ExportSpec: version is <int of 16610 bits>; give a number from 0 to"),
    "None": (None, "ExportSpec: version is None; give a number, -1 for the next one, or a name"),
    "truth": (True, "ExportSpec: version is True; give a number"),
    "float": (1.0, "ExportSpec: version is 1.0; give a number"),
    "nan": (math.nan, "ExportSpec: version is nan; give a number"),
    "numpy float": (np.float32(1), "ExportSpec: version is np.float32(1.0); give a number"),
    "bytes": (b"model", "ExportSpec: version is b'model'; give a number"),
    "list": ([1], "ExportSpec: version is [1]; give a number"),
    "path": (Path("model"), "ExportSpec: version is PosixPath('model'); give a number"),
    "empty": ("", "Export version '' can't be the name of a directory in out."),
    "blank": (" ", "Export version ' ' can't be the name of a directory in out."),
    "spaces": ("1 ", "Export version '1 ' can't be the name of a directory"),
    "line": ("a\nb", "Export version 'a\\nb' can't be the name of a directory"),
    "null": ("a\0b", "Export version 'a\\x00b' can't be the name of a directory"),
    "slash": ("a/b", "Export version 'a/b' can't be the name of a directory"),
    "absolute": ("/model", "Export version '/model' can't be the name of a directory"),
    "parent": ("..", "Export version '..' can't be the name of a directory"),
    "here": (".", "Export version '.' can't be the name of a directory"),
    "hidden": (".mox.lock", "Export version '.mox.lock' can't be the name of a directory"),
    "long": ("x" * 300, "can't be the name of a directory in out."),
    "checkpoint": ("checkpoint", "'checkpoint' is the name of a file that training itself writes"),
    "model.ckpt-3": ("model.ckpt-3", "'model.ckpt-3' is the name of a file that training itself"),
    "events": ("events.out.tfevents.1", "is the name of a file that training itself writes"),
}


@pytest.mark.parametrize("case", VERSIONS)
def test_version(case: str, refused: Made, run: Made, model_with: Made, directory: Path) -> None:
    version, told = VERSIONS[case]
    model_fn = model_with(
        export_spec=lambda x, loss: mox.ExportSpec({"x": x[0]}, double(x), version=version)
    )
    refused(lambda: run(model_fn=model_fn, log_dir="out", export_model=True), told)
    assert [path for path in directory.rglob("*") if path.suffix in (".index", ".pb")] == []
