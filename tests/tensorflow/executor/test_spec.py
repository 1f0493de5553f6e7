"""What ModelSpec and ExportSpec keep of what model_fn gives; refusals are in ../malformed."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from types import MappingProxyType

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

import moxing.tensorflow as mox
from moxing.errors import MoxError, MoxTypeError
from moxing.tensorflow.executor.spec import describe


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def scalar(value: float = 1.0) -> tf.Tensor:
    return tf.constant(value)


def test_empty_spec() -> None:
    spec = mox.ModelSpec()
    assert spec.losses == ()
    assert spec.scopes == ()
    assert spec.log_info == {}
    assert spec.output_info == {}
    assert spec.export_spec is None
    assert spec.hooks == ()


def test_one_loss_moves_everything_or_its_scopes() -> None:
    loss = scalar()
    assert mox.ModelSpec(loss=loss).losses == (loss,)
    assert mox.ModelSpec(loss=loss).scopes == ((),)
    assert mox.ModelSpec(loss=loss, var_scopes=["a", "b"]).scopes == (("a", "b"),)
    assert mox.ModelSpec(loss=loss, var_scopes=("a",)).scopes == (("a",),)


def test_each_of_several_losses_has_scopes_of_its_own() -> None:
    losses = [scalar(), scalar()]
    assert mox.ModelSpec(losses).losses == tuple(losses)
    assert mox.ModelSpec(losses).scopes == ((), ())
    spec = mox.ModelSpec(losses, [["a"], ("b", "c")])
    assert spec.scopes == (("a",), ("b", "c"))
    assert mox.ModelSpec(losses[:1], [["a"]]).scopes == (("a",),)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
def test_loss_types(dtype: tf.DType) -> None:
    assert mox.ModelSpec(loss=tf.cast(scalar(), dtype)).losses[0].dtype == dtype


def test_log_info_keeps_its_order_and_takes_any_number() -> None:
    info: OrderedDict[str, tf.Tensor] = OrderedDict(
        [
            ("z", scalar()),
            ("a", tf.constant(3)),
            ("m", tf.constant(True)),
            ("精度", tf.constant(0.5, tf.float64)),
        ]
    )
    spec = mox.ModelSpec(log_info=info)
    assert list(spec.log_info) == ["z", "a", "m", "精度"]
    assert list(mox.ModelSpec(log_info=MappingProxyType(info)).log_info) == list(info)


def test_scalar_of_unknown_rank_is_accepted_until_the_run_shows_otherwise() -> None:
    unknown = tf.placeholder(tf.float32, None)
    spec = mox.ModelSpec(loss=unknown, log_info={"a": unknown})
    with tf.Session() as session:
        assert session.run([*spec.losses, *spec.log_info.values()], {unknown: 2.0}) == [2.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(spec.log_info, {unknown: [2.0, 3.0]})


def test_variables_are_read() -> None:
    variable = tf.get_variable("v", [], initializer=tf.ones_initializer())
    spec = mox.ModelSpec(loss=variable, log_info={"v": variable}, output_info={"v": variable})
    assert isinstance(spec.losses[0], tf.Tensor)
    assert isinstance(spec.log_info["v"], tf.Tensor)
    assert isinstance(spec.output_info["v"], tf.Tensor)


def test_output_info_takes_any_tensor() -> None:
    info = {
        "text": tf.constant(["a", "b"]),
        "complex": tf.constant(1j),
        "image": tf.zeros([2, 3, 3, 1], tf.uint8),
    }
    assert mox.ModelSpec(output_info=info).output_info == info


def test_hooks_are_kept_in_order() -> None:
    hooks = [mox.FeedSessionRunHook({}), mox.FeedSessionRunHook(None)]
    assert mox.ModelSpec(hooks=hooks).hooks == tuple(hooks)
    assert mox.ModelSpec(hooks=tuple(hooks)).hooks == tuple(hooks)
    assert mox.ModelSpec(hooks=[]).hooks == ()


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [("var_scope", "var_scopes", ["a"]), ("output_dict", "output_info", {})],
)
def test_old_name_works_and_warns_where_it_is_used(
    old: str, new: str, value: object, recwarn: pytest.WarningsRecorder
) -> None:
    spec = mox.ModelSpec(loss=scalar(), **{old: value})  # type: ignore[arg-type]
    assert (spec.scopes == (("a",),)) is (old == "var_scope")
    warning = recwarn.pop(FutureWarning)
    assert str(warning.message) == f"ModelSpec: {old} is an old name of {new}; use {new}."
    assert warning.filename == __file__


def test_new_names_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mox.ModelSpec(loss=scalar(), var_scopes=["a"], output_info={})


def test_old_and_new_name_together() -> None:
    with pytest.raises(
        MoxTypeError, match="give output_info or its old name output_dict, not both"
    ):
        mox.ModelSpec(output_info={}, output_dict={})


@pytest.mark.parametrize(
    ("given", "kept"),
    [(-1, -1), (0, 0), (7, 7), (np.int64(3), 3), ("model", "model"), ("00001", "00001")],
)
def test_export_version(given: int | str, kept: int | str) -> None:
    x = tf.placeholder(tf.float32, [None])
    spec = mox.ExportSpec({"x": x}, {"y": x * 2}, version=given)
    assert spec.version == kept
    assert type(spec.version) is type(kept)


def test_export_spec_keeps_what_it_is_given() -> None:
    x = tf.placeholder(tf.float32, [None])
    sparse = tf.sparse.placeholder(tf.float32)
    spec = mox.ExportSpec({"x": x, "sparse": sparse}, {"y": x * 2})
    assert spec.inputs_dict == {"x": x, "sparse": sparse}
    assert list(spec.outputs_dict) == ["y"]
    assert spec.version == -1


def test_specs_outside_of_their_graph() -> None:
    x = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(MoxError, match="a tensor of another graph"):
        mox.ModelSpec(loss=x)


def test_description_of_values() -> None:
    assert describe(None) == "None"
    assert describe(1.5) == "1.5"
    assert describe("a") == "'a'"
    assert describe([]) == "a list"
    assert describe(mox.ModelSpec) == "the class ModelSpec (call it)"
    assert describe(tf.constant(1.0, name="one")) == "the float32 tensor one:0"
    assert describe(tf2.data.Dataset.range(1)).startswith("a tensorflow.python.data.ops.")
