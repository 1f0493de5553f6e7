"""The error that this dialect's modules raise for a TensorFlow name that openmox does not have."""

from __future__ import annotations

from moxing.errors import MoxAttributeError, MoxNotSupportedError


class AbsentError(MoxNotSupportedError, MoxAttributeError):
    """A name is not supported; as an AttributeError, it keeps `hasattr` working on the module."""
