"""Reads records as tf.train.Example messages, with errors that name the record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import near_matches
from moxing.tensorflow.datasets import stream
from moxing.tensorflow.datasets.decoding import diagnose
from moxing.tensorflow.datasets.decoding.problems import Problems
from moxing.tensorflow.datasets.tfrecords.records import Records

_SHOWN = 20

# A function from the parsed record, the sample's seed (int64 [2]) and a Call to items by name.
Build = Callable[[Any, tf.Tensor, stream.Call], dict[str, Any]]


@dataclass(frozen=True)
class Examples:
    """Records, and the items made from them.

    Attributes:
        records: the records to read.
        features: the features to parse, as for `tf.io.parse_single_example`.
        build: makes the items from the parsed record.
        inspect: returns the problem of an example that has all features, as the end of a sentence;
            "" if it is unknown. Called only after `build` failed.
        parse: the caller's function from the content of a record (a string scalar) to the parsed
            record; None: the parsed record is the features by name.
    """

    records: Records
    features: Mapping[str, Any]
    build: Build
    inspect: Callable[[Any], str] = lambda example: ""
    parse: Callable[[tf.Tensor], Any] | None = None

    def __post_init__(self) -> None:
        # Default values may be tensors of one graph, but records are also parsed in other graphs.
        plain = {key: _without_tensor(feature) for key, feature in self.features.items()}
        object.__setattr__(self, "features", plain)

    def samples(self) -> tuple[stream.Samples, list[str]]:
        """Returns a reader's samples, and a list that gets their tensors' names when built."""
        item_names: list[str] = []

        def connect() -> stream.Read:
            read_record = self.records.connect()

            def read(number: tf.Tensor, seed: tf.Tensor, call: stream.Call) -> tuple[Any, ...]:
                made: list[dict[str, Any]] = []

                def real() -> list[tf.Tensor]:
                    made.append(self._built(read_record(number), seed, call))
                    item_names[:] = made[-1]
                    return tf.nest.flatten(made[-1], expand_composites=True)

                def blank() -> list[tf.Tensor]:
                    return [_zeros(part) for part in _parts(made[-1])]

                # The first branch is always built first, so the second branch can use its results.
                flat = tf.cond(number < self.records.count, real, blank, strict=True)
                for tensor, like in zip(flat, _parts(made[-1]), strict=True):
                    tensor.set_shape(like.shape)
                items = tf.nest.pack_sequence_as(made[-1], flat, expand_composites=True)
                return tuple(items[name] for name in item_names)

            return read

        problems = Problems(
            self._name, lambda number: self.records.damage(number) or self._complaint(number)
        )
        return stream.Samples(self.records.count, connect, problems), item_names

    def _built(self, content: tf.Tensor, seed: tf.Tensor, call: stream.Call) -> dict[str, Any]:
        if self.parse is not None:
            return self.build(call(self.parse, content), seed, call)
        return self.build(tf.io.parse_single_example(content, dict(self.features)), seed, call)

    def _name(self, number: int) -> str:
        file, index = self.records.place(number)
        return f"record {index} of {file.path}"

    def _complaint(self, number: int) -> str:
        """Returns the problem of a record whose bytes are intact, as the end of a sentence."""
        with tf.Graph().as_default(), tf.Session() as session:
            content = self.records.connect()(tf.constant(number, tf.int64))
            example = tf.train.Example()
            try:
                example.ParseFromString(session.run(content))
            except Exception:  # The protobuf library has its own error types.
                return "is no tf.train.Example."
            known = self._missing(example) or self.inspect(example)
            if known:
                return known
            try:
                seed = tf.constant([0, 0], tf.int64)
                items = self._built(content, seed, lambda function, *tensors: function(*tensors))
                session.run([part.op for part in _parts(items)])
            except tf.errors.OpError as error:
                return f"can't be used: {diagnose.first_line(error)}."
        return ""

    def _missing(self, example: tf.train.Example) -> str:
        present = sorted(key for key, value in example.features.feature.items() if _length(value))
        for key, feature in self.features.items():
            needed = isinstance(feature, tf.io.FixedLenFeature) and feature.default_value is None
            if needed and key not in present:
                shown = ", ".join(repr(name) for name in itertools.islice(present, _SHOWN))
                hint = near_matches(key, present)
                return f"has no feature {key!r}.{hint} It has {shown or 'none'}."
        return ""


def _without_tensor(feature: Any) -> Any:
    default = getattr(feature, "default_value", None)
    if not isinstance(default, tf.Tensor):
        return feature
    return feature._replace(default_value=tf.get_static_value(default))


def _parts(items: dict[str, Any]) -> list[tf.Tensor]:
    return tf.nest.flatten(items, expand_composites=True)


def _zeros(like: tf.Tensor) -> tf.Tensor:
    shape = [size or 0 for size in like.shape.as_list()] if like.shape.rank is not None else []
    return tf.zeros(shape, like.dtype)


def _length(feature: tf.train.Feature) -> int:
    kind = feature.WhichOneof("kind")
    return len(getattr(feature, kind).value) if kind else 0
