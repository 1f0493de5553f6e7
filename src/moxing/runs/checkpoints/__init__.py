"""Works on the checkpoints of runs that ended: lists, compares, averages, copies, removes them."""

from __future__ import annotations

from moxing import logs, native_noise


def start_tensorflow() -> None:
    """Imports TensorFlow without its complaint about a missing driver.

    Called before the modules that read values are imported; `listing` needs no TensorFlow. From
    here on lines are logged by openmox's handler, which escapes control codes of file names.
    """
    with native_noise.dropped():
        from moxing.engine.graph import devices

        devices.has_gpu()
    logs.settle()
