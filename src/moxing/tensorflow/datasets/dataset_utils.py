"""Splits a tree of class folders into trees for training and evaluation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack

import numpy as np

from moxing.errors import MoxValueError
from moxing.framework import file
from moxing.framework.file import publish, urls
from moxing.framework.file.copying.trees import copy_files
from moxing.logs import TENSORFLOW
from moxing.tensorflow.datasets import labels
from moxing.tensorflow.datasets.folders import tree

_LABELS = "labels.txt"


def split_image_classification_dataset(
    split_spec: Mapping[str, float] | str,
    src_dir: str | os.PathLike[str],
    dst_dir: str | os.PathLike[str],
    overwrite: bool = False,
) -> dict[str, int]:
    """Copies the images of class folders into a tree for each split, in a reproducible random way.

    Each class is split in the same proportions, to within one image. Each split gets a
    `labels.txt`, so that all splits number the classes alike.

    Args:
        split_spec: the fractions by split name, such as {'train': 0.9, 'eval': 0.1}, or the string
            'train:0.9,eval:0.1'. If they sum to less than 1, images are left out; a larger sum is
            an error.
        src_dir: the tree of class folders.
        dst_dir: the folder for the new trees, which are named after the splits.
        overwrite: whether to delete existing trees of these names.

    Returns:
        The number of images in each split, by name.

    Raises:
        MoxValueError: the fractions or the tree are invalid, or a split exists already.
    """
    fractions = _fractions(split_spec)
    source, target = urls.text(src_dir), urls.text(dst_dir)
    folders = tree.class_folders(source)
    names = labels.read(os.path.join(source, _LABELS)) or [folder.name for folder in folders]
    for split in fractions:
        _make_room(source, os.path.join(target, split), overwrite)
    counts = dict.fromkeys(fractions, 0)
    pairs = []
    for number, folder in enumerate(folders):
        chosen = _split(folder.images, fractions, number)
        for split, images in chosen.items():
            counts[split] += len(images)
            pairs += [
                (
                    os.path.join(source, folder.name, image),
                    os.path.join(target, split, folder.name, image),
                )
                for image in images
            ]
    with ExitStack() as stack:
        for split in fractions:
            base = os.path.join(target, split)
            if file.is_remote(target):
                written = [
                    path[len(base) + 1 :] for _, path in pairs if path.startswith(f"{base}/")
                ]
                stack.enter_context(publish.writing(base, [*written, _LABELS]))
            for folder in folders:
                file.make_dirs(os.path.join(base, folder.name))
            file.write(os.path.join(base, _LABELS), labels.as_text(names))
        copy_files(pairs)
    shares = ", ".join(f"{count} to {split}" for split, count in counts.items())
    TENSORFLOW.info("Copied images of %s: %s.", source, shares)
    return counts


def _fractions(spec: Mapping[str, float] | str) -> dict[str, float]:
    try:
        if isinstance(spec, str):
            parts = (part.split(":") for part in spec.split(","))
            found = {name.strip(): float(value) for name, value in parts}
        else:
            found = {str(name): float(value) for name, value in spec.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise MoxValueError(
            f"split_spec={spec!r}; it must be fractions by name: {{'train': 0.9, 'eval': 0.1}}."
        ) from error
    total = sum(found.values())
    if not found or min(found.values()) <= 0 or total > 1 + 1e-6:
        raise MoxValueError(
            f"split_spec={spec!r}: fractions must be above 0 and sum to at most 1, not {total:g}."
        )
    return found


def _make_room(source: str, target: str, overwrite: bool) -> None:
    inside = os.path.join(os.path.abspath(source), "").startswith(
        os.path.join(os.path.abspath(target), "")
    )
    if inside:
        raise MoxValueError(f"the split {target} would replace {source}. Choose another dst_dir.")
    if not file.exists(target):
        return
    if not overwrite:
        raise MoxValueError(
            f"{target} exists already. Pass overwrite=True to replace it, or another dst_dir."
        )
    file.remove(target, recursive=True)


def _split(
    images: tuple[str, ...], fractions: Mapping[str, float], seed: int
) -> dict[str, list[str]]:
    """Returns the images of one class by split, with sizes within one image of the exact share."""
    mixed = np.random.default_rng([0, seed]).permutation(np.array(images, dtype=object))
    ends = np.round(np.cumsum(list(fractions.values())) * len(images) + 1e-9).astype(int)
    parts = np.split(mixed, np.minimum(ends, len(images)))
    return {name: sorted(part) for name, part in zip(fractions, parts, strict=False)}
