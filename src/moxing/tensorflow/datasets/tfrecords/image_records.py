"""The features of image records, under the names of slim's converters."""

from __future__ import annotations

from typing import Any

from moxing.tensorflow.datasets.decoding import diagnose

IMAGE, LABEL = "image/encoded", "image/class/label"


def inspect(example: Any) -> str:
    """Returns the problem of a tf.train.Example's image, as the end of a sentence, or ""."""
    for content in example.features.feature[IMAGE].bytes_list.value:
        problem = diagnose.of_content(content)
        if problem:
            return f"can't be used: its {IMAGE} {problem}"
    return ""
