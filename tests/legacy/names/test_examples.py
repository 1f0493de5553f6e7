"""Lists of integers in examples take booleans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def train() -> Any:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    return faces.load("tensorflow.train")


@pytest.mark.parametrize(
    "value", [[np.True_, False, 2], np.array([True, False]), [np.int64(3)], range(2), ()]
)
def test_integers_and_booleans(train: Any, value: Any) -> None:
    made = train.Int64List(value=value)
    assert list(made.value) == [int(one) for one in value]
    feature = train.Feature(int64_list=made)
    assert train.Feature.FromString(feature.SerializeToString()) == feature


def test_the_class_is_the_messages(train: Any) -> None:
    assert isinstance(train.Int64List(value=[1]), train.Int64List)
    assert isinstance(tf.train.Int64List(), train.Int64List)
    assert not isinstance(tf.train.FloatList(), train.Int64List)
    text = train.Int64List(value=[7]).SerializeToString()
    assert list(train.Int64List.FromString(text).value) == [7]
    with pytest.raises(TypeError):
        train.Int64List(value=["a"])
    with pytest.raises(TypeError):
        train.Int64List(value=[0.5])
