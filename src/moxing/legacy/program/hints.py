"""Hints for errors that are common in these programs."""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback

import moxing
from moxing.legacy import libraries
from moxing.legacy.program import damaged
from moxing.legacy.python2 import advice

_STORES = ("s3://", "obs://")
# From messages about arguments in a file's configuration that Keras 3 no longer has.
_MARKS_OF_OLD_MODELS = (
    *("Argument(s) not recognized", "Unrecognized keyword arguments", "batch_input_shape"),
    *("Could not deserialize", "Could not locate", "Error when deserializing"),
)
# Keras 2.0 wrote the layers of a Sequential as a list, which Keras 3 takes for a dict.
_MARK_OF_LISTS = "pop expected at most 1 argument"
_INSTALLERS = ("setup.py", "pyproject.toml")


def hints(error: BaseException, folder: str, users: bool) -> list[str]:
    """Returns sentences that help with an error.

    Args:
        error: the error that ended the program.
        folder: the folder of the script, which is searched for modules.
        users: whether the user's own code, not a library, raised the error.
    """
    found = [_about_store(error), _about_old_model(error)]
    found += [damaged.about(error), _about_tensorboard(error)]
    if users:
        found += [advice.about(error), _about_module(error, folder), _about_relative(error)]
        found += [_about_range(error), _about_no_result(error)]
    return [sentence for sentence in found if sentence]


def _about_store(error: BaseException) -> str:
    name = getattr(error, "filename", None)
    if isinstance(error, OSError) and isinstance(name, str) and name.startswith(_STORES):
        return (
            f"{name} is in an object store, which Python's own functions do not read: use"
            " mox.file.* or mox.file.shift('os','mox')."
        )
    return ""


def _about_no_result(error: BaseException) -> str:
    """Returns why the call of a job of the flow dialect has no `.get()`."""
    if not isinstance(error, AttributeError) or error.name not in ("get", "async_get"):
        return ""
    if error.obj is not None or "moxing.flow" not in sys.modules:
        return ""
    return (
        "The call of a job whose function returns nothing gives None: return the blobs in the"
        f" function, or leave out .{error.name}()."
    )


def _about_range(error: BaseException) -> str:
    """Returns what to write where an integer does not fit the type of an array."""
    found = re.search(r"Python integer (-?\d+) out of bounds for (u?int\d+)", str(error))
    if not isinstance(error, OverflowError) or found is None:
        return ""
    return (
        f"NumPy 1 made a wider type of {found[2]} and {found[1]}; NumPy 2 keeps {found[2]}. Convert"
        " the array first: array.astype(int)."
    )


def _about_old_model(error: BaseException) -> str:
    """Returns how to load a model of Keras 1 or 2 that Keras 3 was asked to load."""
    told = str(error)
    if not isinstance(error, (TypeError, ValueError)) or not _loads_in_keras_3(error):
        return ""
    if not any(mark in told for mark in (*_MARKS_OF_OLD_MODELS, _MARK_OF_LISTS)):
        return ""
    hint = (
        "The file may hold a model of Keras 2, and Keras 3 was asked to load it. Load it with"
        " tf_keras.models.load_model (import tf_keras), whose models moxing.keras.fit trains too"
    )
    if _MARK_OF_LISTS in told:
        return f"{hint}."
    return f"{hint}; or, where training needs no state of its optimizer, with compile=False."


def _about_tensorboard(error: BaseException) -> str:
    """Returns what the summaries of TensorFlow 2 need: they are made by TensorBoard's package."""
    if type(error).__name__ != "TBNotInstalledError":
        return ""
    return (
        "TensorFlow 2 makes the summaries of tf.summary.scalar and its kin with the package"
        " tensorboard, which is not installed: pip install tensorboard. tf.compat.v1.summary and"
        " the summaries of openmox's own runs do without it."
    )


def _loads_in_keras_3(error: BaseException) -> bool:
    """Whether Keras 3's functions that load models raised an error."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    marks = (os.path.join("keras", "src", "saving"), os.path.join("keras", "src", "legacy"))
    return any(f"{os.sep}{mark}" in name for name in files for mark in marks)


def _about_relative(error: BaseException) -> str:
    """Returns how to run a file that uses relative imports, as part of its package."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if not main or not isinstance(error, ImportError):
        return ""
    if "no known parent package" not in str(error):
        return ""
    above, name = os.path.split(os.path.abspath(main).removesuffix(".py"))
    while not name.count(".") or os.path.isfile(os.path.join(above, "__init__.py")):
        above, part = os.path.split(above)
        name = f"{part}.{name}"
    name = name.removesuffix(".__main__")  # Python runs that module of a package by itself
    return (
        f"{os.path.basename(main)} is a part of a package: run it as a module,"
        f" `mox run -m {name}`, in the folder {above}."
    )


def _about_module(error: BaseException, folder: str) -> str:
    """Returns where a missing module was searched for, and where it may be instead."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or advice.about(error):
        return ""
    top = error.name.partition(".")[0]
    if top in libraries.SUCCESSORS:
        return libraries.SUCCESSORS[top]
    package = libraries.PACKAGES.get(error.name) or libraries.PACKAGES.get(top)
    if package:
        return f"{error.name} is in a package that is not installed: pip install {package}."
    searched = [folder, *(entry for entry in sys.path if _is_users(entry, folder))]
    unbuilt = _unbuilt(error.name, searched)
    if unbuilt:
        return unbuilt
    sentence = (
        f"There is no module {error.name} in {', '.join(dict.fromkeys(searched))}, nor an"
        " installed one. The script's folder is on sys.path."
    )
    place = _somewhere_near(top, folder)
    if place:
        sentence += (
            f" It is in {place}: set PYTHONPATH={shlex.quote(place)}, or add"
            f" sys.path.insert(0, {place!r}) to the script."
        )
        if any(os.path.isfile(os.path.join(place, file)) for file in _INSTALLERS):
            sentence += f" `pip install -e {shlex.quote(place)}` does it for every script."
    return sentence


def _unbuilt(name: str, folders: list[str]) -> str:
    """Returns how to compile a missing module whose Cython source is there, or an empty text."""
    parts = name.split(".")
    for folder in map(os.path.abspath, folders):
        source = os.path.join(folder, *parts) + ".pyx"
        if not os.path.isfile(source):
            continue
        place = os.path.dirname(source)
        while place != folder and not os.path.isfile(os.path.join(place, "setup.py")):
            place = os.path.dirname(place)
        if os.path.isfile(os.path.join(place, "setup.py")):
            how = f"cd {shlex.quote(place)} && python setup.py build_ext --inplace"
        else:
            how = f"cythonize -i {shlex.quote(source)}"
        return (
            f"The module {name} is Cython source that is not compiled yet: {source}. Compile it:"
            f" pip install cython setuptools && {how}"
        )
    return ""


def _is_users(entry: str, folder: str) -> bool:
    installed = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(moxing.__file__)))
    return entry not in ("", folder) and not entry.startswith(installed) and os.path.isdir(entry)


def _somewhere_near(name: str, folder: str) -> str | None:
    """Returns a folder above or directly below the script's folder that has the module."""
    parent = os.path.dirname(folder)
    try:
        below = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        below = []
    for place in (*below, parent, os.path.dirname(parent)):
        if os.path.isfile(os.path.join(place, f"{name}.py")) or _is_package(place, name):
            return place
    return None


def _is_package(place: str, name: str) -> bool:
    # Python 3 imports folders without __init__.py, too.
    try:
        return any(file.endswith(".py") for file in os.listdir(os.path.join(place, name)))
    except OSError:
        return False
