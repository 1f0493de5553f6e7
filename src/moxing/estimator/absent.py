"""What modules of this dialect raise for a name that TensorFlow had there and openmox has not."""

from __future__ import annotations

from moxing.errors import MoxAttributeError, MoxNotSupportedError


class AbsentError(MoxNotSupportedError, MoxAttributeError):
    """So that `hasattr` works on the module."""
