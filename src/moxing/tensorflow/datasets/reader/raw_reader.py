"""The classes for `reader_class`, which select how a reader reads image files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moxing.errors import MoxTypeError, near_matches
from moxing.tensorflow.datasets import arguments
from moxing.tensorflow.datasets.dataset_utils import split_image_classification_dataset

__all__ = ["AsyncRawGenerator", "ParallelReader", "split_image_classification_dataset"]


@dataclass(frozen=True)
class ParallelReader:
    """The default: reads each file in the thread that decodes it."""


@dataclass(frozen=True)
class AsyncRawGenerator:
    """Reads many files at once, ahead of decoding, for storage with a high latency per file.

    Files in an object store are always read this way.

    Args:
        num_readers: the number of files read at once; None: the num_readers of the dataset.
    """

    num_readers: int | None = None


def files_at_once(
    reader: str, reader_class: Any, options: dict[str, Any] | None, num_readers: int
) -> int | None:
    """Returns the number of files to read at once, ahead of decoding; None: no reading ahead.

    Raises:
        MoxTypeError: reader_class is another class, or does not have one of the options.
    """
    if reader_class in (None, ParallelReader):
        legal, chosen = (), ParallelReader
    elif reader_class is AsyncRawGenerator:
        legal, chosen = ("num_readers",), AsyncRawGenerator
    else:
        raise MoxTypeError(
            f"{reader}: reader_class={reader_class!r}; it must be mox.AsyncRawGenerator, or None."
        )
    for name in options or ():
        if name not in legal:
            raise MoxTypeError(
                f"{reader}: {chosen.__name__} has no option {name!r}.{near_matches(name, legal)}"
                f" Its options in reader_kwargs: {', '.join(legal) or 'none'}."
            )
    if chosen is ParallelReader:
        return None
    wanted = AsyncRawGenerator(**(options or {})).num_readers
    return num_readers if wanted is None else arguments.count(reader, "num_readers", wanted, 1)
