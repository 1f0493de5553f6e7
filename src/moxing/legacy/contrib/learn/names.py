"""The table of `tf.contrib.learn`: its names, and the private files that programs import."""

from __future__ import annotations

from moxing.legacy.face.faces import Spec

_OWN = "moxing.legacy"
_HERE = f"{_OWN}.contrib.learn"
_COLUMNS = f"{_OWN}.contrib.learn.old_columns"
_INPUTS = "moxing.estimator.inputs"
_ALL = "face:tensorflow.contrib.learn"

_MODELS = tuple(
    f"{prefix}{kind}"
    for prefix in ("DNN", "DNNLinearCombined", "Linear")
    for kind in ("Classifier", "Estimator", "Regressor")
)
_PREPROCESSING = Spec(
    roots=(f"{_OWN}.contrib.learn.vocabulary",),
    names={
        name: "face:tensorflow.contrib.learn.preprocessing"
        for name in ("categorical_vocabulary", "text")
    },
)
_DATASETS = Spec(
    names={
        "DATASETS": lambda: ("mnist",),
        "base": Spec(roots=(f"{_HERE}.data_files", f"{_OWN}.data.mnist")),
        "load_dataset": f"{_OWN}.data.mnist:load_dataset",
        "mnist": f"{_OWN}.data.mnist",
    },
    otherwise=" Only its MNIST has a stand-in.",
)
_UTILS = Spec(
    roots=(f"{_HERE}.exports",),
    names={
        "export": "face:tensorflow.contrib.learn.utils",
        "input_fn_utils": f"{_HERE}.exports",
        "saved_model_export_utils": f"{_HERE}.exports",
    },
)
_IO = Spec(
    roots=(f"{_HERE}.reading", _INPUTS),
    names={
        name: "face:tensorflow.contrib.learn.io" for name in ("graph_io", "numpy_io", "pandas_io")
    },
)
_MODEL_FN = "Give a model_fn to tf.estimator.Estimator instead."
_RNN = "Build tf.nn.dynamic_rnn in a model_fn of tf.estimator.Estimator."
_ESTIMATORS = Spec(
    names={
        **{
            file: _ALL
            for file in (
                "dnn",
                "dnn_linear_combined",
                "estimator",
                "linear",
                "metric_key",
                "model_fn",
                "run_config",
            )
        },
        "constants": Spec(names={"ProblemType": f"{_HERE}.model_results:ProblemType"}),
        "dynamic_rnn_estimator": Spec(
            gone=dict.fromkeys(("DynamicRnnEstimator", "PredictionType"), _RNN)
        ),
        "rnn_common": f"{_HERE}.reading",
        "tensor_signature": Spec(
            names={"TensorSignature": f"{_HERE}.model_results:TensorSignature"}
        ),
    },
)

LEARN = Spec(
    names={
        "Estimator": f"{_HERE}.estimator:Estimator",
        "Experiment": f"{_HERE}.experiment:Experiment",
        "ExportStrategy": f"{_HERE}.exports:ExportStrategy",
        "InputFnOps": f"{_HERE}.exports:InputFnOps",
        "MetricSpec": f"{_HERE}.model_results:MetricSpec",
        "ModeKeys": f"{_HERE}.data_files:ModeKeys",
        "ModelFnOps": f"{_HERE}.model_results:ModelFnOps",
        "ProblemType": f"{_HERE}.model_results:ProblemType",
        "RunConfig": f"{_HERE}.config:RunConfig",
        "SKCompat": f"{_HERE}.estimator:SKCompat",
        "Environment": f"{_HERE}.config:Environment",
        "TaskType": f"{_HERE}.config:TaskType",
        **{name: f"{_HERE}.canned:{name}" for name in _MODELS},
        **{
            name: f"{_COLUMNS}:{name}"
            for name in (
                "infer_real_valued_columns_from_input",
                "infer_real_valued_columns_from_input_fn",
            )
        },
        **{
            name: f"{_HERE}.reading:{name}"
            for name in ("read_batch_examples", "read_batch_features")
        },
        "build_parsing_serving_input_fn": f"{_HERE}.exports:build_parsing_serving_input_fn",
        "datasets": _DATASETS,
        "estimators": _ESTIMATORS,
        "experiment": f"{_HERE}.experiment",
        "export_strategy": f"{_HERE}.exports",
        "io": _IO,
        "learn_io": "face:tensorflow.contrib.learn.io",
        "learn_runner": f"{_HERE}.experiment",
        "make_export_strategy": f"{_HERE}.exports:make_export_strategy",
        "metric_spec": f"{_HERE}.model_results",
        "models": f"{_HERE}.models",
        "monitored_session": "tensorflow.python.training.monitored_session",
        "monitors": f"{_HERE}.monitors",
        "preprocessing": _PREPROCESSING,
        "python": Spec(names={"learn": _ALL}),
        "run_config": f"{_HERE}.config",
        "utils": _UTILS,
    },
    gone={
        "DynamicRnnEstimator": _RNN,
        "KMeansClustering": "Use KMeans of scikit-learn instead.",
        "LogisticRegressor": "Use tf.estimator.LinearClassifier instead.",
        "SVM": "Use LinearSVC of scikit-learn, or tf.estimator.LinearClassifier, instead.",
        "TensorForestEstimator": "Train a RandomForestClassifier of scikit-learn instead.",
        "graph_actions": "Use tf.train.MonitoredTrainingSession instead.",
        "head": "Use tf.estimator.BinaryClassHead, MultiClassHead and their kin instead.",
        "ops": _MODEL_FN,
        "read_keyed_batch_features": "Use read_batch_features, or tf.data, instead.",
    },
    otherwise=f" {_MODEL_FN}",
)
