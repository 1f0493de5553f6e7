"""User functions get as many arguments as they take."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from moxing.errors import MoxTypeError
from moxing.tensorflow.executor.callables import positional


def recorder(*names: str) -> Callable[..., Any]:
    """A function with these parameters, as source text, that returns what it got."""
    scope: dict[str, Any] = {}
    exec(f"def function({', '.join(names)}): return dict(locals())", scope)
    return scope["function"]


class Holder:
    def method(self, inputs: Any, mode: str) -> tuple[Any, str]:
        return inputs, mode

    def __call__(self, inputs: Any) -> Any:
        return inputs

    @classmethod
    def of_class(cls, mode: str) -> str:
        return mode

    @staticmethod
    def static() -> str:
        return "nothing"


@pytest.mark.parametrize(
    ("role", "parameters", "given", "got"),
    [
        ("input_fn", [], ["M"], {}),
        ("input_fn", ["mode"], ["M"], {"mode": "M"}),
        ("input_fn", ["run_mode"], ["M"], {"run_mode": "M"}),
        ("input_fn", ["x", "/"], ["M"], {"x": "M"}),
        ("input_fn", ["mode=None"], ["M"], {"mode": "M"}),
        ("input_fn", ["run_mode='x'"], ["M"], {"run_mode": "M"}),
        ("input_fn", ["path='p'"], ["M"], {"path": "p"}),
        ("input_fn", ["mode", "path='p'"], ["M"], {"mode": "M", "path": "p"}),
        ("input_fn", ["**kwargs"], ["M"], {"kwargs": {}}),
        ("input_fn", ["mode", "**kwargs"], ["M"], {"mode": "M", "kwargs": {}}),
        ("input_fn", ["*args"], ["M"], {"args": ("M",)}),
        ("input_fn", ["mode", "*", "size=3"], ["M"], {"mode": "M", "size": 3}),
        ("model_fn", ["inputs"], ["I", "M"], {"inputs": "I"}),
        ("model_fn", ["inputs", "mode"], ["I", "M"], {"inputs": "I", "mode": "M"}),
        ("model_fn", ["features", "x"], ["I", "M"], {"features": "I", "x": "M"}),
        ("model_fn", ["i", "mode='x'"], ["I", "M"], {"i": "I", "mode": "M"}),
        ("model_fn", ["i", "classes=10"], ["I", "M"], {"i": "I", "classes": 10}),
        ("model_fn", ["i=None", "m=None"], ["I", "M"], {"i": "I", "m": None}),
        ("model_fn", ["i", "m", "classes=10"], ["I", "M"], {"i": "I", "m": "M", "classes": 10}),
        ("model_fn", ["i", "**kwargs"], ["I", "M"], {"i": "I", "kwargs": {}}),
        ("model_fn", ["i", "m", "**kwargs"], ["I", "M"], {"i": "I", "m": "M", "kwargs": {}}),
        ("model_fn", ["i", "*args"], ["I", "M"], {"i": "I", "args": ("M",)}),
        ("output_fn", ["outputs"], ["O"], {"outputs": "O"}),
        ("output_fn", ["outputs", "**kwargs"], ["O"], {"outputs": "O", "kwargs": {}}),
        ("output_fn", ["outputs", "path='p'"], ["O"], {"outputs": "O", "path": "p"}),
        ("output_fn", [], ["O"], {}),
        ("optimizer_fn", [], [], {}),
        ("optimizer_fn", ["**kwargs"], [], {"kwargs": {}}),
        ("optimizer_fn", ["rate=0.1"], [], {"rate": 0.1}),
    ],
)
def test_parameters(
    role: str, parameters: list[str], given: list[Any], got: dict[str, Any]
) -> None:
    assert positional(role, recorder(*parameters), len(given))(*given) == got


def test_other_callables() -> None:
    holder = Holder()
    assert positional("model_fn", holder.method, 2)("I", "M") == ("I", "M")
    assert positional("model_fn", holder, 2)("I", "M") == "I"
    assert positional("input_fn", Holder.of_class, 1)("M") == "M"
    assert positional("input_fn", Holder.static, 1)("M") == "nothing"
    assert positional("input_fn", lambda: 1, 1)("M") == 1
    assert positional("input_fn", lambda mode: mode, 1)("M") == "M"
    assert positional("input_fn", lambda data=3: data, 1)("M") == 3


def test_partial_functions() -> None:
    function = recorder("inputs", "mode", "classes")
    by_name = positional("model_fn", functools.partial(function, classes=3), 2)
    assert by_name("I", "M") == {"inputs": "I", "mode": "M", "classes": 3}
    first = positional("input_fn", functools.partial(recorder("path", "mode"), "p"), 1)
    assert first("M") == {"path": "p", "mode": "M"}
    fixed = positional("input_fn", functools.partial(recorder("mode"), mode="fixed"), 1)
    assert fixed("M") == {"mode": "fixed"}


def test_decorated_function_shows_the_parameters_inside() -> None:
    inner = recorder("inputs")

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    assert positional("model_fn", outer, 2)("I", "M") == {"inputs": "I"}


def test_builtin_without_a_signature_is_called_with_everything() -> None:
    assert positional("output_fn", iter, 1)([1]) is not None


def test_wrapper_leads_to_the_users_function() -> None:
    function = recorder("inputs")
    assert positional("model_fn", function, 2).__wrapped__ is function  # type: ignore[attr-defined]
    assert positional("model_fn", function, 1) is function


def test_a_function_that_wants_more_says_how_it_is_called() -> None:
    with pytest.raises(MoxTypeError) as raised:
        positional("model_fn", recorder("inputs", "mode", "classes"), 2)
    assert str(raised.value) == (
        "model_fn function (<string>:1) demands the arguments (inputs, mode, classes), but it is"
        " called by position with 2: model_fn(inputs, mode)."
    )
