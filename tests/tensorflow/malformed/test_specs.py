"""What model_fn must not return is refused, naming the field, before the first step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

pytestmark = pytest.mark.timeout(240)


def elsewhere() -> tf.Tensor:
    """A scalar of another graph."""
    with tf.Graph().as_default():
        return tf.constant(1.0)


def deeper(number: int) -> int:
    return deeper(number + 1)


SEVEN: Any = range(7)

# Values by name; functions get the inputs and the loss.
LOSSES: dict[str, tuple[Any, str]] = {
    "float": (0.5, "loss is 0.5, not a tensor with values. Give a tf.Tensor that model_fn built."),
    "int": (1, "loss is 1, not a tensor"),
    "nan": (math.nan, "loss is nan, not a tensor"),
    "numpy number": (np.float32(1), "loss is a numpy.float32, not a tensor"),
    "array": (np.zeros([]), "loss is a numpy.ndarray, not a tensor"),
    "text": ("loss", "loss is 'loss', not a tensor"),
    "vector": (
        lambda x, loss: x[0],
        "loss must be a scalar, but Const:0 is float32 [4, 3]. Reduce",
    ),
    "integer": (lambda x, loss: tf.constant(1), "loss is int32; a loss must be a floating-point"),
    "labels": (lambda x, loss: x[1][0], "loss is int32; a loss must be a floating-point scalar."),
    "complex": (lambda x, loss: tf.complex(loss, loss), "loss is complex64; a loss must be"),
    "truth": (lambda x, loss: loss > 0, "loss is bool; a loss must be a floating-point scalar."),
    "string": (lambda x, loss: tf.constant("a"), "loss is string; a loss must be"),
    "operation": (lambda x, loss: loss.op, "loss is a tensorflow.python.framework.ops.Operation"),
    "function": (lambda x, loss: deeper, "loss is a function, not a tensor"),
    "class": (tf.Tensor, "loss is the class Tensor (call it), not a tensor"),
    "dict": (lambda x, loss: {"a": loss}, "loss is a dict, not a tensor"),
    "generator": (lambda x, loss: (i for i in [loss]), "loss is a generator, not a tensor"),
    "sparse": (
        lambda x, loss: tf.sparse.from_dense(x[0]),
        "SparseTensor, not a tensor with values",
    ),
    "slices": (lambda x, loss: tf.IndexedSlices(x[0], x[1]), "IndexedSlices, not a tensor with"),
    "handle": (
        lambda x, loss: tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[]),
        "loss is the res",
    ),
    "another graph's": (lambda x, loss: elsewhere(), "loss is a tensor of another graph."),
    "empty list": ([], "loss is an empty list; give at least one loss."),
    "list of None": ([None], "loss[0] is None, not a tensor"),
    "nested list": (lambda x, loss: [[loss]], "loss[0] is a list, not a tensor"),
    "list with a number": (lambda x, loss: [loss, 1.0], "loss[1] is 1.0, not a tensor"),
    "list with a vector": (lambda x, loss: [loss, x[0]], "loss[1] must be a scalar, but Const:0"),
    "constant": (lambda x, loss: tf.constant(1.0), "does not depend on any trainable variable"),
    "no gradient": (
        lambda x, loss: tf.cast(tf.argmax([loss, loss]), tf.float32),
        "it has no gradient. Build it from the model's variables with differentiable operations",
    ),
    "unknown rank": (
        lambda x, loss: loss * tf.placeholder_with_default([1.0, 2.0], None),
        "openmox: raised in step 0 (global step 0) of TRAIN",
    ),
    "placeholder": (
        lambda x, loss: loss * tf.placeholder(tf.float32, [], name="keep"),
        "openmox: raised in step 0 (global step 0) of TRAIN, by 'keep' (test_specs.py:",
    ),
}

SCOPES: dict[str, tuple[Any, str]] = {
    "text": ("w", "var_scopes is 'w'; give a list of scope names, such as ['generator']"),
    "number": (1, "var_scopes is 1; give a list"),
    "dict": ({"w": 1}, "var_scopes is {'w': 1}; give a list"),
    "set": ({"w"}, "var_scopes is {'w'}; give a list"),
    "array": (np.array(["w"]), "var_scopes is array(['w']"),
    "empty": ([], "var_scopes is empty, so nothing could be trained by its loss."),
    "None in it": ([None], "var_scopes is [None]; give a list of scope names"),
    "number in it": ([1], "var_scopes is [1]; give a list of scope names"),
    "bytes in it": ([b"w"], "var_scopes is [b'w']; give a list of scope names"),
    "list in it": ([["w"]], "var_scopes is [['w']]; give a list of scope names"),
    "unknown": (
        ["v"],
        "var_scopes of loss match no trainable variable: ['v']. Scopes of this model",
    ),
    "part of a name": (["ww"], "a scope matches whole components of a name."),
    "empty text": ([""], "var_scopes of loss match no trainable variable: ['']."),
    "slash": (["/"], "var_scopes of loss match no trainable variable: ['/']."),
    "pattern": (["*"], "var_scopes of loss match no trainable variable: ['*']."),
}

SCOPES_OF_TWO: dict[str, tuple[Any, str]] = {
    "too few": ([["w"]], "var_scopes has 1 entries for 2 losses; var_scopes[i] is the list"),
    "too many": ([["w"]] * 3, "var_scopes has 3 entries for 2 losses"),
    "flat": (["w", "w"], "var_scopes[0] is 'w'; give a list of scope names"),
    "None in it": ([["w"], None], "var_scopes[1] is None; give a list of scope names"),
    "empty in it": (
        [["w"], []],
        "var_scopes[1] is empty, so nothing could be trained by its loss.",
    ),
    "unknown in it": ([["w"], ["v"]], "var_scopes of loss[1] match no trainable variable: ['v']."),
}

DICTS: dict[str, tuple[Any, str]] = {
    "list": ([1], "{0} is a list; give a dict of tensors by name."),
    "empty list": ([], "{0} is a list; give a dict of tensors by name."),
    "False": (False, "{0} is False; give a dict of tensors by name."),
    "text": ("loss", "{0} is 'loss'; give a dict of tensors by name."),
    "tensor": (lambda x, loss: loss, "{0} is the float32 tensor"),
    "pairs": (lambda x, loss: [("a", loss)], "{0} is a list; give a dict"),
    "number key": (lambda x, loss: {1: loss}, "{0} has the key 1; keys are names: strings, not"),
    "bytes key": (lambda x, loss: {b"a": loss}, "{0} has the key b'a'; keys are names"),
    "None key": (lambda x, loss: {None: loss}, "{0} has the key None; keys are names"),
    "empty key": (lambda x, loss: {"": loss}, "{0} has the key ''; keys are names"),
    "tuple key": (lambda x, loss: {("a", 1): loss}, "{0} has the key ('a', 1); keys are names"),
    "text value": ({"a": "b"}, "{0}['a'] is 'b', not a tensor with values."),
    "number value": ({"a": 1.0}, "{0}['a'] is 1.0, not a tensor with values."),
    "None value": ({"a": None}, "{0}['a'] is None, not a tensor with values."),
    "list value": (lambda x, loss: {"a": [loss]}, "{0}['a'] is a list, not a tensor with values."),
    "dict value": (lambda x, loss: {"a": {"b": loss}}, "{0}['a'] is a dict, not a tensor"),
    "metric pair": (lambda x, loss: {"a": tf.metrics.mean(loss)}, "{0}['a'] is a tuple, not a"),
    "operation value": (lambda x, loss: {"a": loss.op}, "Operation, not a tensor with values."),
    "another graph's": (
        lambda x, loss: {"a": elsewhere()},
        "{0}['a'] is a tensor of another graph",
    ),
    "dataset value": (
        lambda x, loss: {"a": tf.data.Dataset.range(3)._variant_tensor},
        "{0}['a'] is the variant tensor",
    ),
    "placeholder": (
        lambda x, loss: {"a": tf.placeholder(tf.float32, [], name="keep")},
        "of TRAIN, by 'keep' (test_specs.py:",
    ),
}

LOGGED: dict[str, tuple[Any, str]] = {
    "vector": (
        lambda x, loss: {"a": x[0]},
        "log_info['a'] must be a scalar, but Const:0 is float32",
    ),
    "string": (
        lambda x, loss: {"a": tf.constant("b")},
        "log_info['a'] is string, and only a number",
    ),
    "complex": (
        lambda x, loss: {"a": tf.complex(loss, loss)},
        "log_info['a'] is complex64, and only",
    ),
    "unknown rank": (
        lambda x, loss: {"a": tf.placeholder_with_default([1.0, 2.0], None)},
        "raised in step 0 (global step 0) of TRAIN",
    ),
}

HOOKS: dict[str, tuple[Any, str]] = {
    "text": ("hook", "hooks is 'hook'; give a list of hooks."),
    "False": (False, "hooks is False; give a list of hooks."),
    "hook": (lambda x, loss: mox.FeedSessionRunHook({}), "hooks is a moxing.tensorflow.executor."),
    "dict": (lambda x, loss: {"a": mox.FeedSessionRunHook({})}, "hooks is a dict; give a list"),
    "generator": (lambda x, loss: (h for h in ()), "hooks is a generator; give a list of hooks."),
    "class": (
        [mox.FeedSessionRunHook],
        "hooks[0] is the class FeedSessionRunHook (call it); hooks",
    ),
    "None": ([None], "hooks[0] is None; hooks must be instances of a subclass of mox.Aggregative"),
    "nested": ([[]], "hooks[0] is a list; hooks must be instances"),
    "plain": (
        lambda x, loss: [tf.train.StopAtStepHook(9)],
        "StopAtStepHook; hooks must be instances",
    ),
}

EXPORTS: dict[str, tuple[Any, str]] = {
    "dict": (
        {},
        "export_spec is a dict; give mox.ExportSpec(inputs_dict={...}, outputs_dict={...})",
    ),
    "class": (mox.ExportSpec, "export_spec is the class ExportSpec (call it); give"),
    "text": ("model", "export_spec is 'model'; give"),
    "list": ([], "export_spec is a list; give"),
}

FIELDS: dict[str, tuple[str, Any, str]] = {
    **{f"loss {name}": ("loss", *row) for name, row in LOSSES.items()},
    **{f"var_scopes {name}": ("var_scopes", *row) for name, row in SCOPES.items()},
    **{f"log_info {name}": ("log_info", *row) for name, row in (DICTS | LOGGED).items()},
    **{f"output_info {name}": ("output_info", *row) for name, row in DICTS.items()},
    **{f"hooks {name}": ("hooks", *row) for name, row in HOOKS.items()},
    **{f"export_spec {name}": ("export_spec", *row) for name, row in EXPORTS.items()},
}


@pytest.mark.parametrize("case", FIELDS)
def test_field(
    case: str, refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    field, value, told = FIELDS[case]
    outputs = {"output_fn": lambda outputs: None, "output_every_n_steps": 1}
    model_fn = model_with(**{field: value})
    refused(lambda: run(model_fn=model_fn, log_dir="out", **outputs), told.replace("{0}", field))


@pytest.mark.parametrize("case", SCOPES_OF_TWO)
def test_scopes_of_two_losses(
    case: str, refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    scopes, told = SCOPES_OF_TWO[case]
    model_fn = model_with(loss=lambda x, loss: [loss, loss * 2], var_scopes=scopes)
    refused(lambda: run(model_fn=model_fn, log_dir="out"), told)


RETURNED: dict[str, tuple[Callable[..., Any], str]] = {
    "None": (lambda x, mode: None, "model_fn returned None in TRAIN; it must return mox.ModelSpec"),
    "tuple": (lambda x, mode: (1, 2), "model_fn returned a tuple in TRAIN; it must return"),
    "dict": (lambda x, mode: {}, "model_fn returned a dict in TRAIN; it must return"),
    "tensor": (lambda x, mode: x[0], "model_fn returned the float32 tensor Const:0 in TRAIN"),
    "class": (lambda x, mode: mox.ModelSpec, "returned the class ModelSpec (call it) in TRAIN"),
    "generator": (lambda x, mode: (i for i in x), "model_fn returned a generator in TRAIN"),
    "empty": (
        lambda x, mode: mox.ModelSpec(),
        "ModelSpec has no loss, which TRAIN needs: mox.ModelSpec(loss=...).",
    ),
    "unknown word": (
        lambda x, mode: mox.ModelSpec(los=x[0]),
        "ModelSpec has no argument 'los'. Did you mean 'loss'? It has: loss, var_scopes, log_info,"
        " output_info, export_spec, hooks.",
    ),
    "compressor_spec": (
        lambda x, mode: mox.ModelSpec(compressor_spec=1),
        "ModelSpec has no argument 'compressor_spec'.",
    ),
    "both names": (
        lambda x, mode: mox.ModelSpec(var_scope=["w"], var_scopes=["w"]),
        "ModelSpec: give var_scopes or its old name var_scope, not both.",
    ),
    "positions": (
        lambda x, mode: mox.ModelSpec(*SEVEN),
        "raised while calling model_fn",
    ),  # type: ignore[call-arg]
    "division": (lambda x, mode: 1 / 0, "raised while calling model_fn <lambda> (test_specs.py:"),
    "recursion": (lambda x, mode: deeper(0), "raised while calling model_fn <lambda> (test_specs"),
    "shapes": (
        lambda x, mode: tf.matmul(x[0], x[0]),
        "mode TRAIN, inputs[0]: float32 [4, 3], inputs[1]: int32 [4]",
    ),
    "list as tensor": (lambda x, mode: tf.nn.relu(x), "raised while calling model_fn"),
    "evaluated inside": (lambda x, mode: x[0].eval(), "raised while calling model_fn"),
}


@pytest.mark.parametrize("case", RETURNED)
def test_model_fn(case: str, refused: Callable[..., None], run: Callable[..., Any]) -> None:
    model_fn, told = RETURNED[case]
    refused(lambda: run(model_fn=model_fn, log_dir="out"), told)


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("EVAL", "ModelSpec has no log_info, which EVAL needs: mox.ModelSpec(log_info=...)."),
        ("PREDICT", "ModelSpec has no output_info, which PREDICT needs"),
    ],
)
def test_missing_field(
    mode: str, told: str, refused: Callable[..., None], run: Callable[..., Any]
) -> None:
    run(log_dir="out")
    refused(lambda: run(run_mode=mode, log_dir="out", model_fn=lambda x: mox.ModelSpec()), told)


def test_output_fn_without_output_info(
    refused: Callable[..., None], run: Callable[..., Any], model_with: Callable[..., Any]
) -> None:
    refused(
        lambda: run(model_fn=model_with(output_info=None), output_fn=print, output_every_n_steps=1),
        "output_fn is given, but ModelSpec has no output_info in TRAIN: there is nothing to hand",
    )
