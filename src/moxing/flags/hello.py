"""The lines that a process prints once, before its first run."""

from __future__ import annotations

import logging

import moxing
from moxing import logs, notices
from moxing.logs import TENSORFLOW

_said = False


def say_hello() -> None:
    """Logs the versions once in a process, and gives the notices that waited for the first run."""
    global _said
    logs.settle()
    notices.give()
    if _said:
        return
    _said = True
    import tensorflow.compat.v1 as tf

    logging.getLogger().info("Using MoXing-v%s (openmox)", moxing.__version__)
    TENSORFLOW.info("Using TensorFlow-%s", tf.version.GIT_VERSION)
