"""Checks the dict of `model_update_conf`: its keys, their fields and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown

NEEDED = object()
Fields = Mapping[str, Any]

_ADAM: Fields = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
OPTIMIZERS: dict[str, Fields] = {
    "naive_conf": {},
    "momentum_conf": {"beta": 0.9},
    "rmsprop_conf": {"decay_rate": 0.99, "epsilon": 1e-8},
    "lars_conf": {"momentum_beta": 0.9, "epsilon": 1e-9, "lars_coefficient": 1e-4},
    "adam_conf": {**_ADAM, "do_bias_correction": False},
    "lazy_adam_conf": _ADAM,
}
_DECAY: Fields = {"decay_batches": NEEDED, "decay_rate": NEEDED, "staircase": False}
DECAYS: dict[str, Fields] = {
    "exponential_conf": _DECAY,
    "inverse_time_conf": _DECAY,
    "natural_exp_conf": _DECAY,
    "piecewise_constant_conf": {"boundaries": NEEDED, "values": NEEDED},
    "piecewise_scaling_conf": {"boundaries": NEEDED, "scales": NEEDED},
    "polynomial_conf": {
        "decay_batches": NEEDED,
        "end_learning_rate": 1e-4,
        "power": 1.0,
        "cycle": False,
    },
    "cosine_conf": {"decay_batches": NEEDED, "alpha": 0.0},
    "linear_cosine_conf": {
        "decay_batches": NEEDED,
        "num_periods": 0.5,
        "alpha": 0.0,
        "beta": 0.001,
    },
}
WARMUPS: dict[str, Fields] = {
    "constant_conf": {"warmup_batches": NEEDED, "multiplier": NEEDED},
    "linear_conf": {"warmup_batches": NEEDED, "start_multiplier": NEEDED},
}
_CLIPS: dict[str, Fields] = {"clip_by_global_norm": {"clip_norm": NEEDED, "global_norm": None}}
_WEIGHT_DECAY: Fields = {"weight_decay_rate": NEEDED, "includes": None, "excludes": None}
_OPTIONS = ("learning_rate_decay", "warmup_conf", "clip_conf", "weight_decay_conf")
MODEL_UPDATE: Mapping[str, Fields] = {
    **OPTIMIZERS,
    **dict(zip(_OPTIONS, (DECAYS, WARMUPS, _CLIPS, _WEIGHT_DECAY), strict=True)),
}


def choice(where: str, given: Any, kinds: Mapping[str, Fields]) -> tuple[str, dict[str, Any]]:
    """The one key of a dict and its fields with defaults.

    Raises:
        MoxTypeError: not a dict.
        MoxValueError: no key, several, an unknown one, or fields that are unknown or missing.
    """
    if not isinstance(given, Mapping):
        raise MoxTypeError(f"{where} takes a dict, not {shown(given)}.")
    for key in given:
        if key not in kinds:
            raise MoxValueError(f"{where} has no key {shown(key)}.{near_matches(str(key), kinds)}")
    if len(given) != 1:
        raise MoxValueError(
            f"{where} takes exactly one of {', '.join(kinds)}; it has {len(given)}."
        )
    ((key, fields),) = given.items()
    return key, filled(f"{where}[{key!r}]", fields, kinds[key])


def filled(where: str, given: Any, known: Fields) -> dict[str, Any]:
    """The fields with their defaults."""
    if not isinstance(given, Mapping):
        raise MoxTypeError(f"{where} takes a dict, not {shown(given)}.")
    for key in given:
        if key not in known:
            legal = ", ".join(known) or "no fields"
            raise MoxValueError(
                f"{where} has no field {shown(key)}.{near_matches(str(key), known)} It has {legal}."
            )
    result = {**known, **given}
    missing = [key for key, value in result.items() if value is NEEDED]
    if missing:
        raise MoxValueError(f"{where} needs {', '.join(missing)}.")
    for key, default in known.items():
        kind = bool if isinstance(default, bool) else Real if isinstance(default, float) else object
        if not isinstance(result[key], kind) or (kind is Real and result[key] is True):
            word = "True or False" if kind is bool else "a number"
            raise MoxTypeError(f"{where}: {key} is {shown(result[key])}; it takes {word}.")
    return result


def optimizer(conf: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The optimizer of a `model_update_conf`, with its fields.

    Raises:
        MoxValueError: an unknown key, none or several optimizers.
    """
    for key in conf:
        if key not in OPTIMIZERS and key not in _OPTIONS:
            names = [*OPTIMIZERS, *_OPTIONS]
            raise MoxValueError(
                f"model_update_conf has no key {shown(key)}.{near_matches(str(key), names)}"
                f" It takes one of {', '.join(OPTIMIZERS)}, and {', '.join(_OPTIONS)}."
            )
    chosen = {key: value for key, value in conf.items() if key in OPTIMIZERS}
    return choice("model_update_conf", chosen, OPTIMIZERS)


def clip(conf: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of `clip_by_global_norm`, or None."""
    if "clip_conf" not in conf:
        return None
    return choice("clip_conf", conf["clip_conf"], _CLIPS)[1]


def weight_decay(conf: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of `weight_decay_conf`, or None."""
    if "weight_decay_conf" not in conf:
        return None
    return filled("weight_decay_conf", conf["weight_decay_conf"], _WEIGHT_DECAY)
