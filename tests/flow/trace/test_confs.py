"""Messages that describe initializers, and what a program can read of a job's settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.flow.core.operator import op_conf_pb2


def _conf(key: str, **fields: Any) -> Any:
    conf = op_conf_pb2.InitializerConf()
    getattr(conf, key).SetInParent()
    for name, value in fields.items():
        setattr(getattr(conf, key), name, value)
    return conf


def test_messages_of_the_original_initialize_variables() -> None:
    fan = {"variance_norm": op_conf_pb2.kAverage, "data_format": "NCHW"}
    confs = {
        "constant": _conf("constant_conf", value=2.5),
        "integers": _conf("constant_int_conf", value=3),
        "uniform": _conf("random_uniform_conf", min=2, max=4),
        "truncated": _conf("truncated_normal_conf"),
        "normal": _conf("random_normal_conf", mean=7.0, std=0.5),
        "xavier": _conf("xavier_conf", **fan),
        "msra": _conf("msra_conf", **fan),
        "scaled": _conf("variance_scaling_conf", scale=3.0, distribution=1, **fan),
        "range": _conf("range_conf", start=1, stride=2),
        "rows": _conf("int_range_conf", axis=0),
    }

    @flow.function
    def job() -> Any:
        return {
            name: flow.get_variable(name, (300, 100), initializer=conf)
            for name, conf in confs.items()
        }

    flow.train.CheckPoint().init()
    found = {name: value.ndarray() for name, value in job().get().items()}

    assert set(found["constant"].flat) == {2.5}
    assert set(found["integers"].flat) == {3}
    assert 2 <= found["uniform"].min() < 2.1
    assert 3.9 < found["uniform"].max() < 4
    np.testing.assert_allclose(found["range"][5], 1 + 2 * np.arange(100))
    np.testing.assert_allclose(found["rows"][:, 5], np.arange(300))
    assert abs(found["normal"].mean() - 7) < 0.05
    assert abs(found["normal"].std() - 0.5) < 0.05
    assert np.abs(found["truncated"]).max() <= 0.1  # Two of the standard deviations of 0.05.
    for name, variance in {"xavier": 1 / 200, "msra": 2 / 200, "scaled": 3 / 200}.items():
        np.testing.assert_allclose(found[name].var(), variance, rtol=0.1)
    assert np.abs(found["xavier"]).max() <= np.sqrt(3 / 200) + 1e-6  # Uniform.


def test_an_initializer_message_that_says_nothing_is_an_error() -> None:
    @flow.function
    def job() -> Any:
        return flow.get_variable("v", (2,), initializer=op_conf_pb2.InitializerConf())

    with pytest.raises(MoxValueError, match="InitializerConf has no initializer: set one"):
        job()


def test_settings_of_jobs_can_be_read() -> None:
    config, seen = flow.FunctionConfig(), []
    config.enable_inplace()
    config.default_data_type(flow.double)

    @flow.function(config)
    def job() -> Any:
        desc = flow.current_global_function_desc()
        seen.extend([desc.IsTrainable(), desc.job_name, desc.enable_inplace])
        return flow.constant(1.0, flow.float)

    job().get()

    assert seen == [False, "job", True]
    desc = config.function_desc
    assert desc.enable_inplace is True
    assert desc.default_data_type == flow.double
    assert desc.HasAttr("enable_inplace")
    assert not desc.HasAttr("enable_cudnn")
    with pytest.raises(AttributeError, match=r"nothing is set under this name, which HasAttr"):
        _ = desc.enable_cudnn
    config.train.primary_lr(0.1)
    assert desc.IsTrainable()
    with pytest.raises(MoxRuntimeError, match="called outside a job"):
        flow.current_global_function_desc()
