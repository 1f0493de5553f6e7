"""The features of records of images, as slim's converters name them."""

from __future__ import annotations

from typing import Any

from moxing.tensorflow.datasets.decoding import diagnose

IMAGE, LABEL = "image/encoded", "image/class/label"


def inspect(example: Any) -> str:
    """What is wrong with the image of a tf.train.Example, as the end of a sentence; or ""."""
    for content in example.features.feature[IMAGE].bytes_list.value:
        problem = diagnose.of_content(content)
        if problem:
            return f"can't be used: its {IMAGE} {problem}"
    return ""
