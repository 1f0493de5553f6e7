"""Names of later versions of the API, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

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
    "ImageCropPreprocessor": "ImageResizePreprocessor(width, height)",
    "ImageCenterCropPreprocessor": "ImageResizePreprocessor(width, height)",
    "ImageCropWithRandomSizePreprocessor": "ImageResizePreprocessor(width, height)",
    "ImageTargetResizePreprocessor": "ImageResizePreprocessor(width, height)",
}


def of(module: str, absent: Mapping[str, str], present: Mapping[str, Any]) -> Callable[[str], Any]:
    """A module's `__getattr__`.

    Args:
        module: what programs call it, such as "flow.data".
        absent: names that are not offered, and what is instead.
        present: the module's names.
    """

    def missing(name: str) -> NoReturn:
        if name in absent:
            raise MoxAttributeError(
                f"{module}.{name} is not offered; use {absent[name]}.", name=name
            )
        known = [key for key in present if not key.startswith("_")]
        raise MoxAttributeError(f"{module} has no {name!r}.{near_matches(name, known)}", name=name)

    return missing
