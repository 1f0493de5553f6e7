"""Decodes images to find those that can't be read, before they are written anywhere."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW

_THREADS, _AHEAD, _NAMED = 2, 32, 10
_KINDS = ((b"\xff\xd8", "jpg"), (b"\x89PNG", "png"), (b"GIF8", "gif"), (b"BM", "bmp"))

# The origin of a sample, its encoded image and its label.
Sample = tuple[str, bytes, int]


def extension(image: bytes) -> str | None:
    """Returns `jpg`, `png`, `gif` or `bmp` by the first bytes; None for other bytes."""
    return next((name for start, name in _KINDS if image.startswith(start)), None)


class Sieve:
    """Lets through samples whose image can be decoded.

    Attributes:
        left_out: the number of samples that could not be decoded.
    """

    def __init__(self, skip_bad: bool) -> None:
        """Args: skip_bad: leave out images that can't be decoded, instead of raising an error."""
        self._skip, self.left_out = skip_bad, 0

    def __call__(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        """Yields the samples whose images can be decoded, in order.

        Raises:
            MoxValueError: an image can't be decoded, and bad images are not left out.
        """
        with _decoder() as fault, ThreadPoolExecutor(_THREADS) as pool:
            waiting: collections.deque[tuple[Sample, Future[str]]] = collections.deque()
            for sample in samples:
                waiting.append((sample, pool.submit(fault, sample[1])))
                if len(waiting) > _AHEAD:
                    yield from self._passed(*waiting.popleft())
            while waiting:
                yield from self._passed(*waiting.popleft())

    def _passed(self, sample: Sample, fault: Future[str]) -> Iterator[Sample]:
        if not fault.result():
            yield sample
            return
        if not self._skip:
            raise MoxValueError(
                f"{sample[0]}: {fault.result()}. Mend or delete it, or pass --skip-bad to leave"
                " out images that can't be read."
            )
        self.left_out += 1
        if self.left_out <= _NAMED:
            TENSORFLOW.warning("left out %s: %s", sample[0], fault.result())


@contextmanager
def _decoder() -> Iterator[Callable[[bytes], str]]:
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [])
        pixels = tf.size(tf.io.decode_image(text, channels=3, expand_animations=False))
        size = session.make_callable(pixels, [text])

        def fault(image: bytes) -> str:
            if not image:
                return "the image is empty (0 bytes)"
            if extension(image) is None:
                return f"an image of {len(image)} bytes is no JPEG, PNG, GIF or BMP file"
            try:
                size(image)
            except tf.errors.InvalidArgumentError:
                return f"the image of {len(image)} bytes is damaged or cut short"
            return ""

        yield fault
