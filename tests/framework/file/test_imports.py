"""mox.file is light: no TensorFlow, and no store's library before the first URL."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

HEAVY = ("tensorflow", "numpy", "botocore", "boto3", "urllib3")


@pytest.mark.slow
def test_import_is_light_and_quick() -> None:
    code = (
        "import sys, time; began = time.process_time()\n"
        "from moxing.framework import file\n"
        "took = time.process_time() - began\n"
        "file.exists('/')\n"
        f"print(took, *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    best = 9.0
    for _ in range(5):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
        ).stdout.split()
        assert out[1:] == []
        best = min(best, float(out[0]))
        if best < 0.3:
            break
        time.sleep(1.0)
    assert best < 0.3
