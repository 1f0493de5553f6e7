"""What modules of the dialect show, and say of names that they lack; under `mox run` too."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from absl import flags as absl_flags

import moxing.flow as flow
from moxing.errors import MoxAttributeError, MoxImportError
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine

GONE = [
    ("", "detection", "flow.detection is not offered; use flow.object_bbox_flip"),
    ("", "optimizer", "flow.optimizer is not offered; use flow.config.train.primary_lr and"),
    ("", "mirror_blob_def", "flow.mirror_blob_def is not offered; use flow.MirroredTensorDef."),
    (
        "config",
        "model_load_snapshot_path",
        "flow.config.model_load_snapshot_path is not offered; use",
    ),
    ("data", "coco_reader", "flow.data.coco_reader is not offered; use flow.data.decode_ofrecord"),
    (
        "layers",
        "affine_channel",
        "flow.layers.affine_channel is not offered; use flow.layers.batch",
    ),
]
MISSPELT = [
    ("", "functon", "flow has no 'functon'. Did you mean 'function' or"),
    ("nn", "conv3d", "flow.nn has no 'conv3d'. Did you mean 'conv2d'?"),
    ("math", "reduce", "flow.math has no 'reduce'. Did you mean 'reduce_sum' or"),
    ("layers", "dens", "flow.layers has no 'dens'. Did you mean 'dense'?"),
    ("keras.activations", "elu", "flow.keras.activations has no 'elu'. Did you mean 'relu' or"),
    ("train", "Checkpoint", "flow.train has no 'Checkpoint'. Did you mean 'CheckPoint'?"),
    ("losses", "zzz", "flow.losses has no 'zzz'."),
]
INNER = ("session", "settings", "context", "blobs", "parallel", "runtime", "by_sample", "tensor_of")


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def _of(module: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        module = getattr(module, part)
    return module


@pytest.mark.parametrize(("path", "name", "message"), [*GONE, *MISSPELT])
def test_a_missing_name_is_explained_by_the_module_and_by_its_face(
    faces: Faces, path: str, name: str, message: str
) -> None:
    for root in (flow, faces.load("oneflow")):
        with pytest.raises(MoxAttributeError) as caught:
            getattr(_of(root, path), name)
        assert str(caught.value).startswith(message)
        assert not hasattr(_of(root, path), name)


def test_an_import_of_a_module_that_is_not_offered_says_what_is(faces: Faces) -> None:
    with pytest.raises(MoxImportError, match="flow.detection is not offered; use flow.object_"):
        faces.load("oneflow.detection")
    with pytest.raises(MoxImportError, match="flow has no 'layer'. Did you mean 'layers'"):
        faces.load("oneflow.layer")


@pytest.mark.parametrize("path", ["", "data", "layers", "math", "nn", "placement", "train"])
def test_helpers_are_neither_listed_nor_proposed(faces: Faces, path: str) -> None:
    for root in (flow, faces.load("oneflow")):
        names = [name for name in dir(_of(root, path)) if not name.startswith("__")]
        assert not [name for name in names if name.startswith("_") or name in INNER]
        for name in INNER:
            near = difflib.get_close_matches(f"{name}s", names, 3, 0.6)
            with pytest.raises(MoxAttributeError) as caught:
                getattr(_of(root, path), f"{name}s")
            assert name not in near
            assert f"{name!r}" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("oneflow.core.record.record_pb2", "oneflow.core.operator.op_conf_pb2"),
        *("oneflow.core.common.data_type_pb2", "oneflow.keras.activations", "oneflow.data"),
        *("oneflow.python.framework.dtype", "oneflow.image", "oneflow.experimental"),
    ],
)
def test_modules_that_programs_import_are_there(faces: Faces, name: str) -> None:
    assert faces.load(name).__name__.endswith(name.rpartition(".")[2])
