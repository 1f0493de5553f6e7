"""Pictures of environments: in a window, where there is a display, or as arrays."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from moxing.legacy.libraries.gym.notices import say_once


def drawn(env: Any, render: Callable[[], Any], mode: str) -> Any:
    """Returns the result of gymnasium's method in a mode that gym gave to the method."""
    if mode == "human" and not _has_display():
        return say_once("env.render() shows nothing: there is no display here.")
    env.render_mode = mode
    return render()


def _has_display() -> bool:
    return sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
