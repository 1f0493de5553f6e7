"""An exception of the user's function says which function it was, and where."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from moxing.engine.wording.user_calls import call, location


def plain(mode: str) -> str:
    return mode


class Reader:
    def method(self, mode: str) -> str:
        return mode

    @classmethod
    def of_class(cls, mode: str) -> str:
        return mode

    def __call__(self, mode: str) -> str:
        return mode


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*arguments: Any) -> Any:
        return function(*arguments)

    return inner


@pytest.mark.parametrize(
    ("function", "name", "of"),
    [
        (plain, "plain", plain),
        (functools.partial(functools.partial(plain), "TRAIN"), "plain", plain),
        (decorated(plain), "plain", plain),
        (functools.partial(decorated(Reader().method)), "method", Reader.method),
        (Reader().method, "method", Reader.method),
        (Reader.of_class, "of_class", Reader.of_class.__func__),
        (Reader(), "Reader", Reader.__call__),
    ],
)
def test_the_place_of_every_kind_of_function(function: Any, name: str, of: Any) -> None:
    assert location(function) == f"{name} (test_user_calls.py:{of.__code__.co_firstlineno})"


def test_a_lambda_has_a_place_too() -> None:
    function = lambda mode: mode  # noqa: E731
    assert location(function) == f"<lambda> (test_user_calls.py:{function.__code__.co_firstlineno})"


@pytest.mark.parametrize(("function", "expected"), [(len, "len"), (dict, "dict")])
def test_what_has_no_source_has_its_name(function: Any, expected: str) -> None:
    assert location(function) == expected


def test_the_result_is_handed_through() -> None:
    assert call("input_fn", plain, "TRAIN", about="mode TRAIN") == "TRAIN"


@pytest.mark.parametrize(("about", "said"), [("", ""), ("mode TRAIN", ", mode TRAIN")])
def test_an_exception_keeps_its_type_and_gets_a_note(about: str, said: str) -> None:
    def broken(mode: str) -> None:
        raise KeyError(mode)

    with pytest.raises(KeyError) as caught:
        call("input_fn", broken, "TRAIN", about=about)
    place = f"broken (test_user_calls.py:{broken.__code__.co_firstlineno})"
    assert caught.value.args == ("TRAIN",)
    assert caught.value.__notes__ == [f"openmox: raised while calling input_fn {place}{said}"]


def test_an_interrupt_is_nobody_s_fault() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        call("input_fn", interrupted)
    assert not hasattr(caught.value, "__notes__")
