"""What the chief finds out reaches the workers as it was."""

from __future__ import annotations

import json

import numpy as np

from moxing.estimator.running import sharing


def test_numbers_and_arrays_travel_as_json() -> None:
    values = {
        "loss": 0.1,
        "accuracy": np.float32(0.3),
        "global_step": 7,
        "curve": np.array([[1.0, np.nan]], np.float32),
    }
    made = sharing._decoded(json.loads(json.dumps(sharing._encoded(values))))

    assert made["loss"] == 0.1
    assert made["accuracy"] == np.float32(0.3)
    assert made["accuracy"].dtype == np.float32
    assert made["global_step"] == 7
    np.testing.assert_array_equal(made["curve"], values["curve"])
