"""Plain `python script.py`: one sentence where TensorFlow 1.x code meets TensorFlow 2.x."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import moxing
from moxing.legacy import startup
from moxing.legacy.plain import arming
from moxing.legacy.program.children import CHILDREN

SOURCE = Path(moxing.__file__).parents[1]
OLD = "import tensorflow as tf\ntf.flags\nimport moxing.tensorflow as mox\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python environment with this package's start-up line and a TensorFlow 2.x of few lines."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "_source.pth").write_text(f"{SOURCE}\n")
    shutil.copy(SOURCE / "openmox.pth", site)
    (site / "tensorflow" / "core").mkdir(parents=True)
    (site / "tensorflow" / "__init__.py").write_text(
        "from keras import losses\nfrom . import compat, train\n"
    )
    (site / "tensorflow" / "compat" / "v1").mkdir(parents=True)
    (site / "tensorflow" / "compat" / "__init__.py").write_text("from . import v1\n")
    (site / "tensorflow" / "compat" / "v1" / "__init__.py").write_text(
        "from . import losses, train\nflags = app = None\n"
    )
    (site / "tensorflow" / "compat" / "v1" / "losses.py").write_text("log_loss = 1\n")
    (site / "tensorflow" / "compat" / "v1" / "train.py").write_text("Saver = 1\n")
    (site / "tensorflow" / "train.py").write_text("")
    (site / "keras").mkdir()
    (site / "keras" / "__init__.py").touch()
    (site / "keras" / "losses.py").touch()
    (site / "tensorflow" / "data.py").write_text(
        "class Dataset:\n    pass\nDataset.__module__ = 'tensorflow.data'\n"
    )
    (site / "user_of_flow.py").write_text("import oneflow\n")
    (site / "user_of_tf.py").write_text("import tensorflow as tf\ntf.flags\n")
    return folder


def _python(environment: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [str(environment / "bin" / "python"), *arguments],
        cwd=environment,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _script(environment: Path, source: str) -> str:
    (environment / "train.py").write_text(source)
    return "train.py"


PORT = "port it by writing `import tensorflow.compat.v1 as tf` where it imports tensorflow"
ARM = "let plain `python` do so with `mox legacy on`"


def _sentence(environment: Path, what: str, other: str = PORT) -> str:
    return (
        f"mox: error: {environment}/train.py is written for TensorFlow 1.x ({what}): run it with"
        f" `mox run train.py`, or {other}.\n"
    )


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (OLD, "module 'tensorflow' has no attribute 'flags'"),
        (
            "from tensorflow.examples.tutorials.mnist import input_data\nimport moxing\n",
            "No module named 'tensorflow.examples'",
        ),
        (
            "from tensorflow import flags\nimport moxing\nfrom tensorflow.train import Saver\n",
            "cannot import name 'flags' from 'tensorflow' (ENV/__init__.py)",
        ),
        (
            "from tensorflow.train import Saver\nimport moxing\n",
            "cannot import name 'Saver' from 'tensorflow.train' (ENV/train.py)",
        ),
        (
            "import tensorflow.contrib.slim as slim\nimport moxing\n",
            "No module named 'tensorflow.contrib'",
        ),
        (
            "import tensorflow.train.no_such\nimport moxing\n",
            "No module named 'tensorflow.train.no_such'; 'tensorflow.train' is not a package",
        ),
        (
            "from tensorflow import contrib\nfrom moxing.tensorflow import run\n",
            "cannot import name 'contrib' from 'tensorflow' (ENV/__init__.py)",
        ),
        (
            "import tensorflow as tf\ndef f():\n    return tf.contrib\nf()\nimport os, oneflow\n",
            "module 'tensorflow' has no attribute 'contrib'",
        ),
        (
            "import tensorflow as tf\nimport moxing\ntf.train.Saver\n",
            "module 'tensorflow.train' has no attribute 'Saver'",
        ),
        (
            "import tensorflow as tf\nimport moxing\ntf.losses.log_loss\n",
            "module 'keras.losses' has no attribute 'log_loss'",
        ),
        (
            "from tensorflow.data import Dataset\n"
            "try:\n    import moxing.tensorflow\nexcept Exception:\n    pass\n"
            "Dataset().make_one_shot_iterator\n",
            "'Dataset' object has no attribute 'make_one_shot_iterator'",
        ),
    ],
)
def test_programs_of_tensorflow_1_get_one_sentence(
    environment: Path, source: str, what: str
) -> None:
    site = next(environment.glob("lib/python*/site-packages/tensorflow"))

    code, _, error = _python(environment, _script(environment, source))

    # What compat.v1 does not have either is not there after the port.
    gone = any(name in what for name in ("contrib", "examples", "no_such"))
    other = ARM if gone else PORT
    assert (code, error) == (1, _sentence(environment, what.replace("ENV", str(site)), other))


def test_a_program_of_horovod_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    error = ModuleNotFoundError("No module named 'horovod'", name="horovod.keras")

    sentence = startup.about_absent(error, "train.py")

    assert sentence.startswith("horovod is not installed: run this program with `mox run train.py`")
    assert "`mox launch --workers=N train.py`" in sentence


def test_a_program_of_uai_train_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    error = ModuleNotFoundError("No module named 'uaitrain'", name="uaitrain")
    sentence = startup.about_absent(error, "train.py")
    assert sentence.startswith("uaitrain is not installed: run this program with `mox run train.py")
    assert "`mox uai train`" in sentence


def test_programs_of_oneflow_get_one_sentence(environment: Path) -> None:
    program = _script(environment, "import oneflow as flow\n")
    told = _python(environment, program)
    library = _python(environment, _script(environment, "import moxing, user_of_flow\n"))
    debugging = _python(
        environment, _script(environment, "from oneflow import nn\n"), MOX_DEBUG="1"
    )

    assert told == (
        1,
        "",
        "mox: error: oneflow is not installed: run this program with `mox run train.py`, which"
        " gives it moxing.flow, or write `import moxing.flow as flow`.\n",
    )
    assert library[2].endswith("ModuleNotFoundError: No module named 'oneflow'\n")
    assert debugging[2].endswith("ModuleNotFoundError: No module named 'oneflow'\n")


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow as tf\ntf.flags\n",  # Not a program of ours.
        "import moxing\nNone.nothing\n",
        "import moxing\nimport no_such_module\n",
        "import moxing\nimport user_of_tf\n",  # A library's mistake.
        "import moxing\nimport tensorflow as tf\ntf.reduce_meen\n",  # A mistake in 1.x too.
        "import moxing\nimport tensorflow as tf\ntf.losses.lag_loss\n",
        "import moxing\nimport tensorflow.compat.v1 as tf\ntf.train.Saver2\n",  # Ported.
        "import moxing\nimport tensorflow.compat.v1 as tf\ntf.contrib\n",
        "import moxing\nfrom tensorflow.compat.v1 import contrib\n",
        "import moxing\nraise KeyError('x')\n",
        "import moxing as m\nimport sys\nsys.modules['tensorflow'] = None\nimport tensorflow\n",
    ],
)
def test_other_errors_are_left_alone(environment: Path, source: str) -> None:
    code, _, error = _python(environment, _script(environment, source))

    assert code == 1
    assert error.startswith("Traceback (most recent call last):\n")
    assert "mox" not in error.replace("import moxing", "")


def test_debugging_and_interactive_python_are_left_alone(environment: Path) -> None:
    script = _script(environment, OLD)

    assert "Traceback" in _python(environment, script, MOX_DEBUG="1")[2]
    assert "Traceback" in _python(environment, "-c", OLD)[2]


def test_the_hook_of_others_is_called(environment: Path) -> None:
    source = (
        "import sys, moxing\nhook = sys.excepthook\nassert hook is not sys.__excepthook__\n1/0\n"
    )

    assert "ZeroDivisionError" in _python(environment, _script(environment, source))[2]


def test_the_start_up_line_outlives_the_package(environment: Path, tmp_path: Path) -> None:
    line = (SOURCE / "openmox.pth").read_text()
    code = f"import sys; sys.modules['moxing'] = None\n{line}\nimport no_such_module"

    result = _python(environment, "-S", "-c", code)

    assert result[0] == 1
    assert result[2].endswith("ModuleNotFoundError: No module named 'no_such_module'\n")
    assert "excepthook" not in result[2]


def test_the_start_up_line_imports_nothing(environment: Path) -> None:
    code = (
        "import sys, time; before = set(sys.modules); started = time.process_time();"
        f"exec({(SOURCE / 'openmox.pth').read_text()!r});"
        "print(time.process_time() - started < 0.003, set(sys.modules) - before)"
    )

    # Three chances, since other processes may be in the way.
    assert "True set()\n" in [_python(environment, "-c", code)[1] for _ in range(3)]


def test_only_programs_that_a_program_under_mox_run_starts_are_looked_at(
    environment: Path,
) -> None:
    program = environment / "fake-child" / "moxing" / "legacy" / "program"
    program.mkdir(parents=True)
    for folder in (program, program.parent, program.parents[1]):
        (folder / "__init__.py").write_text("")
    shutil.copy(Path(startup.__file__), program.parent)
    (program / "children.py").write_text(
        "import sys\ndef take_over(words):\n    print(*words[1:])\n    sys.exit()\n"
    )
    variables = {"PYTHONPATH": str(environment / "fake-child")}
    script = _script(environment, "print('as it is')\n")
    children = {**variables, CHILDREN: ""}

    assert _python(environment, script, **variables)[1] == "as it is\n"
    assert _python(environment, "-O", script, "--x", **children)[1] == "-O train.py --x\n"
    assert _python(environment, "-m", "train", **children)[1] == "-m train\n"
    assert _python(environment, "-c", "print(1)", script, **children)[1] == "1\n"
    gone = {"PYTHONPATH": str(environment / "fake-child" / "moxing"), CHILDREN: ""}
    assert _python(environment, script, **gone)[1] == "as it is\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import moxing\n", True),
        ("import moxing.tensorflow as mox\n", True),
        ("    from moxing.tensorflow import run\n", True),
        ("import os, moxing\n", True),
        ("import oneflow as flow\n", True),
        ("\timport  moxing;x=1\n", True),
        ("import os; import moxing\n", True),
        ("import numpy as moxing\n", False),
        ("# import moxing\n", False),
        ("import moxing_tools\n", False),
        ("from . import moxing\n", False),
        ("x = 'moxing'\n", False),
        ("from\n", False),
        ("import\n", False),
        ("", False),
    ],
)
def test_what_imports_us(tmp_path: Path, source: str, expected: bool) -> None:
    path = tmp_path / "x.py"
    path.write_text(source)

    assert startup.imports_us(str(path)) is expected


def test_what_cannot_be_read_does_not_import_us(tmp_path: Path) -> None:
    assert not startup.imports_us(str(tmp_path / "none.py"))
    assert not startup.imports_us(str(tmp_path))
    assert not startup.imports_us("\0")
    os.mkfifo(tmp_path / "pipe.py")
    assert not startup.imports_us(str(tmp_path / "pipe.py"))


ARGUMENTS = "import moxing, sys\nprint(sys.argv, sys.flags.optimize)\n"


def test_modules_are_named_as_they_were_run(environment: Path) -> None:
    (environment / "package").mkdir(exist_ok=True)
    (environment / "package" / "train.py").write_text(OLD)
    (environment / "package" / "__main__.py").write_text("import oneflow\n")

    old = _python(environment, "-m", "package.train")
    flow = _python(environment, "-m", "package")

    assert "run it with `mox run -m package.train`, or" in old[2]
    assert "run this program with `mox run -m package`, which" in flow[2]


def test_armed_environments_run_such_programs_under_mox_run(environment: Path) -> None:
    site = next(environment.glob("lib/python*/site-packages"))
    other = environment / "other.py"
    other.write_text("import sys\nprint(sys.argv)\n")
    # Stands in for the command: says how it was called.
    fake = environment / "fake" / "moxing"
    (fake / "legacy").mkdir(parents=True, exist_ok=True)
    (fake / "__init__.py").write_text("")
    (fake / "__main__.py").write_text("import sys\nprint('mox', sys.argv[1:], sys.flags.optimize)")
    (fake / "legacy" / "__init__.py").write_text("")
    shutil.copy(Path(startup.__file__), fake / "legacy")
    script = _script(environment, ARGUMENTS)
    (site / arming.MARKER).write_text(arming.line(False))
    variables = {"PYTHONPATH": str(environment / "fake")}
    try:
        ours = _python(environment, "-O", "-X", "utf8", script, "--x=1", "y", **variables)
        plain = _python(environment, "other.py", "a", **variables)
        command = _python(environment, "-c", "print(1)", "train.py", **variables)
        module = _python(environment, "-m", "train", **variables)
        gone = _python(environment, "none.py", **variables)
    finally:
        (site / arming.MARKER).unlink()
    off = _python(environment, script, **variables)

    assert ours == (0, "mox ['run', 'train.py', '--x=1', 'y'] 1\n", "")
    assert plain == (0, "['other.py', 'a']\n", "")
    assert command == (0, "1\n", "")
    assert module[1].endswith("train.py'] 0\n")
    assert gone[0] == 2
    assert off == (0, "['train.py'] 0\n", "")


def test_armed_environments_without_the_package_run_programs_as_they_are(
    environment: Path,
) -> None:
    site = next(environment.glob("lib/python*/site-packages"))
    script = _script(environment, "import moxing.nothing\n")
    (site / arming.MARKER).write_text(arming.line(False))
    source = (site / "_source.pth").read_text()
    (site / "_source.pth").unlink()
    try:
        result = _python(environment, script)
    finally:
        (site / "_source.pth").write_text(source)
        (site / arming.MARKER).unlink()

    assert result[0] == 1
    assert "No module named 'moxing'" in result[2]


def test_armed_for_all_old_programs_only_they_run_under_mox_run(environment: Path) -> None:
    site = next(environment.glob("lib/python*/site-packages"))
    fake = environment / "fake-all" / "moxing"
    (fake / "legacy").mkdir(parents=True)
    (fake / "__init__.py").write_text("")
    (fake / "__main__.py").write_text("import sys\nprint('mox', sys.argv[1:])")
    (fake / "legacy" / "__init__.py").write_text("")
    shutil.copy(Path(startup.__file__), fake / "legacy")
    shutil.copytree(Path(startup.__file__).with_name("plain"), fake / "legacy" / "plain")
    (site / "library.py").write_text("import tensorflow as tf\ntf.contrib\n")
    variables = {"PYTHONPATH": str(environment / "fake-all")}
    current = "import sys, tensorflow as tf\nprint(sys.argv, tf.train, 'moxing' in sys.modules)\n"
    (site / arming.MARKER).write_text(arming.line(True))
    try:
        old = _python(
            environment, _script(environment, "import tensorflow as tf\ntf.contrib\n"), **variables
        )
        library = _python(environment, f"{site}/library.py", **variables)
        now = _python(environment, _script(environment, current), "--x", **variables)
        (site / arming.MARKER).write_text(arming.line(False))
        some = _python(
            environment, _script(environment, "import tensorflow as tf\ntf.contrib\n"), **variables
        )
    finally:
        (site / arming.MARKER).unlink()

    assert old == (
        0,
        "mox ['run', 'train.py']\n",
        "mox: train.py uses tf.contrib (line 2), gone from TensorFlow 2.x: running it as `mox run`"
        " does.\n",
    )
    assert library[0] == 1
    assert library[2].startswith("Traceback")
    assert now[0] == 0, now
    assert now[1].startswith("['train.py', '--x'] <module 'tensorflow.train'")
    assert some[0] == 1
