"""Arguments that users know from Estimator, Keras, Lightning and Accelerate."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import moxing.tensorflow as mox
from moxing.errors import MoxTypeError
from moxing.flags import FLAG_NAMES
from moxing.tensorflow.executor import instead

_OWN = set(inspect.signature(mox.run).parameters) - {"others"}


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("hooks", "mox.ModelSpec(loss=loss, hooks=[...])"),
        ("callbacks", "mox.ModelSpec(loss=loss, hooks=[...])"),
        ("steps", "max_number_of_steps="),
        ("max_steps", "max_number_of_steps="),
        ("epochs", "max_number_of_steps="),
        ("model", "model_fn="),
        ("model_dir", "log_dir="),
        ("optimizer", "optimizer_fn="),
        ("lr", "mox.get_optimizer_fn('adam', learning_rate=0.001)"),
        ("validation_data", "inter_mode=mox.ModeKeys.EVAL"),
        ("train_dataloaders", "input_fn="),
        ("ckpt_path", "checkpoint_path="),
        ("devices", "--num_gpus=N"),
        ("num_nodes", "mox launch --workers=N"),
        ("precision", "--use_bf16"),
        ("accumulate_grad_batches", "--accumulate_steps=N"),
        ("gradient_clip_val", "--gradient_clip_norm=X"),
        ("save_checkpoints_secs", "save_model_secs="),
        ("logger", "--loggers=wandb,mlflow"),
    ],
)
def test_run_says_which_argument_does_this(name: str, named: str) -> None:
    with pytest.raises(MoxTypeError) as raised:
        mox.run(**{name: 1})  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"mox.run has no argument {name!r}. ")
    assert named in str(raised.value)
    assert "It has: input_fn, output_fn," in str(raised.value)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("train_op", "optimizer_fn="),
        ("predictions", "output_info="),
        ("eval_metric_ops", "log_info="),
        ("training_hooks", "hooks="),
        ("export_outputs", "export_spec="),
        ("mode", "Leave it out"),
    ],
)
def test_a_model_spec_knows_the_arguments_of_an_estimator_spec(name: str, named: str) -> None:
    with pytest.raises(MoxTypeError, match="^ModelSpec has no argument") as raised:
        mox.ModelSpec(**{name: 1})  # type: ignore[arg-type]
    assert named in str(raised.value)


def test_names_with_advice_are_no_arguments_of_ours() -> None:
    assert not _OWN.intersection(instead._BY_NAME)


def test_advice_names_arguments_and_flags_that_there_are() -> None:
    import re

    for advice in (*instead._ADVICE, *instead._IN_SPEC.values()):
        for flag in re.findall(r"--(\w+)", advice):
            assert flag in FLAG_NAMES | {"workers", "hosts", "loggers"}, advice
        for argument in re.findall(r"Use (\w+)=", advice):
            spec = inspect.signature(mox.ModelSpec).parameters
            assert argument in _OWN | set(spec), advice
        for name in re.findall(r"mox\.(\w+)", advice):
            assert _has(name), advice


def _has(name: str) -> Any:
    return hasattr(mox, name) or name == "run"
