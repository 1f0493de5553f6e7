"""The modules of UCloud's SDK that programs of UAI Train import."""

from __future__ import annotations

import json
import os
import sys

import pytest
from absl import flags as absl_flags

from moxing.errors import MoxValueError
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine

CLUSTER = {
    "cluster": {"master": ["a:1"], "ps": ["p:1", "q:1"], "worker": ["b:1", "c:1"]},
    "task": {"type": "worker", "index": 1},
    "environment": "cloud",
}


def faces(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Faces:
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    return catalog.make_faces(CommandLine(list(arguments), {}, ()), absl_flags.FlagValues())


def test_flags_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = faces(monkeypatch, "--data_dir=in", "--num_gpus=2", "--max_step", "7")
    uflag = shown.load("uaitrain.arch.tensorflow.uflag")
    values = shown.load("tensorflow.app").flags.FLAGS
    assert (values.data_dir, values.num_gpus, values.max_step) == ("in", 2, 7)
    assert (values.work_dir, values.output_dir, values.log_dir) == (
        "/data",
        "/data/output",
        "/data/output",
    )
    assert uflag.flags.FLAGS is values
    assert uflag.tf is shown.load("tensorflow")
    # A program defines flags of its own beside them.
    uflag.flags.DEFINE_float("rate", 0.5, "")
    assert values.rate == 0.5


def test_the_cluster_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    uai_dist = faces(monkeypatch).load("uaitrain.arch.tensorflow.uai_dist")
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert not uai_dist.UAITensorFlowDistRunConfigParser().is_dist()
    monkeypatch.setenv("TF_CONFIG", json.dumps(CLUSTER))
    found = uai_dist.UAITensorFlowDistRunConfigParser()
    assert found.is_dist()
    found.load_cluster_config()
    assert (found.is_chief(), found.is_ps(), found.get_task_id()) == (False, False, 2)
    assert (found.num_worker(), found.get_worker_list()) == (3, ["a:1", "b:1", "c:1"])
    assert (found.num_ps(), found.get_ps_list()) == (2, ["p:1", "q:1"])


@pytest.mark.parametrize(("kind", "number"), [("master", 0), ("ps", 1)])
def test_other_tasks_keep_their_numbers(
    monkeypatch: pytest.MonkeyPatch, kind: str, number: int
) -> None:
    task = {"type": kind, "index": number}
    monkeypatch.setenv("TF_CONFIG", json.dumps({**CLUSTER, "task": task}))
    uai_dist = faces(monkeypatch).load("uaitrain.arch.tensorflow.uai_dist")
    found = uai_dist.UAITensorFlowDistRunConfigParser()
    found.load_cluster_config()
    assert (found.is_chief(), found.is_ps()) == (kind == "master", kind == "ps")
    assert found.get_task_id() == number


def test_the_cluster_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", "")
    uai_dist = faces(monkeypatch).load("uaitrain.arch.tensorflow.uai_dist")
    uai_dist.UAITensorFlowDistRunConfig("a:1", "p:1,q:1", "b:1,c:1", "worker", 1).generate_cluster()

    assert json.loads(os.environ["TF_CONFIG"]) == CLUSTER


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"cluster": {"worker": ["a:1"]}}'])
def test_clusters_that_can_t_be_read(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    uai_dist = faces(monkeypatch).load("uaitrain.arch.tensorflow.uai_dist")
    with pytest.raises(MoxValueError, match="TF_CONFIG='"):
        uai_dist.UAITensorFlowDistRunConfigParser().load_cluster_config()


def test_other_modules_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = faces(monkeypatch)
    with pytest.raises(ImportError, match="`mox uai train`"):
        shown.load("uaitrain.operation.pack")
