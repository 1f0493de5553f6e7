"""Defines the public names of the dialect's modules, and alternatives for absent names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

import tensorflow.compat.v1 as tf

from moxing.errors import MoxAttributeError, near_matches

_DECODE = "flow.data.decode_ofrecord with codecs and preprocessors"
_JOBS = "@flow.function"
_SIZES = "flow.MirroredTensorDef for inputs of a size that changes"
FLOW: Mapping[str, str] = {
    "enable_eager_execution": _JOBS,
    "eager_execution_enabled": f"{_JOBS}; nothing runs eagerly",
    "current_machine_id": "the first entry of flow.env.machine, which alone runs your program",
    "current_resource": "flow.env.current_resource()",
    "summary": "flow.watch with a function of yours",
    "debug": "flow.advanced.distribute_split and distribute_concat, or flow.watch",
    "detection": (
        "flow.object_bbox_flip and its kin, flow.smooth_l1_loss, and for anchors, boxes and their"
        " suppression inputs that your program makes with NumPy"
    ),
    "sysconfig": "operations of flow, flow.math and flow.nn: none can be compiled for it",
    "optimizer": "flow.config.train.primary_lr and model_update_conf",
    "cluster": "flow.env.machine or flow.config.machine",
    "categorical_ordinal_encode": "numpy.unique in your program, and indices as an input",
    "local_gather": "flow.gather",
    "local_nonzero": "flow.argwhere",
    "local_scatter_nd_update": "flow.tensor_scatter_nd_update",
    "dim0_dynamic_to_fixed": _SIZES,
    "sync_dynamic_resize": _SIZES,
    "lod_to_dense": _SIZES,
    "piece_slice": "flow.slice",
    "pad_grad": "flow.watch_diff, which sees gradients",
    "copy": "flow.identity",
    "sleep_identity": "flow.identity",
    "random_like": "flow.data.decode_random",
    "random_mask_like": "flow.nn.random_mask_like",
    "object_segmentation_polygon_to_mask": "masks that your program draws, as an input",
    "eager_nccl_all_reduce": f"{_JOBS}, which sums the gradients of all devices",
    "get_default_job_set": "flow.add_job(function), which adds to the session's jobs",
    "mirror_blob_def": "flow.MirroredTensorDef",
    "mirror_input_def": "flow.MirroredTensorDef",
    "consistent_input_def": "flow.FixedTensorDef",
    "parallel": "flow.distribute",
    "onnx": "flow.train.CheckPoint().save, whose files are plain arrays",
    "tensorrt": _JOBS,
    "vm": _JOBS,
    "nvtx": "mox run --profile, which measures the operations of steps",
    "onerec": "flow.data.decode_ofrecord, on OFRecord files",
    "scatter_nd_update": "flow.tensor_scatter_nd_update",
    "register_optimizer": "flow.config.train.model_update_conf",
    "dynamic_concat": "flow.concat",
}
_LOAD, _SAVE = "flow.train.CheckPoint().load(path)", "flow.train.CheckPoint().save(path)"
CONFIG: Mapping[str, str] = {
    "default_initialize_with_snapshot_path": "flow.train.CheckPoint().load(path, partial=True)",
    "model_load_snapshot_path": _LOAD,
    "model_save_snapshots_path": _SAVE,
    "enable_write_snapshot": _SAVE,
    "device_num": "flow.config.gpu_device_num",
    "default_initialize_conf": "flow.config.default_initializer_conf",
}
DATA: Mapping[str, str] = {
    "onerec_reader": "flow.data.ofrecord_reader, on OFRecord files",
    "onerec_decoder": "flow.data.OFRecordRawDecoder, on OFRecord files",
    **dict.fromkeys(
        (
            *("COCODataset", "DataLoader", "ImageAlign", "ImageNormalizeByChannel"),
            *("ImageRandomFlip", "SegmentationPolygonListToAlignedMask", "coco_reader"),
            *("SegmentationPolygonListToMask", "TargetResizeTransform"),
        ),
        f"{_DECODE}, or inputs that your program prepares",
    ),
}
LAYERS: Mapping[str, str] = {
    "affine_channel": "flow.layers.batch_normalization(..., trainable=False)",
    "categorical_ordinal_encoder": "numpy.unique in your program, and indices as an input",
    "layer_norm_grad": "flow.watch_diff, which sees gradients",
    "layer_norm_param_grad": "flow.watch_diff, which sees gradients",
}
NN: Mapping[str, str] = {"softmax_grad": "flow.watch_diff, which sees gradients"}
ACTIVATIONS: Mapping[str, str] = {
    "gelu_grad": "flow.watch_diff, which sees gradients",
    "tanh_grad": "flow.watch_diff, which sees gradients",
}
DEPRECATED: Mapping[str, str] = {"nn": "flow.nn"}


_API = "moxing.flow"
_MODULES = (
    *("advanced", "core", "data", "deprecated", "distribute", "experimental", "image", "keras"),
    *("keras.activations", "keras.maths", "layers", "linalg", "losses", "math", "nn"),
    *("placement", "random", "regularizers", "scope", "train", "unittest"),
)
# Modules of helpers, which the modules of the API import.
_INNER = (
    *("absent", "data.files", "data.reader", "runtime.jobs", "runtime.settings"),
    *("trace.blobs", "trace.conf", "trace.context", "trace.operators", "trace.parallel"),
    *("trace.results", "trace.rules", "trace.scopes", "trace.shards"),
)
_HELPERS = (
    *("check_groups", "elementwise", "require_blob", "require_train", "shares"),
    *("active", "first", "here", "machines", "owner", "spread", "total"),
)


def public(present: Mapping[str, Any]) -> list[str]:
    """Returns those of a module's names that programs may use."""
    return sorted(n for n, value in present.items() if _is_public(present["__name__"], n, value))


def _is_public(parent: str, name: str, value: Any) -> bool:
    if name.startswith("_") or name in _HELPERS:
        return False
    if isinstance(value, ModuleType):
        own = f"{parent}.{name}"
        return value.__name__ == own and own in {f"{_API}.{module}" for module in _MODULES}
    if isinstance(value, tf.DType) or name in ("config", "dtypes", "env"):
        return True
    home = str(getattr(value, "__module__", ""))
    inner = home in {f"{_API}.{module}" for module in _INNER}
    return callable(value) and home.startswith(f"{_API}.") and not inner


def of(
    module: str, present: Mapping[str, Any], absent: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns a module's `__getattr__` and `__dir__`.

    Args:
        module: the name that programs use, such as "flow.data".
        present: the module's names.
        absent: names that are not offered, each with its alternative.
    """
    gone = absent or {}

    def missing(name: str) -> NoReturn:
        if name in gone:
            raise MoxAttributeError(f"{module}.{name} is not offered; use {gone[name]}.", name=name)
        hint = "" if name.startswith("__") else near_matches(name, public(present))
        raise MoxAttributeError(f"{module} has no {name!r}.{hint}", name=name)

    def listed() -> list[str]:
        return [*public(present), *(name for name in present if name.startswith("__"))]

    return missing, listed
