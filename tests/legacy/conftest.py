"""Cells and layers of `tf.nn` and `tf.layers` are tf_keras': it must be chosen before an import."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

os.environ["TF_USE_LEGACY_KERAS"] = "1"


@pytest.fixture(autouse=True)
def printed_as_before() -> Iterator[None]:
    """Ends with the test what NumPy's face changes for a whole process: how numbers print."""
    with np.printoptions():
        yield
