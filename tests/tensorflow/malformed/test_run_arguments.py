"""Arguments of `mox.run` that no run could use are refused by name before anything is built."""

from __future__ import annotations

import asyncio
import decimal
import enum
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

pytestmark = pytest.mark.timeout(240)


class Failing:
    """A value whose every question fails."""

    def __index__(self) -> int:
        raise RuntimeError("no number")

    def __fspath__(self) -> str:
        raise RuntimeError("no path")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"out"


class Modes(enum.Enum):
    TRAIN = "TRAIN"


WHOLE = "it must be a whole number."
ROWS: list[tuple[str, Any, str]] = [
    *(
        ("batch_size", value, f"batch_size={text}: {WHOLE}")
        for value, text in [
            ("8", "'8'"),
            ("", "''"),
            (b"8", "b'8'"),
            (True, "True"),
            (2.5, "2.5"),
            (math.nan, "nan"),
            (math.inf, "inf"),
            (1j, "1j"),
            ([8], "[8]"),
            ((8,), "(8,)"),
            ({}, "{}"),
            (int, "the class int"),
            (np.float32("nan"), "np.float32(nan)"),
            (np.bool_(True), "np.True_"),
            (np.array([4, 8]), "array([4, 8])"),
            (np.array("8"), "array('8', dtype='<U1')"),
            (decimal.Decimal(8), "Decimal('8')"),
            (range(8), "range(0, 8)"),
        ]
    ),
    ("batch_size", Failing(), "batch_size=<Failing instance at 0x"),
    ("batch_size", 0, "batch_size=0: it must be at least 1."),
    ("batch_size", -1, "batch_size=-1: it must be at least 1."),
    ("batch_size", np.int64(-3), "batch_size=np.int64(-3): it must be at least 1."),
    ("batch_size", 2**31, "batch_size=2147483648: it must be at most 2147483647."),
    ("batch_size", 1e300, "batch_size=1e+300: it must be at most 2147483647."),
    ("batch_size", 10**5000, "batch_size=<int of 16610 bits>: it must be at most 2147483647."),
    ("max_number_of_steps", 0, "max_number_of_steps=0: there is nothing to run in TRAIN."),
    ("max_number_of_steps", -5, "max_number_of_steps=-5: it must be at least 0."),
    ("max_number_of_steps", None, f"max_number_of_steps=None: {WHOLE}"),
    ("max_number_of_steps", "100", f"max_number_of_steps='100': {WHOLE}"),
    ("max_number_of_steps", True, f"max_number_of_steps=True: {WHOLE}"),
    ("max_number_of_steps", 10.5, f"max_number_of_steps=10.5: {WHOLE}"),
    ("max_number_of_steps", math.inf, f"max_number_of_steps=inf: {WHOLE}"),
    ("max_number_of_steps", math.nan, f"max_number_of_steps=nan: {WHOLE}"),
    ("max_number_of_steps", 2**63, "it must be at most 9223372036854775807."),
    ("max_number_of_steps", -(10**5000), "max_number_of_steps=<int of 16610 bits>"),
    ("log_every_n_steps", 0, "log_every_n_steps=0: it must be at least 1."),
    ("log_every_n_steps", None, f"log_every_n_steps=None: {WHOLE}"),
    ("log_every_n_steps", "10", f"log_every_n_steps='10': {WHOLE}"),
    ("output_every_n_steps", -1, "output_every_n_steps=-1: it must be at least 0."),
    ("output_every_n_steps", None, f"output_every_n_steps=None: {WHOLE}"),
    ("save_summary_steps", 0, "save_summary_steps=0: it must be at least 1."),
    ("save_summary_steps", -1, "save_summary_steps=-1: it must be at least 1."),
    ("save_summary_steps", None, f"save_summary_steps=None: {WHOLE}"),
    ("save_model_secs", 0, "save_model_secs=0: it must be more than 0 seconds."),
    ("save_model_secs", -math.inf, "save_model_secs=-inf: it must be more than 0 seconds."),
    ("save_model_secs", math.nan, "save_model_secs=nan: it must be more than 0 seconds."),
    ("save_model_secs", "60", "save_model_secs='60': it must be a number of seconds, or None."),
    ("save_model_secs", True, "save_model_secs=True: it must be a number of seconds, or None."),
    ("save_model_secs", 1j, "save_model_secs=1j: it must be a number of seconds, or None."),
    ("save_model_steps", 0, "save_model_steps=0: it must be at least 1."),
    ("save_model_steps", 1.5, f"save_model_steps=1.5: {WHOLE}"),
    ("save_model_steps", "60", f"save_model_steps='60': {WHOLE}"),
    ("auto_batch", None, "auto_batch=None: it must be True or False."),
    ("auto_batch", 1, "auto_batch=1: it must be True or False."),
    ("auto_batch", "False", "auto_batch='False': it must be True or False."),
    ("auto_batch", np.array([True, False]), "auto_batch=array([ True, False]): it must be True or"),
    ("run_mode", "train", "run_mode='train': it must be mox.ModeKeys.TRAIN, EVAL or PREDICT"),
    ("run_mode", "train", "Did you mean 'TRAIN'?"),
    ("run_mode", "EXPORT", "pass export_model=mox.ExportKeys.TF_SERVING."),
    (
        "run_mode",
        "",
        "run_mode='': it must be mox.ModeKeys.TRAIN, EVAL or PREDICT ('TRAIN', 'EVAL'",
    ),
    ("run_mode", None, "run_mode=None: it must be"),
    ("run_mode", b"TRAIN", "run_mode=b'TRAIN': it must be"),
    ("run_mode", ["TRAIN"], "run_mode=['TRAIN']: it must be"),
    ("run_mode", np.array(["TRAIN", "EVAL"]), "run_mode=array(['TRAIN', 'EVAL']"),
    ("run_mode", mox.ModeKeys, "run_mode=the class ModeKeys: it must be"),
    ("run_mode", Modes.TRAIN, "run_mode=<Modes.TRAIN: 'TRAIN'>: it must be"),
    ("run_mode", "x" * 10_000, "run_mode='xxx"),
    ("inter_mode", "TRAIN", "inter_mode='TRAIN' with run_mode='TRAIN': it must be"),
    ("inter_mode", np.array(["EVAL", "EVAL"]), "inter_mode=array(['EVAL', 'EVAL']"),
    ("inter_mode", False, "inter_mode=False with run_mode='TRAIN': it must be"),
    ("fetch_strategy_fn", print, "fetch_strategy_fn is not supported"),
    ("log_dir", 1, "log_dir=1: it must be a path, such as 'output'."),
    ("log_dir", True, "log_dir=True: it must be a path"),
    ("log_dir", b"out", "log_dir=b'out': it must be a path, such as 'output'. Decode it first."),
    ("log_dir", BytesPath(), "it must be a path, such as 'output'. Decode it first."),
    ("log_dir", Failing(), "log_dir is a Failing that gives no path: RuntimeError('no path')."),
    ("log_dir", ["out"], "log_dir=['out']: it must be a path"),
    ("log_dir", math.nan, "log_dir=nan: it must be a path"),
    ("log_dir", "out\0", "log_dir='out\\x00': it has characters that no path"),
    ("log_dir", "out\udc80", "log_dir='out\\udc80': it has characters that no path"),
    ("log_dir", "  ", "log_dir='  ': it is blank. Give a path, or None."),
    ("log_dir", "out[1]", "log_dir='out[1]': TensorFlow reads [ in the path of a checkpoint as a"),
    ("log_dir", "what?/*", "log_dir='what?/*': TensorFlow reads * ? in the path of a checkpoint"),
    ("log_dir", "s3://b/out", "S3_ENDPOINT is not set), so s3://b/out can't be reached. Set the"),
    ("log_dir", "obs://b/out", "no S3/OBS endpoint configured (S3_ENDPOINT is not set), so obs:"),
    ("log_dir", "s3:///out", "'s3:///out' names no bucket; write s3://bucket/path"),
    ("checkpoint_path", 0, "checkpoint_path=0: it must be a path"),
    ("checkpoint_path", b"out", "checkpoint_path=b'out': it must be a path"),
    ("checkpoint_path", "\0", "checkpoint_path='\\x00': it has characters that no path"),
    ("checkpoint_path", Path("s3://b/out"), "so s3://b/out can't be reached. Set the"),
    (
        "export_model",
        "tf_serving",
        "export_model='tf_serving': it must be mox.ExportKeys.TF_SERVING",
    ),
    ("export_model", "", "export_model='': it must be mox.ExportKeys.TF_SERVING or False."),
    ("export_model", 1, "export_model=1: it must be mox.ExportKeys.TF_SERVING or False."),
    ("export_model", 0, "export_model=0: it must be mox.ExportKeys.TF_SERVING or False."),
    ("export_model", np.array([1, 2]), "export_model=array([1, 2]): it must be"),
    ("export_model", mox.ExportKeys, "export_model=the class ExportKeys: it must be"),
    ("export_model", True, "export_model is set, but there is no log_dir to export to"),
    ("input_fn", None, "mox.run needs input_fn."),
    ("input_fn", "input_fn", "input_fn is 'input_fn', which is not callable. Pass a function."),
    ("input_fn", [], "input_fn is [], which is not callable."),
    ("input_fn", lambda a, b: None, "input_fn <lambda> (test_run_arguments.py:"),
    ("input_fn", lambda *, a: None, "(a), but it is called by position with 1: input_fn(mode)."),
    ("model_fn", None, "mox.run needs model_fn."),
    ("model_fn", 3, "model_fn is 3, which is not callable."),
    (
        "model_fn",
        lambda a, b, c: None,
        "demands the arguments (a, b, c), but it is called by position with 2",
    ),
    ("model_fn", lambda a, b, *, c: None, "demands the arguments (a, b, c), but it is called by"),
    ("model_fn", mox.ModelSpec, "loss[0] must be a scalar, but Const:0 is float32 [4, 3]."),
    ("output_fn", 3, "output_fn is 3, which is not callable."),
    (
        "output_fn",
        lambda a, b: None,
        "demands the arguments (a, b), but it is called by position with 1",
    ),
    ("output_fn", print, "output_fn is given, but output_every_n_steps is 0"),
    ("optimizer_fn", None, "mox.run needs optimizer_fn in TRAIN, such as optimizer_fn=mox.get_opt"),
    ("optimizer_fn", [], "optimizer_fn is an empty list; give one function a loss."),
    ("optimizer_fn", "sgd", "optimizer_fn is 'sgd', which is not callable."),
    ("optimizer_fn", {}, "optimizer_fn is {}, which is not callable."),
    ("optimizer_fn", [None], "mox.run needs optimizer_fn[0]."),
    (
        "optimizer_fn",
        lambda lr: None,
        "demands the arguments (lr), but it is called by position with 0",
    ),
    ("optimizer_fn", tf.train.GradientDescentOptimizer, "demands the arguments (learning_rate)"),
    (
        "optimizer_fn",
        tf.train.MomentumOptimizer(0.1, 0.9),
        "optimizer_fn is a MomentumOptimizer object, which is not callable. Pass a function that"
        " returns it: optimizer_fn=lambda: tf.train.MomentumOptimizer(...), or"
        " mox.get_optimizer_fn(...).",
    ),
    ("optimizer_fn", [tf.train.AdamOptimizer()], "optimizer_fn[0] is a AdamOptimizer object"),
]


