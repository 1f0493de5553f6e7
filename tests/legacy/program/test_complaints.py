"""How a program's end is told: one sentence, or a traceback that begins in the user's code."""

from __future__ import annotations

import importlib
import subprocess
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites import fused_sums
from moxing.errors import MoxValueError
from moxing.legacy.face import importer
from moxing.legacy.face.faces import Faces, Spec
from moxing.legacy.program import complaints, tracebacks
from moxing.legacy.program.hints import hints

Run = Callable[[str], str]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs source as the program `train.py`; returns what is printed when it fails."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("MOX_DEBUG", raising=False)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    users = importer.install(Faces({"face": Spec(roots=("json",))}))
    before = set(sys.modules)

    def run(source: str) -> str:
        path = tmp_path / "train.py"
        path.write_text(source)
        importlib.invalidate_caches()
        main = users.prepare(types.ModuleType("__main__"))
        try:
            exec(compile(source, str(path), "exec"), main.__dict__)
        except BaseException as error:
            code = complaints.report(
                error, str(path), lambda file: users.owns(file) and str(tmp_path) in file
            )
            output = capsys.readouterr()
            assert output.out == ""
            # Python versions underline different parts of a line.
            lines = [line for line in output.err.splitlines() if line.strip(" ~^")]
            return "\n".join(lines).replace(str(tmp_path), "DIR") + f"\nexit {code}"
        raise AssertionError("the program did not fail")

    yield run
    importer.uninstall()
    for name in set(sys.modules) - before:
        # A second import of TensorFlow in a process aborts it.
        if "site-packages" not in str(getattr(sys.modules[name], "__file__", "site-packages")):
            sys.modules.pop(name, None)


def test_our_errors_are_a_sentence_and_the_users_line(run: Run) -> None:
    text = run(
        "from moxing.errors import near_matches, MoxValueError\n"
        "def f():\n"
        "    raise MoxValueError('steps must be positive.')\n"
        "f()\n"
    )

    assert text == (
        "mox: error: steps must be positive.\n"
        "  at DIR/train.py:3: raise MoxValueError('steps must be positive.')\n"
        "exit 1"
    )


@pytest.mark.parametrize("debug", ["0", "1"])
def test_a_lost_process_of_the_job_asks_to_be_started_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    monkeypatch.setenv("MOX_DEBUG", debug)
    told = run(
        "from moxing.cluster.failure import PeerFailureError\n"
        "raise PeerFailureError('worker 1 died')\n"
    )
    assert "worker 1 died" in told
    assert told.endswith("\nexit 143")


def test_the_line_is_the_users_where_a_library_raised(run: Run) -> None:
    text = run("import moxing.framework.idx as idx\nidx.parse(b'', idx.LABELS, 'f')\n")

    assert "  at DIR/train.py:2: idx.parse(b'', idx.LABELS, 'f')\nexit 1" in text


def test_notes_come_with_the_sentence(run: Run) -> None:
    text = run(
        "from moxing.errors import MoxValueError\n"
        "e = MoxValueError('bad.'); e.add_note('while calling model_fn')\n"
        "raise e\n"
    )

    assert text.startswith("mox: error: bad.\n  while calling model_fn\n  at DIR/train.py:3:")


def test_debugging_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_DEBUG", "1")

    text = run("from moxing.errors import MoxValueError\nraise MoxValueError('bad.')\n")

    assert text.startswith('Traceback (most recent call last):\n  File "DIR/train.py", line 2')
    assert text.endswith("moxing.errors.MoxValueError: bad.\nexit 1")


def test_other_errors_show_a_traceback_without_the_launchers_frames(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "helper.py").write_text("def f():\n    raise KeyError('k')\nx = 1\n")
    (tmp_path / "broken.py").write_text("import helper\nhelper.f()\n")

    text = run(
        "try:\n    import broken\nexcept KeyError as error:\n    raise ValueError('v') from error\n"
    )

    assert text == (
        "Traceback (most recent call last):\n"
        '  File "DIR/train.py", line 2, in <module>\n'
        "    import broken\n"
        '  File "DIR/broken.py", line 2, in <module>\n'
        "    helper.f()\n"
        '  File "DIR/helper.py", line 2, in f\n'
        "    raise KeyError('k')\n"
        "KeyError: 'k'\n"
        "The above exception was the direct cause of the following exception:\n"
        "Traceback (most recent call last):\n"
        '  File "DIR/train.py", line 4, in <module>\n'
        "    raise ValueError('v') from error\n"
        "ValueError: v\nexit 1"
    )


