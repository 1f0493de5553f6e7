"""`flow.keras`: the parent of `activations`."""

from moxing.flow import absent
from moxing.flow.keras import activations as activations

__getattr__, __dir__ = absent.of("flow.keras", globals(), absent.KERAS)
