"""What stands in for `imp` does what the documentation of Python 3.11 says of it."""

from __future__ import annotations

import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moxing.errors import MoxImportError
from moxing.legacy.face import imp_face


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_sources_are_run_again_in_the_module_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "settings.py"
    path.write_text("x = 1\ny = 2\n")
    first = imp_face.load_source("settings_of_imp", str(path))
    path.write_text("x = 30\n")

    second = imp_face.load_source("settings_of_imp", str(path))

    assert second is first is sys.modules["settings_of_imp"]
    assert (second.x, second.y) == (30, 2)
    assert second.__file__ == str(path)


def test_what_is_found_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from .part import x\n")
    (tmp_path / "package" / "part.py").write_text("x = 2\n")
    py_compile.compile(str(tmp_path / "plain.py"), str(tmp_path / "compiled.pyc"))

    kinds = []
    for name in ("plain", "package", "compiled"):
        found = imp_face.find_module(name, [str(tmp_path)])
        kinds.append(found[2][2])
        module = imp_face.load_module(f"imp_{name}", *found)  # type: ignore
        assert module.x == (2 if name == "package" else 1)
        assert found[0] is None or found[0].closed
    assert kinds == [imp_face.PY_SOURCE, imp_face.PKG_DIRECTORY, imp_face.PY_COMPILED]
    assert imp_face.load_module("time", *imp_face.find_module("time")).time() > 0  # type: ignore
    assert imp_face.new_module("empty").__name__ == "empty"
    assert "empty" not in sys.modules


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MoxImportError, match="No module named 'nothing'"):
        imp_face.find_module("nothing", [str(tmp_path)])
    (tmp_path / "fails.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        imp_face.load_source("imp_fails", str(tmp_path / "fails.py"))
    assert "imp_fails" not in sys.modules
