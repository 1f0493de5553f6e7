"""`mox run`: programs that cannot start, and programs of TensorFlow 1.x that run unmodified."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import warm

from moxing.errors import MoxValueError
from moxing.legacy.program import launcher, own_flags, reading


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the name of the script is empty: mox run SCRIPT.py [flags]"),
        ("none.py", "there is no file none.py in DIR."),
        ("dat.py", "there is no file dat.py in DIR."),
        ("zeroes.py", "there is no file zeroes.py in DIR. Did you mean 'zeros.py'?"),
        ("folder", "folder is a directory; name the script in it."),
        ("folder.py", "folder.py is a directory; name the script in it."),
        (
            "data.txt",
            "data.txt is not a Python program: its name does not end in .py, and its first line is"
            " not #!/usr/bin/env python.",
        ),
        (
            "zeros.py",
            "zeros.py is not a Python program: it holds NUL bytes, as damaged files and text in"
            " UTF-16 do.",
        ),
        (
            "minus.py",
            "minus.py cannot be compiled: an expression in it is too large or nested too deeply.",
        ),
        ("pipe.py", "pipe.py is not a regular file."),
    ],
)
def test_what_is_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "folder.py"):
        (tmp_path / folder).mkdir()
    (tmp_path / "data.txt").write_text("x")
    (tmp_path / "zeros.py").write_bytes(b"x = 1\0")

    (tmp_path / "minus.py").write_bytes(b"-" * 5_000_000 + b"1")
    os.mkfifo(tmp_path / "pipe.py")

    with pytest.raises(MoxValueError) as raised:
        reading.read_program(name)

    text = str(raised.value)
    if name == "minus.py" and sys.version_info >= (3, 12):  # Has words of its own for it.
        text, message = text[:29], message[:29]
    assert text == message.replace("DIR", str(tmp_path))


@pytest.mark.parametrize("line", ["#! /usr/bin/env python", "#!/usr/bin/python2.7 -u"])
def test_a_script_without_a_suffix_is_named_by_its_first_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "train"
    path.write_text(f"{line}\nresult = 3\n")

    values: dict[str, object] = {}
    exec(reading.read_program(str(path)), values)

    assert values["result"] == 3
    path.write_text("#!/bin/sh\npython x.py\n")
    with pytest.raises(MoxValueError, match="not a Python program"):
        reading.read_program(str(path))


def test_an_unreadable_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.py"
    path.write_text("x = 1")

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(reading.io, "open_code", refuse)

    with pytest.raises(MoxValueError) as raised:
        reading.read_program(str(path))
    assert str(raised.value) == f"cannot read {path}: Permission denied."


def test_programs_keep_their_encoding_and_name(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    values: dict[str, object] = {}

    code = reading.read_program(str(path))
    exec(code, values)

    assert values["x"] == "é"
    assert code.co_filename == str(path)


def test_syntax_errors_come_before_tensorflow_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.py"
    path.write_text("import sys\nprint 'x'\nx = = 1\n")

    assert launcher.run(str(path), []) == 1
    assert capsys.readouterr().err == (
        f"mox: error: {path}, line 2 is not Python 3: print 'x' (Missing parentheses in call to"
        " 'print'. Did you mean print(...)?). This looks like Python 2, but is not Python 2 either:"
        " see line 3.\n"
    )


def _run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "moxing", "run", script.name, *arguments],
        cwd=script.parent,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


def _write(folder: Path, **files: str) -> Path:
    for name, source in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
    return folder / "train.py"


PROGRAM = """
    import dataclasses
    import importlib
    import inspect
    import multiprocessing
    import os
    import pickle
    import sys

    import tensorflow as tf
    from tensorflow.contrib import slim
    import tensorflow.contrib.slim as same_slim
    from tensorflow.python.keras.layers import Dense
    from tensorflow.python.ops import control_flow_ops
    import numpy as np
    import helper

    tf.flags.DEFINE_string('data_url', 's3://default', docstring='where')
    tf.flags.DEFINE_integer('num_gpus', 1, 'openmox has it too')
    FLAGS = tf.flags.FLAGS
    assert (FLAGS.data_url, FLAGS.num_gpus) == ('', 1)
    tf.flags.DEFINE_float(name='rate', default=0.1, help=None)

    @dataclasses.dataclass
    class Point:
        x: int = 1

    def add(x):
        return x + 1, FLAGS.rate, slim.__name__

    def layers():
        images = tf.placeholder(tf.float32, [None, 8, 8, 3])
        with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm,
                            weights_regularizer=slim.l2_regularizer(0.1)):
            net = slim.conv2d(images, 4, [3, 3])
        net = tf.layers.batch_normalization(tf.layers.conv2d(net, 4, 3), training=True)
        net = Dense(3)(slim.flatten(net))
        assert net.get_shape()[1].value == 3
        assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 4
        assert len(tf.losses.get_regularization_losses()) == 1
        loss = tf.reduce_mean(net)
        return slim.optimize_loss(loss, tf.train.get_or_create_global_step(), 0.1, 'SGD'), images

    def main(argv):
        assert argv == ['train.py', '--experiment=3', 'word'], argv
        assert __name__ == '__main__' and __file__ == os.path.abspath('train.py')
        assert sys.argv[0] == 'train.py' and sys.path[0] == os.getcwd()
        assert '--num_gpus=1' not in sys.argv and sys.maxint == sys.maxsize
        assert os.environ['TF_USE_LEGACY_KERAS'] == '1'
        assert slim is same_slim is tf.contrib.slim
        assert importlib.import_module('tensorflow') is tf is helper.tf
        assert helper.library.has_v1 == (False, False), helper.library.has_v1
        assert sys.modules['tensorflow'] is not tf
        assert np.zeros(2, np.float).dtype == np.float64
        assert set(np.random.random_integers(low=0, high=1, size=[50])) == {0, 1}
        assert pickle.loads(pickle.dumps(Point(2))) == Point(2)
        assert pickle.loads(pickle.dumps(add)) is add
        assert inspect.getsource(add).startswith('def add(x):')
        assert control_flow_ops.while_loop is tf.while_loop
        train, images = layers()

        def positive(x):
            if x > 2:  # AutoGraph turns this into a graph.
                return x
            return -x

        data = tf.data.Dataset.range(5).map(positive).batch(5)
        batch = data.make_one_shot_iterator().get_next()
        assert type(tf.get_variable('v', [])).__name__ == 'RefVariable'
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert np.isfinite(session.run(train, {images: np.ones([2, 8, 8, 3])}))
            assert session.run(batch).tolist() == [0, -1, -2, 3, 4]
        with multiprocessing.get_context('spawn').Pool(1) as pool:
            assert pool.map(add, [1, 2]) == [(2, 0.5, slim.__name__), (3, 0.5, slim.__name__)]
        print('all is well')
        return 7

    if __name__ == '__main__':
        tf.app.run()
