"""Lists a tree of class folders, or one folder, of images."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from moxing.errors import MoxValueError
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import formats

# What people call files of images. Whether they are any is seen when they are decoded.
_EXTENSIONS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_EXTENSIONS += (".heic", ".heif", ".avif", ".jp2", ".jxl")
_SHOWN = 3


@dataclass(frozen=True)
class ClassFolder:
    """One class: the name of its folder and of its images, sorted."""

    name: str
    images: tuple[str, ...]


def class_folders(base: str) -> list[ClassFolder]:
    """The class folders of a tree, sorted by name.

    Hidden files and folders, files beside the class folders, folders inside of them and files whose
    extension is none of images are left out; the last two with a warning.

    Raises:
        MoxValueError: the tree is not there, can't be read, or has no image in class folders.
    """
    entries = _scan(base)
    folders = sorted(entry.name for entry in entries if entry.is_dir())
    if not folders:
        raise MoxValueError(f"{base} has no class folders. {_layout(entries)}")
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


def images(folder: str) -> tuple[str, ...]:
    """The names of the images in a folder, sorted."""
    entries = _scan(folder)
    inner = [entry.name for entry in entries if entry.is_dir()]
    files = [entry.name for entry in entries if not entry.is_dir()]
    taken = [name for name in files if _is_image(folder, name)]
    left_out = sorted([name + os.sep for name in inner] + list(set(files) - set(taken)))
    if left_out:
        TENSORFLOW.warning(
            "%s: left out %d that are no image files: %s", folder, len(left_out), _some(left_out)
        )
    return tuple(sorted(taken))


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except FileNotFoundError as error:
        raise MoxValueError(f"the folder {folder} does not exist.{_hint(folder)}") from error
    except NotADirectoryError as error:
        raise MoxValueError(f"{folder} is a file; it must be a folder.") from error
    except OSError as error:
        raise MoxValueError(f"the folder {folder} can't be read: {error.strerror}.") from error


def _hint(folder: str) -> str:
    parent = PurePath(folder).parent
    while not os.path.isdir(parent) and parent != parent.parent:
        parent = parent.parent
    return f" {parent} is there." if str(parent) not in ("", ".", os.sep) else ""


def _layout(entries: Sequence[os.DirEntry[str]]) -> str:
    names = sorted(entry.name for entry in entries)
    if any("tfrecord" in name.lower() for name in names):
        return "It has TFRecord files: use mox.ImageClassificationTFRecordMetadata for them."
    holds = f"It holds {len(names)} files ({_some(names)})" if names else "It is empty"
    return f"{holds}; expected one folder a class, with the images of the class in it."


def _is_image(folder: str, name: str) -> bool:
    extension = os.path.splitext(name)[1].lower()
    if extension:
        return extension in _EXTENSIONS
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return formats.of(file.read(formats.HEAD)) is not None
    except OSError:
        return False


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}, ..."
