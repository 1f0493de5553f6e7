"""Programs of before September 2019: settings for init, functions added as jobs, a session."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxAttributeError, MoxRuntimeError, MoxTypeError, MoxValueError

X = np.arange(8, dtype=np.float32).reshape(4, 2)


def test_a_session_runs_the_functions_that_were_added(plain_count: Any) -> None:
    config = flow.ConfigProtoBuilder()
    config.gpu_device_num(2).grpc_use_no_signal()
    flow.init(config)
    sizes: list[int] = []

    def square(x: Any = flow.input_blob_def((4, 2))) -> Any:  # noqa: B008
        flow.config.default_data_type(flow.float)
        sizes.append(flow.placement.current_scope().parallel_size)
        return flow.math.square(x)

    flow.add_job(square)
    with flow.Session([plain_count]) as session:
        flow.train.CheckPoint().init()
        handle = session.run(square, X)
        session.no_return_run(plain_count)
        session.no_return_run(plain_count)
        mapped = session.map(square, [X, (2 * X,)]).get()
    final = session.run(plain_count)

    assert handle is not None
    assert final is not None
    np.testing.assert_array_equal(handle.get(), X * X)
    np.testing.assert_array_equal(mapped, [X * X, 4 * X * X])
    assert (final.get().tolist(), sizes) == ([2], [2])


def test_what_is_no_setting_and_no_job_is_told() -> None:
    def job() -> None: ...

    with pytest.raises(MoxAttributeError, match="no 'gpu_devices_num'. Did you mean 'gpu_device_n"):
        flow.ConfigProtoBuilder().gpu_devices_num(1)
    with pytest.raises(MoxTypeError, match="init takes a ConfigProtoBuilder, not 3"):
        flow.init(3)  # type: ignore
    with pytest.raises(MoxTypeError, match="add_job takes a function, not 3"):
        flow.add_job(3)  # type: ignore
    with pytest.raises(MoxRuntimeError, match=r"job is no job of this session. Call flow.add_job"):
        flow.Session().run(job)
    flow.add_job(job)
    flow.clear_default_session()
    with pytest.raises(MoxRuntimeError, match="job is no job of this session"):
        flow.Session().run(job)
    with pytest.raises(MoxValueError, match="feed_data has no items"):
        flow.Session().map(job, [])


def test_results_of_a_map_come_in_one_call() -> None:
    def double(x: Any = flow.input_blob_def((4, 2))) -> Any:  # noqa: B008
        return x + x

    def nothing(x: Any = flow.input_blob_def((4, 2))) -> None:  # noqa: B008
        flow.math.relu(x)

    flow.add_job(double)
    flow.add_job(nothing)
    box: Any = flow.Box()
    assert not box.has_value()
    with pytest.raises(MoxRuntimeError, match="flow.Box has no value yet"):
        _ = box.value
    with flow.Session() as session:
        session.map(double, [X, 2 * X, 3 * X]).async_get(box.value_setter)
        session.sync()
        flow.sync_default_session()
        with pytest.raises(MoxTypeError, match="async_get takes a function, not 3"):
            session.map(double, [X]).async_get(3)  # type: ignore
        with pytest.raises(MoxRuntimeError, match="the job returns nothing"):
            session.map(nothing, [X]).async_get(print)

    np.testing.assert_array_equal(box.value, [2 * X, 4 * X, 6 * X])
    assert flow.Box(3).value == 3
    with pytest.raises(MoxTypeError, match="takes one value, and was given 2"):
        flow.Box(1, 2)


def test_strategies_of_memory_and_sets_of_jobs_are_taken() -> None:
    def job() -> None: ...

    flow.job_mem_sharing_strategy("mem_sharing_priority")
    flow.inter_job_reuse_mem_strategy("custom_parallelism", job_name_groups=[["job"]])
    with pytest.raises(MoxValueError, match="'sharing'.*: give one of mem_sharing_priority"):
        flow.job_mem_sharing_strategy("sharing")
    flow.add_job(job)
    flow.reset_default_job_set()
    with pytest.raises(MoxRuntimeError, match="job is no job of this session"):
        flow.Session().run(job)
