"""`flow.data`: OFRecord files and synthetic data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxTypeError, MoxValueError, shown
from moxing.flow import absent
from moxing.flow.data import files, sharding
from moxing.flow.data.conf import BlobConf as BlobConf
from moxing.flow.data.conf import BytesListCodec as BytesListCodec
from moxing.flow.data.conf import ImageCenterCropPreprocessor as ImageCenterCropPreprocessor
from moxing.flow.data.conf import ImageCodec as ImageCodec
from moxing.flow.data.conf import ImageCropPreprocessor as ImageCropPreprocessor
from moxing.flow.data.conf import (
    ImageCropWithRandomSizePreprocessor as ImageCropWithRandomSizePreprocessor,
)
from moxing.flow.data.conf import ImagePreprocessor as ImagePreprocessor
from moxing.flow.data.conf import ImageResizePreprocessor as ImageResizePreprocessor
from moxing.flow.data.conf import ImageTargetResizePreprocessor as ImageTargetResizePreprocessor
from moxing.flow.data.conf import NormByChannelPreprocessor as NormByChannelPreprocessor
from moxing.flow.data.conf import RawCodec as RawCodec
from moxing.flow.data.reader import Reader, require_files
from moxing.flow.data.records import Images, Records, images, records_of
from moxing.flow.trace import context, initializers, parallel, scopes, spelling
from moxing.flow.trace.blobs import Blob
from moxing.framework.file import urls

__getattr__, __dir__ = absent.of("flow.data", globals(), absent.DATA)


@spelling.placed(
    "ofrecord_dir blobs batch_size data_part_num part_name_prefix part_name_suffix_length name",
    spelling.has(6, str),
)
def decode_ofrecord(
    ofrecord_dir: str,
    blobs: BlobConf | Sequence[BlobConf],
    batch_size: int | None = None,
    data_part_num: int | None = None,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    shuffle: bool = False,
    buffer_size: int = 1024,
    name: str | None = None,
) -> tuple[Blob, ...]:
    """Blobs of the next `batch_size` records; after the last record comes the first.

    Calls of one job with the same folder, prefix and batch size read the same records.

    Args:
        ofrecord_dir: folder of the parts, local or in a store. Parts in a store are read directly,
            ahead of the steps.
        blobs: the features to read from each record.
        batch_size: samples of a step, on all devices together. Each device has a reader of its
            own for its share of the parts: the first has the first parts. None: the job's
            `flow.config.piece_size`, or 1.
        data_part_num: number of parts, which are `part-0`, `part-1`, ... None: 1, or what the job
            set by `flow.get_cur_job_conf_builder()`.
        part_name_prefix: the text before the number.
        part_name_suffix_length: digits of the number, padded with zeros; -1 for no padding.
        shuffle: whether records come in a random order.
        buffer_size: the number of records from which the next one is drawn if `shuffle`.
        name: the name of the operation; an open variable scope is not put before it.

    Raises:
        MoxValueError: a part is missing, or a number makes no sense, or the devices can't share
            the batch or the parts. While running: a record is torn, lacks a feature, or has a
            feature of another shape.
    """
    trace = context.enter_op("flow.data.decode_ofrecord")
    confs = [blobs] if isinstance(blobs, BlobConf) else list(blobs)
    if not confs or not all(isinstance(conf, BlobConf) for conf in confs):
        raise MoxTypeError(f"decode_ofrecord takes BlobConfs, not {shown(blobs)}.")
    of_job = trace.conf.values
    if batch_size is None:
        batch_size = int(of_job.get("piece_size", 1))
    if data_part_num is None:
        data_part_num = int(of_job.get("data_part_num", 1))
    for what, value in (("batch_size", batch_size), ("data_part_num", data_part_num)):
        if type(value) is not int or value < 1:
            raise MoxValueError(
                f"decode_ofrecord: {what}={shown(value)}; give a whole number from 1."
            )
    if name is not None:
        context.op_name(name, "decode_ofrecord", prefixed=False)
    digits = len(str(data_part_num - 1))
    if 0 < part_name_suffix_length < digits:
        raise MoxValueError(
            f"decode_ofrecord: part_name_suffix_length={part_name_suffix_length} is too short for"
            f" data_part_num={data_part_num}."
        )
    folder = urls.text(ofrecord_dir)
    paths = files.part_paths(folder, data_part_num, part_name_prefix, part_name_suffix_length)
    if scopes.machines() == 1:
        require_files(paths)
    count = scopes.total()
    own = parallel.share(batch_size, "decode_ofrecord") * trace.conf.batches
    batch_size *= trace.conf.batches
    if count > data_part_num:
        raise MoxValueError(
            f"decode_ofrecord: {count} devices read, and data_part_num={data_part_num}: each needs"
            " a part of its own at least. Write more parts, or use fewer devices."
        )
    shared = _shared(trace.readers, folder, part_name_prefix, batch_size)
    said = {
        "data_part_num": data_part_num,
        "part_name_suffix_length": part_name_suffix_length,
        "shuffle": shuffle,
        "buffer_size": buffer_size if shuffle else None,
    }
    for what, value in said.items():
        if shared.setdefault(what, value) != value:
            raise MoxValueError(
                f"decode_ofrecord: {what}={shown(value)}, and a call before has"
                f" {what}={shown(shared[what])} for the same parts of {folder}. Calls with one"
                " folder, prefix and batch_size share a reader: make their settings alike."
            )
    if "readers" in shared:
        outputs = [reader.add(confs) for reader in shared["readers"]]
    else:
        parts, size = sharding.own(shares(paths, count)), buffer_size if shuffle else 0
        settings = (data_part_num, batch_size, count, size)
        shared["source"] = f"{folder}/{part_name_prefix}* {' '.join(map(str, settings))}"
        shared["readers"] = [Reader(share, confs, own, size) for share in parts]
        outputs = [reader.outputs for reader in shared["readers"]]
    read = sharding.blobs([tuple(tensors) for tensors in outputs], confs, own)
    return tuple(map(parallel.in_batches, read))


def ofrecord_reader(
    ofrecord_dir: str,
    batch_size: int = 1,
    data_part_num: int = 1,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    random_shuffle: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_after_epoch: bool = False,
    name: str | None = None,
) -> Records:
    """Records for the decoders `OFRecordRawDecoder` and `OFRecordImageDecoder`.

    Args:
        ofrecord_dir, batch_size, data_part_num, part_name_prefix, part_name_suffix_length: as of
            `decode_ofrecord`.
        random_shuffle: whether records come in a random order.
        shuffle_buffer_size: the number of records from which the next one is drawn if
            `random_shuffle`.
        shuffle_after_epoch: as `random_shuffle`: each epoch is shuffled like the one before.
        name: without effect.
    """
    del name
    return Records(
        {
            "ofrecord_dir": ofrecord_dir,
            "batch_size": batch_size,
            "data_part_num": data_part_num,
            "part_name_prefix": part_name_prefix,
            "part_name_suffix_length": part_name_suffix_length,
            "shuffle": bool(random_shuffle or shuffle_after_epoch),
            "buffer_size": shuffle_buffer_size,
        }
    )


def ofrecord_loader(
    ofrecord_dir: str,
    batch_size: int = 1,
    data_part_num: int = 1,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    shuffle: bool = False,
    shuffle_buffer_size: int = 1024,
    name: str | None = None,
) -> Records:
    """`ofrecord_reader` under an earlier name."""
    return ofrecord_reader(
        *(ofrecord_dir, batch_size, data_part_num, part_name_prefix, part_name_suffix_length),
        *(shuffle, shuffle_buffer_size, False, name),
    )


def OFRecordRawDecoder(  # noqa: N802
    input_blob: Records,
    blob_name: str,
    shape: Sequence[int],
    dtype: Any,
    dim1_varying_length: bool = False,
    auto_zero_padding: bool = False,
    name: str | None = None,
) -> Blob:
    """A feature of the records as numbers, of shape (batch_size, *shape).

    Args:
        input_blob: the result of `ofrecord_reader`.
        blob_name: the feature's name.
        shape: the shape of a sample.
        dtype: the data type of the blob.
        dim1_varying_length: as `auto_zero_padding`.
        auto_zero_padding: whether to pad shorter lists with zeros.
        name: the name of the operation.
    """
    records = records_of(input_blob, "flow.data.OFRecordRawDecoder")
    codec = RawCodec(auto_zero_padding or dim1_varying_length)
    conf = BlobConf(blob_name, tuple(shape), dtype, codec)
    return decode_ofrecord(blobs=conf, name=name, **records.settings)[0]


def OFRecordImageDecoder(  # noqa: N802
    input_blob: Records, blob_name: str, color_space: str = "BGR", name: str | None = None
) -> Images:
    """Images of the records, for `flow.image.Resize` or `flow.image.CropMirrorNormalize`."""
    del name
    return images(input_blob, blob_name, color_space, (), "flow.data.OFRecordImageDecoder")


def OFRecordImageDecoderRandomCrop(  # noqa: N802
    input_blob: Records,
    blob_name: str,
    color_space: str = "BGR",
    num_attempts: int = 10,
    seed: int | None = None,
    random_area: Sequence[float] = (0.08, 1.0),
    random_aspect_ratio: Sequence[float] = (0.75, 1.333333),
    name: str | None = None,
) -> Images:
    """Windows of random size and place of the records' images; `flow.image.Resize` follows."""
    del seed, name
    crop = ImageCropWithRandomSizePreprocessor(random_area, random_aspect_ratio, num_attempts)
    operation = "flow.data.OFRecordImageDecoderRandomCrop"
    return images(input_blob, blob_name, color_space, (crop,), operation)


