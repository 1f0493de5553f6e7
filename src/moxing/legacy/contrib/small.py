"""The table of `tf.contrib`'s smaller parts, and the advice for names that are not supported."""

from __future__ import annotations

from typing import Any

from moxing.legacy.face.faces import Spec

_V1 = "tensorflow.compat.v1"
_HERE = "moxing.legacy.contrib"
_OLD = "moxing.legacy.names.before_1_0"

_EAGER_ONLY = "It needs eager execution: call tf.enable_eager_execution() and use tf.keras."
_CONTEXT = "tensorflow.python.eager.context"
_TRACKABLE = "tensorflow.python.trackable.autotrackable:AutoTrackable"
_STRUCTURES = "tensorflow.python.trackable.data_structures"
_CLUSTERING = "tensorflow.python.ops.clustering_ops"
_FACTORS = "Train two embeddings by the squared error of their products instead."
_OPAQUE = (
    "The layers CudnnLSTM, CudnnGRU, CudnnRNNTanh and CudnnRNNRelu save their weights in the"
    " canonical form by themselves: leave it out."
)
_STATELESS = {
    "stateless_multinomial": f"{_V1}:random.stateless_multinomial",
    "stateless_random_normal": f"{_V1}:random.stateless_normal",
    "stateless_random_uniform": f"{_V1}:random.stateless_uniform",
    "stateless_truncated_normal": f"{_V1}:random.stateless_truncated_normal",
}
_LOOKUP = Spec(
    roots=(f"{_HERE}.lookup",),
    names={"lookup_ops": "face:tensorflow.contrib.lookup"},
    fallback=("tensorflow.python.ops.lookup_ops",),
)
_PROFILING = f"{_HERE}.profiling"
_SERIES = f"{_HERE}.timeseries"
_SERIES_GONE = {
    name: "Use ARRegressor or LSTMAutoRegressor of tf.contrib.timeseries instead."
    for name in ("StructuralEnsembleRegressor", "AnomalyMixtureARModel", "state_space_models")
}
# Each module of the original shows all names: programs import names by many of its paths.
_SERIES_FILES = {
    name: Spec(roots=(_SERIES,), gone=_SERIES_GONE)
    for name in (
        "ar_model",
        "estimators",
        "feature_keys",
        "head",
        "input_pipeline",
        "math_utils",
        "model",
        "model_utils",
        "saved_model_utils",
        "state_management",
    )
}
_PROJECTOR = Spec(roots=(f"{_HERE}.projector",))
_EAGER = Spec(
    roots=(f"{_HERE}.eager",),
    names={
        "Checkpointable": f"{_TRACKABLE}",
        "Network": f"{_HERE}.eager_network:Network",
        **{
            name: f"{_CONTEXT}:{name}"
            for name in (
                *("ASYNC", "SYNC", "DEVICE_PLACEMENT_EXPLICIT", "DEVICE_PLACEMENT_SILENT"),
                *("DEVICE_PLACEMENT_WARN", "async_clear_error", "async_wait", "execution_mode"),
                "set_execution_mode",
            )
        },
        **{
            name: f"{_V1}:{name}"
            for name in ("GradientTape", "TensorSpec", "custom_gradient", "function")
        },
        "make_template": f"{_V1}:make_template",
        "Saver": f"{_V1}:train.Saver",
        "Sequential": f"{_V1}:keras.Sequential",
        "python": Spec(names={"tfe": "face:tensorflow.contrib.eager"}),
    },
    gone={
        "metrics": "Use tf.keras.metrics instead.",
        **{
            name: "Call tf.debugging.enable_check_numerics() instead."
            for name in (
                *("ExecutionCallback", "add_execution_callback", "clear_execution_callbacks"),
                *("errstate", "inf_callback", "inf_nan_callback", "nan_callback", "seterr"),
            )
        },
    },
    otherwise=f" {_EAGER_ONLY}",
)

