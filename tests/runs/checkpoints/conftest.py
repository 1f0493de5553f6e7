"""Makes real checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint.saving.saver import Saver

Make = Callable[..., str]


@pytest.fixture
def make() -> Make:
    """Saves values as a committed checkpoint; returns its prefix. `more` goes to the save."""

    def saved(folder: Path, step: int, values: Mapping[str, Any], **more: Any) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        with tf.Graph().as_default(), tf.Session() as session:
            variables = [
                tf.get_variable(name, initializer=tf.constant(np.asarray(value)))
                for name, value in {**values, "global_step": np.int64(step)}.items()
            ]
            saver = Saver(folder, variables, keep=None)
            session.run(tf.global_variables_initializer())
            return saver.save(session, step, **more).prefix

    return saved
