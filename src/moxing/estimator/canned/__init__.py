"""Ready-made Estimators and heads of the package tensorflow-estimator, trained by the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_KINDS = ("Classifier", "Estimator", "Regressor")
_FILES = {
    "Baseline": "canned.baseline",
    "DNN": "canned.dnn",
    "DNNLinearCombined": "canned.dnn_linear_combined",
    "Linear": "canned.linear",
}

# By public name, the module of tensorflow-estimator that defines it.
NAMES: Final[Mapping[str, str]] = {
    **{f"{prefix}{kind}": name for prefix, name in _FILES.items() for kind in _KINDS},
    "BinaryClassHead": "head.binary_class_head",
    "Head": "head.base_head",
    "LogisticRegressionHead": "head.regression_head",
    "MultiClassHead": "head.multi_class_head",
    "MultiHead": "head.multi_head",
    "MultiLabelHead": "head.multi_label_head",
    "PoissonRegressionHead": "head.regression_head",
    "RegressionHead": "head.regression_head",
    "classifier_parse_example_spec": "canned.parsing_utils",
    "regressor_parse_example_spec": "canned.parsing_utils",
}

# The names of `tf.estimator.experimental` other than hooks: (module, attribute).
EXPERIMENTAL: Final[Mapping[str, tuple[str, str]]] = {
    "RNNClassifier": ("canned.rnn", "RNNClassifier"),
    "RNNEstimator": ("canned.rnn", "RNNEstimator"),
    "call_logit_fn": ("model_fn", "call_logit_fn"),
    "dnn_logit_fn_builder": ("canned.dnn", "dnn_logit_fn_builder"),
    "linear_logit_fn_builder": ("canned.linear", "linear_logit_fn_builder"),
}


def get(name: str) -> Any:
    """Returns the class or function that has this name in `NAMES`.

    Raises:
        MoxImportError: tensorflow-estimator is not installed.
    """
    # Imported at first use: few programs need it, and the import takes a second.
    from moxing.estimator.canned import library

    return getattr(library.load(NAMES[name]), name)


def get_experimental(name: str) -> Any:
    """Returns the class or function that has this name in `EXPERIMENTAL`; see `get`."""
    from moxing.estimator.canned import library

    file, attribute = EXPERIMENTAL[name]
    return getattr(library.load(file), attribute)