_MISTAKE = (
    "import tensorflow.compat.v1 as tf\n"
    "def net(x):\n"
    "    return tf.matmul(x, tf.zeros([5, 2]))\n"
    "def build(again):\n"
    "    with tf.Graph().as_default():\n"
    "        return again(tf.ones([3, 4]))\n"
    "build(net)\n"
)


@pytest.mark.parametrize("hooked", [False, True])
def test_frames_of_tensorflow_are_folded_and_the_users_line_is_last(
    run: Run, monkeypatch: pytest.MonkeyPatch, hooked: bool
) -> None:
    if hooked:  # As in every run: operations are then made through a function of openmox.
        monkeypatch.setattr(tf.Graph, "_create_op_internal", tf.Graph._create_op_internal)
        fused_sums.install()

    text = run(_MISTAKE)

    assert "site-packages" not in text
    assert "    return tf.matmul(x, tf.zeros([5, 2]))\nValueError: Dimensions must be" in text
    said, line, code = text.splitlines()[-3:]
    assert said.startswith("(")
    assert said.endswith(" of openmox, TensorFlow and Keras left out; MOX_DEBUG=1 shows all)")
    assert line == "  at DIR/train.py:3: return tf.matmul(x, tf.zeros([5, 2]))"
    assert code == "exit 1"


def test_debugging_shows_frames_of_tensorflow(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_DEBUG", "1")

    text = run(_MISTAKE)

    assert "site-packages/tensorflow/" in text
    assert "left out" not in text


def test_an_error_of_openmoxs_own_code_is_shown_whole(run: Run) -> None:
    text = run("from moxing.legacy.program import tracebacks\ntracebacks.cut(None)\n")

    assert "tracebacks.py" in text
    assert "left out" not in text


def test_an_excepthook_of_the_program_is_used(run: Run) -> None:
    text = run(
        "import sys\n"
        "sys.excepthook = lambda kind, error, trace: print('hook:', error, file=sys.stderr)\n"
        "raise ValueError('v')\n"
    )

    assert text == "hook: v\nexit 1"


def test_interruption(run: Run) -> None:
    assert run("raise KeyboardInterrupt\n") == "mox: interrupted\nexit 130"


def test_names_of_python_2_are_a_sentence(run: Run) -> None:
    assert run("from os.path import *\nfor i in xrange(3): pass\n") == (
        "mox: error: name 'xrange' is not defined. This is Python 2; port the program to Python 3"
        " (`mox port` does most of it): instead of xrange write range.\n"
        "  at DIR/train.py:2: for i in xrange(3): pass\n"
        "exit 1"
    )


def test_modules_in_python_2_run(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old_module.py").write_text("x = 1\nprint 'x is', x\n")

    with pytest.raises(AssertionError, match="the program did not fail"):
        run("import old_module\n")
    output = capsys.readouterr()
    assert output.out == "x is 1\n"
    assert output.err.startswith(
        f"mox: {tmp_path}/old_module.py is Python 2 (line 2: print 'x is', x): it is ported"
    )


def test_modules_that_no_python_reads_are_a_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "old_module.py").write_text("x = 1\nprint 'x'\nx = = 2\n")

    assert run("import old_module\n") == (
        "mox: error: DIR/old_module.py, line 2 is not Python 3: print 'x' (Missing parentheses in"
        " call to 'print'. Did you mean print(...)?). This looks like Python 2, but is not Python 2"
        " either: see line 3.\n"
        "  at DIR/train.py:1: import old_module\n"
        "exit 1"
    )


@pytest.mark.parametrize(
    "source",
    [
        "open('s3://b/a.txt')\n",
        "import os\nos.listdir('s3://b/a.txt')\n",
        "import numpy\nnumpy.load('s3://b/a.txt')\n",
    ],
)
def test_paths_in_object_stores_get_a_hint(run: Run, source: str) -> None:
    text = run(source)

    assert text.startswith("Traceback (most recent call last):\n")
    assert text.endswith(
        "FileNotFoundError: [Errno 2] No such file or directory: 's3://b/a.txt'\n"
        "s3://b/a.txt is in an object store, which Python's own functions do not read: use"
        " mox.file.* or mox.file.shift('os','mox').\nexit 1"
    )


def test_missing_libraries_behind_faces_are_missed_by_the_program() -> None:
    faces = Faces({"images": Spec(roots=("images",), library=True)})
    with pytest.raises(ModuleNotFoundError, match="No module named 'images'") as raised:
        faces.load("images.measure")

    tracebacks.trim(raised.value, __file__)

    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(raised.value.__traceback__)]
    assert files == [__file__]
    assert tracebacks.came_from(raised.value, lambda file: file == __file__)


