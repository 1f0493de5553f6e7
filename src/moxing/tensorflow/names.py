"""The public names that are imported at first use."""

from __future__ import annotations

import importlib
from typing import Any, Final

from moxing.errors import MoxAttributeError, near_matches

# Most programs do not need these names, and importing them would delay every start.
LAZY: Final = {
    "AsyncRawGenerator": "moxing.tensorflow.datasets",
    "BaseTFRecordDataset": "moxing.tensorflow.datasets",
    "BaseTFRecordMetadata": "moxing.tensorflow.datasets",
    "ImageClassificationRawDataset": "moxing.tensorflow.datasets",
    "ImageClassificationRawMetadata": "moxing.tensorflow.datasets",
    "ImageClassificationTFRecordDataset": "moxing.tensorflow.datasets",
    "ImageClassificationTFRecordMetadata": "moxing.tensorflow.datasets",
    "MultilabelClassificationRawDataset": "moxing.tensorflow.datasets",
    "MultilabelClassificationRawMetadata": "moxing.tensorflow.datasets",
    "get_dataset": "moxing.tensorflow.datasets",
    "get_dataset_meta": "moxing.tensorflow.datasets",
    "get_tfrecord": "moxing.tensorflow.datasets",
    "split_image_classification_dataset": "moxing.tensorflow.datasets",
    "NetworkKeys": "moxing.tensorflow.nets",
    "get_model_fn": "moxing.tensorflow.nets",
    "get_model_meta": "moxing.tensorflow.nets",
    "get_data_augmentation_fn": "moxing.tensorflow.preprocessing",
    "OptimizerKeys": "moxing.tensorflow.optimizer",
    "OptimizerWrapperKeys": "moxing.tensorflow.optimizer",
    "get_optimizer_wrapper_fn": "moxing.tensorflow.optimizer",
    "auto": "moxing.tensorflow.auto",
    "InputSpec": "moxing.tensorflow.executor.input_spec",
    "cache": "moxing.tensorflow.executor.cache",
    "file": "moxing",
}
# The names in LAZY that are modules.
_MODULES: Final = ("auto",)


def load(name: str, public: list[str]) -> Any:
    """Imports and returns a public name of `mox` at its first use.

    Args:
        name: the name that the program asked for.
        public: all public names.

    Raises:
        MoxAttributeError: the name is not part of the API.
    """
    if name in LAZY:
        module = importlib.import_module(LAZY[name])
        return module if name in _MODULES else getattr(module, name)
    raise MoxAttributeError(f"mox has no {name!r}.{near_matches(name, public)}")