@pytest.mark.parametrize(
    ("name", "value", "told"), ROWS, ids=[f"{n} {name}" for n, (name, *_) in enumerate(ROWS)]
)
def test_argument(
    name: str,
    value: Any,
    told: str,
    refused: Callable[..., None],
    run: Callable[..., Any],
    directory: Path,
) -> None:
    refused(lambda: run(**{name: value}), told)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("name", ["input_fn", "model_fn", "optimizer_fn"])
def test_async_function(name: str, refused: Callable[..., None], run: Callable[..., Any]) -> None:
    async def function(*arguments: Any) -> None:
        await asyncio.sleep(0)

    refused(lambda: run(**{name: function}), f"{name} is an async function, which nobody awaits.")


def test_unknown_argument_is_told_the_near_ones(
    refused: Callable[..., None], run: Callable[..., Any]
) -> None:
    refused(
        lambda: run(batchsize=3),
        "mox.run has no argument 'batchsize'. Did you mean 'batch_size'? It has: input_fn,",
    )


def test_predicting_exports_nothing(refused: Callable[..., None], run: Callable[..., Any]) -> None:
    refused(
        lambda: run(run_mode="PREDICT", export_model=True, log_dir="out"),
        "export_model works in TRAIN and EVAL, not in PREDICT.",
    )


def test_steps_are_needed_in_every_mode(
    refused: Callable[..., None], run: Callable[..., Any]
) -> None:
    for mode in ("EVAL", "PREDICT"):
        refused(
            lambda mode=mode: run(run_mode=mode, max_number_of_steps=0),
            f"max_number_of_steps=0: there is nothing to run in {mode}.",
        )
