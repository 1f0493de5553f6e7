"""Progressive training on growing images: successive stages with other image and batch sizes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError
from moxing.tensorflow.datasets import arguments, stream
from moxing.tensorflow.datasets.decoding import decode
from moxing.tensorflow.datasets.stream import Settings, Stage
from moxing.tensorflow.datasets.tfrecord_metadata import BaseTFRecordMetadata
from moxing.tensorflow.datasets.tfrecords import image_records
from moxing.tensorflow.datasets.tfrecords.examples import Examples
from moxing.tensorflow.datasets.tfrecords.image_records import IMAGE, LABEL
from moxing.tensorflow.preprocessing import Augmentation, pixels
from moxing.tensorflow.preprocessing.inception import Inception
from moxing.tensorflow.preprocessing.plan import Plan

_ITEMS = ("image", "label")


@dataclass(frozen=True)
class _Crop(Inception):
    """The random crop of inception_preprocessing, with random mirroring but unchanged colors."""

    @property
    def count(self) -> int:
        return 5

    def finish(self, crop: tf.Tensor, plan: Plan, output: tuple[int, int]) -> tf.Tensor:
        return pixels.resize(pixels.flip(crop, plan.numbers[0]), output)


class ProgressiveImagenetDataset:
    """Reads batches of labeled images from records: small images first, larger ones later.

    Create it in `input_fn`, with auto_batch=False. The image is float32 of shape
    [batch, size, size, 3] with values from 0 to 255, and the label is int64 of shape [batch]. The
    sizes change at the switches.

    Args:
        num_samples: the number of records in the files of each stage; None: count them.
        strategy_spec: for each stage, the files (a path with a shell pattern), the batch size, the
            image size in pixels, and the minimum share of an image's area in a random crop.
        ds_switch_steps: for each stage except the last, the total number of batches from the start
            of training after which the next stage begins.
        shuffle, private_num_threads, skip_bad: see `ImageClassificationRawDataset`.
        num_parallel, shuffle_buffer_size: at least 1; have no effect, because the pipeline tunes
            itself.
        labels_offset: the number that is subtracted from labels.

    Raises:
        MoxError: the stages are invalid, or files can't be read.
    """

    def __init__(
        self,
        num_samples: int | None,
        strategy_spec: Sequence[tuple[str, int, int, float]],
        ds_switch_steps: Sequence[int],
        shuffle: bool = True,
        num_parallel: int = 8,
        labels_offset: int = 0,
        private_num_threads: int = 0,
        shuffle_buffer_size: int = 6400,
        skip_bad: bool = False,
    ) -> None:
        self._name = type(self).__name__
        arguments.count(self._name, "num_parallel", num_parallel, 1)
        arguments.count(self._name, "shuffle_buffer_size", shuffle_buffer_size, 1)
        self._ends = _ends(self._name, len(strategy_spec), ds_switch_steps)
        self._stages = [_checked(self._name, spec) for spec in strategy_spec]
        self._num_samples = num_samples
        self._shuffle = arguments.flag(self._name, "shuffle", shuffle)
        self._offset = arguments.count(self._name, "labels_offset", labels_offset, 0)
        self._skip_bad = arguments.flag(self._name, "skip_bad", skip_bad)
        self._threads = arguments.count(self._name, "private_num_threads", private_num_threads, 0)
        self._tensors: dict[str, tf.Tensor] = {}

    def get(self, items: Sequence[str]) -> list[tf.Tensor]:
        """Returns the tensors of the next batch, 'image' and 'label', in the order of `items`."""
        wanted = arguments.items(self._name, items, _ITEMS)
        if not self._tensors:
            begins = [0, *self._ends]
            counts = [end - begin for begin, end in zip(begins, self._ends, strict=False)]
            made = stream.open_stream(
                *(
                    self._stage(spec, count)
                    for spec, count in zip(self._stages, [*counts, None], strict=True)
                )
            )
            self._tensors = dict(zip(_ITEMS, made, strict=True))
        return [self._tensors[name] for name in wanted]

    def _stage(self, spec: tuple[str, int, int, float], batches: int | None) -> Stage:
        pattern, batch_size, size, area = spec
        settings = Settings(
            shuffle=self._shuffle,
            batch_size=batch_size,
            skip_bad=self._skip_bad,
            private_threads=self._threads,
        )
        augmentation = Augmentation(_Crop(area_range=(area, 1.0)), True, size, size)

        def build(features: dict[str, Any], seed: tf.Tensor, call: stream.Call) -> dict[str, Any]:
            del call
            image = decode.decode_and_augment(
                features[IMAGE], augmentation, seed, whole=self._skip_bad
            )
            return {"image": image, "label": features[LABEL] - self._offset}

        metadata = BaseTFRecordMetadata(*os.path.split(pattern), self._num_samples)
        features = {
            IMAGE: tf.io.FixedLenFeature([], tf.string),
            LABEL: tf.io.FixedLenFeature([], tf.int64),
        }
        examples = Examples(
            metadata.records(self._skip_bad), features, build, image_records.inspect
        )
        return Stage(examples.samples()[0], settings, elements=batches)


def _checked(reader: str, spec: Any) -> tuple[str, int, int, float]:
    if not isinstance(spec, list | tuple) or len(spec) != 4:
        raise MoxTypeError(
            f"{reader}: strategy_spec has {spec!r}; each stage is (file pattern, batch size, image"
            " size, least area)."
        )
    pattern, batch_size, size, area = spec
    return (
        arguments.path(reader, "file pattern", pattern),
        arguments.count(reader, "batch size", batch_size, 1),
        arguments.count(reader, "image size", size, 1),
        float(area),
    )


def _ends(reader: str, stages: int, switches: Sequence[int]) -> list[int]:
    ends = [int(step) for step in switches]
    if len(ends) != stages - 1 or ends != sorted(set(ends)) or any(end < 1 for end in ends):
        raise MoxValueError(
            f"{reader}: ds_switch_steps={list(switches)!r}; {stages} stages need {stages - 1}"
            " numbers of batches, each larger than the one before."
        )
    return ends
