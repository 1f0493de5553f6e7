"""The names that programs import, and what they are told of names that are not there."""

from __future__ import annotations

import importlib
import logging

import pytest

import moxing
import moxing.tensorflow as mox
from moxing.errors import MoxAttributeError
from moxing.tensorflow import names

NAMES = [
    "AggregativeSessionRunHook",
    "EarlyStoppingHook",
    "ExportKeys",
    "ExportSpec",
    "FeedSessionRunHook",
    "LogEvaluationMetricHook",
    "ModeKeys",
    "ModelSpec",
    "PlateauLREarlyStoppingHook",
    "get_collection",
    "get_flag",
    "get_optimizer_fn",
    "run",
    "set_flag",
    "var_scope",
]


@pytest.mark.parametrize("name", [*NAMES, *names.LAZY])
def test_name_is_public_and_explained(name: str) -> None:
    assert name in mox.__all__
    assert getattr(mox, name).__doc__


def test_all_lists_these_names_and_those_loaded_on_first_use() -> None:
    assert list(mox.__all__) == [*NAMES, *names.LAZY]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("moxing.tensorflow.executor.hooks", "FeedSessionRunHook"),
        ("moxing.tensorflow.executor.hooks", "AggregativeSessionRunHook"),
        ("moxing.tensorflow.executor.run", "run"),
        ("moxing.tensorflow.utils.hyper_param_flags", "mox_flags"),
        ("moxing.tensorflow.utils.tf_util", "version_info"),
        ("moxing.tensorflow.optimizer", "get_optimizer_fn"),
        ("moxing.tensorflow.optimizer.learning_rate_scheduler", "piecewise_lr"),
        ("moxing.tensorflow.optimizer.dynamic_momentum", "DyMomentumOptimizer"),
        ("moxing.tensorflow.optimizer.dynamic_momentumw", "DyMomentumWOptimizer"),
        ("moxing.tensorflow.optimizer.simple_sync_optimizer", "SimpleSyncOptimizer"),
        ("moxing.framework.util.compat", "as_str"),
        ("moxing.framework.util.runtime", "reset_logger"),
    ],
)
def test_path_that_old_programs_import(module: str, name: str) -> None:
    assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("runn", "mox has no 'runn'. Did you mean 'run'?"),
        ("ModelSpecs", "mox has no 'ModelSpecs'. Did you mean 'ModelSpec'"),
        ("get_flags", "mox has no 'get_flags'. Did you mean 'get_flag'"),
        ("qqq", "mox has no 'qqq'."),
    ],
)
def test_unknown_name_brings_near_ones(name: str, told: str) -> None:
    with pytest.raises(MoxAttributeError) as raised:
        getattr(mox, name)
    assert str(raised.value).startswith(told)


def test_hasattr_works_on_missing_names() -> None:
    assert not hasattr(mox, "runn")
    assert getattr(mox, "__path__", None) is not None


def test_import_sets_up_the_process() -> None:
    assert isinstance(moxing.__version__, str)
    consoles = [
        handler
        for handler in logging.getLogger().handlers
        if type(handler).__module__ == "moxing.logs"
    ]
    assert len(consoles) == 1
    assert logging.getLogger("tensorflow").propagate
