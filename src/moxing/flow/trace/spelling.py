"""Arguments under the names, and in the places, that they had in other versions of the original."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from moxing.errors import MoxTypeError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Tells = Callable[[tuple[Any, ...]], bool]


def also(**names: str) -> Callable[[_Function], _Function]:
    """Takes arguments also by other names: `also(inputs="input")`.

    Args:
        names: the function's own names by the other names.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for other in names.keys() & kwargs.keys():
                own = names[other]
                if own in kwargs:
                    raise MoxTypeError(
                        f"{function.__name__} was given {own} and {other}, which are names of one"
                        " argument. Give one of the two."
                    )
                kwargs[own] = kwargs.pop(other)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def placed(
    order: str, tells: Callable[[tuple[Any, ...]], bool]
) -> Callable[[_Function], _Function]:
    """Takes arguments by place also in the order of another version.

    Args:
        order: the names of the arguments in that order.
        tells: gets the arguments by place; returns whether they are in that order.
    """

    def decorate(function: _Function) -> _Function:
        names = order.split()

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if len(args) > len(names) or not tells(args):
                return function(*args, **kwargs)
            return function(**dict(zip(names, args, strict=False)), **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def has(place: int, *kinds: type) -> _Tells:
    """Returns whether the argument at a place has one of these types; bool is no int here."""

    def tells(args: tuple[Any, ...]) -> bool:
        if len(args) <= place:
            return False
        value = args[place]
        return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))

    return tells
