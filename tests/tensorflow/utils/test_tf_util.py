"""Programs compare TensorFlow's version as numbers."""

from __future__ import annotations

import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.utils import tf_util


def test_version_is_that_of_the_installed_tensorflow() -> None:
    assert tf_util.version_info()[:2] == (2, 21)
    assert tf_util.version_info() > (1, 13)


@pytest.mark.parametrize(
    ("text", "numbers"), [("1.4.0", (1, 4, 0)), ("2.21.0-rc1", (2, 21, 0)), ("1.13.1", (1, 13, 1))]
)
def test_version_of_other_releases(
    text: str, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf, "__version__", text)
    assert tf_util.version_info() == numbers
