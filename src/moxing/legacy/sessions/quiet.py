"""Drops lines of TensorFlow's native code that TensorFlow 1.x did not print.

TensorFlow 2.x warns of every queue that is closed as it should be, and complains about a missing
GPU driver as an error. What native code warns of is shown only if the environment asks for it;
errors always are.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

from moxing import native_noise

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_ERRORS_ONLY = "2"


def before_tensorflow() -> None:
    """Sets TensorFlow's log level before its import, unless the user has set it, or debugs."""
    if os.environ.get("MOX_DEBUG") != "1":
        os.environ.setdefault(_LEVEL, _ERRORS_ONLY)


def at_import() -> None:
    """Drops lines that TensorFlow prints as the program imports it and first uses its devices."""
    if "tensorflow" in sys.modules:
        install()
    else:
        sys.meta_path.insert(0, _Quieted())


class _Quieted(importlib.abc.MetaPathFinder):
    """Finds TensorFlow once, and has its import drop lines."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            with native_noise.dropped():
                execute(module)
            install()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """From now on, missing drivers are not reported when devices are first used.

    Until then, the program may choose its devices.
    """
    from tensorflow.python.client import session
    from tensorflow.python.eager import context

    _quiet_once(session.BaseSession, "__init__")
    _quiet_once(context.Context, "_initialize_physical_devices")  # Lists the devices.
    _quiet_once(context.Context, "ensure_initialized")


def _quiet_once(kind: type, name: str) -> None:
    """Lets the first call of a method drop such lines; later calls are the method itself."""
    method: Any = getattr(kind, name)
    if hasattr(method, "mox_before"):
        return

    @functools.wraps(method)
    def quiet(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(kind, name) is quiet:  # Else another thread has called it first.
            setattr(kind, name, method)
        with native_noise.dropped():
            return method(self, *args, **kwargs)

    quiet.mox_before = method  # type: ignore[attr-defined]
    setattr(kind, name, quiet)