ofrecord_raw_decoder, ofrecord_image_decoder = OFRecordRawDecoder, OFRecordImageDecoder
ofrecord_image_decoder_random_crop = OFRecordImageDecoderRandomCrop


def _shared(readers: dict[Any, Any], *settings: Any) -> dict[str, Any]:
    """The state that a job's calls with the same settings and placement share."""
    return readers.setdefault((*settings, str(scopes.current_scope())), {})


def shares(paths: Sequence[str], count: int) -> list[Sequence[str]]:
    """Neighboring parts for each reader; the first readers may have one part more."""
    size, more = divmod(len(paths), count)
    bounds = [index * size + min(index, more) for index in range(count + 1)]
    return [paths[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]


def decode_random(
    shape: Sequence[int],
    dtype: Any,
    batch_size: int = 1,
    initializer: Any = None,
    tick: Blob | None = None,
    name: str | None = None,
) -> Blob:
    """Random values of shape (batch_size, *shape), new at each step; default uniform in [0, 1)."""
    del tick
    own, batches = context.op_name(name, "decode_random"), context.required("").conf.batches
    chosen = initializers.given(initializer) or initializers.random_uniform_initializer()
    size, count = parallel.share(batch_size, "decode_random") * batches, scopes.total()

    def values(index: int) -> Blob:
        del index
        drawn = chosen.tensor((size, *shape), tf.as_dtype(dtype), None)
        return Blob(tf.identity(drawn, name=own))

    if count > 1:
        return parallel.in_batches(parallel.each(len(scopes.active()), values))
    return parallel.in_batches(parallel.alike(values(0)))
