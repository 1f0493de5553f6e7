"""The table of `tensorflow.python.*`: which private modules of TensorFlow 1.x are elsewhere now."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from moxing.errors import MoxImportError
from moxing.legacy.face.faces import Spec
from moxing.legacy.names import estimator_paths, old_names

_V1 = "tensorflow.compat.v1"
_PYTHON = "tensorflow.python"
_RESTORED = "moxing.legacy.names.restored"
_VERSION = "moxing.legacy.names.version:VERSION"
_MOVED_HERE = "moxing.legacy.names.moved"

# Functions that moved from one private file to another are still public under the same name.
MOVED = (_V1, f"{_V1}.nn", f"{_V1}.train", f"{_V1}.math", f"{_V1}.layers")


def _package(name: str, names: Mapping[str, Any]) -> Spec:
    """A package of TensorFlow's, with modules that it lost."""
    return Spec(roots=(f"{_PYTHON}.{name}",), names=names, fallback=MOVED, deep=True)


def _module(name: str, names: Mapping[str, Any], *more: str) -> Spec:
    """A module of TensorFlow's, with names that it lost."""
    return Spec(roots=(f"{_PYTHON}.{name}", *more), names=names, fallback=MOVED)


def _of_tensorboard(name: str) -> ModuleType:
    """A module that TensorFlow gave to TensorBoard."""
    try:
        return importlib.import_module(f"tensorboard.backend.event_processing.{name}")
    except ModuleNotFoundError as error:
        raise MoxImportError(
            f"tensorflow.python.summary.{name} is a part of TensorBoard now, which is not"
            " installed. Install it: pip install tensorboard",
            name=name,
        ) from error


def _build_info(name: str) -> str:
    """A version that TensorFlow was built with, empty where it was built without."""
    return str(importlib.import_module(f"{_PYTHON}.platform.build_info").build_info.get(name, ""))


_PLATFORM = {
    "app": "face:tensorflow.app",
    "build_info": _module(
        "platform.build_info",
        {
            f"{name}_number": functools.partial(_build_info, name)
            for name in ("cuda_version", "cudnn_version")
        },
    ),
    "flags": "face:tensorflow.flags",
    "gfile": old_names.PLATFORM_GFILE,
}

# Names that modules give to another class or function once TensorFlow 2's behavior is on.
_OF_V1 = {
    "data.ops": {
        "dataset_ops": ("Dataset",),
        "readers": ("FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"),
    },
    "data.experimental.ops": {
        "counter": ("Counter",),
        "interleave_ops": ("choose_from_datasets", "sample_from_datasets"),
        "random_ops": ("RandomDataset",),
        "readers": (
            *("CsvDataset", "SqlDataset"),
            *("make_batched_features_dataset", "make_csv_dataset"),
        ),
    },
}


def _data_of_v1(package: str) -> Spec:
    """The package `ops` of data sets, as it is without TensorFlow 2's behavior."""
    public = f"{_V1}.{package.removesuffix('.ops')}"
    return _package(
        package,
        {
            module: _module(f"{package}.{module}", {name: f"{public}:{name}" for name in names})
            for module, names in _OF_V1[package].items()
        },
    )


_DATA = {
    "ops": _data_of_v1("data.ops"),
    "experimental": _package("data.experimental", {"ops": _data_of_v1("data.experimental.ops")}),
}
_FRAMEWORK = {
    "device": _module("framework.device", {"DeviceSpec": f"{_V1}:DeviceSpec"}),
    "common_shapes": _module(
        "framework.common_shapes",
        {
            "scalar_shape": f"{_MOVED_HERE}:scalar_shapes",
            "unknown_shape": f"{_MOVED_HERE}:unknown_shapes",
        },
    ),
    "graph_util": _module("framework.graph_util", {}, f"{_V1}.graph_util"),
    "graph_util_impl": _module("framework.graph_util_impl", {}, f"{_V1}.graph_util"),
    "ops": _module(
        "framework.ops",
        {
            "RegisterShape": "moxing.legacy.names.before_1_0:RegisterShape",
            **{
                name: f"{_MOVED_HERE}:{name}"
                for name in ("register_dense_tensor_like_type", "set_shapes_for_outputs")
            },
        },
    ),
    "op_def_context": "face:tensorflow.python.framework.op_def_registry",
    "op_def_registry": _module(
        "framework.op_def_registry",
        {name: f"{_MOVED_HERE}:{name}" for name in ("get_registered_ops", "register_op_list")},
    ),
    "tensor_shape": _module(
        "framework.tensor_shape",
        {name: f"{_MOVED_HERE}:{name}" for name in ("matrix", "scalar", "unknown_shape", "vector")},
    ),
    "versions": _module("framework.versions", {"VERSION": _VERSION, "__version__": _VERSION}),
}

# Until TensorFlow 1.5, the functions of operations that had no public name began with `_`.
_GENERATED = (
    *("array", "candidate_sampling", "control_flow", "ctc", "data_flow", "functional", "image"),
    *("io", "linalg", "logging", "lookup", "math", "nn", "parsing", "random"),
    *("resource_variable", "script", "sparse", "state", "string"),
)

