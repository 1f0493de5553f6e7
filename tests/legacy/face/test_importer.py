"""Only the user's own modules see the faces; everything else about them is as in plain Python."""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import inspect
import json
import pickle
import runpy
import sys
import textwrap
import traceback
import types
import zipimport
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from unittest import mock

import pytest

from moxing.errors import MoxImportError
from moxing.legacy.face import aged, importer
from moxing.legacy.face.faces import Faces, Spec


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path whose modules are the user's, with `json` shown as `oldflow`.

    The real `oldflow` is an installed library.
    """
    folder = tmp_path / "project"
    folder.mkdir()
    library = tmp_path / "lib" / "site-packages"
    for entry in (library, folder / "venv" / "site-packages", folder):
        entry.mkdir(parents=True, exist_ok=True)
        monkeypatch.syspath_prepend(entry)
    (library / "oldflow.py").write_text("loads = 'real'\n")
    before = set(sys.modules)
    faces = Faces(
        {
            "oldflow": Spec(
                roots=("json",), names={"sub": Spec(roots=("math",))}, gone={"lost": "Use json."}
            )
        }
    )
    importer.install(faces)
    yield folder
    importer.uninstall()
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def _module(project: Path, name: str, source: str) -> types.ModuleType:
    path = project / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def test_every_form_of_import_sees_the_face(project: Path) -> None:
    module = _module(
        project,
        "forms",
        "import oldflow\n"
        "import oldflow as tf\n"
        "import oldflow.sub as a\n"
        "import oldflow.decoder\n"
        "from oldflow import sub as b, loads\n"
        "from oldflow.sub import sqrt\n"
        "from oldflow import *\n"
        "c = __import__('oldflow.sub', fromlist=['sqrt'])\n"
        "def late():\n"
        "    from oldflow.sub import floor\n"
        "    return floor(1.5)\n",
    )

    assert module.tf is module.oldflow
    assert module.loads is json.loads
    assert module.dumps is json.dumps
    assert module.a is module.b is module.c is module.tf.sub
    assert module.sqrt(4.0) == 2.0
    assert module.tf.decoder.__name__ == "json.decoder"
    assert module.late() == 1
    assert "oldflow" not in sys.modules


def test_functions_read_from_pickles_see_the_face(project: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cloudpickle"]:
        del sys.modules[name]  # A library loaded before the faces were installed stays as it is.
    pytest.importorskip("cloudpickle")
    module = _module(
        project,
        "experiment",
        "import cloudpickle, pickle, oldflow\n"
        "def make():\n"
        "    def run():\n"
        "        import oldflow as inner\n"
        "        from oldflow.sub import sqrt\n"
        "        return inner, oldflow, sqrt(9.0)\n"
        "    return run\n"
        "data = cloudpickle.dumps(make())\n"
        "plain = pickle.loads(pickle.dumps(oldflow.sub))\n",
    )

    inner, outer, root = pickle.loads(module.data)()
    assert inner is outer is module.oldflow
    assert module.plain is module.oldflow.sub
    assert root == 3.0
    importer.uninstall()
    assert pickle.loads(pickle.dumps(module.oldflow)).loads == "real"


def test_a_part_that_is_gone_is_missed_where_it_is_used(project: Path) -> None:
    user = _module(
        project,
        "needs_later",
        """
import oldflow.lost.inner as inner, oldflow
from oldflow import lost
from oldflow.lost import something
from oldflow.lost.inner import deeper
try:
    from oldflow import lost as guarded
except ImportError as error:
    guarded = str(error)
