"""Checks the arguments of `mox.run` before any work starts."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.executor.keys import ExportKeys, ModeKeys

MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)


def check_mode(run_mode: Any) -> str:
    """The mode, if it is one that a run can have."""
    if run_mode in MODES:
        return str(run_mode)
    hint = ""
    if isinstance(run_mode, str) and run_mode.upper() in MODES:
        hint = f" Did you mean {run_mode.upper()!r}?"
    elif run_mode == ModeKeys.EXPORT:
        hint = " A model is exported after a run: pass export_model=mox.ExportKeys.TF_SERVING."
    raise MoxValueError(
        f"run_mode={run_mode!r}: it must be mox.ModeKeys.TRAIN, EVAL or PREDICT ('TRAIN', 'EVAL',"
        f" 'PREDICT').{hint}"
    )


def check_callable(name: str, value: Any) -> Any:
    """The user's function, if it can be called."""
    if value is None:
        raise MoxTypeError(f"mox.run needs {name}.")
    if isinstance(value, tf.train.Optimizer):
        kind = type(value).__name__
        raise MoxTypeError(
            f"{name} is a {kind} object, which is not callable. Pass a function that returns it:"
            f" {name}=lambda: tf.train.{kind}(...), or mox.get_optimizer_fn(...)."
        )
    if not callable(value):
        raise MoxTypeError(f"{name} is {value!r}, which is not callable. Pass a function.")
    return value


def check_optimizers(optimizer_fn: Any, mode: str) -> Sequence[Any]:
    """The optimizer functions, one or as many as losses."""
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


def check_count(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`; a float that is one counts."""
    whole = isinstance(value, float) and math.isfinite(value) and value == int(value)
    if isinstance(value, bool) or not (isinstance(value, int) or whole or _is_index(value)):
        raise MoxTypeError(f"{name}={value!r}: it must be a whole number.")
    if int(value) < least:
        raise MoxValueError(f"{name}={value!r}: it must be at least {least}.")
    return int(value)


def check_steps(max_number_of_steps: Any, mode: str) -> int:
    """The step limit: 0 is nothing to run."""
    steps = check_count("max_number_of_steps", max_number_of_steps, 0)
    if steps == 0:
        raise MoxValueError(
            f"max_number_of_steps=0: there is nothing to run in {mode}. Pass the number of steps,"
            " or sys.maxsize to run until the input ends."
        )
    return steps


def check_seconds(name: str, value: Any) -> float | None:
    """A positive number of seconds, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MoxTypeError(f"{name}={value!r}: it must be a number of seconds, or None.")
    if not value > 0:
        raise MoxValueError(f"{name}={value!r}: it must be more than 0 seconds.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False; nothing else is meant."""
    if not isinstance(value, bool):
        raise MoxTypeError(f"{name}={value!r}: it must be True or False.")
    return value


def check_path(name: str, value: Any) -> str | None:
    """A path as text; an empty one is as good as none."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise MoxTypeError(f"{name}={value!r}: it must be a path.")
    text = os.fspath(value)
    if text.startswith(("s3://", "obs://")):
        raise MoxValueError(
            f"{name}={text}: this version trains to and from local directories only. Copy with"
            " mox.file.copy_parallel before and after the run."
        )
    return text or None


def check_export(export_model: Any, log_dir: str | None, mode: str) -> bool:
    """Whether to export, if that is possible."""
    if export_model in (None, False):
        return False
    if export_model not in (True, ExportKeys.TF_SERVING):
        raise MoxValueError(
            f"export_model={export_model!r}: it must be mox.ExportKeys.TF_SERVING or False."
        )
    if mode == ModeKeys.PREDICT:
        raise MoxValueError("export_model works in TRAIN and EVAL, not in PREDICT.")
    if log_dir is None:
        raise MoxValueError(
            "export_model is set, but there is no log_dir to export to: pass log_dir."
        )
    return True


def _is_index(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, tf.Tensor)
