"""A main file that both Pythons read is Python 2 where it needs modules of Python 2."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from moxing.legacy.face import source
from moxing.legacy.program import reading
from moxing.legacy.python2 import beside, port

_PRINTS = "print 'old'\n"


def _project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "main.py"


def _evidence(main: Path) -> tuple[str, int] | None:
    return beside.evidence(main.read_bytes(), str(main))


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ({"main.py": "import old\n", "old.py": _PRINTS}, "old"),
        ({"main.py": "import json, old as o\n", "old.py": _PRINTS}, "old"),
        ({"main.py": "from old import name\n", "old.py": "import cPickle\n"}, "old"),
        ({"main.py": "from old import name\n", "old.py": "from urllib2 import urlopen\n"}, "old"),
        ({"main.py": "import new\n", "new.py": "import old\n", "old.py": _PRINTS}, "new"),
        ({"main.py": "import kit.part\n", "kit/__init__.py": "", "kit/part.py": _PRINTS}, "kit"),
        ({"main.py": "import kit\n", "kit/__init__.py": "import part\n", "kit/part.py": _PRINTS},
         "kit"),
        ({"main.py": "from kit import part\n", "kit/__init__.py": "from .part import x\n",
          "kit/part.py": _PRINTS}, "kit"),
        ({"main.py": "from kit import part\n", "kit/__init__.py": "", "kit/part.py": _PRINTS},
         "kit.part"),
        ({"main.py": "import a\n", "a.py": "import b\n", "b.py": "import a\nimport old\n",
          "old.py": "except_ = 0777\n"}, "a"),
    ],
)  # fmt: skip
def test_modules_that_python_3_cannot_import(
    files: dict[str, str], shown: str, tmp_path: Path
) -> None:
    found = _evidence(_project(tmp_path, files))

    assert found is not None
    assert found[0].startswith(f"it imports {shown}")
    assert found[1] == 1


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "import json, nowhere\n"},
        {"main.py": "import old\n", "old.py": "def f(): return xrange(3)\n"},
        {"main.py": "import old\n", "old.py": "def f():\n    import cPickle\n"},
        {"main.py": "import old\n",
         "old.py": "try:\n    import cPickle\nexcept ImportError:\n    import pickle\n"},
        {"main.py": "try:\n    import old\nexcept SyntaxError:\n    pass\n", "old.py": _PRINTS},
        {"main.py": "def f():\n    import old\n", "old.py": _PRINTS},
        {"main.py": "import broken\n", "broken.py": "x = = 1\n"},
        {"main.py": "import new\n", "new.py": "import old\ntext = f'{old}'\n", "old.py": _PRINTS},
        {"main.py": "from . import old\n", "old.py": _PRINTS},
        {"main.py": "import main\n"},
    ],
)  # fmt: skip
def test_programs_that_may_be_python_3(files: dict[str, str], tmp_path: Path) -> None:
    assert _evidence(_project(tmp_path, files)) is None


_LOOPS = "def loop(n):\n    return xrange(n)\n"
_PAIRS = "def pairs(d):\n    return d.iteritems()\n"


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "import a, b\n", "a.py": _LOOPS, "b.py": _PAIRS},
        {"main.py": "from kit import a\n", "kit/__init__.py": "", "kit/a.py": "import b\n" + _LOOPS,
         "kit/b.py": _PAIRS},
        {"main.py": "from __future__ import print_function\nimport a, b, c\n", "a.py": _LOOPS,
         "b.py": "from __future__ import division\n" + _PAIRS, "c.py": "x = 7 / 2\n"},
    ],
)  # fmt: skip
def test_names_of_python_2_in_two_modules_are_evidence(
    files: dict[str, str], tmp_path: Path
) -> None:
    found = _evidence(_project(tmp_path, files))

    assert found is not None
    assert found[0].endswith("which it imports, are Python 2")


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "import a, b\n", "a.py": _LOOPS, "b.py": "xrange = range\n"},
        {"main.py": "import a, b\nprint(f'{a}')\n", "a.py": _LOOPS, "b.py": _PAIRS},
        {"main.py": "import a, b, c\n", "a.py": _LOOPS, "b.py": _PAIRS,
         "c.py": "import sys\nnew = 1 if sys.version_info > (3,) else 0\n"},
        {"main.py": "import a, b, c\n", "a.py": _LOOPS, "b.py": _PAIRS, "c.py": "import six\n"},
        {"main.py": "import a, b, c\n", "a.py": _LOOPS, "b.py": _PAIRS,
         "c.py": "def f(n: int): return n\n"},
        {"main.py": "import a\ndef f():\n    import b\n", "a.py": _LOOPS, "b.py": _PAIRS},
    ],
)  # fmt: skip
def test_names_of_python_2_beside_signs_of_python_3(files: dict[str, str], tmp_path: Path) -> None:
    assert _evidence(_project(tmp_path, files)) is None


def test_modules_on_pythonpath_belong_to_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = _project(tmp_path / "launchers", {"main.py": "from kit import a, b\n"})
    _project(tmp_path, {"kit/__init__.py": "", "kit/a.py": _LOOPS, "kit/b.py": _PAIRS})

    assert _evidence(main) is None
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert _evidence(main) is not None


def test_such_a_main_file_divides_as_python_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"main.py": "\nimport old\nhalf = 7 / 2\n", "old.py": _PRINTS, "new.py": "x = 7 / 2\n"}
    main = _project(tmp_path, files)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "old", types.ModuleType("old"))
    values: dict[str, Any] = {}

    exec(reading.read_program(str(main)), values)

    assert values["half"] == 3
    assert "main.py is Python 2 (line 2: it imports old, which is" in capsys.readouterr().err
    module = types.ModuleType("__main__")
    module.__file__ = str(main)
    monkeypatch.setitem(sys.modules, "__main__", module)
    port.is_python2.cache_clear()
    assert port.main_is_python2()
    code = source.compiled((tmp_path / "new.py").read_bytes(), str(tmp_path / "new.py"))
    assert code is not None
    exec(code, values)
    assert values["x"] == 3


@pytest.mark.parametrize(
    "text",
    ["from __future__ import division\nimport old\nx = 7 / 2\n", "import old\nx = f'{7 / 2}'\n"],
)
def test_such_a_main_file_that_says_otherwise(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = _project(tmp_path, {"main.py": text, "old.py": _PRINTS})
    monkeypatch.setitem(sys.modules, "old", types.ModuleType("old"))
    values: dict[str, Any] = {}

    exec(reading.read_program(str(main)), values)

    assert float(values["x"]) == 3.5
