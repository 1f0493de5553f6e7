"""Calls a program's input and model functions with the arguments that they have parameters for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.data import feed
from moxing.engine.graph import structure
from moxing.errors import MoxTypeError, MoxValueError
from moxing.estimator.inputs import ArraysInput

_OF_INPUT = ("mode", "params", "config", "input_context")
_OF_MODEL = ("labels", "mode", "params", "config")


def names(function: Callable[..., Any]) -> frozenset[str]:
    """Returns the names of a function's parameters; "**" stands for `**keywords`.

    A parameter that `functools.partial` has bound by name is left out, so that its value stays.
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
    """Returns the result of an input function; with several processes, this process's share.

    Args:
        function: the program's input function.
        mode: "train", "eval" or "infer".
        params, config: the Estimator's.
        shares: whether each process takes its shard of a Dataset, as under a strategy.
        devices: the number of devices in this process.
    """
    place = feed.current()
    context = tf.distribute.InputContext(place.shards, place.shard, place.shards * devices)
    known = {"mode": mode, "params": params, "config": config, "input_context": context}
    taken = names(function)
    call = function.dataset if isinstance(function, ArraysInput) else function
    made = call(**{name: known[name] for name in _OF_INPUT if name in taken})
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
    """Returns the result of a model function.

    Raises:
        MoxValueError: there are labels, and the function has no parameter for them.
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
    """Splits the inputs of a step into (features, labels); labels are None if there are none.

    Raises:
        MoxTypeError: the inputs are a list of more than two elements.
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
