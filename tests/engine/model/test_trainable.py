"""Patterns and scopes choose whole variables, and say what they leave nothing of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.model import trainable
from moxing.errors import MoxValueError


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_scopes_match_whole_components() -> None:
    names = ["gen/w", "gen/deep/w", "generator/w", "x/gen/w", "gen"]
    variables = [tf.get_variable(name, initializer=1.0) for name in names]
    found = [v.op.name for v in trainable.in_scopes(variables, ["gen"])]
    assert found == ["gen/w", "gen/deep/w", "gen"]
    assert [v.op.name for v in trainable.in_scopes(variables, ["gen/deep/"])] == ["gen/deep/w"]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ((), (), ["a/w", "logits/w"]),
        (("logits",), (), ["logits/w"]),
        ((), ("^a/",), ["logits/w"]),
        (("w$",), ("logits",), ["a/w"]),
    ],
)
def test_patterns_choose_what_is_trained(include: Any, exclude: Any, expected: list[str]) -> None:
    for name in ("a/w", "logits/w"):
        tf.get_variable(name, initializer=1.0)
    assert [v.op.name for v in trainable.of_graph(include, exclude)] == expected


def test_patterns_that_leave_nothing_are_an_error() -> None:
    tf.get_variable("a", initializer=1.0)
    with pytest.raises(MoxValueError, match="leave none of the 1 variables to train, such as a"):
        trainable.of_graph((), ("a",))
