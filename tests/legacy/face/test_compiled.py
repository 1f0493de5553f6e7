"""Compiled modules of the program see the faces; a copy of a module of NumPy's stands for them."""

from __future__ import annotations

import importlib
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.random._mt19937 as compiled
import numpy.random.bit_generator as importing
import pytest

from moxing.legacy.face import importer
from moxing.legacy.face.faces import Faces, Spec


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program's folder on the path, in which NumPy has the name `old`."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    importer.install(
        Faces({"numpy": Spec(roots=("numpy",), names={"old": lambda: "shown"}, library=True)})
    )
    yield tmp_path
    importer.uninstall()
    for name in set(sys.modules) - before:
        del sys.modules[name]


def load(folder: Path, original: types.ModuleType = compiled) -> types.ModuleType:
    shutil.copy(str(original.__file__), folder)
    return importlib.import_module(original.__name__.rpartition(".")[2])


def test_a_compiled_module_of_the_program_sees_the_faces(folder: Path) -> None:
    module = load(folder)
    assert Path(str(module.__file__)).parent == folder
    assert module.np.old == "shown"
    assert module.np.zeros is np.zeros


def test_the_real_modules_are_back_after_it(folder: Path) -> None:
    load(folder)
    assert sys.modules["numpy"] is np
    assert not hasattr(np, "old")


def test_a_compiled_module_of_a_library_sees_the_real_modules(folder: Path) -> None:
    library = folder / "site-packages"
    library.mkdir()
    sys.path.insert(0, str(library))
    try:
        module = load(library)
    finally:
        sys.path.remove(str(library))
    assert module.np is np


def test_libraries_that_a_compiled_module_loads_see_the_real_modules(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`secrets`, which `bit_generator` imports, stands for a library that is loaded then."""
    library = folder / "site-packages"
    library.mkdir()
    (library / "secrets.py").write_text("import numpy\nrandbits = None\n")
    monkeypatch.syspath_prepend(library)
    monkeypatch.delitem(sys.modules, "secrets", raising=False)
    module = load(folder, importing)
    loaded = sys.modules["secrets"]
    assert loaded.__file__ == str(library / "secrets.py")
    assert loaded.__dict__["numpy"] is np
    assert module.np.old == "shown"


def test_a_compiled_module_that_fails_leaves_the_real_modules(folder: Path) -> None:
    name = Path(str(compiled.__file__)).name.replace("_mt19937", "broken")
    shutil.copy(str(compiled.__file__), folder / name)
    with pytest.raises(ImportError, match="PyInit_broken"):
        importlib.import_module("broken")
    assert sys.modules["numpy"] is np


def test_without_the_faces_python_loads_as_before(folder: Path) -> None:
    importer.uninstall()
    assert load(folder).np is np
