"""Reads batches of records for a job, and names the record that is wrong, if any."""

from __future__ import annotations

import collections
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf.message import DecodeError

from moxing.errors import MoxError, MoxValueError, near_matches
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import decode, files
from moxing.flow.data.conf import BlobConf, BytesListCodec, ImageCodec
from moxing.flow.trace.images import pixels_of
from moxing.framework import file

_plain = tf.autograph.experimental.do_not_convert
_REMEMBERED = 16  # Most batches between the last one read and the one that failed.


class Reader:
    """Yields endless batches of the features that confs name.

    Attributes:
        initializer: operation that opens the dataset.
        position: number of batches that the initializer leaves out; 0 if not fed.
        outputs: a tensor for each conf.
    """

    def __init__(
        self, paths: Sequence[str], confs: Sequence[BlobConf], batch: int, shuffle: int
    ) -> None:
        """Args: paths: the parts in order. batch: samples. shuffle: buffer size, 0 for none."""
        self._paths, self._batch, self._shuffle = paths, batch, shuffle
        self._confs: list[BlobConf] = []
        self._records: Iterator[tuple[files.Place, bytes]] | None = None
        with tf.device("/cpu:0"):
            self.position = tf.placeholder_with_default(tf.constant(0, tf.int64), [])
        self._places: collections.deque[list[files.Place]] = collections.deque(
            maxlen=_REMEMBERED + shuffle // batch
        )
        self._fault: MoxError | None = None
        # Names of the features to read, and whether each is an image.
        self._names: dict[str, bool] = {}
        self.outputs: list[tf.Tensor] = []
        self.add(confs)

    def add(self, confs: Sequence[BlobConf]) -> list[tf.Tensor]:
        """Reads more features of the same records; returns a tensor for each of the confs.

        From then on, one dataset reads all features: the operations of earlier `outputs` get its
        tensors.
        """
        for conf in confs:
            image = isinstance(conf.codec, ImageCodec)
            if self._names.setdefault(conf.name, image) != image:
                raise MoxValueError(f"feature {conf.name!r} is read as an image and otherwise too.")
        self._has_images, self._confs = any(self._names.values()), [*self._confs, *confs]
        # The reader runs on the CPU, whatever placement scope the job has open.
        with tf.device("/cpu:0"):
            iterator = tf.data.make_initializable_iterator(self._dataset(self._shuffle))
            self.initializer, found = iterator.initializer, iterator.get_next()
            for output, tensor in zip(self.outputs, found, strict=False):
                output.op._update_input(0, tensor)
            pairs = [*zip(found, self._confs, strict=True)][len(self.outputs) :]
            # A blob's tensor must be the only output of an operation that TensorFlow does not
            # optimize away: see `parallel.split`.
            made = [tf.ensure_shape(t, [self._batch, *conf.shape]) for t, conf in pairs]
        self.outputs += made
        return made

    def _dataset(self, shuffle: int) -> tf.data.Dataset:
        # In a random order, the records that were read before decide which records come next.
        first = tf.zeros_like(self.position) if shuffle else self.position
        data = tf.data.Dataset.from_tensors(first).repeat().map(_plain(self._next))
        if shuffle:
            # The seed is fixed, so that two calls of a job see the same order.
            data = data.unbatch().shuffle(shuffle, seed=20191118)
            data = data.skip(self.position * self._batch).batch(self._batch)
        # More parallel readers or decoders of batches are of no use on any machine.
        data = data.map(_plain(self._decode), num_parallel_calls=2)
        if self._has_images:
            data = data.unbatch().map(_plain(self._images), num_parallel_calls=tf.data.AUTOTUNE)
            data = data.batch(self._batch)
        return data.prefetch(2)

    def _next(self, first: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """The next records, or their features if there are images among them: [batch] each."""
        count = len(self._names) if self._has_images else 1
        parts = tf.numpy_function(self._take, [first], [tf.string] * count)
        for part in parts:
            part.set_shape([self._batch])
        return tuple(parts)

    def _take(self, first: np.int64) -> tuple[np.ndarray, ...]:
        try:
            if self._records is None:
                self._records = files.endless(self._paths, int(first) * self._batch)
            taken = [next(self._records) for _ in range(self._batch)]
            self._places.append([place for place, _ in taken])
            rows = (
                [self._split(*item) for item in taken]
                if self._has_images
                else [(content,) for _, content in taken]
            )
        except MoxError as error:
            self._fault = error
            raise
        return tuple(np.array(column, dtype=object) for column in zip(*rows, strict=True))

    def _split(self, place: files.Place, content: bytes) -> tuple[bytes, ...]:
        """Returns the features of a record; for images, the encoded bytes.

        TensorFlow's operations would copy an image at each level of the message; this copies once.
        """
        record, result = OFRecord(), []
        try:
            record.ParseFromString(content)
            for name, is_image in self._names.items():
                if name not in record.feature:
                    raise KeyError(name)
                feature = record.feature[name]
                if is_image:
                    (image,) = feature.bytes_list.value
                    result.append(image)
                else:
                    result.append(feature.SerializeToString())
        except (DecodeError, KeyError, ValueError):
            for conf in self._confs:
                if wrong := fault(content, conf):
                    raise MoxValueError(f"{place}: {wrong}") from None
            raise
        return tuple(result)

    def _decode(self, *parts: tf.Tensor) -> tuple[tf.Tensor, ...]:
        if self._has_images:
            found = dict(zip(self._names, parts, strict=True))
        else:
            found = decode.features(parts[0], list(self._names))
        result = []
        for conf in self._confs:
            feature = found[conf.name]
            if isinstance(conf.codec, ImageCodec):
                result.append(feature)
                continue
            rows = isinstance(conf.codec, BytesListCodec)
            value = decode.bytes_rows(feature, conf) if rows else decode.raw(feature, conf)
            result.append(decode.preprocessed(value, conf))
        return tuple(result)

    def _images(self, *values: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return tuple(
            decode.preprocessed(decode.image(value, conf), conf)
            if isinstance(conf.codec, ImageCodec)
            else value
            for value, conf in zip(values, self._confs, strict=True)
        )

    def explain(self) -> None:
        """Raises an error if one of the records that were read is wrong.

        Raises:
            MoxValueError: a record is wrong; the message names file, record and feature.
        """
        # An error in records that were read comes first, before a torn file further on.
        for places in list(self._places):
            for place in places:
                content = files.read_at(place)
                for conf in self._confs:
                    if wrong := fault(content, conf):
                        raise MoxValueError(f"{place}: {wrong}")
        if self._fault is not None:
            raise self._fault


def require_files(paths: Sequence[str]) -> None:
    """Raises an error if a part is missing.

    Raises:
        MoxValueError: a part is missing; the message names it.
        OSError: the store can't be read.
    """
    path = files.missing(paths)
    if path is not None:
        raise MoxValueError(
            f"there is no part {path}: data_part_num={len(paths)} names {paths[0]} to"
            f" {paths[-1]}. {_about_parts(path)}"
        )


def _about_parts(path: str) -> str:
    """Words advice about a missing part, from the files that are there."""
    folder, name = os.path.split(path)
    if not file.is_directory(folder or "."):
        return f"There is no folder {folder}."
    prefix = name.rstrip("0123456789")
    digits = re.compile(rf"{re.escape(prefix)}(\d+)")
    entries = file.list_directory(folder or ".")
    found = [match[1] for entry in entries if (match := digits.fullmatch(entry))]
    if not found:
        return f"The folder has no file {prefix}...: correct ofrecord_dir or part_name_prefix."
    number = name.removeprefix(prefix)
    same = next((other for other in found if int(other) == int(number)), None)
    if same is not None and len(same) == len(str(int(same))):
        return f"The folder has {prefix}{same}: leave part_name_suffix_length out."
    if same is not None:
        return f"Its numbers have {len(same)} digits: give part_name_suffix_length={len(same)}."
    return f"The folder has {len(found)} of them: correct data_part_num, or write the others."


def fault(content: bytes, conf: BlobConf) -> str:
    """Says why a record can't give the blob of a conf; an empty text if it can."""
    record = OFRecord()
    try:
        record.ParseFromString(content)
    except Exception as error:
        return f"it is no OFRecord message ({error})."
    if conf.name not in record.feature:
        known = sorted(record.feature)
        return (
            f"it has no feature {conf.name!r}.{near_matches(conf.name, known)} It has"
            f" {', '.join(map(repr, known)) or 'none'}."
        )
    feature = record.feature[conf.name]
    kind = feature.WhichOneof("kind")
    if kind is None:
        return f"feature {conf.name!r} is empty."
    values = getattr(feature, kind).value
    if isinstance(conf.codec, ImageCodec):
        return _image_fault(kind, values, conf)
    if isinstance(conf.codec, BytesListCodec):
        longest = max((len(value) for value in values), default=0) if kind == "bytes_list" else 0
        if kind == "bytes_list" and len(values) == conf.shape[0] and longest <= conf.shape[1]:
            return ""
        return (
            f"feature {conf.name!r} has {len(values)} values of {kind}, the longest of {longest}"
            f" bytes; shape {conf.shape} was asked for."
        )
    count, wanted = len(values), int(np.prod(conf.shape, dtype=np.int64))
    if kind == "bytes_list":
        if count != 1:
            return f"feature {conf.name!r} has {count} bytes values; RawCodec reads one."
        count = len(values[0])
    if count == wanted or (conf.codec.auto_zero_padding and count < wanted):
        return ""
    fill = ", or fill up with zeros: RawCodec(auto_zero_padding=True)" if count < wanted else ""
    return (
        f"feature {conf.name!r} has {count} elements ({kind}); shape {conf.shape} has {wanted}."
        f" Correct the shape in its BlobConf{fill}."
    )


def _image_fault(kind: str, values: Any, conf: BlobConf) -> str:
    if kind != "bytes_list" or len(values) != 1:
        return (
            f"feature {conf.name!r} has {len(values)} values of {kind}; an image is one of bytes."
        )
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [])
        pixels = pixels_of(text)
        try:
            shape = session.run(tf.shape(pixels), {text: values[0]})
        except tf.errors.InvalidArgumentError:
            return (
                f"the image of feature {conf.name!r} can't be decoded: its {len(values[0])} bytes"
                " are no whole JPEG, PNG, GIF or BMP file."
            )
        try:
            session.run(decode.image(text, conf), {text: values[0]})
        except tf.errors.InvalidArgumentError as error:
            sizes = tuple(int(n) for n in shape)
            if decode.TOO_LARGE in str(error):
                return (
                    f"the image of feature {conf.name!r} has height, width and channels {sizes},"
                    " and a window that its ImageCodec cuts out is not within it. Put"
                    " flow.data.ImageResizePreprocessor(width, height) before the crop."
                )
            return (
                f"the image of feature {conf.name!r} has height, width and channels"
                f" {sizes}, and shape {conf.shape} was asked for. Put"
                " flow.data.ImageResizePreprocessor(width, height) into its ImageCodec."
            )
    return ""