""",
    )

    sentence = "oldflow.lost is gone from TensorFlow 2.x. Use json."
    assert user.guarded == sentence
    assert user.oldflow.lost is user.lost
    assert user.lost.inner is user.inner
    assert not hasattr(user.lost, "anything")
    with pytest.raises(AttributeError, match=sentence):
        _ = user.inner.run
    for use in (user.something, user.deeper, lambda: types.new_class("Mine", (user.something,))):
        with pytest.raises(NotImplementedError, match=sentence):
            use()
    with pytest.raises(ImportError, match="no attribute 'never'"):
        _module(project, "needs_nothing", "import oldflow.never")


def test_modules_imported_by_the_users_see_it_too(project: Path) -> None:
    (project / "package").mkdir()
    (project / "package" / "__init__.py").write_text("from . import inner\n")
    (project / "package" / "inner.py").write_text("import oldflow as tf\n")
    module = _module(project, "outer", "import package\ntf = package.inner.tf\n")

    assert module.tf.loads is json.loads
    assert importlib.reload(sys.modules["package.inner"]).tf is module.tf


def test_modules_beside_a_module_are_found_last(project: Path) -> None:
    package = project / "implicit"
    package.mkdir()
    (package / "__init__.py").write_text("import inner\nfrom inner import ANSWER\n")
    (package / "inner.py").write_text("import json, deep.leaf\nANSWER, LEAF = 42, deep.leaf.LEAF\n")
    (package / "json.py").write_text("loads = 'beside'\n")
    (package / "deep").mkdir()
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "leaf.py").write_text("import absent_module\nLEAF = 1\n")
    (package / "deep" / "absent_module.py").write_text(
        "try:\n    import absent_module\nexcept ImportError:\n    absent_module = None\n"
    )
    module = _module(project, "asks", "import implicit\n").implicit
    assert (module.ANSWER, module.inner.__name__) == (42, "implicit.inner")
    assert module.inner.LEAF == 1
    assert module.inner.json is json
    assert sys.modules["implicit.deep.absent_module"].absent_module is None
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"):
        _module(project, "lost", "import nowhere\n")


def test_libraries_see_the_real_module(project: Path) -> None:
    library = project / "venv" / "site-packages"
    other = project.parent / "lib" / "site-packages"
    for folder, name in ((library, "some_library"), (other, "other_library")):
        (folder / f"{name}.py").write_text("import oldflow\nfrom oldflow import loads\n")

    module = _module(project, "user", "import some_library, other_library\nimport oldflow\n")

    assert module.oldflow.loads is json.loads
    assert module.some_library.loads == "real"
    assert module.other_library.loads == "real"
    assert sys.modules["oldflow"].loads == "real"


def test_only_files_of_the_program_are_its_own(tmp_path: Path) -> None:
    users = importer.UserCode(Faces({}))

    assert users.owns(str(tmp_path / "train.py"))
    assert users.owns(str(tmp_path / "deep" / "er" / "x.py"))
    for path in (
        str(tmp_path / "venv" / "lib" / "site-packages" / "x.py"),
        str(tmp_path / "dist-packages" / "x.py"),
        json.__file__,
        importer.__file__,
        "<string>",
    ):
        assert not users.owns(path), path


def test_functions_and_classes_are_as_in_plain_python(project: Path) -> None:
    module = _module(
        project,
        "plain",
        "import dataclasses\n"
        "\n"
        "@dataclasses.dataclass\n"
        "class Point:\n"
        "    x: int = 1\n"
        "\n"
        "def fail():\n"
        "    raise ValueError('here')\n"
        "\n"
        "squares = [n * n for n in range(3)]\n"
        "names = sorted(globals())\n",
    )

    assert pickle.loads(pickle.dumps(module.Point(3))) == module.Point(3)
    assert pickle.loads(pickle.dumps(module.fail)) is module.fail
    assert dataclasses.asdict(module.Point()) == {"x": 1}
    assert inspect.getsource(module.fail) == "def fail():\n    raise ValueError('here')\n"
    assert module.squares == [0, 1, 4]
    with pytest.raises(ValueError, match="here") as raised:
        module.fail()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (str(project / "plain.py"), 8, "fail")
    # No name more than in any module of Python's own.
    own = {"dataclasses", "Point", "fail", "squares"}
    assert set(module.names) - own == {
        name for name in vars(textwrap) if name.startswith("__") and name != "__all__"
    }


def test_what_is_put_into_builtins_later_reaches_the_users_modules(project: Path) -> None:
    module = _module(
        project,
        "reads",
        "def read(path):\n    return open(path)\n\ndef profiled():\n    return profile\n",
    )

    with mock.patch("builtins.open", lambda path: f"mocked {path}"):
        assert module.read("x") == "mocked x"
    with pytest.raises(FileNotFoundError):
        module.read(str(project / "nothing"))
    builtins.profile = 3  # type: ignore[attr-defined]
    assert module.profiled() == 3
    del builtins.profile  # type: ignore[attr-defined]
    with pytest.raises(NameError, match="profile"):
        module.profiled()


def test_uninstall_leaves_python_as_it_was() -> None:
    def state() -> list[object]:
        classes = (SourceFileLoader, SourcelessFileLoader, zipimport.zipimporter)
        methods = ("create_module", "exec_module", "get_code")
        functions = [getattr(one, name) for one in classes for name in methods]
        return [set(vars(builtins)), type(builtins), functions, runpy._run_code]  # type: ignore[attr-defined]

    before = state()

    importer.install(Faces({}))
    assert state() != before
    importer.uninstall()

    assert state() == before


def test_imports_that_c_code_makes_are_real(project: Path) -> None:
    module = _module(project, "like_c", "result = __import__('oldflow', None, None, [], 0)\n")

    # PyImport_Import passes an empty list and then looks into sys.modules.
    assert sys.modules["oldflow"] is module.result
    assert module.result.loads == "real"


def test_missing_names_are_import_errors_of_ours(project: Path) -> None:
    with pytest.raises(MoxImportError) as raised:
        _module(project, "missing", "from oldflow import loadz\n")

    assert str(raised.value).startswith(
        "module 'oldflow' has no attribute 'loadz'. Did you mean 'load"
    )
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        _module(project, "missing2", "import no_such_module\n")


def test_the_main_program_gets_builtins_as_a_module(project: Path) -> None:
    users = importer.UserCode(Faces({}))
    main = users.prepare(types.ModuleType("__main__"))

    exec("found = __builtins__.len\nframe = __import__('sys')._getframe()", main.__dict__)

    assert main.found is len
    assert users.is_user_frame(main.frame) is False  # the file "<string>" is nobody's
    exec(
        compile("frame = __import__('sys')._getframe()", str(project / "m.py"), "exec"), vars(main)
    )
    assert users.is_user_frame(main.frame) is True


def test_an_installed_library_too_old_to_be_imported_sees_the_faces(project: Path, capsys) -> None:
    library = project / "venv" / "site-packages"
    (library / "aged").mkdir()
    (library / "aged" / "__init__.py").write_text("from aged import first, second")
    (library / "aged" / "first.py").write_text("import oldflow\nseen = oldflow.loads")
    (library / "aged" / "second.py").write_text(
        "from oldflow.sub import cos\nfrom oldflow import dumps"
    )
    (library / "broken.py").write_text("from oldflow import never")
    (library / "wrong.py").write_text("import oldflow\noldflow.misspelled")

    user = _module(project, "needs_aged", "import aged.second, aged as whole")

    assert user.whole.first.seen is json.loads
    assert user.aged.second.dumps is json.dumps
    said = capsys.readouterr().err
    assert said.count("mox: the installed aged is older than the libraries that it imports") == 1
    assert "as by --face=aged" in said
    for name, error in (("broken", ImportError), ("wrong", AttributeError)):
        with pytest.raises(error, match="never|misspelled"):
            _module(project, f"needs_{name}", f"import {name}")
    assert not capsys.readouterr().err


def test_a_library_that_is_imported_anew_registers_anew(project: Path, capsys) -> None:
    """TensorFlow refuses a second gradient, or a second proto function, under one name."""
    library = project / "venv" / "site-packages"
    (library / "registering.py").write_text(
        "from tensorflow.python.framework import ops\n"
        "@ops.RegisterGradient('GradientOfTheLibrary')\n"
        "def _gradient(op, grad):\n    return grad\n"
        "def read(message):\n    return message\n"
        "ops.register_proto_function('collection_of_the_library', str, None, read)\n"
        "from oldflow.sub import cos\n"
    )
    from tensorflow.python.framework import ops

    user = _module(project, "needs_registering", "import registering")

    assert "as by --face=registering" in capsys.readouterr().err
    assert ops.gradient_registry.lookup("GradientOfTheLibrary") is user.registering._gradient
    assert ops.get_from_proto_function("collection_of_the_library") is user.registering.read
    aged.forget("registering")
    for name in ("gradient_registry", "_proto_function_registry"):
        assert not [entry for entry in getattr(ops, name).list() if "the_library" in entry.lower()]
    assert ops.gradient_registry.lookup("MatMul") is not None
