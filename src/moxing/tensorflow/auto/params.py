"""Hyper-parameters that a program reads by name."""

from __future__ import annotations

from typing import Any, Final

from moxing.errors import MoxAttributeError, near_matches


class ModelSize:
    """The size of a model, which sets the range of a search for a learning rate.

    LARGE: a million trainable parameters or more.
    SMALL: fewer.
    """

    LARGE: Final = "LARGE"
    SMALL: Final = "SMALL"


class ParamSpec:
    """Hyper-parameters as attributes.

    >>> spec = ParamSpec(learning_rate=0.1, momentum=0.9)
    >>> spec.momentum
    0.9

    Raises:
        MoxAttributeError: reading a name that was not given.
    """

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python itself looks up such names, for example in copying.
            raise AttributeError(name)
        known = sorted(self.__dict__)
        has = f" It has: {', '.join(known)}." if known else " It has none."
        raise MoxAttributeError(
            f"ParamSpec has no parameter {name!r}.{near_matches(name, known)}{has}"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParamSpec) and values(self) == values(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in values(self).items())
        return f"ParamSpec({inside})"


class WatchedSpec(ParamSpec):
    """A ParamSpec that records which parameters are read; see `read_names`."""

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, "__dict__")
        if name in found:
            read_names(self).add(name)
        return object.__getattribute__(self, name)


_READ: Final = "__read__"


def values(spec: ParamSpec) -> dict[str, Any]:
    """Returns the parameters by name."""
    found = object.__getattribute__(spec, "__dict__")
    return {name: value for name, value in found.items() if name != _READ}


def read_names(spec: WatchedSpec) -> set[str]:
    """Returns the set of names of the parameters that were read."""
    return object.__getattribute__(spec, "__dict__").setdefault(_READ, set())
