"""The settings of one job."""

from __future__ import annotations

import copy
from typing import Any

import tensorflow.compat.v1 as tf

KINDS = ("train", "predict")
DATA_TYPES = (
    *(tf.float32, tf.float64, tf.float16),
    *(tf.int8, tf.uint8, tf.int32, tf.int64),
)


class JobConf:
    """The settings of one job, as plain values.

    Attributes:
        values: by name.
        train: the training settings.
        kind: "train" or "predict", if the program names it.
        later: whether the job has a `FunctionConfig`, as programs of 2020 do: from then on the
            original clipped by one norm and warmed up from the first step's own number.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.train: dict[str, Any] = {}
        self.kind: str | None = None
        self.later = False

    def copy(self) -> JobConf:
        """Returns a copy."""
        other = JobConf()
        other.values, other.train = copy.deepcopy(self.values), copy.deepcopy(self.train)
        other.kind, other.later = self.kind, self.later
        return other

    @property
    def is_train(self) -> bool:
        """Whether the job updates its variables."""
        return bool(self.train) if self.kind is None else self.kind == "train"

    @property
    def default_data_type(self) -> tf.DType:
        """The default data type of variables."""
        return self.values.get("default_data_type", tf.float32)
