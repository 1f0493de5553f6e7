"""The program `to_tflite.py SAVED_MODEL FILE`, which converts with TensorFlow's own converter."""

from __future__ import annotations

import os
import sys
from typing import Any


def main(directory: str, output: str) -> int:
    """Converts the SavedModel and returns the exit code."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        content, note = _convert(directory)
    except Exception as error:
        print(f"error: {_short(error)}", file=sys.stderr)
        return 1
    with open(output, "wb") as file:
        file.write(content)
    if note:
        print(f"note: {note}")
    return 0


def _convert(directory: str) -> tuple[bytes, str]:
    import tensorflow as tf

    try:
        return _converter(directory).convert(), ""
    except Exception as error:
        if "Flex" not in str(error) and "Select TF" not in str(error):
            raise
    converter = _converter(directory)
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    return converter.convert(), (
        "the model has operations that TensorFlow Lite lacks; what runs it needs the Flex delegate,"
        " which has TensorFlow's own"
    )


def _converter(directory: str) -> Any:
    import tensorflow as tf

    return tf.lite.TFLiteConverter.from_saved_model(directory, signature_keys=["serving_default"])


def _short(error: Exception) -> str:
    """The first line with the error; MLIR's messages begin with locations in its own code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error:" in line]
    line = (telling or lines or [type(error).__name__])[0]
    return line.rpartition("error: ")[2]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
