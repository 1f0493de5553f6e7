"""The private names of other libraries that the project uses: all of them, in one place.

An upgrade of these libraries may take any of them away, some without an error: a lookup with a
default then finds nothing, silently. `TABLE` names each, `PROBES` shows that what is relied on
holds, and a walk through the source finds names that the table lacks.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import absl.flags
import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import script_ops

import moxing

SOURCE = Path(moxing.__file__).parent

# Where each name is: a module and, after a colon, a class in it. Behind it the names.
TABLE = {
    "tensorflow.python.framework.ops:Operation": (
        "_add_control_input _add_control_inputs _remove_all_control_inputs _update_input"
        " _get_control_flow_context _set_attr _control_outputs _id"
    ),
    "tensorflow.python.ops.resource_variable_ops:BaseResourceVariable": "_get_save_slice_info",
    "tensorflow.python.ops.ref_variable:RefVariable": "_get_save_slice_info _ref",
    "tensorflow.python.framework.dtypes:DType": "_is_ref_dtype",
    "tensorflow.python.training.optimizer:Optimizer": (
        "_zeros_slot _create_non_slot_variable _get_non_slot_variable _call_if_callable"
    ),
    "tensorflow.python.data.ops": "dataset_ops",
    "tensorflow.python.data.ops.dataset_ops:DatasetV2": "_variant_tensor",
    "tensorflow.python.training": "moving_averages slot_creator",
    "tensorflow.python.training.moving_averages": "assign_moving_average",
    "tensorflow.python.training.adam:AdamOptimizer": "_get_beta_accumulators",
    "tensorflow.python.framework": (
        "convert_to_constants importer meta_graph op_def_registry ops random_seed tensor"
        " tensor_util"
    ),
    "tensorflow.python.saved_model.loader_impl": "SavedModelLoader",
    "numpy._core.numeric": "_frombuffer",
    "tensorflow.python.eager": "context monitoring",
    "tensorflow.python.eager.context:Context": "_initialize_physical_devices",
    "tensorflow.python": "tf2",
    "tensorflow.python.distribute": "collective_all_reduce_strategy distribute_lib input_lib",
    "tensorflow.python.distribute.collective_all_reduce_strategy:CollectiveAllReduceExtended": (
        "_initialize_multi_worker"
    ),
    "tensorflow.python.distribute.input_lib:DistributedIteratorBase": "get_next",
    "tensorflow.python.ops": (
        "collective_ops control_flow_assert control_flow_util gen_nn_ops lookup_ops nccl_ops"
        " nn_impl resource_variable_ops variable_scope array_ops gen_random_ops nn_ops random_ops"
        " shape_util tensor_array_ops"
    ),
    "tensorflow.python.ops.distributions": "bernoulli categorical kullback_leibler normal util",
    "tensorflow.python.framework.random_seed": "get_seed",
    "tensorflow.python.ops.nn_ops": "_dropout _get_noise_shape convolution_internal",
    "tensorflow.python.ops.gen_random_ops": "random_uniform",
    "tensorflow.python.ops.shape_util": "maybe_set_static_shape shape_tensor",
    "tensorflow.python.ops.tensor_array_ops": "_GraphTensorArray",
    "tensorflow.python.feature_column": "feature_column sequence_feature_column",
    "tensorflow.python.feature_column.feature_column": "_LazyBuilder _SequenceDenseColumn",
    "tensorflow.python.feature_column.feature_column:_FeatureColumn": "_var_scope_name",
    "tensorflow.python.feature_column.sequence_feature_column": "SequenceNumericColumn",
    "tf_keras.src.layers.rnn": "base_rnn stacked_rnn_cells",
    "tensorflow.python.client": "pywrap_tf_session session device_lib",
    "tensorflow.python.client.pywrap_tf_session": "TF_GetAllOpList TF_GetBuffer",
    "tensorflow.python.profiler": "tfprof_logger",
    "tensorflow.python.profiler.tfprof_logger": "_get_logged_ops",
    "tensorflow.python.util.function_utils": "fn_args",
    "tensorflow.python.client._pywrap_events_writer": "EventsWriter",
    "tensorflow.python.client.session": "register_session_run_conversion_functions",
    "tensorflow.python.util": "deprecation dispatch object_identity",
    "tensorflow.python.util.object_identity": "Reference",
    "tensorflow.python.util.dispatch": "GlobalOpDispatcher _GLOBAL_DISPATCHERS",
    "tensorflow.python.data.ops.iterator_ops": "_IteratorSaveable",
    "tensorflow.python.data.ops.multi_device_iterator_ops": "MultiDeviceIterator",
    "tensorflow.python.framework.ops": "SymbolicTensor gradient_registry",
    "tensorflow.python.framework.registry:Registry": "_registry",
    "tensorflow.python.util.lazy_loader": "KerasLazyLoader LazyLoader",
    "tensorflow.python.tools": (
        "freeze_graph module_util optimize_for_inference_lib strip_unused_lib"
    ),
    "tensorflow.python.eager.backprop": (
        "gradients_function implicit_grad implicit_val_and_grad make_vjp val_and_grad_function"
    ),
    "tensorflow.python.ops.resource_variable_ops": "ResourceVariable",
    "tensorflow.python.training.slot_creator": "_create_slot_var",
    "tensorflow.python.ops.variable_scope:VariableScope": "reuse",
    "tensorflow.python.ops.variable_scope": (
        "EagerVariableStore _LazyEvalTensor get_variable_scope_store"
    ),
    "tensorflow.python.ops.lookup_ops": (
        "FastHashSpec HasherSpec IdTableWithHashBuckets KeyValueTensorInitializer LookupInterface"
        " StrongHashSpec TextFileIdTableInitializer TextFileIndex TextFileInitializer"
        " TextFileStringTableInitializer index_table_from_file index_to_string_table_from_file"
    ),
    "tensorflow.python.data.ops.dataset_ops": "DatasetV1 DatasetV2 DatasetV1Adapter",
    "tensorflow.python.ops.summary_ops_v2": (
        "all_v2_summary_ops always_record_summaries audio create_file_writer eval_dir flush generic"
        " graph histogram image import_event initialize never_record_summaries"
        " record_summaries_every_n_global_steps scalar should_record_summaries"
        " summary_writer_initializer_op"
    ),
    "tensorflow.python.autograph.core": "config",
    "tensorflow.python.autograph.core.config": "Action CONVERSION_RULES",
    "tensorflow.python.autograph.impl.api": "autograph_artifact",
    "tensorflow.python.autograph.pyct": "loader",
    "tensorflow.python.autograph.pyct.loader": "tempfile",
    "tensorflow.python.ops.control_flow_assert": "cond",
    "tensorflow.python.ops.nn_impl": "tf_cond",
    "tensorflow.python.ops.rnn": "_transpose_batch_time _best_effort_input_batch_size",
    "tf_keras.src.backend": "_SEED_GENERATOR _GRAPH_LEARNING_PHASES _get_variables track_variable",
    "tf_keras.src.layers.core.lambda_layer:Lambda": "_check_variables",
    "tf_keras.src.engine": (
        "functional node sequential training training_v1 base_layer base_layer_utils base_layer_v1"
        " training_utils_v1"
    ),
    "tf_keras.src.engine.base_layer_utils": (
        "_UNSAFE_GRAPH_OP_LAYER_CREATION infer_init_val_and_dtype"
    ),
    "tf_keras.src.engine.functional:Functional": "_insert_layers",
    "tf_keras.src.engine.training:Model": "_get_compile_args _flatten_layers",
    "tf_keras.src.optimizers.legacy.optimizer_v2:OptimizerV2": "_create_all_weights _decayed_lr",
    "tf_keras.src.engine.training_v1:Model": "_output_loss_metrics",
    "tf_keras.src.engine.training_utils_v1": "get_metric_function",
    "tf_keras.src": "backend callbacks layers",
    "tf_keras.src.utils": "conv_utils data_utils",
    "tf_keras.src.utils.conv_utils": "deconv_output_length",
    "tf_keras.src.utils.data_utils": "get_file",
    "matplotlib.font_manager": "_load_fontmanager",
    "tf_keras.src.layers": "merging serialization deserialize_from_json",
    "tf_keras.src.layers.serialization": "deserialize_from_json",
    "tf_keras.src.saving": "saving_api",
    "tf_keras.src.saving.saving_api": "get_save_format",
    "tf_keras.src.saving.legacy": "hdf5_format model_config",
    "tf_keras.src.saving.legacy.hdf5_format": "preprocess_weights_for_loading",
    "tf_keras.src.saving.legacy.model_config": "model_from_config",
    "tf_keras.src.layers.merging": "base_merge",
    "tf_keras.src.layers.rnn.legacy_cells": "LayerRNNCell",
    "tf_keras.src.optimizers": "convert_to_legacy_optimizer",
    "tf_keras.src.losses": "LossFunctionWrapper",
    "tf_keras.api": "_v1",
    "keras.src.random.seed_generator": "SeedGenerator",
    "keras.src.trainers": "trainer",
    "keras.src.trainers.trainer:Trainer": "_symbolic_build",
    "keras.src.optimizers.base_optimizer:BaseOptimizer": "_get_variable_index",
    "absl.flags:FlagValues": "_assert_validators",
    "tensorflow.python.ops.script_ops": "_py_funcs",
    "tensorflow.python.framework.ops:Graph": "_copy_functions_to_graph_def _create_op_internal",
    "tf_keras.src.layers.convolutional.base_conv": "Conv",
    "tf_keras.src.layers.normalization.batch_normalization": "BatchNormalizationBase",
    "tf_keras.src.layers.pooling.base_pooling2d": "Pooling2D",
    "tf_keras.src.layers.pooling.base_pooling3d": "Pooling3D",
    "argparse": "_SubParsersAction",
    "atexit": "_run_exitfuncs",
}
# Attributes that objects get when they are made; `PROBES` makes one of each kind.
OF_OBJECTS = {
    "optimizers of tf.train": (
        "_learning_rate _lr _opt _use_locking _lr_t _beta1_t _beta2_t _epsilon_t"
    ),
    "optimizers of Keras": "_momentums _velocities",
    "models, optimizers and losses of tf_keras": (
        "_is_graph_network _hyper _fn_kwargs _self_tracked_trackables"
    ),
    "layers of tf_keras": "_activity_regularizer _handle_activity_regularization",
    "savers and their hooks": "_var_list _timer _every_steps _every_secs _listeners",
    "handlers of tf_slim": "_image_key _format_key _channels _dtype _shape _repeated",
    "layers of tf.layers": "_trainable_weights _non_trainable_weights _scope",
    "parsers of argparse": "_actions _option_string_actions",
    "iterators of tf.data": "_iterator_resource",
    "functions of tf.py_func": "_unique_id",
    "errors of sessions": "_message _op",
    # Its modules can't be imported but by moxing.estimator.canned.library; the tests of
    # tf.contrib.timeseries use each of these names.
    "time series of tensorflow-estimator": (
        "_canonicalize_numpy_data _check_graph_initialized _process_exogenous_features _scale_data"
    ),
    "python": "_getframe _current_frames",
}
# Of absl's flag tables, which tolerant flags derive from and name themselves.
OWN = frozenset(["_command_line", "_applied", "_verified"])


def _tables() -> Iterator[tuple[str, str]]:
    for where, names in TABLE.items():
        yield from ((where, name) for name in names.split())


@pytest.mark.parametrize(("where", "name"), _tables())
def test_every_name_is_there(where: str, name: str) -> None:
    module, _, inside = where.partition(":")
    if inside:
        assert hasattr(getattr(importlib.import_module(module), inside), name)
        return
    found = importlib.import_module(module)
    assert hasattr(found, name) or importlib.import_module(f"{module}.{name}")


def _control_inputs() -> None:
    first, second = tf.no_op("first"), tf.no_op("second")
    second._add_control_inputs([first])
    assert second.control_inputs == [first]
    assert first._control_outputs == [second]
    second._remove_all_control_inputs()
    assert second.control_inputs == []
    second._add_control_input(first)
    assert second.control_inputs == [first]
    assert first._id < second._id


def _inputs_and_attributes() -> None:
    total = tf.add(tf.constant(1.0), tf.constant(2.0))
    total.op._update_input(1, tf.constant(5.0))
    random = tf.random.uniform([1], seed=1).op
    random._set_attr("seed2", tf.AttrValue(i=7))
    assert random.get_attr("seed2") == 7
    with tf.Session() as session:
        assert session.run(total) == 6.0


def _control_flow_context() -> None:
    inside = []
    with tf.Graph().as_default():
        tf.disable_control_flow_v2()
        try:
            tf.while_loop(lambda i: i < 3, lambda i: inside.append(i + 1) or inside[-1], [0])
        finally:
            tf.enable_control_flow_v2()
        assert inside[0].op._get_control_flow_context() is not None
        assert tf.constant(1).op._get_control_flow_context() is None


def _variables() -> None:
    plain = tf.get_variable("plain", [2], use_resource=True)
    assert plain._get_save_slice_info() is None
    assert not plain.dtype._is_ref_dtype
    part = tf.get_variable("cut", [4], partitioner=tf.fixed_size_partitioner(2))
    shown = list(part)[1]._get_save_slice_info()
    assert (shown.full_shape, list(shown.var_offset)) == ([4], [2])
    reference = tf.Variable(1.0, use_resource=False)
    assert reference.dtype._is_ref_dtype
    assert reference._ref().dtype._is_ref_dtype


def _optimizers() -> None:
    assert tf.train.GradientDescentOptimizer(0.5)._learning_rate == 0.5
    adam = tf.train.AdamOptimizer(0.25)
    assert adam._lr == 0.25
    variable = tf.get_variable("w", [2], use_resource=True)
    adam.minimize(tf.reduce_sum(variable))
    assert len(adam._get_beta_accumulators()) == 2
    for name in ("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t", "_use_locking"):
        assert hasattr(adam, name), name
    slot = adam._zeros_slot(variable, "more", "more")
    assert slot.shape == [2]
    adam._create_non_slot_variable(1.0, "count", variable)
    assert adam._get_non_slot_variable("count", graph=variable.graph) is not None
    assert adam._call_if_callable(lambda: 3) == 3
    averaging = tf2.compat.v1.train.SyncReplicasOptimizer(adam, 1)
    assert averaging._opt is adam


def _datasets() -> None:
    dataset = tf2.data.Dataset.range(2)
    assert dataset._variant_tensor.dtype == tf.variant
    mapped = dataset.map(lambda x: x + 1)
    definition = tf.GraphDef()
    mapped._variant_tensor.graph._copy_functions_to_graph_def(definition, 0)
    assert len(definition.library.function) == 1


def _python_functions() -> None:
    functions = script_ops._py_funcs
    before = functions._unique_id
    tf.py_func(abs, [1.0], tf.float32)
    assert functions._unique_id > before


def _savers() -> None:
    variable = tf.get_variable("w", [2])
    assert tf.train.Saver([variable])._var_list == [variable]
    listener = tf.train.CheckpointSaverListener()
    hook = tf.train.CheckpointSaverHook("/nowhere", save_steps=7, listeners=[listener])
    assert hook._listeners == [listener]
    assert (hook._timer._every_steps, hook._timer._every_secs) == (7, None)


def _tf_keras() -> None:
    import tf_keras

    with tf2.init_scope():
        model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse", metrics=["mae"])
        assert model._get_compile_args()["loss"] == "mse"
        assert model._is_graph_network
        assert model.layers[0] in list(model._flatten_layers())
        legacy = tf_keras.optimizers.legacy.SGD(0.5)
        legacy._create_all_weights(model.trainable_variables)
        assert sorted(legacy._hyper)[-1] == "momentum"
        loss = tf_keras.losses.CategoricalCrossentropy(label_smoothing=0.5)
        assert loss._fn_kwargs["label_smoothing"] == 0.5


def _keras() -> None:
    import keras

    if keras.__version__.startswith("2"):
        pytest.skip("this process has Keras 2 as tf.keras")
    with tf2.init_scope():
        adam = keras.optimizers.Adam()
        variable = keras.Variable(np.zeros(2, "float32"))
        adam.build([variable])
        index = adam._get_variable_index(variable)
        assert adam._momentums[index].shape == adam._velocities[index].shape == (2,)


def _slim() -> None:
    from tf_slim.data import tfexample_decoder

    handler: Any = tfexample_decoder.Image("image", "format", channels=1)
    assert (handler._image_key, handler._format_key, handler._channels) == ("image", "format", 1)
    assert (handler._dtype, handler._shape, handler._repeated) == (tf.uint8, None, False)


def _argparse() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size")
    assert "--size" in parser._option_string_actions
    assert parser._actions[-1].dest == "size"
    assert isinstance(parser.add_subparsers(), argparse._SubParsersAction)


def _absl() -> None:
    values = absl.flags.FlagValues()
    absl.flags.DEFINE_integer("size", 3, "", flag_values=values)
    values._assert_validators([])


def _errors() -> None:
    error = tf.errors.NotFoundError(None, tf.constant(1).op, "first")
    assert "Original stack trace" in str(error)
    error._message, error._op = "second", None
    assert str(error) == error.message == "second"


PROBES: list[Callable[[], None]] = [
    *(_control_inputs, _inputs_and_attributes, _control_flow_context, _variables, _optimizers),
    *(_datasets, _python_functions, _savers, _tf_keras, _keras, _slim, _argparse, _absl, _errors),
]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__.strip("_"))
def test_each_does_what_is_relied_on(probe: Callable[[], None]) -> None:
    with tf.Graph().as_default():
        probe()


def _parsed() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def _own(trees: dict[Path, ast.Module]) -> set[str]:
    """Every name that the project itself defines or assigns."""
    names = set(dir(builtins)) | set(OWN)
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def _private_modules(name: str | None) -> bool:
    return bool(name) and str(name).startswith(("tensorflow.python", "tf_keras.src", "keras.src"))


def _used(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            if private and node.attr not in own:
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and _private_modules(node.module):
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_the_table_names_all_that_is_used() -> None:
    trees = _parsed()
    own = _own(trees)
    known = {name for _, name in _tables()}
    known |= {name for names in OF_OBJECTS.values() for name in names.split()}
    missing = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path, tree in trees.items()
        for line, name in _used(tree, own)
        if name not in known
    ]
    assert missing == []
