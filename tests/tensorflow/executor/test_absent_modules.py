"""Modules of MoXing that are not here say what to do, and old paths lead to what is here."""

from __future__ import annotations

import importlib

import pytest

import moxing.tensorflow as mox
from moxing.errors import MoxImportError
from moxing.flags import idle


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("moxing.tensorflow.executor.ops_adapter", "mox.get_flag('task_index')"),
        ("moxing.framework.common", "moxing.framework.file"),
        ("moxing.framework.data", "JSON lines"),
        ("moxing.framework.data.manifest_metadata", "JSON lines"),
    ],
)
def test_modules_that_are_not_here(name: str, advice: str) -> None:
    with pytest.raises(MoxImportError, match="is not part of openmox") as caught:
        importlib.import_module(name)
    assert advice in str(caught.value).replace("\n", " ")


def test_the_image_reader_is_found_by_its_first_path() -> None:
    module = importlib.import_module("moxing.tensorflow.datasets.tfrecord_common")
    found = module.ImageClassificationTFRecordDataset
    assert issubclass(found, mox.ImageClassificationTFRecordDataset)


def test_a_flag_without_a_use_is_told_of_and_no_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "_told", set())
    mox.set_flag("sync_before_server", True)
    assert "--sync_before_server, a flag of MoXing, does nothing in openmox" in caplog.text
