"""Checks the arguments of `mox.run` before any work starts."""

from __future__ import annotations

import inspect
import math
import numbers
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.export import KINDS, check_installed
from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown
from moxing.framework.file import urls
from moxing.framework.file.configuration import settings
from moxing.tensorflow.executor import instead
from moxing.tensorflow.executor.keys import ExportKeys, ModeKeys

MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
_WILDCARDS = frozenset("*?[\\")
# The end of the name of a checkpoint of several files in TensorFlow's V1 format.
_V1_SHARDS = re.compile(r"-\?{5}-of-\d{5}$")
_LONGEST_PATH = 4096  # Bytes, on Linux.
# TensorFlow counts elements of a dimension with 64 bits, and a batch has several dimensions.
_MOST_SAMPLES = (1 << 31) - 1
# The global step is an int64 variable. `sys.maxsize` is this number.
_MOST = (1 << 63) - 1


def check_no_others(function: Callable[..., Any], others: Mapping[str, Any]) -> None:
    """Raises a MoxTypeError for keyword arguments that a function of the API does not have."""
    legal = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    for name in others:
        advice = instead.of(name) or near_matches(name, legal)
        raise MoxTypeError(
            f"mox.{function.__name__} has no argument {name!r}.{advice} It has: {', '.join(legal)}."
        )


def check_mode(run_mode: Any) -> str:
    """Returns the mode, if a run can have it."""
    for mode in MODES:
        if isinstance(run_mode, str) and run_mode == mode:
            return mode
    hint = ""
    if isinstance(run_mode, str) and run_mode.upper() in MODES:
        hint = f" Did you mean {run_mode.upper()!r}?"
    elif isinstance(run_mode, str) and run_mode == ModeKeys.EXPORT:
        hint = " A model is exported after a run: pass export_model=mox.ExportKeys.TF_SERVING."
    raise MoxValueError(
        f"run_mode={shown(run_mode)}: it must be mox.ModeKeys.TRAIN, EVAL or PREDICT ('TRAIN',"
        f" 'EVAL', 'PREDICT').{hint}"
    )


def check_inter_mode(inter_mode: Any, run_mode: str) -> str | None:
    """Returns the mode of evaluations during training, or None."""
    if inter_mode is None:
        return None
    evaluates = isinstance(inter_mode, str) and inter_mode == ModeKeys.EVAL
    if not evaluates or run_mode != ModeKeys.TRAIN:
        raise MoxValueError(
            f"inter_mode={shown(inter_mode)} with run_mode={run_mode!r}: it must be"
            " mox.ModeKeys.EVAL with run_mode=mox.ModeKeys.TRAIN, or None."
        )
    return ModeKeys.EVAL


def check_callable(name: str, value: Any) -> Any:
    """Returns the program's function, if it is callable."""
    if value is None:
        raise MoxTypeError(f"mox.run needs {name}.")
    if isinstance(value, tf.train.Optimizer):
        kind = type(value).__name__
        raise MoxTypeError(
            f"{name} is a {kind} object, which is not callable. Pass a function that returns it:"
            f" {name}=lambda: tf.train.{kind}(...), or mox.get_optimizer_fn(...)."
        )
    if not callable(value):
        instead = " Pass a function."
        if name.startswith("optimizer_fn") and isinstance(value, str):
            instead = f" Pass mox.get_optimizer_fn({value!r}, learning_rate=...)."
        raise MoxTypeError(f"{name} is {shown(value)}, which is not callable.{instead}")
    if inspect.iscoroutinefunction(value):
        raise MoxTypeError(f"{name} is an async function, which nobody awaits. Pass a plain one.")
    return value


def check_optimizers(optimizer_fn: Any, mode: str) -> Sequence[Any]:
    """Returns the optimizer functions: one, or as many as there are losses."""
    if optimizer_fn is None:
        if mode == ModeKeys.TRAIN:
            raise MoxTypeError(
                "mox.run needs optimizer_fn in TRAIN, such as"
                " optimizer_fn=mox.get_optimizer_fn('sgd', learning_rate=0.01)."
            )
        return ()
    if isinstance(optimizer_fn, list | tuple):
        if not optimizer_fn:
            raise MoxValueError("optimizer_fn is an empty list; give one function a loss.")
        return tuple(
            check_callable(f"optimizer_fn[{index}]", item)
            for index, item in enumerate(optimizer_fn)
        )
    return (check_callable("optimizer_fn", optimizer_fn),)


def check_count(name: str, value: Any, least: int, most: int = _MOST) -> int:
    """Returns a whole number from `least` to `most` as an int; whole floats are accepted."""
    number = _whole(value)
    if number is None:
        raise MoxTypeError(f"{name}={shown(value)}: it must be a whole number.")
    if number < least:
        raise MoxValueError(f"{name}={shown(value)}: it must be at least {least}.")
    if number > most:
        raise MoxValueError(f"{name}={shown(value)}: it must be at most {most}.")
    return number


