"""Gives optimizers the defaults and the order of arguments that the package `keras` had until 2.3.

`tf.keras` has had other defaults since TensorFlow 1.13: with its learning rate of 0.001, a program
that trained by `Adadelta()`, whose rate was 1, would learn next to nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from moxing.errors import MoxTypeError

_MOMENTS = ("learning_rate", "beta_1", "beta_2", "epsilon")
# The arguments that Keras 2 took by place, of https://keras.io/optimizers in 2017 to 2019.
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "Adadelta": ("learning_rate", "rho", "epsilon", "decay"),
    "Adagrad": ("learning_rate", "epsilon", "decay"),
    "Adam": (*_MOMENTS, "decay", "amsgrad"),
    "Adamax": (*_MOMENTS, "decay"),
    "Nadam": (*_MOMENTS, "schedule_decay"),
    "RMSprop": ("learning_rate", "rho", "epsilon", "decay"),
    "SGD": ("learning_rate", "momentum", "decay", "nesterov"),
}
# The defaults that differ. Keras 2's Adagrad summed the squares of gradients from zero on.
_DEFAULTS: Final[Mapping[str, Mapping[str, float]]] = {
    "Adadelta": {"learning_rate": 1.0},
    "Adagrad": {"learning_rate": 0.01, "initial_accumulator_value": 0.0},
    "Adamax": {"learning_rate": 0.002},
    "Nadam": {"learning_rate": 0.002},
}


def serve_bare() -> None:
    """From now on tf_keras' optimizers take the arguments of `keras`, and have its defaults.

    So do those that are made from names, as by `compile(optimizer="adadelta")`, or from files.
    """
    from tf_keras.api._v1.keras import optimizers

    for name in _PLACES:
        kind = getattr(optimizers, name)
        if not hasattr(kind.__init__, "__wrapped__"):
            kind.__init__ = _as_of_keras(name, kind.__init__)
    _sum_from_zero(optimizers.Adagrad)


def _as_of_keras(name: str, original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *given: Any, **named: Any) -> None:
        original(self, **converted(name, given, named))

    return __init__


def _sum_from_zero(adagrad: Any) -> None:
    """Leaves it to `__init__` where sums begin if a configuration does not say so."""
    from_config = adagrad.from_config.__func__
    if hasattr(from_config, "__wrapped__"):
        return

    @functools.wraps(from_config)
    def made(cls: Any, config: Mapping[str, Any], custom_objects: Any = None) -> Any:
        return from_config(cls, {**_DEFAULTS["Adagrad"], **config}, custom_objects)

    adagrad.from_config = classmethod(made)


def converted(name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of an optimizer by name, with the defaults of Keras 2.

    Args:
        name: the name of the optimizer's class.
        given, named: the arguments by place and by name.

    Raises:
        MoxTypeError: an argument is given twice, or too many are given by place.
    """
    places = _PLACES[name]
    if len(given) > len(places):
        raise MoxTypeError(
            f"keras.optimizers.{name} takes {len(places)} arguments by place"
            f" ({', '.join(places)}), and was given {len(given)}."
        )
    placed = dict(zip(places, given, strict=False))
    as_now = {"learning_rate" if key == "lr" else key: value for key, value in named.items()}
    if twice := sorted(placed.keys() & as_now.keys()):
        raise MoxTypeError(f"keras.optimizers.{name} was given {twice[0]} twice.")
    arguments = {**_DEFAULTS.get(name, {}), **placed, **as_now}
    # Keras 2 wrote its fuzz factor, `K.epsilon()`, as None.
    if arguments.get("epsilon", 0.0) is None:
        del arguments["epsilon"]
    return arguments