@pytest.mark.parametrize("file", ["__init__.py", "resnet.py"])
def test_missing_modules_say_where_they_were_looked_for(
    run: Run, tmp_path: Path, file: str
) -> None:
    (tmp_path / "code" / "nets").mkdir(parents=True)
    (tmp_path / "code" / "nets" / file).touch()

    text = run("import nets.resnet\n")

    assert "ModuleNotFoundError: No module named 'nets'\nThere is no module nets in DIR" in text
    assert (
        "nor an installed one. The script's folder is on sys.path. It is in DIR/code: set"
        " PYTHONPATH=DIR/code, or add sys.path.insert(0, 'DIR/code') to the script.\nexit 1" in text
    )
    assert "importer.py" not in text


@pytest.mark.parametrize(("file", "module"), [("__main__", "ocr"), ("train", "ocr.train")])
def test_parts_of_packages_are_run_as_modules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, module: str
) -> None:
    (tmp_path / "ocr").mkdir()
    (tmp_path / "ocr" / "__init__.py").touch()
    main = types.ModuleType("__main__")
    main.__file__ = str(tmp_path / "ocr" / f"{file}.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    error = ImportError("attempted relative import with no known parent package")

    told = hints(error, str(tmp_path / "ocr"), True)

    assert told == [
        f"{file}.py is a part of a package: run it as a module, `mox run -m {module}`, in the"
        f" folder {tmp_path}."
    ]


@pytest.mark.parametrize("installer", [True, False])
def test_missing_modules_of_cython_say_how_to_compile_them(
    run: Run, tmp_path: Path, installer: bool
) -> None:
    (tmp_path / "boxes").mkdir()
    (tmp_path / "boxes" / "__init__.py").touch()
    (tmp_path / "boxes" / "overlap.pyx").touch()
    if installer:
        (tmp_path / "setup.py").touch()

    text = run("import boxes.overlap\n")

    how = "cd DIR && python setup.py build_ext --inplace" if installer else "cythonize -i SOURCE"
    assert text.endswith(
        "ModuleNotFoundError: No module named 'boxes.overlap'\n"
        "The module boxes.overlap is Cython source that is not compiled yet: SOURCE. Compile it:"
        f" pip install cython setuptools && {how}\nexit 1".replace(
            "SOURCE", "DIR/boxes/overlap.pyx"
        )
    )


@pytest.mark.parametrize("file", ["setup.py", "pyproject.toml"])
def test_missing_modules_of_a_repository_can_be_installed(
    run: Run, tmp_path: Path, file: str
) -> None:
    (tmp_path / "code" / "gcn").mkdir(parents=True)
    (tmp_path / "code" / "gcn" / "__init__.py").touch()
    (tmp_path / "code" / file).touch()

    text = run("import gcn.layers\n")

    assert "It is in DIR/code: set PYTHONPATH=DIR/code, or add" in text
    assert text.endswith("`pip install -e DIR/code` does it for every script.\nexit 1")


def test_modules_missing_in_libraries_get_no_hint(run: Run, tmp_path: Path) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "some_lib.py").write_text("import no_such_dependency\n")

    text = run(f"import sys\nsys.path.append({str(library)!r})\nimport some_lib\n")

    assert text.endswith("ModuleNotFoundError: No module named 'no_such_dependency'\nexit 1")