NAMES: dict[str, Any] = {
    "checkpoint": Spec(
        roots=(f"{_V1}.train",),
        names={
            "Checkpointable": _TRACKABLE,
            "CheckpointableBase": "tensorflow.python.trackable.base:Trackable",
            "List": f"{_STRUCTURES}:List",
            "Mapping": f"{_STRUCTURES}:Mapping",
            "NoDependency": f"{_STRUCTURES}:NoDependency",
        },
    ),
    "cudnn_rnn": Spec(
        roots=(f"{_HERE}.rnn.cudnn",),
        names={
            "python": Spec(
                names={
                    place: Spec(
                        roots=(f"{_HERE}.rnn.cudnn",),
                        names={
                            file: "face:tensorflow.contrib.cudnn_rnn"
                            for file in ("cudnn_rnn", "cudnn_rnn_ops")
                        },
                    )
                    for place in ("layers", "ops")
                }
            )
        },
        gone={
            name: _OPAQUE
            for name in ("CudnnLSTMSaveable", "CudnnGRUSaveable", "CudnnRNNTanhSaveable")
        },
    ),
    "deprecated": Spec(
        names={
            **{
                name: f"{_OLD}:{name}"
                for name in (
                    "audio_summary",
                    "histogram_summary",
                    "image_summary",
                    "scalar_summary",
                )
            },
            "merge_all_summaries": f"{_V1}:summary.merge_all",
            "merge_summary": f"{_V1}:summary.merge",
        }
    ),
    "distributions": Spec(
        roots=(f"{_HERE}.distributions",),
        names={
            "python": Spec(names={"ops": "face:tensorflow.contrib.distributions"}),
        },
    ),
    "eager": _EAGER,
    "feature_column": Spec(roots=(f"{_HERE}.learn.sequence_columns",)),
    "integrate": Spec(roots=(f"{_HERE}.numeric.integrate",)),
    # These classes of tf.train have the same arguments, variables and numbers.
    "optimizer_v2": Spec(
        names={
            f"{name}Optimizer": f"{_V1}:train.{name}Optimizer"
            for name in (*("Adadelta", "Adagrad", "Adam", "GradientDescent", "Momentum"),)
        },
        gone={
            "OptimizerV2": "Derive from tf.train.Optimizer instead.",
            "RMSPropOptimizer": "Use tf.train.RMSPropOptimizer, whose mean square starts at 1"
            " instead of 1e-10.",
        },
    ),
    "sparsemax": Spec(roots=(f"{_HERE}.numeric.sparsemax",)),
    "factorization": Spec(
        names={
            "KMeans": f"{_CLUSTERING}:KMeans",
            **{
                name: f"{_CLUSTERING}:{name}"
                for name in (
                    "COSINE_DISTANCE",
                    "KMEANS_PLUS_PLUS_INIT",
                    "RANDOM_INIT",
                    "SQUARED_EUCLIDEAN_DISTANCE",
                )
            },
            "python": Spec(names={"ops": Spec(names={"clustering_ops": _CLUSTERING})}),
        },
        gone={
            "GMM": "Use GaussianMixture of scikit-learn instead.",
            "KMeansClustering": "Use tf.contrib.factorization.KMeans in a session, or KMeans of"
            " scikit-learn.",
            "WALSMatrixFactorization": _FACTORS,
            "WALSModel": _FACTORS,
            "gmm": "Use GaussianMixture of scikit-learn instead.",
        },
    ),
    "hooks": Spec(names={"ProfilerHook": f"{_V1}:train.ProfilerHook"}),
    "linalg": Spec(
        roots=(f"{_V1}.linalg",),
        names={
            "LinearOperatorMatrix": f"{_V1}:linalg.LinearOperatorFullMatrix",
            "LinearOperatorTriL": f"{_V1}:linalg.LinearOperatorLowerTriangular",
        },
    ),
    "lite": Spec(roots=(f"{_V1}.lite",), deep=True),
    "lookup": _LOOKUP,
    "memory_stats": Spec(roots=(f"{_HERE}.memory_stats",)),
    "mixed_precision": Spec(roots=(f"{_HERE}.training.mixed_precision",)),
    "nccl": Spec(
        roots=(f"{_HERE}.nccl",),
        names={
            "ops": Spec(names={"gen_nccl_ops": "tensorflow.python.ops.gen_nccl_ops"}),
            "python": Spec(names={"ops": Spec(names={"nccl_ops": f"{_HERE}.nccl"})}),
        },
    ),
    "nn": Spec(roots=(f"{_HERE}.nn", f"{_V1}.nn")),
    "quantize": Spec(roots=(f"{_HERE}.quantize",)),
    "receptive_field": Spec(
        names={
            name: f"{_HERE}.receptive_field:{name}"
            for name in ("ReceptiveField", "compute_receptive_field_from_graph_def")
        }
        | {"receptive_field_api": "face:tensorflow.contrib.receptive_field"},
        otherwise=" openmox shows compute_receptive_field_from_graph_def alone.",
    ),
    "resampler": Spec(
        names={
            "resampler": f"{_HERE}.image.resampling:resampler",
            "python": Spec(
                names={
                    "ops": Spec(
                        names={
                            "resampler_ops": Spec(
                                names={"resampler": f"{_HERE}.image.resampling:resampler"}
                            )
                        }
                    )
                }
            ),
        }
    ),
    "saved_model": Spec(
        roots=(f"{_V1}.saved_model",),
        names={
            "save_keras_model": "moxing.legacy.keras.saved_models:save_keras_model",
            "load_keras_model": "moxing.legacy.keras.saved_models:load_from_saved_model",
        },
    ),
    "stateless": Spec(names=_STATELESS),
    "summary": Spec(
        roots=(f"{_HERE}.summaries",),
        names={"summary": "face:tensorflow.contrib.summary"},
    ),
    "tensorboard": Spec(
        names={
            "plugins": Spec(names={"projector": _PROJECTOR}, otherwise=" Only projector is here."),
        }
    ),
    "timeseries": Spec(
        roots=(_SERIES,),
        names={
            "python": Spec(
                names={"timeseries": Spec(roots=(_SERIES,), names=_SERIES_FILES, gone=_SERIES_GONE)}
            ),
            "saved_model_utils": _SERIES_FILES["saved_model_utils"],
        },
        gone=_SERIES_GONE,
    ),
    "tfprof": Spec(
        names={
            "Profiler": f"{_V1}:profiler.Profiler",
            **{name: _PROFILING for name in ("model_analyzer", "tfprof_logger")},
            "python": Spec(
                names={
                    "tools": Spec(names={"tfprof": "face:tensorflow.contrib.tfprof"}),
                }
            ),
        }
    ),
}

