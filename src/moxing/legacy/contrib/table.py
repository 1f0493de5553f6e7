"""The table of `tf.contrib`: where tf-slim and TensorFlow still have a name, and other advice."""

from __future__ import annotations

from moxing.legacy.contrib import small
from moxing.legacy.contrib.gan import names as gan_names
from moxing.legacy.contrib.learn import names as learn_names
from moxing.legacy.face.faces import Spec
from moxing.legacy.names import old_names

_V1 = "tensorflow.compat.v1"
_OWN = "moxing.legacy"
_HERE = f"{_OWN}.contrib"
_ESTIMATOR = "moxing.estimator"

_CONVOLUTION = {name: f"{_HERE}.convolution:convolution2d" for name in ("conv2d", "convolution2d")}
_LAYERS = Spec(
    roots=("tf_slim.layers",),
    names={
        "python": Spec(
            names={"layers": "face:tensorflow.contrib.layers", "ops": "tf_slim.layers"},
        ),
        **_CONVOLUTION,
        "feature_column": Spec(roots=(f"{_HERE}.learn.old_columns",)),
        "feature_column_ops": Spec(roots=(f"{_HERE}.learn.old_columns",)),
        **{
            name: f"{_HERE}.learn.old_columns:{name}"
            for name in (
                "bucketized_column",
                "create_feature_spec_for_parsing",
                "crossed_column",
                "embedding_column",
                "input_from_feature_columns",
                "one_hot_column",
                "parse_feature_columns_from_examples",
                "real_valued_column",
                "sparse_column_with_hash_bucket",
                "sparse_column_with_integerized_feature",
                "sparse_column_with_keys",
                "sparse_column_with_vocabulary_file",
                "weighted_sparse_column",
                "weighted_sum_from_feature_columns",
            )
        },
        **{
            name: f"{_HERE}.nn:{name}"
            for name in ("bow_encoder", "embed_sequence", "embedding_lookup_unique")
        },
        "safe_embedding_lookup_sparse": f"{_V1}:nn.safe_embedding_lookup_sparse",
        # tf-slim defines these names in modules that it does not export.
        "utils": "tf_slim.layers.utils",
    },
    deep=True,
    gone={
        name: "Use tf.feature_column and tf.feature_column.input_layer instead."
        for name in (
            "joint_weighted_sum_from_feature_columns",
            "scattered_embedding_column",
            "sequence_input_from_feature_columns",
            "shared_embedding_columns",
        )
    },
    otherwise=" openmox shows tf-slim 1.1 under this name.",
)

_SLIM_DATA = Spec(roots=("tf_slim.data",), deep=True)
_SLIM = Spec(
    roots=("tf_slim",),
    names={
        # slim had all names of contrib.layers.
        **{name: place for name, place in _LAYERS.names.items() if isinstance(place, str)},
        "data": _SLIM_DATA,
        "nets": "tf_slim.nets",
        "python": Spec(names={"slim": "face:tensorflow.contrib.slim"}),
    },
    deep=True,
    otherwise=" openmox shows tf-slim 1.1 under this name.",
)

_FRAMEWORK = Spec(
    roots=("tf_slim.ops.variables", "tf_slim.ops.arg_scope", "tf_slim.ops.framework_ops"),
    names={
        "deprecated": "tensorflow.python.util.deprecation:deprecated",
        "deprecated_args": "tensorflow.python.util.deprecation:deprecated_args",
        "nest": "face:tensorflow.python.util.nest",
        # Under this name, tf-slim's module of variables exposes a module.
        **{
            name: f"tf_slim.ops.arg_scope:{name}"
            for name in ("add_arg_scope", "arg_scope", "current_arg_scope", "has_arg_scope")
        },
        "with_shape": f"{_HERE}.framework:with_shape",
        "with_same_shape": f"{_HERE}.framework:with_same_shape",
        **{
            name: f"{_HERE}.framework:{name}"
            for name in (
                *("init_from_checkpoint", "list_variables", "load_checkpoint", "load_variable"),
                *("reduce_sum_n", "smart_constant_value", "sort"),
            )
        },
        "BoundedTensorSpec": "tensorflow.python.framework.tensor_spec:BoundedTensorSpec",
        "RecordInput": "tensorflow.python.ops.data_flow_ops:RecordInput",
        **{
            f"convolutional_{kind}": f"tensorflow.python.ops.init_ops:convolutional_{kind}"
            for kind in ("delta_orthogonal", "orthogonal_1d", "orthogonal_2d", "orthogonal_3d")
        },
        "deprecated_arg_values": "tensorflow.python.util.deprecation:deprecated_arg_values",
        "prepend_name_scope": "tensorflow.python.framework.ops:prepend_name_scope",
        "remove_squeezable_dimensions": "tensorflow.python.ops.confusion_matrix"
        ":remove_squeezable_dimensions",
        "smart_case": "tensorflow.python.framework.smart_cond:smart_case",
        "smart_cond": "tensorflow.python.framework.smart_cond:smart_cond",
        "strip_name_scope": "tensorflow.python.framework.ops:strip_name_scope",
        "zero_initializer": f"{_HERE}.framework:zero_initializer",
        "python": Spec(
            names={
                "ops": Spec(
                    roots=("tf_slim.ops",),
                    names={
                        name: f"tf_slim.ops.arg_scope:{name}"
                        for name in ("add_arg_scope", "arg_scope", "has_arg_scope")
                    }
                    | {"audio_ops": "tensorflow.python.ops.gen_audio_ops"},
                    deep=True,
                    fallback=("tf_slim.ops.variables",),
                ),
                "framework": Spec(
                    names={
                        "checkpoint_utils": "tensorflow.python.training.checkpoint_utils",
                        "tensor_util": Spec(
                            roots=("tensorflow.python.framework.tensor_util",),
                            names={
                                "with_same_shape": f"{_HERE}.framework:with_same_shape",
                                "with_shape": f"{_HERE}.framework:with_shape",
                            },
                        ),
                    }
                ),
            }
        ),
        "variable": "tf_slim.ops.variables:variable",
    },
    fallback=(f"{_V1}.train", _V1),
)

