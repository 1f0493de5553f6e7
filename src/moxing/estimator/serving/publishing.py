"""Publishes an exported model for servers: complete, and under a new name."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping

from moxing.engine.checkpoint.directory import ensure_directory, refuse_file
from moxing.engine.export.write import STALE_SECONDS, UNFINISHED
from moxing.errors import MoxRuntimeError, MoxValueError
from moxing.framework import file, owners
from moxing.framework.file.publish import put

_WHAT = "export_dir_base"


def check(base: str, assets: Mapping[str, str]) -> None:
    """Raises an error if nothing could be exported; creates no files.

    Args:
        base: the directory of all exports.
        assets: files to copy, by their path within `assets.extra`.

    Raises:
        MoxValueError: a file has the directory's path, or an asset does not exist.
    """
    if not base:
        raise MoxValueError(f"{_WHAT} is an empty string. Name a directory.")
    if not file.is_remote(base):
        refuse_file(base, _WHAT)
    for name, path in assets.items():
        if os.path.isabs(name) or os.pardir in name.split("/"):
            raise MoxValueError(
                f"assets_extra has the name {name!r}, which leads out of assets.extra. Give the"
                " path that the file shall have within it."
            )
        if not file.is_file(path):
            raise MoxValueError(
                f"assets_extra[{name!r}] is {os.fspath(path)!r}, which is no file. Name a file, or"
                " leave it out."
            )


def add_assets(made: str, assets: Mapping[str, str]) -> None:
    """Copies files into `assets.extra` of an export."""
    for name, path in assets.items():
        place = os.path.join(made, "assets.extra", name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        file.copy(path, place)


def publish(made: str, base: str) -> str:
    """Copies the model to a new directory in `base`, named by the time, and returns its path.

    Raises:
        MoxValueError, MoxRuntimeError: the operating system reports an error.
    """
    if file.is_remote(base):
        target = f"{base.rstrip('/')}/{_free(base, int(time.time()))}"
        models = (name for name in os.listdir(made) if name.startswith("saved_model."))
        put(made, target, last=next(models, None))  # Servers look for this file.
        return target
    ensure_directory(base, _WHAT)
    aside = ""
    try:
        owners.sweep(base, UNFINISHED, stale_seconds=STALE_SECONDS)
        aside = owners.make_folder(base, UNFINISHED)
        shutil.copytree(made, aside, dirs_exist_ok=True)
        return _renamed(aside, base)
    except (OSError, shutil.Error) as error:
        if aside:
            shutil.rmtree(aside, ignore_errors=True)
        raise MoxRuntimeError(
            f"Can't export into {_WHAT} {base!r}: {error}. The checkpoint is as it was: export it"
            " again once there is room."
        ) from error


def _renamed(aside: str, base: str) -> str:
    number = int(time.time())
    while True:
        number = _free(base, number)
        target = os.path.join(base, str(number))
        try:
            os.rename(aside, target)
        except OSError:
            if not os.path.lexists(target):
                raise
            number += 1  # Another process has just taken the name.
        else:
            return target


def _free(base: str, number: int) -> int:
    """Returns the first number from `number` on that no export has as its name."""
    while file.exists(os.path.join(base, str(number))):
        number += 1
    return number