"""


@pytest.mark.slow
def test_a_program_of_tensorflow_1(tmp_path: Path) -> None:
    script = _write(
        tmp_path,
        train=PROGRAM,
        helper="""
            import sys
            import tensorflow as tf
            sys.path.append('venv/site-packages')
            import library
            """,
        **{
            "venv__site-packages__library": """
                import tensorflow as tf
                has_v1 = hasattr(tf, 'contrib'), hasattr(tf, 'placeholder')
                assert tf.function
                """
        },
    )

    done = _run(
        script,
        *("--data_url=", "--num_gpus", "1", "--experiment=3", "word", "--rate=0.5"),
    )

    assert (done.returncode, done.stdout) == (7, "all is well\n"), done.stderr
    assert done.stderr.count("flag data_url is empty: the script's default is not used") == 1
    assert done.stderr.count("ignored flags that the script does not define: --experiment") == 1
    assert "deprecated" not in done.stderr


@pytest.mark.slow
def test_an_argparse_program_that_trains_on_mnist(tmp_path: Path, data_dir: Path) -> None:
    script = _write(
        tmp_path,
        train="""
            import argparse
            import sys
            import tensorflow as tf
            from tensorflow.examples.tutorials.mnist import input_data

            parser = argparse.ArgumentParser()
            parser.add_argument('--data_url')
            parser.add_argument('--train_url')
            parser.add_argument('--num_gpus', type=int, default=0)
            args = parser.parse_args()
            mnist = input_data.read_data_sets(args.data_url, one_hot=True, validation_size=0)
            import moxing.tensorflow as mox

            def input_fn(run_mode, **kwargs):
                def gen():
                    for _ in range(300):
                        yield mnist.train.next_batch(100)
                ds = tf.data.Dataset.from_generator(
                    gen, output_types=(tf.float32, tf.int64),
                    output_shapes=(tf.TensorShape([None, 784]), tf.TensorShape([None, 10])))
                return ds.make_one_shot_iterator().get_next()

            def model_fn(inputs, run_mode, **kwargs):
                x, labels = inputs
                logits = tf.layers.dense(x, 10)
                loss = tf.losses.softmax_cross_entropy(labels, logits)
                hit = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
                accuracy = tf.reduce_mean(tf.to_float(hit))
                return mox.ModelSpec(loss=loss, log_info={'loss': loss, 'accuracy': accuracy})

            result = mox.run(
                input_fn=input_fn, model_fn=model_fn,
                optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.5),
                run_mode=mox.ModeKeys.TRAIN, log_dir=args.train_url,
                max_number_of_steps=sys.maxint)
            print(args.num_gpus, mox.get_flag('num_gpus'), result.metrics['accuracy'] > 0.6)
            raise mox.ModeKeys  # A TypeError, and the end of the program.
            """,
    )

    done = _run(
        script,
        *(f"--data_url={data_dir}/mnist", "--checkpoint_url=x", "--num_gpus=1"),
        "--train_url=out",
    )

    assert done.stdout == "1 1 True\n", done.stderr
    assert done.returncode == 1
    assert done.stderr.count("ignored flags that the script does not define: --checkpoint_url") == 1
    assert "(Did you mean" not in done.stderr
    line = [text[:9] for text in script.read_text().splitlines()].index("raise mox") + 1
    assert (
        "Traceback (most recent call last):\n"
        f'  File "{script}", line {line}, in <module>\n'
        "    raise mox.ModeKeys  # A TypeError, and the end of the program.\n" in done.stderr
    )
    assert "launcher.py" not in done.stderr
    assert (tmp_path / "out").is_dir()


@pytest.mark.slow
def test_bad_runtime_flags_and_flag_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = _write(tmp_path, train="import sys; print(sys.argv)")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.ff").write_bytes(b"\xff\xfe")
    (tmp_path / "names_b.ff").write_text("--flagfile=b.ff\n")
    (tmp_path / "flags.txt").write_text("# comment\n--num_gpus=1\n--own=2\n")

    for arguments, message in {
        ("--num_gpus=many",): "--num_gpus=many: expected an integer, got 'many'.",
        ("--flagfile=none",): "--flagfile: [Errno 2] No such file or directory: 'none'.",
        ("--flagfile=b.ff",): "--flagfile: b.ff is not a text file",
        ("--flagfile", "names_b.ff"): "--flagfile: b.ff is not a text file",
        ("--flagfile",): "--flagfile needs a value: --flagfile=FILE.",
    }.items():
        with pytest.raises(MoxValueError) as raised:
            own_flags.take_runtime_flags(arguments)
        assert str(raised.value) == message
    good = _run(script, "--flagfile=flags.txt", "x")

    assert launcher.run(str(script), ["--num_gpus=many"]) == 2
    assert capsys.readouterr().err == (
        "mox: error: --num_gpus=many: expected an integer, got 'many'.\n"
    )
    assert (good.returncode, good.stdout) == (0, "['train.py', '--own=2', 'x']\n"), good.stderr
