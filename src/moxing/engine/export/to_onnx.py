"""The program `to_onnx.py SAVED_MODEL FILE`, which converts with the package tf2onnx."""

from __future__ import annotations

import os
import sys


def main(directory: str, output: str) -> int:
    """Converts the SavedModel and returns the exit code."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tf2onnx import convert  # pyright: ignore[reportMissingImports]

    sys.argv = ["tf2onnx", "--saved-model", directory, "--output", output]
    sys.argv += ["--tag", "serve", "--signature_def", "serving_default"]
    try:
        convert.main()
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        print(f"error: {lines[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
