"""Lists the images of a tree of class folders, or of one folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from moxing.errors import MoxValueError
from moxing.framework.classes import may_be_class
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import storage
from moxing.tensorflow.datasets.decoding import formats

# The extensions of image files. Decoding shows whether such a file really is an image.
_EXTENSIONS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_EXTENSIONS += (".heic", ".heif", ".avif", ".jp2", ".jxl")
_SHOWN = 3


@dataclass(frozen=True)
class ClassFolder:
    """One class: the name of its folder and of its images, sorted."""

    name: str
    images: tuple[str, ...]


def class_folders(base: str) -> list[ClassFolder]:
    """Returns the class folders of a tree, sorted by name.

    Leaves out hidden files and folders, folders of systems (`__MACOSX`), and files beside the class
    folders. Also leaves out, with a warning, folders inside class folders and files without the
    extension of an image.

    Raises:
        MoxValueError: the tree does not exist, can't be read, or has no images in class folders.
    """
    entries = storage.entries(base)
    folders = sorted(name for name, is_folder in entries if is_folder and may_be_class(name))
    if not folders:
        raise MoxValueError(f"{base} has no class folders. {_layout(entries)}")
    for name in folders:
        _check_utf8(base, name)
    found = [ClassFolder(name, images(os.path.join(base, name))) for name in folders]
    if not any(folder.images for folder in found):
        raise MoxValueError(
            f"none of the {len(found)} folders of {base} has an image: {_some(folders)}. Expected"
            f" {os.path.join(base, folders[0], '<image>.jpg')} and so on."
        )
    empty = [folder.name for folder in found if not folder.images]
    if empty:
        TENSORFLOW.warning(
            "%d of %d class folders in %s have no image, but keep their labels: %s",
            len(empty),
            len(found),
            base,
            _some(empty),
        )
    return found


def _check_utf8(base: str, name: str) -> None:
    """Raises a MoxValueError for a name that can't be written to a labels file."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(name).decode(errors="backslashreplace")
        raise MoxValueError(
            f"the name of the class folder {shown} in {base} is not UTF-8. Rename it."
        ) from None


def images(folder: str) -> tuple[str, ...]:
    """Returns the sorted names of the images in a folder."""
    entries = storage.entries(folder)
    inner = [name for name, is_folder in entries if is_folder]
    files = [name for name, is_folder in entries if not is_folder]
    taken = [name for name in files if _is_image(folder, name)]
    left_out = sorted([name + os.sep for name in inner] + list(set(files) - set(taken)))
    if left_out:
        TENSORFLOW.warning(
            "%s: left out %d that are no image files: %s", folder, len(left_out), _some(left_out)
        )
    return tuple(sorted(taken))


def _layout(entries: Sequence[tuple[str, bool]]) -> str:
    names = sorted(name for name, _ in entries)
    if any("tfrecord" in name.lower() for name in names):
        return "It has TFRecord files: use mox.ImageClassificationTFRecordMetadata for them."
    holds = f"It holds {len(names)} files ({_some(names)})" if names else "It is empty"
    return f"{holds}; expected one folder a class, with the images of the class in it."


def _is_image(folder: str, name: str) -> bool:
    extension = os.path.splitext(name)[1].lower()
    if extension:
        return extension in _EXTENSIONS
    try:
        return formats.of(storage.head(os.path.join(folder, name), formats.HEAD)) is not None
    except OSError:
        return False


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}, ..."