_OPS = {
    **{
        f"gen_{name}_ops": Spec(
            roots=(f"{_PYTHON}.ops.gen_{name}_ops",), fallback=MOVED, old_prefix="_"
        )
        for name in _GENERATED
    },
    "constant_op": f"{_PYTHON}.framework.constant_op",
    "resource_variable_ops": _module(
        "ops.resource_variable_ops",
        {name: f"{_PYTHON}.ops.ref_variable:{name}" for name in ("_from_proto_fn", "_to_proto_fn")},
    ),
    "rnn": _module("ops.rnn", old_names.RNN),
    "rnn_cell": "face:tensorflow.nn.rnn_cell",
    "rnn_cell_impl": _module(
        "ops.rnn_cell_impl",
        {
            "_Linear": "moxing.legacy.contrib.rnn.linear:Linear",
            "_linear": "moxing.legacy.contrib.rnn.linear:linear",
            "_like_rnncell": f"{_MOVED_HERE}:like_rnncell",
            "MultiRNNCell": "moxing.legacy.contrib.rnn.repeated:MultiRNNCell",
            "_RNNCell": f"{_V1}:nn.rnn_cell.RNNCell",
        },
    ),
    "seq2seq": "face:tensorflow.contrib.legacy_seq2seq",
    "spectral_ops": f"{_V1}.signal",
    "summary_ops": "face:tensorflow.summary",
    "variable_scope": _module(
        "ops.variable_scope",
        {
            "_VARSCOPE_KEY": "moxing.legacy.sessions.current_scope:KEY",
            "variable": f"{_MOVED_HERE}:variable",
        },
    ),
}

# Programs ask which class a column has: until TensorFlow 1.12, by these private names.
_COLUMNS = (
    *("Numeric", "Bucketized", "Embedding", "Indicator", "Crossed"),
    *("HashedCategorical", "VocabularyFileCategorical", "VocabularyListCategorical"),
    *("IdentityCategorical", "WeightedCategorical", "SequenceCategorical"),
)

_FEATURE_COLUMN = {
    "feature_column": _module(
        "feature_column.feature_column",
        {
            f"_{name}Column": f"{_PYTHON}.feature_column.feature_column_v2:{name}Column"
            for name in _COLUMNS
        },
        f"{_V1}.feature_column",
    ),
}

_TRAINING = {
    "checkpointable": Spec(
        roots=(f"{_PYTHON}.trackable",), names={"tracking": f"{_PYTHON}.trackable.autotrackable"}
    ),
    "distribute": f"{_PYTHON}.distribute.distribute_lib",
    "distribution_strategy_context": f"{_PYTHON}.distribute.distribute_lib",
    "gen_training_ops": f"{_PYTHON}.ops.gen_training_ops",
    "learning_rate_decay_v2": f"{_V1}.train",
    "saveable_object": f"{_PYTHON}.training.saving.saveable_object",
    "saver_pb2": "tensorflow.core.protobuf.saver_pb2",
    "tracking": Spec(
        roots=(f"{_PYTHON}.trackable",),
        names={
            "graph_view": f"{_PYTHON}.checkpoint.graph_view",
            "tracking": f"{_PYTHON}.trackable.autotrackable",
            "util": f"{_PYTHON}.checkpoint.checkpoint",
        },
    ),
    "training_ops": f"{_PYTHON}.ops.gen_training_ops",
}

_TOOLS = {
    "freeze_graph": _module(
        "tools.freeze_graph",
        {name: f"{_RESTORED}:{name}" for name in ("freeze_graph", "freeze_graph_with_def_protos")},
    ),
}

_SUMMARY = {
    **{
        name: functools.partial(_of_tensorboard, name)
        for name in ("event_accumulator", "event_file_inspector", "event_multiplexer")
    },
    "text_summary": "face:tensorflow.summary",
}

_UTIL = {
    "nest": _module(
        "util.nest",
        {
            "is_sequence": f"{_PYTHON}.util.nest:is_nested",
            "is_sequence_or_composite": f"{_PYTHON}.util.nest:is_nested_or_composite",
        },
    ),
}

PYTHON = Spec(
    roots=(_PYTHON,),
    names={
        "eager": _package(
            "eager",
            {
                "context": _module(
                    "eager.context", {"in_graph_mode": f"{_MOVED_HERE}:in_graph_mode"}
                )
            },
        ),
        "__version__": _VERSION,
        "data": _package("data", _DATA),
        "estimator": estimator_paths.SPEC,
        "feature_column": _package("feature_column", _FEATURE_COLUMN),
        "framework": _package("framework", _FRAMEWORK),
        "keras": "face:tensorflow.keras",
        # TensorFlow's own file asks tf_keras for a module that is elsewhere now.
        "layers": _package(
            "layers",
            {
                "base": _module("layers.base", {"_Layer": f"{_V1}:layers.Layer"}),
                "normalization": "tf_keras.src.legacy_tf_layers.normalization",
            },
        ),
        "ops": _package("ops", _OPS),
        "platform": _package("platform", _PLATFORM),
        "pywrap_tensorflow": Spec(
            roots=(f"{_PYTHON}.pywrap_tensorflow",),
            names={
                "EventsWriter": f"{_PYTHON}.client._pywrap_events_writer:EventsWriter",
                "NewCheckpointReader": f"{_V1}:train.NewCheckpointReader",
            },
            # In TensorFlow 1.x, one module held all functions of TensorFlow's C interface.
            fallback=(f"{_PYTHON}.client.pywrap_tf_session",),
        ),
        "pywrap_tensorflow_internal": "face:tensorflow.python.pywrap_tensorflow",
        "summary": _package("summary", _SUMMARY),
        "tools": _package("tools", _TOOLS),
        "training": _package("training", _TRAINING),
        "util": _package("util", _UTIL),
    },
    fallback=MOVED,
    deep=True,
)
