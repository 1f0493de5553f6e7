"""`tf.train.Server` for programs that start the servers of a cluster themselves."""

from __future__ import annotations

import os
from typing import Any

import tensorflow.compat.v1 as tf

from moxing import native_noise

_FAIL_FAST = "GRPC_FAIL_FAST"


class Server(tf.train.Server):
    """A server that waits for tasks that have not started yet, as TensorFlow 1.x did.

    TensorFlow 2.x gives up a call to a task whose port is still closed. Its native code asks the
    environment at each call; a program that sets the variable itself keeps its value.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        os.environ.setdefault(_FAIL_FAST, "false")
        with native_noise.dropped():
            super().__init__(*args, **kwargs)
