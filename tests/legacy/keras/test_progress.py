"""The progress bar of graph-mode models that train on batches of a generator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tf_keras import callbacks
from tf_keras.api._v1 import keras

from moxing.legacy.keras import progress


def test_the_bar_shows_results_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("on_train_batch_end", "on_test_batch_end"):
        monkeypatch.setattr(callbacks.ProgbarLogger, name, vars(callbacks.ProgbarLogger)[name])
    progress.install()
    batches = [(np.ones((2, 2), np.float32), np.ones((2, 1), np.float32))] * 3
    seen: list[int] = []
    notes = callbacks.LambdaCallback(on_batch_end=lambda batch, logs: seen.append(logs["size"]))
    with tf.Graph().as_default(), tf.Session():
        model: Any = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse", metrics=["mae"])
        model.fit(iter(batches), steps_per_epoch=3, callbacks=[notes])
    shown = capsys.readouterr().out

    assert "3/3 [=" in shown
    assert "loss: " in shown
    assert "size: " not in shown
    assert "batch: " not in shown
    assert seen == [2, 2, 2]
