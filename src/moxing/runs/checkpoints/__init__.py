"""Works on the checkpoints of runs that ended: lists, compares, averages, copies, removes them."""

from __future__ import annotations

from moxing import native_noise

with native_noise.dropped():
    from moxing.engine.graph import devices

devices.has_gpu()  # Importing TensorFlow here drops its complaint about a missing driver.
