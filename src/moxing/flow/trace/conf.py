"""The settings of one job."""

from __future__ import annotations

import copy
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxAttributeError, near_matches

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
        is_global: whether `flow.global_function` declares the job, as in programs from May 2020 on.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.train: dict[str, Any] = {}
        self.kind: str | None = None
        self.later = False
        self.is_global = False

    def copy(self) -> JobConf:
        """Returns a copy."""
        other = JobConf()
        other.values, other.train = copy.deepcopy(self.values), copy.deepcopy(self.train)
        other.kind, other.later, other.is_global = self.kind, self.later, self.is_global
        return other

    @property
    def is_train(self) -> bool:
        """Whether the job updates its variables."""
        return bool(self.train) if self.kind is None else self.kind == "train"

    @property
    def batches(self) -> int:
        """How many batches of the job's readers a step takes: `num_gradient_accumulation_steps`."""
        return self.train.get("num_gradient_accumulation_steps", 1) if self.is_train else 1

    @property
    def default_data_type(self) -> tf.DType:
        """The default data type of variables."""
        return self.values.get("default_data_type", tf.float32)


class FunctionDesc:
    """The settings of a job to read: `config.function_desc`, `flow.current_global_function_desc()`.

    An attribute is the value that was set under its name, such as `enable_inplace`.

    Attributes:
        job_name: the name of the job; None for a `FunctionConfig`.
    """

    def __init__(self, conf: JobConf, job_name: str | None = None) -> None:
        self._conf, self.job_name = conf, job_name

    def IsTrainable(self) -> bool:  # noqa: N802 (a name of the original)
        """Whether the job is a train job."""
        return self._conf.is_train

    def HasAttr(self, attr_name: str) -> bool:  # noqa: N802 (a name of the original)
        """Whether a value was set under this name."""
        return attr_name in self._values()

    def _values(self) -> dict[str, Any]:
        return {"default_data_type": self._conf.default_data_type, **self._conf.values}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        values = self._values()
        if name not in values:
            raise MoxAttributeError(
                f"function_desc.{name}: nothing is set under this name, which HasAttr({name!r})"
                f" tells.{near_matches(name, values)}",
                name=name,
            )
        return values[name]

    def __repr__(self) -> str:
        kind = "train" if self.IsTrainable() else "predict"
        return f"<FunctionDesc {self.job_name or ''} {kind} {self._values()}>"
