"""What the dialect's modules show: their public names; and what is instead of those of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

import tensorflow.compat.v1 as tf

from moxing.errors import MoxAttributeError, near_matches

_DECODE = "flow.data.decode_ofrecord with codecs and preprocessors"
_JOBS = "@flow.function"
FLOW: Mapping[str, str] = {
    "ConfigProtoBuilder": f"flow.config and {_JOBS}",
    "init": f"flow.config and {_JOBS}",
    "add_job": _JOBS,
    "Session": _JOBS,
    "enable_eager_execution": _JOBS,
    "user_op_builder": "the operations of flow, flow.math and flow.nn",
    "consistent_user_op_builder": "the operations of flow, flow.math and flow.nn",
    "summary": "flow.watch with a function of yours",
    "detection": "the operations of flow, flow.math and flow.nn",
    "image": _DECODE,
    "random": "NormByChannelPreprocessor and ImagePreprocessor('mirror')",
    "optimizer": "flow.config.train.primary_lr and model_update_conf",
}
DATA: Mapping[str, str] = {
    "ofrecord_reader": _DECODE,
    "OFRecordReader": _DECODE,
    "OFRecordRawDecoder": "flow.data.RawCodec",
    "OFRecordImageDecoder": "flow.data.ImageCodec",
    "OFRecordImageDecoderRandomCrop": "flow.data.ImageCodec",
    "ImageTargetResizePreprocessor": "ImageResizePreprocessor(width, height)",
}


_API = "moxing.flow"
_MODULES = (
    *("core", "data", "deprecated", "distribute", "keras", "keras.activations", "layers", "linalg"),
    *("losses", "math", "nn", "placement", "regularizers", "scope", "train"),
)
# Modules of helpers, which the modules of the API import.
_INNER = ("absent", "blobs", "parallel", "rules", "shards", "tracing", "data.files")
_HELPERS = (
    *("check_groups", "elementwise", "require_blob", "require_train", "shares"),
    *("active", "first", "here", "machines", "owner", "spread", "total"),
)


def public(present: Mapping[str, Any]) -> list[str]:
    """Of a module's names those that programs may use."""
    return sorted(n for n, value in present.items() if _is_public(present["__name__"], n, value))


def _is_public(parent: str, name: str, value: Any) -> bool:
    if name.startswith("_") or name in _HELPERS:
        return False
    if isinstance(value, ModuleType):
        own = f"{parent}.{name}"
        return value.__name__ == own and own in {f"{_API}.{module}" for module in _MODULES}
    if isinstance(value, tf.DType) or name in ("config", "env"):
        return True
    home = str(getattr(value, "__module__", ""))
    inner = home in {f"{_API}.{module}" for module in _INNER}
    return callable(value) and home.startswith(f"{_API}.") and not inner


def of(
    module: str, present: Mapping[str, Any], absent: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A module's `__getattr__` and `__dir__`.

    Args:
        module: what programs call it, such as "flow.data".
        present: the module's names.
        absent: names that are not offered, and what is instead.
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
