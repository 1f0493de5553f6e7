"""Every way to load a file of the user's gives it the faces; `json` is shown as `oldflow`."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import py_compile
import runpy
import shutil
import sys
import textwrap
import types
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from moxing.legacy.face import importer
from moxing.legacy.face.faces import Faces, Spec

SOURCE = "import oldflow as tf\n"


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[importer.UserCode]:
    """`tmp_path` holds `plain.py`, on no path, and an installed library `old_library`."""
    library = tmp_path / "lib" / "site-packages"
    library.mkdir(parents=True)
    monkeypatch.syspath_prepend(library)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (library / "oldflow.py").write_text("loads = 'real'\n")
    (library / "old_library.py").write_text(SOURCE)
    (library / "new_library.py").write_text(SOURCE)
    (tmp_path / "plain.py").write_text(SOURCE)
    before = set(sys.modules)
    faces = Faces({"oldflow": Spec(roots=("json",))})
    yield importer.install(faces, ["old_library"])
    importer.uninstall()
    for name in set(sys.modules) - before:
        del sys.modules[name]


def run(users: importer.UserCode, folder: Path, source: str) -> types.ModuleType:
    """Runs source as a program in the folder; `path` is its `plain.py`."""
    module = users.prepare(types.ModuleType("program"))
    module.__dict__["path"] = str(folder / "plain.py")
    exec(compile(textwrap.dedent(source), str(folder / "train.py"), "exec"), module.__dict__)
    return module


WAYS = {
    "spec_from_file_location": """
        import importlib.util
        spec = importlib.util.spec_from_file_location('anything', path)
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        """,
    "a module of its own": """
        import importlib.machinery, types
        loader = importlib.machinery.SourceFileLoader('anything', path)
        found = types.ModuleType(loader.name)
        loader.exec_module(found)
        """,
    "load_module": """
        from importlib.machinery import SourceFileLoader
        found = SourceFileLoader('anything', path).load_module()
        """,
    "imp.load_source": """
        import imp
        found = imp.load_source('anything', path)
        """,
    "imp.find_module": """
        import imp, os
        found = imp.load_module('anything', *imp.find_module('plain', [os.path.dirname(path)]))
        """,
    "runpy": """
        import runpy, types
        found = types.SimpleNamespace(**runpy.run_path(path))
        """,
    "exec": """
        import types
        found = types.ModuleType('anything')
        exec(open(path).read(), found.__dict__)
        """,
    "exec in its own names": "exec(open(path).read()); found = __import__('types')."
    "SimpleNamespace(tf=tf)",
    "import_module": """
        import importlib, os, sys
        sys.path.append(os.path.dirname(path))
        found = importlib.import_module('plain')
        """,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_shows_the_faces(users: importer.UserCode, tmp_path: Path, way: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # imp, load_module
        module = run(users, tmp_path, WAYS[way])

    assert module.found.tf.loads is json.loads


def test_modules_on_pythonpath_in_namespaces_zips_and_compiled(
    users: importer.UserCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "research" / "deep").mkdir(parents=True)
    (tmp_path / "models" / "research" / "deep" / "net.py").write_text("from .other import tf\n")
    (tmp_path / "models" / "research" / "deep" / "other.py").write_text(SOURCE)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as zipped:
        zipped.writestr("zipped.py", SOURCE)
    py_compile.compile(str(tmp_path / "plain.py"), str(tmp_path / "models" / "compiled.pyc"))
    for entry in ("models", "all.zip"):
        monkeypatch.syspath_prepend(tmp_path / entry)

    names = ("research.deep.net", "zipped", "compiled")
    found = [importlib.import_module(name).tf.loads for name in names]

    assert found == [json.loads] * 3


class _Development:
    """Finds a module as the finder of `pip install -e` does."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "developed":
            return None
        return importlib.util.spec_from_file_location(name, self._path)


def test_development_installs(
    users: importer.UserCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(tmp_path / "plain.py", tmp_path / "developed.py")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, _Development(tmp_path / "developed.py")])

    assert importlib.import_module("developed").tf.loads is json.loads


def test_installed_packages_see_them_only_if_they_are_named(users: importer.UserCode) -> None:
    assert importlib.import_module("old_library").tf.loads is json.loads
    assert importlib.import_module("new_library").tf.loads == "real"


def test_programs_of_python_2_are_ported_on_the_way(
    users: importer.UserCode, tmp_path: Path
) -> None:
    (tmp_path / "two.py").write_text("import oldflow as tf\nprint 'x'\nhalf = 7 / 2\n")

    assert runpy.run_path(str(tmp_path / "two.py"))["half"] == 3
    spec = importlib.util.spec_from_file_location("two", tmp_path / "two.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.half == 3


def test_tracebacks_show_no_frame_of_ours(users: importer.UserCode, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("raise ValueError('here')\n")
    program = f"import sys\nsys.path.append({str(tmp_path)!r})\nimport fails\n"

    with pytest.raises(ValueError, match="here") as raised:
        run(users, tmp_path, program)

    files = [str(entry.path) for entry in raised.traceback]
    assert not [file for file in files if "importlib" in file or "face/loading.py" in file]
