"""`flow.keras`: the parent of `activations` and `maths`."""

from moxing.flow import absent
from moxing.flow.keras import activations as activations
from moxing.flow.keras import maths as maths

__getattr__, __dir__ = absent.of("flow.keras", globals())
