"""What modules of this dialect raise for a name that TensorFlow had there and openmox has not."""

from __future__ import annotations

from moxing.errors import MoxNotSupportedError


class AbsentError(MoxNotSupportedError, AttributeError):
    """So that `hasattr` works on the module."""