_TRAINING = Spec(
    roots=("tf_slim.training.training", "tf_slim.training.evaluation"),
    names={
        "HParams": f"{_HERE}.training.hparams:HParams",
        "bucket": f"{_HERE}.training.bucketing:bucket",
        "bucket_by_sequence_length": f"{_HERE}.training.bucketing:bucket_by_sequence_length",
        "GreedyLoadBalancingStrategy": f"{_HERE}.training.placement:GreedyLoadBalancingStrategy",
        "RandomStrategy": f"{_HERE}.training.placement:RandomStrategy",
        "byte_size_load_fn": f"{_HERE}.training.placement:byte_size_load_fn",
        "python": Spec(
            names={
                "training": Spec(
                    roots=("tf_slim.training",),
                    names={
                        "bucket_ops": f"{_HERE}.training.bucketing",
                        "device_setter": f"{_HERE}.training.placement",
                        "hparam": f"{_HERE}.training.hparams",
                    },
                    deep=True,
                )
            }
        ),
    },
    fallback=(f"{_V1}.train",),
    gone={
        "batch_sequences_with_states": "Cut sequences in tf.data and carry the state in variables.",
        "rejection_sample": "Use tf.data.experimental.rejection_resample instead.",
        "resample_at_rate": "Use flat_map and repeat of tf.data instead.",
        "stratified_sample": "Use tf.data.experimental.rejection_resample instead.",
        "weighted_resample": "Use flat_map and repeat of tf.data instead.",
    },
)


def _python(face: str, package: str, *files: str, module: str = "") -> Spec:
    """Maps private files `contrib.X.python.PACKAGE.FILE`, which programs import, to all of X.

    Args:
        face: X.
        package: PACKAGE.
        files: names of the files, without `.py`.
        module: the module of this folder that has X's names; empty: the module of that name.
    """
    shown = {file: f"face:tensorflow.contrib.{face}" for file in files}
    return Spec(names={package: Spec(roots=(f"{_HERE}.{module or face}",), names=shown)})


