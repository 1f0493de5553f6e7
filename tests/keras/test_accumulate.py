"""A batch computed in parts trains as the batch at once does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from models import BATCH, FAMILIES, X, Y, assert_equal, dense

import moxing.keras
from moxing import flags

GIVEN = {"batch_size": BATCH, "epochs": 2, "shuffle": False}


@pytest.mark.parametrize("package", FAMILIES)
def test_parts_equal_the_batch(package: str, tmp_path: Path) -> None:
    """Also in the last batch of an epoch, of two samples; and where a run is resumed."""
    whole, parts = dense(package), dense(package)
    history = moxing.keras.fit(whole, (X, Y), **GIVEN).history
    result = moxing.keras.fit(parts, (X, Y), **GIVEN, accumulate_steps=2)
    assert result.steps == 10
    assert_equal(parts, whole)
    assert result.history["accuracy"] == pytest.approx(history["accuracy"], rel=1e-4)
    for steps, accumulate in ((3, 2), (10, 3)):
        resumed = dense(package)
        given = {**GIVEN, "epochs": None, "steps": steps, "output_dir": tmp_path}
        moxing.keras.fit(resumed, (X, Y), **given, accumulate_steps=accumulate)
    assert_equal(resumed, whole)


def test_devices_and_datasets() -> None:
    whole, parts = dense("keras", "sgd"), dense("keras", "sgd")
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    moxing.keras.fit(whole, data, epochs=1)
    moxing.keras.fit(parts, data, epochs=1, num_gpus=2, accumulate_steps=2)
    assert_equal(parts, whole)


def test_flags_count_where_the_argument_is_not_given() -> None:
    own, flagged = dense("keras", ("SGD", {"global_clipnorm": 0.1})), dense("keras", "sgd")
    moxing.keras.fit(own, (X, Y), **GIVEN)
    with flags.overridden(accumulate_steps=3, gradient_clip_norm=0.1):
        moxing.keras.fit(flagged, (X, Y), **GIVEN)
    for one, other in zip(own.get_weights(), flagged.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
