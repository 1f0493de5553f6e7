"""A program that loads a checkpoint goes on behind the records that were taken before."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import moxing.flow as flow
from moxing.errors import CheckpointError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files

LABEL = flow.data.BlobConf("label", (), flow.float, flow.data.RawCodec())


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Seven records in two parts, whose label is their number."""
    numbers = itertools.count()
    for part, size in enumerate((3, 4)):
        records = []
        for number in itertools.islice(numbers, size):
            record = OFRecord()
            record.feature["label"].float_list.value.append(number)
            records.append(record)
        files.write(str(tmp_path / f"part-{part}"), records)
    return str(tmp_path)


def _job(folder: str, shuffle: bool = False, trains: bool = True) -> Callable[[], Any]:
    @flow.function
    def job() -> Any:
        if trains:
            flow.config.train.primary_lr(0.1)
            flow.config.train.model_update_conf({"naive_conf": {}})
        (label,) = flow.data.decode_ofrecord(folder, LABEL, 2, 2, shuffle=shuffle, buffer_size=3)
        weight = flow.get_variable("w", (1,), initializer=flow.zeros_initializer())
        if trains:
            flow.losses.add_loss(label * weight)
        return label

    return lambda: job().get().tolist()


@pytest.mark.parametrize(
    ("count", "shuffle", "steps"), [(1, False, 3), (1, False, 9), (2, False, 5), (1, True, 5)]
)
def test_a_train_job_goes_on_behind_the_records_before(
    folder: str, devices: Callable[[int], None], count: int, shuffle: bool, steps: int
) -> None:
    devices(count)
    take = _job(folder, shuffle)
    flow.train.CheckPoint().init()
    for _ in range(steps):
        take()
    flow.train.CheckPoint().save(f"{folder}/saved")
    expected = [take() for _ in range(6)]

    flow.clear_default_session()
    devices(count)
    take = _job(folder, shuffle)
    flow.train.CheckPoint().load(f"{folder}/saved")
    assert [take() for _ in range(2)] == expected[:2]
    # Later loads of a program give variables their values, and leave the readers alone.
    flow.train.CheckPoint().load(f"{folder}/saved")
    assert take() == expected[2]
    flow.train.CheckPoint().save(f"{folder}/again")

    flow.clear_default_session()
    devices(count)
    take = _job(folder, shuffle)
    flow.train.CheckPoint().load(f"{folder}/again")
    assert [take() for _ in range(3)] == expected[3:]


def test_other_records_begin_with_the_first(folder: str, devices: Callable[[int], None]) -> None:
    devices(1)
    take = _job(folder)
    flow.train.CheckPoint().init()
    take()
    flow.train.CheckPoint().save(f"{folder}/saved")
    for shuffle, trains in ((True, True), (False, False)):
        flow.clear_default_session()
        devices(1)
        take = _job(folder, shuffle, trains)
        flow.train.CheckPoint().init()
        fresh = take()
        flow.clear_default_session()
        devices(1)
        take = _job(folder, shuffle, trains)
        flow.train.CheckPoint().load(f"{folder}/saved")
        assert take() == fresh


def test_a_damaged_place_is_an_error_that_names_the_file(
    folder: str, devices: Callable[[int], None]
) -> None:
    devices(1)
    take = _job(folder)
    flow.train.CheckPoint().init()
    take()
    flow.train.CheckPoint().save(f"{folder}/saved")
    place = Path(folder, "saved", "readers.json")
    assert json.loads(place.read_text())["job"]["batches"] == 1
    place.write_text('{"job": 3}')
    with pytest.raises(CheckpointError, match=r"its readers\.json can't be read"):
        flow.train.CheckPoint().load(f"{folder}/saved")