_RNN_FILES = (
    "core_rnn",
    "core_rnn_cell",
    "core_rnn_cell_impl",
    "fused_rnn_cell",
    "gru_ops",
    "lstm_ops",
    "rnn",
    "rnn_cell",
)
_RNN = Spec(
    roots=(f"{_HERE}.rnn", f"{_V1}.nn.rnn_cell", f"{_V1}.nn"),
    names={
        "core_rnn_cell": "face:tensorflow.contrib.rnn",
        "python": _python("rnn", "ops", *_RNN_FILES),
    },
    arrive=old_names.restore_cells,
)
_LEGACY_SEQ2SEQ = Spec(
    roots=(f"{_HERE}.seq2seq.legacy_seq2seq",),
    names={
        "python": _python("legacy_seq2seq", "ops", "seq2seq", module="seq2seq.legacy_seq2seq"),
    },
)
_SEQ2SEQ_FILES = (
    "attention_decoder_fn",
    "attention_wrapper",
    "basic_decoder",
    "beam_search_decoder",
    "beam_search_ops",
    "decoder",
    "decoder_fn",
    "helper",
    "loss",
    "seq2seq",
)
_SEQ2SEQ = Spec(
    roots=(f"{_HERE}.seq2seq",),
    names={
        "_transpose_batch_time": "tensorflow.python.ops.rnn:_transpose_batch_time",
        "python": _python("seq2seq", "ops", *_SEQ2SEQ_FILES),
    },
)
_SIGNAL_FILES = (
    "mel_ops",
    "mfcc_ops",
    "reconstruction_ops",
    "shape_ops",
    "spectral_ops",
    "util_ops",
    "window_ops",
)
_OPT = Spec(
    roots=(f"{_HERE}.opt",),
    names={"python": Spec(names={"training": Spec(roots=(f"{_HERE}.opt",), deep=True)})},
    gone={
        name: "Use LazyAdamOptimizer, AdamWOptimizer or an optimizer of tf.train instead."
        for name in (
            "AGNOptimizer",
            "AdamGSOptimizer",
            "GGTOptimizer",
            "LazyAdamGSOptimizer",
            "RegAdagradOptimizer",
            "ShampooOptimizer",
            "MultitaskOptimizerWrapper",
        )
    }
    | {
        name: "Run the program with several workers: mox run averages their gradients."
        for name in (
            "DropStaleGradientOptimizer",
            "ElasticAverageOptimizer",
            "ModelAverageOptimizer",
        )
    },
)
_GRAPH_EDITOR = Spec(
    roots=(f"{_HERE}.graph_editor",),
    names={
        module: "face:tensorflow.contrib.graph_editor"
        for module in ("edit", "reroute", "select", "subgraph", "transform", "util")
    },
)
_CRF = Spec(roots=(f"{_HERE}.crf",), names={"python": _python("crf", "ops", "crf")})

_DATA = Spec(
    roots=(f"{_HERE}.data", f"{_HERE}.old_data", f"{_V1}.data.experimental"),
    names={
        "python": Spec(
            names={
                **_python(
                    "data", "ops", "batching", "dataset_ops", "grouping", "interleave_ops"
                ).names,
                "util": Spec(names={"nest": "face:tensorflow.python.util.nest"}),
            }
        )
    },
    fallback=(f"{_V1}.data",),
)

_NO_TPU = (
    " It drives TPUs, which openmox does not: use tf.contrib.tpu.TPUEstimator with use_tpu=False."
)
# The names of tf.contrib.tpu, and the private files that programs import them from.
_TPU = Spec(
    roots=(f"{_ESTIMATOR}.tpu", f"{_V1}.tpu"),
    names={
        "python": Spec(
            names={
                "ops": Spec(roots=("tensorflow.python.tpu.ops",), deep=True),
                "tpu": Spec(
                    roots=("tensorflow.python.tpu",),
                    names={
                        "bfloat16": "face:tensorflow.contrib.tpu",
                        "tpu": Spec(
                            roots=(
                                f"{_V1}.tpu",
                                "tensorflow.python.tpu.tpu",
                                "tensorflow.python.tpu.tpu_replication",
                            )
                        ),
                        "tpu_config": f"{_ESTIMATOR}.tpu",
                        "tpu_estimator": f"{_ESTIMATOR}.tpu",
                        "tpu_optimizer": f"{_ESTIMATOR}.tpu",
                    },
                    deep=True,
                    otherwise=_NO_TPU,
                ),
            },
            otherwise=_NO_TPU,
        ),
    },
)

CLUSTER_RESOLVER = Spec(
    roots=(f"{_V1}.distribute.cluster_resolver",),
    names={"TPUClusterResolver": f"{_ESTIMATOR}.tpu.resolver:TPUClusterResolver"},
)

