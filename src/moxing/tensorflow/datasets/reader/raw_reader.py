"""How a reader of image files gets their contents: the classes that `reader_class` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moxing.errors import MoxTypeError, near_matches
from moxing.tensorflow.datasets import arguments
from moxing.tensorflow.datasets.dataset_utils import split_image_classification_dataset

__all__ = ["AsyncRawGenerator", "ParallelReader", "split_image_classification_dataset"]


@dataclass(frozen=True)
class ParallelReader:
    """Reads a file where it is decoded, in as many threads as suit the machine. The default."""


@dataclass(frozen=True)
class AsyncRawGenerator:
    """Reads many files at a time, ahead of decoding, for storage that lets one wait for each file.

    Files in an object store are always read so.

    Args:
        num_readers: files under way at once; None: the reader's own num_readers.
    """

    num_readers: int | None = None


def files_at_once(
    reader: str, reader_class: Any, options: dict[str, Any] | None, num_readers: int
) -> int | None:
    """How many files to read ahead at a time, as reader_class and reader_kwargs say; None: none.

    Raises:
        MoxTypeError: another class, or an option that it does not have.
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