_TREES = "Train a RandomForestClassifier or GradientBoostingClassifier of scikit-learn instead."
_PROBABILITY = "Use TensorFlow Probability instead: pip install 'openmox[probability]'."
_SPEECH = "Decode with tf.audio.decode_wav instead."

GONE: dict[str, str] = {
    "all_reduce": "Leave it out: mox.run averages the gradients of all devices.",
    "bayesflow": _PROBABILITY,
    "bigtable": "Read the table with its own client, through tf.data.Dataset.from_generator.",
    "boosted_trees": _TREES,
    "cloud": "Read files with mox.file or tf.io.gfile instead.",
    "coder": "Use the package tensorflow-compression instead.",
    "constrained_optimization": "Add a penalty to the loss instead.",
    "decision_trees": _TREES,
    "ffmpeg": _SPEECH,
    "gbdt": _TREES,
    "kernel_methods": "Multiply the inputs by a random matrix and take the cosine instead.",
    "kfac": "Use an optimizer of tf.train or tf.contrib.opt instead.",
    "linear_optimizer": "Use tf.train.FtrlOptimizer instead.",
    "model_pruning": "Multiply weights by a mask variable instead.",
    "periodic_resample": "Use tf.image.resize or tf.gather instead.",
    "session_bundle": "Use tf.saved_model.loader.load instead.",
    "tensor_forest": _TREES,
    "tensorrt": "Convert the exported SavedModel with NVIDIA's own tools, or serve it as it is.",
    "training_v2": "Use tf.contrib.training or mox.run instead.",
    "verbs": "Leave it out: processes meet by gRPC and collectives.",
    "mpi": "Leave it out: processes meet by gRPC and collectives.",
    "gdr": "Leave it out: processes meet by gRPC and collectives.",
}