def test_missing_names_of_faces_are_a_sentence(run: Run) -> None:
    assert run("from face import loadz\n") == (
        "mox: error: module 'face' has no attribute 'loadz'. Did you mean 'load' or 'loads'?\n"
        "  at DIR/train.py:1: from face import loadz\n"
        "exit 1"
    )


def test_errors_without_a_line_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    code = complaints.report(MoxValueError("bad."), "/nowhere/train.py", lambda file: False)

    assert (code, capsys.readouterr().err) == (1, "mox: error: bad.\n")


def test_lines_that_are_too_long_are_cut(run: Run) -> None:
    source = f"from moxing.errors import MoxValueError as E; raise E('bad.' or '{'x' * 1000}')"

    assert run(source + "\n") == (
        f"mox: error: bad.\n  at DIR/train.py:1: {source[:157]}...\nexit 1"
    )


def test_a_parenthesis_too_many_is_shown_with_the_line_without_it(run: Run) -> None:
    assert run("for i in range(len('ab'))):\n    print(i)\n") == (
        "mox: error: DIR/train.py, line 1: for i in range(len('ab'))):: the ')' in column 26 closes"
        " nothing. Delete it, so that the line reads: for i in range(len('ab')):\nexit 1"
    )


@pytest.mark.parametrize("hook", ["sys.excepthook = None", "del sys.excepthook"])
def test_an_excepthook_that_is_none(run: Run, hook: str) -> None:
    assert run(f"import sys\n{hook}\nraise ValueError('v')\n") == (
        "Traceback (most recent call last):\n"
        '  File "DIR/train.py", line 3, in <module>\n'
        "    raise ValueError('v')\n"
        "ValueError: v\nexit 1"
    )


def test_an_excepthook_that_fails(run: Run) -> None:
    text = run("import sys\nsys.excepthook = lambda *error: 1 / 0\nraise ValueError('v')\n")

    assert text.startswith("Error in sys.excepthook:\nTraceback (most recent call last):\n")
    assert "ZeroDivisionError: division by zero\nOriginal exception was:\nTraceback" in text
    assert text.endswith("ValueError: v\nexit 1")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            b"# coding: foo\nx = 1\n",
            "FILE cannot be read as text (unknown encoding: foo). ENCODING",
        ),
        (
            b"y = 1\nx = '\xff'\n",
            "FILE, line 2 cannot be read as text ((unicode error) 'utf-8' codec can't decode byte"
            " 0xff in position 0: invalid start byte). ENCODING",
        ),
        (
            b"x = 'C:\\Users'\n",
            "FILE, line 1 is not Python 3: x = 'C:\\Users' ((unicode error) 'unicodeescape' codec"
            " can't decode bytes in position 2-3: truncated \\UXXXXXXXX escape). Write a"
            " backslash in a string as two, or r before the string.",
        ),
        (
            b"print '" + b"x" * 1000 + b"'\n",
            f"FILE, line 1 is not Python 3: print '{'x' * 150}... (Missing parentheses in call to"
            " 'print'. Did you mean print(...)?). This looks like Python 2, but is not Python 2"
            " either.",
        ),
    ],
)
def test_files_that_python_cannot_read(source: bytes, message: str) -> None:
    encoding = (
        "Name the file's encoding in its first line, as in # coding: latin-1, or save it as UTF-8."
    )

    with pytest.raises(SyntaxError) as raised:
        compile(source, "FILE", "exec")
    assert complaints.about_syntax(raised.value) == message.replace("ENCODING", encoding)