def check_batch_size(batch_size: Any) -> int | None:
    """Returns the number of samples in a batch; None means no batching."""
    if batch_size is None:
        return None
    return check_count("batch_size", batch_size, 1, _MOST_SAMPLES)


def check_steps(max_number_of_steps: Any, mode: str) -> int:
    """Returns the step limit; raises an error for 0, which would run nothing."""
    steps = check_count("max_number_of_steps", max_number_of_steps, 0)
    if steps == 0:
        raise MoxValueError(
            f"max_number_of_steps=0: there is nothing to run in {mode}. Pass the number of steps,"
            " or sys.maxsize to run until the input ends."
        )
    return steps


def check_seconds(name: str, value: Any) -> float | None:
    """Returns a positive number of seconds as a float, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise MoxTypeError(f"{name}={shown(value)}: it must be a number of seconds, or None.")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not seconds > 0:
        raise MoxValueError(f"{name}={shown(value)}: it must be more than 0 seconds.")
    return seconds


def check_flag(name: str, value: Any) -> bool:
    """Returns True or False; raises an error for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise MoxTypeError(f"{name}={shown(value)}: it must be True or False.")
    return bool(value)


def check_path(name: str, value: Any) -> str | None:
    """Returns a path or URL as a string with `~` expanded; None for None or an empty path.

    Raises:
        MoxRuntimeError: the path is in an object store, and no store is configured.
    """
    if value is None:
        return None
    text = _path_text(name, value)
    if urls.is_remote(value):
        text = str(urls.parse(value))
        settings.needs_endpoint(settings.current(), text)
    else:
        text = urls.text(text)
    if "\0" in text or text.encode("utf-8", "replace").decode("utf-8") != text:
        raise MoxValueError(
            f"{name}={shown(text)}: it has characters that no path of TensorFlow's can have. Give"
            " a path whose text is UTF-8."
        )
    if len(text.encode()) >= _LONGEST_PATH:
        raise MoxValueError(f"{name}={shown(text)}: no path can be that long.")
    if found := sorted(_WILDCARDS.intersection(_V1_SHARDS.sub("", text))):
        raise MoxValueError(
            f"{name}={shown(text)}: TensorFlow reads {' '.join(found)} in the path of a checkpoint"
            " as a pattern. Give a path without it."
        )
    if text and not text.strip():
        raise MoxValueError(f"{name}={shown(text)}: it is blank. Give a path, or None.")
    return os.path.expanduser(text) or None


def _path_text(name: str, value: Any) -> str:
    text = None
    if isinstance(value, str | os.PathLike):
        try:
            text = os.fspath(value)
        except Exception as error:
            kind = type(value).__name__
            raise MoxTypeError(f"{name} is a {kind} that gives no path: {error!r}.") from error
    if isinstance(text, str):
        return text
    hint = " Decode it first." if isinstance(value, bytes) or isinstance(text, bytes) else ""
    raise MoxTypeError(f"{name}={shown(value)}: it must be a path, such as 'output'.{hint}")


def check_export(export_model: Any, log_dir: str | None, mode: str) -> tuple[str, ...]:
    """Returns the kinds to export; an empty tuple: nothing is exported.

    Raises:
        MoxImportError: a kind needs a package that is not installed.
    """
    if export_model is None or (isinstance(export_model, bool | np.bool_) and not export_model):
        return ()
    kinds = export_kinds("export_model", export_model)
    if mode == ModeKeys.PREDICT:
        raise MoxValueError("export_model works in TRAIN and EVAL, not in PREDICT.")
    if log_dir is None:
        raise MoxValueError(
            "export_model is set, but there is no log_dir to export to: pass log_dir."
        )
    return kinds


def export_kinds(name: str, value: Any) -> tuple[str, ...]:
    """Returns the kinds that a value, or a list of values, names; True means TF_SERVING."""
    given = list(value) if isinstance(value, list | tuple) else [value]
    kinds = [
        ExportKeys.TF_SERVING if isinstance(kind, bool | np.bool_) and kind else kind
        for kind in given
    ]
    if not kinds or not all(isinstance(kind, str) and kind in KINDS for kind in kinds):
        others = ", ".join(kind for kind in KINDS if kind != ExportKeys.TF_SERVING)
        raise MoxValueError(
            f"{name}={shown(value)}: it must be mox.ExportKeys.TF_SERVING or False. Other kinds"
            f" are {others}; several go into a list."
        )
    names = tuple(dict.fromkeys(str(kind) for kind in kinds))
    check_installed(names)
    return names


def _whole(value: Any) -> int | None:
    """Returns the value as an int if it is a whole number, else None."""
    if isinstance(value, bool | np.bool_ | tf.Tensor):
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        size = float(value)
        return int(size) if math.isfinite(size) and size == int(size) else None
    try:
        return operator.index(value)
    except Exception:  # The value's own __index__ may raise any error.
        return None
