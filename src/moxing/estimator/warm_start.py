"""Initializes variables of a model from the checkpoint of another model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, shown
from moxing.framework import file
from moxing.framework.file import urls

VocabInfo = tf.train.VocabInfo


@dataclass(frozen=True)
class WarmStartSettings:
    """The values that a model starts from when its model_dir has no checkpoint.

    Attributes:
        ckpt_to_initialize_from: a checkpoint, or a directory of checkpoints.
        vars_to_warm_start: a regular expression that matches names of trainable variables, a list
            of such expressions, a list of variables, or None: only the variables of
            var_name_to_vocab_info.
        var_name_to_vocab_info: by variable name, the `tf.estimator.VocabInfo` of its rows.
        var_name_to_prev_var_name: by variable name, its name in the checkpoint, if that differs.

    Raises:
        MoxValueError: ckpt_to_initialize_from is empty.
    """

    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Mapping[str, Any] | None = field(default=None)
    var_name_to_prev_var_name: Mapping[str, str] | None = field(default=None)

    def __post_init__(self) -> None:
        if not self.ckpt_to_initialize_from:
            raise MoxValueError("WarmStartSettings has no ckpt_to_initialize_from; give it one.")
        path = urls.text(self.ckpt_to_initialize_from)
        object.__setattr__(self, "ckpt_to_initialize_from", path)

    def apply(self) -> None:
        """Makes the matching variables of the current graph start from the checkpoint.

        Raises:
            MoxNotSupportedError: the checkpoint is in an object store.
        """
        path = self.ckpt_to_initialize_from
        if file.is_remote(path):
            raise MoxNotSupportedError(
                f"WarmStartSettings has the checkpoint {path!r}; TensorFlow reads it as variables"
                " are made, which works from this machine only. Copy it with"
                " mox.file.copy_parallel first, and name the copy."
            )
        tf.train.warm_start(
            self.ckpt_to_initialize_from,
            self.vars_to_warm_start,
            dict(self.var_name_to_vocab_info or {}),
            dict(self.var_name_to_prev_var_name or {}),
        )


def checked(given: Any) -> str | WarmStartSettings | None:
    """Returns the `warm_start_from` of an Estimator, with a path as a string.

    Raises:
        MoxTypeError: the value is not None, a path or WarmStartSettings.
    """
    if given is None or isinstance(given, WarmStartSettings):
        return given
    if isinstance(given, str | os.PathLike):
        return urls.text(given)
    raise MoxTypeError(
        f"Estimator has warm_start_from={shown(given)}; it must be the path of a checkpoint or a"
        " tf.estimator.WarmStartSettings."
    )
