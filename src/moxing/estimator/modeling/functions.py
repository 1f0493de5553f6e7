"""Calls the functions of an Estimator's user with the arguments that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.engine.graph import structure
from moxing.errors import MoxTypeError, MoxValueError

_OF_INPUT = ("mode", "params", "config", "input_context")
_OF_MODEL = ("labels", "mode", "params", "config")


def names(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a function's parameters; "**" where it takes any.

    What `functools.partial` has given a value by name is not among them: that value stays.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset(_OF_MODEL)
    given: Mapping[str, Any] = getattr(function, "keywords", None) or {}
    return frozenset(
        "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else parameter.name
        for parameter in parameters
        if parameter.name not in given
    )


def call_input_fn(
    function: Callable[..., Any],
    mode: str,
    params: Any,
    config: Any,
    shares: bool = False,
    devices: int = 1,
) -> Any:
    """What an input function returns; of several processes, this one's share.

    Args:
        function: the user's.
        mode: "train", "eval" or "infer".
        params, config: of the estimator.
        shares: whether each process takes its share of a Dataset, as under a strategy.
        devices: of this process.
    """
    place = feed.current()
    context = tf.distribute.InputContext(place.shards, place.shard, place.shards * devices)
    known = {"mode": mode, "params": params, "config": config, "input_context": context}
    taken = names(function)
    made = function(**{name: known[name] for name in _OF_INPUT if name in taken})
    if isinstance(made, tuple | list) and len(made) == 2 and made[1] is None:
        return made[0]
    divides = shares and place.shards > 1 and "input_context" not in taken
    if divides and structure.is_dataset(made):
        return made.shard(place.shards, place.shard)
    return made


def call_model_fn(
    function: Callable[..., Any],
    features: Any,
    labels: Any,
    mode: str,
    params: Any,
    config: Any,
) -> Any:
    """What a model function returns.

    Raises:
        MoxValueError: there are labels, and the function takes none.
    """
    known = {"labels": labels, "mode": mode, "params": params, "config": config}
    taken = names(function)
    if labels is not None and not taken & {"labels", "**"}:
        raise MoxValueError(
            "input_fn gives labels, but model_fn has no parameter labels: def model_fn(features,"
            " labels, mode)."
        )
    named = {name: known[name] for name in _OF_MODEL if name in taken}
    if "features" in taken:
        return function(features=features, **named)
    return function(features, **named)


def features_and_labels(inputs: Any) -> tuple[Any, Any]:
    """Both, of the list or dict that an input function's result has become.

    Raises:
        MoxTypeError: it is a list of more than two.
    """
    if isinstance(inputs, dict):
        return inputs, None
    if len(inputs) == 1:
        return inputs[0], None
    if len(inputs) == 2:
        return inputs[0], inputs[1]
    raise MoxTypeError(
        f"input_fn returned {len(inputs)} values; an Estimator takes features, or a pair of"
        " (features, labels). Put several tensors into a dict: ({'x': x, 'y': y}, labels)."
    )
