"""Converts a SavedModel to TensorFlow Lite and ONNX, each in a separate process.

The processes are separate because converters need TensorFlow 2's behavior, which the program may
have turned off, and because a converter that crashes must not end the training run.
"""

from __future__ import annotations

import os
import subprocess
import sys

from moxing.engine.export import to_onnx, to_tflite
from moxing.engine.export.kinds import ONNX, TFLITE
from moxing.logs import TENSORFLOW

_SECONDS = 1800
_LONGEST = 400
FILES = {TFLITE: "model.tflite", ONNX: "model.onnx"}
_PROGRAMS = {TFLITE: to_tflite.__file__, ONNX: to_onnx.__file__}


def convert(kind: str, directory: str) -> str | None:
    """Converts the SavedModel in `directory`, and writes the result into the same directory.

    Args:
        kind: TFLITE or ONNX.
        directory: directory of the SavedModel.

    Returns:
        None, or the reason why the conversion failed.
    """
    output = os.path.join(directory, FILES[kind])
    # -P: modules beside the program must not hide those of other packages.
    command = [sys.executable, "-P", _PROGRAMS[kind], directory, output]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the converter took more than {_SECONDS} seconds"
    if done.returncode == 0 and os.path.isfile(output):
        for line in done.stdout.splitlines():
            if line.startswith("note: "):
                TENSORFLOW.warning("%s: %s", FILES[kind], line.removeprefix("note: "))
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    last = (said or lines or [f"the converter ended with code {done.returncode}"])[-1]
    return last[:_LONGEST]
