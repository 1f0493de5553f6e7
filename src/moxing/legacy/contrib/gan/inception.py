"""Frozen classifiers of `tf.contrib.gan.eval`, and the images that they take."""

from __future__ import annotations

import os
import tarfile
import urllib.request
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxRuntimeError, MoxValueError

INCEPTION_URL = "http://download.tensorflow.org/models/frozen_inception_v1_2015_12_05.tar.gz"
INCEPTION_FROZEN_GRAPH = "inceptionv1_for_inception_score.pb"
INCEPTION_INPUT = "Mul:0"
INCEPTION_OUTPUT = "logits:0"
INCEPTION_FINAL_POOL = "pool_3:0"
INCEPTION_DEFAULT_IMAGE_SIZE = 299

_PATIENCE = 60.0  # seconds that a server may stay silent


def get_graph_def_from_disk(filename: str) -> Any:
    """Returns the GraphDef in a file."""
    with tf.gfile.GFile(filename, "rb") as file:
        return tf.GraphDef.FromString(file.read())


get_graph_def_from_resource = get_graph_def_from_disk


def get_graph_def_from_url_tarball(url: str, filename: str, tar_filename: str | None = None) -> Any:
    """Returns the GraphDef in the file `filename` of a tarball.

    Args:
        url: where the tarball is.
        filename: the name of the file in the tarball.
        tar_filename: the tarball on this machine, which is downloaded if it isn't there;
            default: the tarball is downloaded to a temporary file.

    Raises:
        MoxRuntimeError: the tarball is neither here nor to be downloaded.
        MoxValueError: the tarball has no such file.
    """
    if not (tar_filename and os.path.exists(tar_filename)):
        tar_filename = _download(url, tar_filename)
    with tarfile.open(tar_filename, "r:*") as tar:
        names = tar.getnames()
        found = next((name for name in names if name in (filename, f"./{filename}")), None)
        file = tar.extractfile(found) if found else None
        if file is None:
            raise MoxValueError(
                f"There is no file '{filename}' in {tar_filename}, but {', '.join(names[:5])}."
            )
        return tf.GraphDef.FromString(file.read())


def _download(url: str, tar_filename: str | None) -> str:
    place = tar_filename or os.path.join(tf.test.get_temp_dir(), os.path.basename(url))
    part = f"{place}.{os.getpid()}.part"
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as source, open(part, "wb") as file:
            while block := source.read(1 << 20):
                file.write(block)
    except OSError as error:
        raise MoxRuntimeError(
            f"{url} can't be downloaded ({error}). Put that file at {os.path.abspath(place)},"
            " or give run_inception a graph_def of your own."
        ) from error
    os.replace(part, place)
    return place


def _default_graph_def_fn() -> Any:
    return get_graph_def_from_url_tarball(
        INCEPTION_URL, INCEPTION_FROZEN_GRAPH, os.path.basename(INCEPTION_URL)
    )


def preprocess_image(
    images: Any,
    height: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    width: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    scope: str | None = None,
) -> Any:
    """Returns images of 0 to 255 in the size and the range -1 to 1 that Inception takes.

    Args:
        images: (images, height, width, channels) or (height, width, channels).
        height: the height to make, in pixels.
        width: the width to make, in pixels.
        scope: the name of the scope of the operations.
    """
    single = images.shape.ndims == 3
    with tf.name_scope(scope, "preprocess", [images, height, width]):
        if not images.dtype.is_floating:
            images = tf.cast(images, tf.float32)
        if single:
            images = tf.expand_dims(images, 0)
        resized = (tf.image.resize_bilinear(images, [height, width]) - 128.0) / 128.0
        return tf.squeeze(resized, 0) if single else resized


def run_inception(
    images: Any,
    graph_def: Any = None,
    default_graph_def_fn: Callable[[], Any] | None = _default_graph_def_fn,
    image_size: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    input_tensor: str = INCEPTION_INPUT,
    output_tensor: Any = INCEPTION_OUTPUT,
) -> Any:
    """Returns what Inception makes of images, as (images, features).

    Args:
        images: float32 (images, image_size, image_size, 3), from -1 to 1.
        graph_def: the frozen graph; default: what `default_graph_def_fn` returns.
        default_graph_def_fn: returns a frozen graph; default: it downloads that of 2015.
        image_size: the height and width of `images`, in pixels.
        input_tensor: the name of the images in the graph.
        output_tensor: the name of the result in the graph, or a list of names.

    Raises:
        MoxRuntimeError: the graph can't be downloaded.
        MoxValueError: there is neither `graph_def` nor `default_graph_def_fn`.
        ValueError: `images` have another shape.
    """
    images = tf.convert_to_tensor(images)
    images.shape.with_rank(4).merge_with([None, image_size, image_size, None])
    if graph_def is None:
        if default_graph_def_fn is None:
            raise MoxValueError(
                "If `graph_def` is `None`, must provide `default_graph_def_fn`: run_inception has"
                " no graph to run."
            )
        graph_def = default_graph_def_fn()
    found = run_image_classifier(images, graph_def, input_tensor, output_tensor)
    return [_flat(each) for each in found] if isinstance(found, list) else _flat(found)


def _flat(activations: Any) -> Any:
    if activations.shape.ndims == 2:
        return activations
    features = activations.shape[1:].num_elements() or -1
    return tf.reshape(activations, [tf.shape(activations)[0], features])


def run_image_classifier(
    tensor: Any,
    graph_def: Any,
    input_tensor: str,
    output_tensor: Any,
    scope: str = "RunClassifier",
) -> Any:
    """Returns the tensor, or the list of tensors, that a frozen graph makes of `tensor`.

    Args:
        tensor: what takes the place of `input_tensor`.
        graph_def: the frozen graph.
        input_tensor: the name of a tensor of the graph.
        output_tensor: the name of a tensor of the graph, or a list of names.
        scope: the name of the scope of the operations.
    """
    single = isinstance(output_tensor, str)
    names = [output_tensor] if single else list(output_tensor)
    found = tf.import_graph_def(graph_def, {input_tensor: tensor}, names, name=scope)
    return found[0] if single else found