@pytest.mark.slow
def test_a_model_of_keras_2_names_the_library_that_loads_it(tmp_path: Path) -> None:
    """Only Keras 3 itself can tell that its message is still the one that is recognized."""
    source = f"""
import json, h5py, keras, numpy, tf_keras
from moxing.errors import MoxError
from moxing.legacy.program.hints import hints

path = {str(tmp_path / "old.h5")!r}
model = tf_keras.Sequential([tf_keras.layers.Dense(2, input_shape=(3,))])
model.compile(tf_keras.optimizers.legacy.SGD(0.1), "mse")
model.save(path)
with h5py.File(path, "r+") as file:
    config = json.loads(file.attrs["training_config"])
    config["optimizer_config"] = {{"class_name": "SGD", "config": {{"lr": 0.1}}}}
    file.attrs["training_config"] = json.dumps(config)
try:
    keras.models.load_model(path)
except ValueError as error:
    [hint] = hints(error, "", False)
assert "tf_keras.models.load_model" in hint and "compile=False" in hint, hint
data = numpy.ones((2, 3), "f")
right = tf_keras.models.load_model(path)(data).numpy()
found = keras.models.load_model(path, compile=False)(data).numpy()
numpy.testing.assert_allclose(found, right, rtol=1e-5)
with h5py.File(path, "r+") as file:  # Keras 2.0 wrote the layers of a Sequential as a list.
    config = json.loads(file.attrs["model_config"])
    config["config"] = [one for one in config["config"]["layers"] if one["class_name"] == "Dense"]
    for one in config["config"]:
        one["config"]["batch_input_shape"] = [None, 3]
    file.attrs["model_config"] = json.dumps(config)
try:
    keras.models.load_model(path, compile=False)
except TypeError as error:
    [hint] = hints(error, "", False)
assert "tf_keras.models.load_model" in hint and "compile=False" not in hint, hint
found = tf_keras.models.load_model(path, compile=False)(data).numpy()
numpy.testing.assert_allclose(found, right, rtol=1e-5)
try:
    keras.layers.Dense(2, lr=1)
except ValueError as error:
    assert hints(error, "", False) == []
"""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_summaries_of_tensorflow_2_name_the_package_that_makes_them() -> None:
    from tensorflow.python.summary import tb_summary

    [hint] = hints(tb_summary.TBNotInstalledError("tf.summary.scalar"), "", False)
    assert "pip install tensorboard" in hint


def test_integers_out_of_the_range_of_an_array_and_packages_with_successors() -> None:
    with pytest.raises(OverflowError) as wide:
        _ = np.zeros(2, np.uint8) + 300
    gone = ModuleNotFoundError("No module named 'gym'", name="gym")

    assert hints(wide.value, ".", True) == [
        "NumPy 1 made a wider type of uint8 and 300; NumPy 2 keeps uint8. Convert the array first:"
        " array.astype(int)."
    ]
    assert hints(OverflowError("too large"), ".", True) == []
    assert hints(gone, ".", True)[0].endswith("pip install gymnasium")
    sonnet = ModuleNotFoundError("No module named 'sonnet'", name="sonnet")
    assert "pip install --no-deps 'dm-sonnet<2'" in hints(sonnet, ".", True)[0]
    for module, package in (("progressbar", "progressbar2"), ("spacy", "spacy")):
        absent = ModuleNotFoundError(f"No module named '{module}'", name=module)
        assert hints(absent, ".", True)[0].endswith(f"pip install {package}.")


_GRPC = (
    "\nAdditional GRPC error information from remote target /job:{task} while calling"
    ' /tensorflow.WorkerService/RecvBuf:\n:UNKNOWN:Error {{grpc_message:"Socket closed"}}'
)


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (
            "Collective ops is aborted by: recvmsg:Connection reset by peer"
            + _GRPC.format(task="worker/replica:0/task:1"),
            "worker 1 (b:2) ended, or can't be reached any more (recvmsg:Connection reset by peer)",
        ),
        (
            _GRPC.format(task="ps/replica:0/task:0"),
            "ps 0 ended, or can't be reached any more (Socket closed)",
        ),
        (
            "Collective ops is aborted by: failed to connect to all addresses",
            "another process of the cluster ended, or can't be reached any more (failed to connect",
        ),
    ],
)
def test_a_process_that_a_strategy_has_lost_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, text: str, who: str
) -> None:
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:2"]}}')

    told = run(f"import tensorflow as tf\nraise tf.errors.UnavailableError(None, None, {text!r})")

    assert told.startswith(f"mox: error: {who}"), told
    assert "DIR/train.py:2" in told
    assert told.endswith("exit 143")


def test_other_errors_of_unavailable_services_stay_as_they_are(run: Run) -> None:
    told = run(
        "import tensorflow as tf\n"
        "raise tf.errors.UnavailableError(None, None, 'the store answers with 503')"
    )

    assert "UnavailableError: the store answers with 503" in told
    assert told.endswith("exit 1")
