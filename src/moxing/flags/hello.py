"""The lines that a process prints once, before its first run."""

from __future__ import annotations

import functools
import logging

import moxing
from moxing import logs, notices
from moxing.logs import TENSORFLOW


def say_hello() -> None:
    """Logs the versions once in a process, and gives the notices that waited for the first run."""
    logs.settle()
    notices.give()
    _say_versions()


@functools.cache
def _say_versions() -> None:
    import tensorflow.compat.v1 as tf

    logging.getLogger().info("Using MoXing-v%s (openmox)", moxing.__version__)
    TENSORFLOW.info("Using TensorFlow-%s", tf.version.GIT_VERSION)
