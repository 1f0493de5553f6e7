"""What `moxing.keras.fit` refuses to begin with, and to hand back."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, FAMILIES, X, Y, dense

import moxing.keras
from moxing.engine.loop.finite import NotFiniteError
from moxing.errors import MoxRuntimeError


def test_a_model_of_a_graph_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(MoxRuntimeError) as caught:
        moxing.keras.fit(object(), (X, Y), steps=1)
    assert str(caught.value) == (
        "moxing.keras.fit needs eager execution, which is off here. `mox run` and `mox launch`"
        " leave it on for a program that imports moxing.keras itself: where only a module of"
        " yours does, write `import moxing.keras` into the program too. In a notebook, leave"
        " `%load_ext moxing` out. Call it outside of"
        " tf.Graph().as_default() and tf.function, and do not call tf.disable_v2_behavior()."
    )


@pytest.mark.parametrize("package", FAMILIES)
def test_a_loss_that_is_nan_is_told(package: str) -> None:
    model = dense(package, "sgd")
    weights = np.full(len(X), np.nan)  # The relu of nan is nan or 0: processors differ.
    with pytest.raises(NotFiniteError) as caught:
        moxing.keras.fit(model, (X, Y, weights), batch_size=BATCH, steps=2)
    assert str(caught.value).startswith("the loss loss:0 is nan at global step 0. Lower the")


@pytest.mark.parametrize("package", FAMILIES)
def test_weights_that_are_not_finite_are_not_handed_back_as_if_fine(package: str) -> None:
    model = dense(package, "sgd")
    model.optimizer.learning_rate = float("inf")
    with pytest.raises(NotFiniteError) as caught:
        moxing.keras.fit(model, (X, Y), batch_size=BATCH, steps=1)
    assert "hold nan or inf" in str(caught.value)
    assert "kernel" in str(caught.value)
