"""The settings of jobs as programs of September 2019 made them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import (
    MoxAttributeError,
    MoxNotSupportedError,
    MoxRuntimeError,
    MoxTypeError,
    MoxValueError,
)
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

X = np.ones((4, 3), np.float32)
Setting = Callable[[Any], Any]


def _losses(settings: Setting, add: Setting, steps: int = 3) -> list[float]:
    """The mean losses of a job's steps, by its settings and its way to add its loss."""

    def train(x: Any = flow.input_blob_def((4, 3))) -> Any:  # noqa: B008
        conf = flow.get_cur_job_conf_builder()
        conf.batch_size(4).data_part_num(1).default_data_type(flow.float)
        settings(conf)
        w = flow.get_variable("w", (3,), initializer=flow.ones_initializer())
        loss = flow.math.reduce_sum(x * w, 1, name="loss")
        add((conf, loss))
        return loss

    flow.add_job(train)
    with flow.Session() as session:
        flow.train.CheckPoint().init()
        handles = [session.run(train, X) for _ in range(steps)]
        return [float(handle.get().mean()) for handle in handles if handle is not None]


def _by_fields(conf: Any) -> None:
    conf.train_conf()
    conf.train_conf().batch_size = 4
    conf.train_conf().num_of_batches_in_snapshot = 100
    conf.train_conf().primary_lr = 0.25
    assert conf.train_conf().primary_lr == 0.25
    conf.train_conf().model_update_conf.naive_conf.SetInParent()
    assert conf.enable_inplace(False) is conf


def _by_names(conf: Any) -> None:
    conf.train_conf().primary_lr = 0.25
    conf.model_update_conf({"naive_conf": {}})
    conf.train_conf().loss_lbn.extend(["loss/out"])


def _with_decay(conf: Any) -> None:
    _by_fields(conf)
    decay = conf.train_conf().model_update_conf.learning_rate_decay.piecewise_constant_conf
    decay.boundaries.extend([0])
    decay.values.extend([0.25, 0.0])


@pytest.mark.parametrize(
    ("settings", "add", "expected"),
    [
        (_by_fields, lambda given: flow.losses.add_loss(given[1]), [3, 2.25, 1.5]),
        (_by_fields, lambda given: given[0].get_train_conf_builder().add_loss(given[1]),
         [3, 2.25, 1.5]),
        (_by_names, lambda given: None, [3, 2.25, 1.5]),
        (_with_decay, lambda given: given[0].add_loss([given[1]]), [3, 2.25, 2.25]),
    ],
)  # fmt: skip
def test_fields_and_dicts_train_as_flow_config_does(
    settings: Setting, add: Setting, expected: list[float]
) -> None:
    assert _losses(settings, add) == pytest.approx(expected)


@pytest.fixture
def parts(tmp_path: Path) -> str:
    """Two parts with the numbers 0 to 3."""
    for part in range(2):
        records = []
        for number in range(2):
            record = OFRecord()
            record.feature["x"].int32_list.value.append(2 * part + number)
            records.append(record)
        files.write(str(tmp_path / f"part-{part}"), records)
    return str(tmp_path)


@pytest.mark.parametrize("by_config", [False, True])
def test_readers_take_the_batch_and_the_parts_of_the_jobs_settings(
    parts: str, by_config: bool
) -> None:
    def read() -> Any:
        if by_config:
            flow.config.piece_size(3)
        else:
            flow.get_cur_job_conf_builder().batch_size(4).data_part_num(2)
        conf = flow.data.BlobConf("x", (), flow.int32, flow.data.RawCodec())
        return flow.data.decode_ofrecord(parts, (conf,), name="decode")

    flow.add_job(read)
    with flow.Session() as session:
        handle = session.run(read)
    assert handle is not None
    (found,) = handle.get()
    assert found.tolist() == ([0, 1, 0] if by_config else [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        (lambda conf: setattr(conf.train_conf(), "primary_lf", 0.1), MoxAttributeError,
         r"train_conf\(\) has no 'primary_lf'. Did you mean 'primary_lr'"),
        (lambda conf: setattr(conf.train_conf(), "primary_lr", "0.1"), MoxTypeError,
         "flow.config.train.primary_lr takes .* not '0.1'"),
        (lambda conf: setattr(conf.train_conf(), "model_update_conf", {}), MoxTypeError,
         r"model_update_conf can't be assigned to. Call its SetInParent\(\), or set its fields"),
        (lambda conf: setattr(conf.train_conf(), "num_of_batches_in_snapshot", 0), MoxValueError,
         "num_of_batches_in_snapshot = 0: give a whole number from 1"),
        (lambda conf: conf.train_conf().model_update_conf.adam.SetInParent(), MoxAttributeError,
         "model_update_conf has no 'adam'. Did you mean"),
        (lambda conf: conf.data_part_num(0), MoxValueError, r"data_part_num\(0\): give a whole"),
        (lambda conf: conf.batch_size(0), MoxValueError, r"piece_size\(0\): it must be 1 or more"),
        (lambda conf: conf.batch_sise(4), MoxAttributeError, "Did you mean 'batch_size'"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named(settings: Setting, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        _losses(settings, lambda given: None)


def _other_batch(conf: Any) -> None:
    _by_fields(conf)
    conf.train_conf().batch_size = 8


def _no_such_loss(conf: Any) -> None:
    _by_fields(conf)
    conf.train_conf().loss_lbn.extend(["softmax_loss/out"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (_other_batch, "batch_size 8 and the piece_size 4, and a step here takes one batch"),
        (_no_such_loss, "names 'softmax_loss/out', and the job has no operation 'softmax_loss'"),
    ],
)
def test_settings_that_do_not_fit_the_job_are_named(settings: Setting, message: str) -> None:
    with pytest.raises(MoxValueError, match=message):
        _losses(settings, lambda given: None)


def test_the_builders_belong_to_jobs() -> None:
    with pytest.raises(MoxRuntimeError, match="get_cur_job_conf_builder was called outside a job"):
        flow.get_cur_job_conf_builder()
    with pytest.raises(MoxRuntimeError, match="dlnet_builder was called outside a job"):
        flow.deprecated.get_cur_job_dlnet_builder()


def test_the_first_builder_names_the_functions_of_today() -> None:
    @flow.function
    def job(x: Any = flow.input_blob_def((4, 3))) -> Any:  # noqa: B008
        builder = flow.deprecated.get_cur_job_dlnet_builder()
        with pytest.raises(MoxNotSupportedError, match=r"\.Conv2D is not .* flow.layers.conv2d"):
            builder.Conv2D(x)
        with pytest.raises(MoxNotSupportedError, match="Proposal is not offered.* flow.math"):
            builder.Proposal(x)
        return x

    assert job(X).get().tolist() == X.tolist()


def test_every_function_that_the_first_builder_names_is_there() -> None:
    import re

    from moxing.flow.older import builder

    for text in builder._INSTEAD.values():  # noqa: SLF001
        for path in re.findall(r"flow\.([a-z_0-9.]*[a-z_0-9])", text):
            found: Any = flow
            for part in path.split("."):
                found = getattr(found, part)
