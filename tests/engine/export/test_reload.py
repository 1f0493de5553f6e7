"""What was written is loaded again and compared, where it can be."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine import export
from moxing.engine.export import ExportSignature, reload
from moxing.errors import MoxRuntimeError

Outputs = dict[str, tf.Tensor]


def _export(
    folder: Path,
    make: Callable[[tf.Tensor], Outputs],
    dtype: Any = tf.float32,
    shape: Any = (None,),
) -> str:
    """Exports what `make` builds, with a weight of 3.0 in the checkpoint."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(folder / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(dtype, None if shape is None else list(shape))
        signature = ExportSignature({"x": x}, make(x))
    return export.write(graph, signature, prefix, str(folder / "1"))


def _weight() -> tf.Variable:
    return tf.get_variable("w", [], use_resource=True)


def _forgotten(x: tf.Tensor) -> Outputs:
    local = [tf.GraphKeys.LOCAL_VARIABLES]
    offset = tf.get_variable("o", [], initializer=tf.random_uniform_initializer(1.0, 9.0),
                             collections=local, use_resource=True)  # fmt: skip
    return {"right": x * _weight(), "wrong": x + offset}


def test_an_output_that_differs_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(MoxRuntimeError) as raised:
        _export(tmp_path, _forgotten)
    text = str(raised.value)
    assert text.startswith(
        "The exported model does not compute what the checkpoint does: the output 'wrong' differs"
        " by up to "
    )
    assert text.endswith(
        " on the same generated input. It depends on something that is not saved, such as a local"
        " variable with a random initial value. Make it a variable of model_fn (tf.get_variable)."
    )
    assert all(name.startswith(("model.ckpt", "checkpoint")) for name in os.listdir(tmp_path))


def test_a_model_of_another_checkpoint_differs(tmp_path: Path) -> None:
    directory = _export(tmp_path, lambda x: {"y": x * _weight(), "n": tf.cast(x * 0, tf.int32)})
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="Placeholder")
        y = tf.multiply(x, 4.0, name="mul")
        with pytest.raises(MoxRuntimeError, match=r"the output 'y' differs by up to 0\.\d+ on"):
            reload.check(session, ExportSignature({"x": x}, {"y": y}), directory)
        number = tf.ones([2], tf.int32)
        same = tf.identity(number, name="Cast")
        with pytest.raises(MoxRuntimeError, match="the output 'n' differs in 2 of 2 values"):
            reload.check(session, ExportSignature({"x": x}, {"n": same}), directory)


def test_a_model_that_cannot_be_loaded(tmp_path: Path) -> None:
    directory = _export(tmp_path, lambda x: {"y": x * _weight()})
    os.remove(f"{directory}/variables/variables.index")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="Placeholder")
        with pytest.raises(MoxRuntimeError, match="^The exported model can't be loaded and called"):
            reload.check(session, ExportSignature({"x": x}, {"y": x * 3.0}), directory)


def test_random_outputs_are_not_compared(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tensorflow"):
        _export(tmp_path, lambda x: {"y": x * _weight(), "noise": x + tf.random_uniform([])})
    assert [line for line in caplog.messages if "not compared" in line] == [
        "The exported output 'noise' is not compared with the checkpoint's: it differs from call to"
        " call, as with random operations."
    ]
    assert (tmp_path / "1" / "saved_model.pb").is_file()


def _deep(x: tf.Tensor) -> Outputs:
    kernel = tf.ones([16, 16, 3, 1]) * _weight()
    return {"y": tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "VALID")}


COMPARED = {
    "numbers": (lambda x: {"y": x * _weight()}, tf.float32, [None]),
    "scalar": (lambda x: {"y": x * _weight()}, tf.float32, []),
    "half": (lambda x: {"y": x * tf.cast(_weight(), x.dtype)}, tf.bfloat16, [None, 3]),
    "unknown size": (_deep, tf.float32, [None, None, None, 3]),
    "unknown rank": (lambda x: {"y": x * _weight()}, tf.float32, None),
    "not a number": (lambda x: {"y": tf.math.log(-x) * _weight()}, tf.float32, [None]),
    "ids": (lambda x: {"y": tf.gather(tf.ones([2, 3]) * _weight(), x)}, tf.int64, [None]),
    "yes or no": (lambda x: {"y": tf.cast(x, tf.float32) * _weight()}, tf.bool, [2]),
    "text": (lambda x: {"n": tf.strings.length(x), "same": x + "!"}, tf.string, [None]),
    "image": (
        lambda x: {"y": tf.cast(tf.image.decode_png(x[0]), tf.float32) * _weight()},
        tf.string,
        [None],
    ),
    "number as text": (lambda x: {"y": tf.strings.to_number(x) * _weight()}, tf.string, [None]),
}


@pytest.mark.parametrize("case", list(COMPARED))
def test_inputs_of_every_kind_are_compared(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    real = reload._outputs_of

    def noted(directory: str, *rest: Any) -> Any:
        loads.append(directory)
        return real(directory, *rest)

    monkeypatch.setattr(reload, "_outputs_of", noted)
    with caplog.at_level(logging.INFO, "tensorflow"):
        _export(tmp_path, *COMPARED[case])
    assert len(loads) == 1
    assert [line for line in caplog.messages if "not compared" in line] == []


def test_where_no_input_works_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def strict(x: tf.Tensor) -> Outputs:
        with tf.control_dependencies([tf.debugging.assert_greater(x, 100.0, message="too small")]):
            return {"y": x * _weight()}

    with caplog.at_level(logging.INFO, "tensorflow"):
        _export(tmp_path, strict)
    (line,) = [line for line in caplog.messages if "not compared" in line]
    assert line.startswith(
        "The exported model is not compared with the checkpoint: it accepts none of the generated"
        " inputs (assertion failed: [too small]"
    )
    assert (tmp_path / "1" / "saved_model.pb").is_file()


def test_sparse_inputs_are_compared(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.sparse.placeholder(tf.float32, [None, 4])
        product = tf.sparse.reduce_sum(x, 1) * _weight()
        signature = ExportSignature({"x": x}, {"y": product, "same": x * 2.0})
    with caplog.at_level(logging.INFO, "tensorflow"):
        export.write(graph, signature, prefix, str(tmp_path / "1"))
    assert "not compared" not in caplog.text


def test_files_given_become_assets_once(tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("0: daisy\n1: rose\n")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=3.0, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    for version in ("1", "2"):
        with tf.Graph().as_default() as graph:
            if version == "2":
                tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, tf.constant(str(labels)))
            x = tf.placeholder(tf.float32, [None])
            signature = ExportSignature({"x": x}, {"y": x * _weight()})
        directory = export.write(
            graph, signature, prefix, str(tmp_path / version), export.Extras(assets=[str(labels)])
        )
        assert os.listdir(f"{directory}/assets") == ["labels.txt"]
        assert Path(directory, "assets", "labels.txt").read_text() == "0: daisy\n1: rose\n"
    labels.unlink()
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "1"))
        assert len(meta.collection_def["saved_model_assets"].any_list.value) == 1
