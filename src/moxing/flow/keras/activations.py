"""`flow.keras.activations`."""

from __future__ import annotations

from moxing.errors import MoxNotSupportedError
from moxing.flow import absent, math
from moxing.flow.trace.blobs import Blob


def relu(
    x: Blob,
    alpha: float = 0.0,
    max_value: float | None = None,
    threshold: float = 0.0,
    name: str | None = None,
) -> Blob:
    """max(x, 0).

    Raises:
        MoxNotSupportedError: an argument other than its default.
    """
    if alpha != 0 or max_value is not None or threshold != 0:
        raise MoxNotSupportedError(
            "flow.keras.activations.relu takes alpha=0, max_value=None and threshold=0 only."
        )
    return math.relu(x, name)


def gelu(x: Blob, name: str | None = None) -> Blob:
    """x times the normal distribution at x."""
    return math.gelu(x, name)


def tanh(x: Blob, name: str | None = None) -> Blob:
    """The hyperbolic tangent."""
    return math.tanh(x, name)


def sigmoid(x: Blob, name: str | None = None) -> Blob:
    """1 / (1 + exp(-x))."""
    return math.sigmoid(x, name)


__getattr__, __dir__ = absent.of("flow.keras.activations", globals(), absent.ACTIVATIONS)
