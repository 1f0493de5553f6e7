"""`flow.linalg`."""

from moxing.flow.arrays import matmul as matmul