_AUTOGRAPH = "tensorflow.python.autograph.impl.api"
_WARP = (
    "Compute it with SciPy in tf.py_func: ndimage.label or interpolate.RBFInterpolator;"
    " dense_image_warp applies a flow."
)
CONTRIB = Spec(
    names={
        **small.NAMES,
        "autograph": Spec(
            roots=(f"{_V1}.autograph",),
            names={
                "Feature": f"{_V1}:autograph.experimental.Feature",
                "convert": f"{_AUTOGRAPH}:convert",
                "converted_call": f"{_AUTOGRAPH}:converted_call",
                "do_not_convert": f"{_V1}:autograph.experimental.do_not_convert",
                "set_loop_options": f"{_V1}:autograph.experimental.set_loop_options",
            },
        ),
        "cluster_resolver": CLUSTER_RESOLVER,
        "compiler": Spec(
            names={
                "jit": Spec(names={"experimental_jit_scope": f"{_V1}:xla.experimental.jit_scope"})
            }
        ),
        "crf": _CRF,
        "data": _DATA,
        "distribute": Spec(
            roots=(f"{_ESTIMATOR}.strategies",),
            names={
                **{
                    name: f"tensorflow.python.distribute.distribute_lib:{name}"
                    for name in (
                        *("ReplicaContext", "get_cross_replica_context", "get_replica_context"),
                        *("get_strategy", "has_strategy", "in_cross_replica_context"),
                    )
                },
                "DistributionStrategy": f"{_V1}:distribute.Strategy",
                "get_distribution_strategy": f"{_V1}:distribute.get_strategy",
                "get_loss_reduction": f"{_V1}:distribute.get_loss_reduction",
                "has_distribution_strategy": f"{_V1}:distribute.has_strategy",
                # TensorFlow 1.11 and before called devices towers here.
                **{
                    f"{name}Cross{kind}Ops": f"tensorflow.python.distribute.cross_device_ops:{now}"
                    for kind in ("Device", "Tower")
                    for name, now in (
                        ("", "CrossDeviceOps"),
                        ("AllReduce", "AllReduceCrossDeviceOps"),
                        ("ReductionToOneDevice", "ReductionToOneDevice"),
                    )
                },
            },
            gone={"TPUStrategy": "There are no TPUs here: use MirroredStrategy, or leave it out."},
            otherwise=" openmox has the strategies of tf.distribute here, which start nothing.",
        ),
        "estimator": f"{_ESTIMATOR}.contrib",
        "predictor": f"{_ESTIMATOR}.predictor",
        "framework": _FRAMEWORK,
        "gan": gan_names.GAN,
        "graph_editor": _GRAPH_EDITOR,
        "image": Spec(
            roots=(f"{_HERE}.image",),
            names={
                "python": Spec(
                    names={
                        "ops": Spec(
                            names={
                                "dense_image_warp": f"{_HERE}.image.warp",
                                "image_ops": f"{_HERE}.image",
                            }
                        )
                    }
                )
            },
            gone={
                name: _WARP
                for name in (
                    "connected_components",
                    "interpolate_spline",
                    "sparse_image_warp",
                )
            },
        ),
        "keras": "face:tensorflow.keras",
        "layers": _LAYERS,
        "learn": learn_names.LEARN,
        "legacy_seq2seq": _LEGACY_SEQ2SEQ,
        "losses": Spec(
            roots=("tf_slim.losses",),
            names={"python": Spec(names={"losses": "tf_slim.losses"})},
            deep=True,
        ),
        "metrics": Spec(
            roots=("tf_slim.metrics",),
            names={
                "confusion_matrix": f"{_V1}:math.confusion_matrix",
                "confusion_matrix_ops": "face:tensorflow.contrib.metrics",
                "python": Spec(
                    names={
                        "metrics": "face:tensorflow.contrib.metrics",
                        "ops": "face:tensorflow.contrib.metrics",
                    }
                ),
                "set_difference": f"{_V1}:sets.difference",
                "set_intersection": f"{_V1}:sets.intersection",
                "set_ops": "face:tensorflow.contrib.metrics",
                "set_size": f"{_V1}:sets.size",
                "set_union": f"{_V1}:sets.union",
            },
            deep=True,
        ),
        "opt": _OPT,
        "rnn": _RNN,
        "seq2seq": _SEQ2SEQ,
        "signal": Spec(
            roots=(f"{_V1}.signal",),
            names={
                "python": Spec(
                    names={
                        "ops": Spec(
                            names={
                                name: f"tensorflow.python.ops.signal.{name}"
                                for name in _SIGNAL_FILES
                            }
                        )
                    }
                )
            },
        ),
        "slim": _SLIM,
        "staging": Spec(names={"StagingArea": "tensorflow.python.ops.data_flow_ops:StagingArea"}),
        "tpu": _TPU,
        "training": _TRAINING,
        "util": Spec(
            names={
                "constant_value": "tensorflow.python.framework.tensor_util:constant_value",
                "make_ndarray": f"{_V1}:make_ndarray",
                "load_op_library": f"{_V1}:load_op_library",
                "make_tensor_proto": f"{_V1}:make_tensor_proto",
                **{
                    name: f"tensorflow.python.framework.meta_graph:{name}"
                    for name in ("ops_used_by_graph_def", "stripped_op_list_for_graph")
                },
            }
        ),
    },
    gone=small.GONE,
    otherwise=" tf.contrib was removed with TensorFlow 2.0; openmox restores layers, slim,"
    " framework, losses, metrics, training, rnn, seq2seq, crf, opt, data, image, lookup and more."
    " Port this part of the program to TensorFlow's public API.",
)
