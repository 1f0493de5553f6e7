"""`flow.linalg`."""

from moxing.flow import absent
from moxing.flow.operations.arrays import matmul as matmul

__getattr__, __dir__ = absent.of("flow.linalg", globals())
