"""No lines of TensorFlow's native code that TensorFlow 1.x did not print.

TensorFlow 2.x warns of every queue that is closed as it should be, and complains about a missing
GPU driver as an error. What native code warns of is shown only if the environment asks for it;
errors always are.
"""

from __future__ import annotations

import os
from typing import Any

from moxing import native_noise

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_ERRORS_ONLY = "2"


def before_tensorflow() -> None:
    """Sets what TensorFlow reads as it is imported, unless the user has, or debugs."""
    if os.environ.get("MOX_DEBUG") != "1":
        os.environ.setdefault(_LEVEL, _ERRORS_ONLY)


def install() -> None:
    """From now on the first session says nothing of drivers that are not there."""
    from tensorflow.python.client import session

    start: Any = session.BaseSession.__init__
    if hasattr(start, "mox_before"):
        return
    first = True

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal first
        if not first:
            start(self, *args, **kwargs)
            return
        first = False
        # The program may have chosen its devices until now.
        with native_noise.dropped():
            start(self, *args, **kwargs)

    __init__.mox_before = start  # type: ignore[attr-defined]
    session.BaseSession.__init__ = __init__
