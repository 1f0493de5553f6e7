"""The inputs that `mox export --input` states."""

from __future__ import annotations

import pytest
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.tensorflow.executor import stated_inputs


def made(*texts: str) -> object:
    with tf.Graph().as_default():
        found = stated_inputs.input_fn(stated_inputs.parse(texts))("EXPORT")
    leaves = found.items() if isinstance(found, dict) else enumerate(found)
    return [(key, tensor.dtype.name, tensor.shape.as_list()) for key, tensor in leaves]


def test_types_and_shapes() -> None:
    assert made("float32:N,28,28,1", "int64:?", "string:") == [
        (0, "float32", [None, 28, 28, 1]),
        (1, "int64", [None]),
        (2, "string", []),
    ]
    assert made("image=uint8:-1, 4", "x/y=bool:2") == [
        ("image", "uint8", [None, 4]),
        ("x/y", "bool", [2]),
    ]


@pytest.mark.parametrize(
    "text", ["", "float32", "flaot32:N", "float32:N,x", "=float32:N", "int8:-2"]
)
def test_a_text_that_is_no_input(text: str) -> None:
    with pytest.raises(MoxValueError) as raised:
        stated_inputs.parse([text])
    assert str(raised.value) == (
        f"--input={text}: it must be [NAME=]TYPE:SIZE,SIZE,..., such as float32:N,28,28,1 (N: of"
        " any size)."
    )


@pytest.mark.parametrize("texts", [("a=int8:", "int8:"), ("a=int8:", "a=int8:")])
def test_names_for_all_inputs_or_for_none(texts: tuple[str, ...]) -> None:
    with pytest.raises(MoxValueError, match="either every input has a name of its own"):
        stated_inputs.parse(texts)
