"""Diagnoses, for a message, image files that could not be decoded."""

from __future__ import annotations

import re
import struct

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import storage
from moxing.tensorflow.datasets.decoding import animation, bitmap, decode, formats

_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
_DECODED = ("JPEG", "PNG", "GIF", "BMP", "WebP")
_PLACE = re.compile(r"\ADetected at node .*?\nNode: '[^']*'\n", re.DOTALL)
_TAIL = 64  # Look for the end this near: some programs append a few bytes.


def of_file(path: str) -> str:
    """Returns the problem of an image file, as the end of a sentence; "" if there is none."""
    try:
        content = storage.read(path)
    except OSError as error:
        return f"can't be read: {storage.reason(error)}."
    return of_content(content)


def of_content(content: bytes) -> str:
    """Returns the problem of an image file's content, as the end of a sentence; "" if none."""
    if not content:
        return "is empty (0 bytes)."
    kind = formats.of(content[: formats.HEAD])
    if kind is None:
        return f"is not an image: it begins with {content[:16]!r}."
    if kind not in _DECODED:
        return f"is a {kind} image; convert it to JPEG or PNG."
    if kind in _ENDS and _ENDS[kind] not in content[-_TAIL:]:
        return f"is a {kind} image that is cut off: {len(content):,} bytes, without its end."
    if kind == "GIF" and (pixels := int(animation.pixels(content))) > decode.LARGEST:
        return (
            f"is a GIF of {pixels:,} pixels in all frames, more than the {decode.LARGEST:,} that"
            " are decoded; make it smaller."
        )
    rows, columns = _size(kind, content)
    if rows * columns > decode.LARGEST:
        return (
            f"is a {kind} image of {columns:,} x {rows:,} pixels, more than the"
            f" {decode.LARGEST:,} that are decoded whole; make it smaller."
        )
    reason = _refusal(content)
    return f"is a {kind} image that can't be decoded: {reason}." if reason else ""


def _size(kind: str, content: bytes) -> tuple[int, int]:
    """Returns (rows, columns) from the header of a JPEG or PNG; zeros if they are unknown."""
    if kind == "PNG":
        columns, rows = struct.unpack_from(">II", content, 16) if len(content) >= 24 else (0, 0)
        return rows, columns
    if kind != "JPEG":
        return 0, 0
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            rows, columns, _ = session.run(tf.io.extract_jpeg_shape(content))
        except tf.errors.OpError:
            return 0, 0
    return int(rows), int(columns)


def _refusal(content: bytes) -> str:
    """Returns the decoder's error in one line; "" if it decodes the content."""
    if content.startswith(b"BM"):
        try:
            bitmap.decode(content)
        except ValueError as error:
            return str(error)
        return ""
    with tf.Graph().as_default(), tf.Session() as session:
        image = decode.decode(tf.constant(content))
        try:
            session.run(image.op)
        except tf.errors.OpError as error:
            return first_line(error)
    return ""


def first_line(error: tf.errors.OpError) -> str:
    """Returns the first line of a TensorFlow error's message, without its location."""
    text = error.message.removeprefix("Graph execution error:").strip()
    # If TensorFlow knows the Python line of the operation, the message starts with it.
    text = _PLACE.sub("", text)
    lines = text.splitlines()
    return lines[0].split(" [[{{")[0].strip().rstrip(".") if lines else type(error).__name__
