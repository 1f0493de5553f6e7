"""Functions of Keras 1: its regularizers, its metrics and the helpers of its classifiers.

The metrics count over one batch, as they did: means over batches are not those of all samples,
for which Keras removed them. `tf.keras.metrics.Precision` and `Recall` count over all samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tf_keras import backend as K
from tf_keras import regularizers, utils

from moxing.errors import MoxValueError


def l1l2(l1: float = 0.01, l2: float = 0.01) -> Any:
    """Returns the regularizer of weights or outputs l1 * sum|x| + l2 * sum x^2."""
    return regularizers.L1L2(l1=l1, l2=l2)


def activity_l1(l: float = 0.01) -> Any:  # noqa: E741 - the name is that of Keras.
    """Returns the regularizer of outputs l * sum|x|."""
    return l1l2(l1=l, l2=0.0)


def activity_l2(l: float = 0.01) -> Any:  # noqa: E741 - the name is that of Keras.
    """Returns the regularizer of outputs l * sum x^2."""
    return l1l2(l1=0.0, l2=l)


def weight_regularizer(l1: float = 0.0, l2: float = 0.0) -> Any:
    """`WeightRegularizer`, `ActivityRegularizer` and `L1L2Regularizer`, by their defaults."""
    return l1l2(l1=l1, l2=l2)


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """Returns minus the cosine of the angle between labels and predictions along an axis."""
    return -K.sum(K.l2_normalize(y_true, axis=axis) * K.l2_normalize(y_pred, axis=axis), axis=axis)


def serve() -> None:
    """From now on models take Keras' loss and metric "cosine_proximity" by its old names."""
    for name in ("cosine", "cosine_proximity"):
        utils.get_custom_objects().setdefault(name, cosine_proximity)


def precision(y_true: Any, y_pred: Any) -> Any:
    """Returns the share of true ones among predicted ones of a batch; predictions are rounded."""
    return _hits(y_true, y_pred) / (K.sum(_ones(y_pred)) + K.epsilon())


def recall(y_true: Any, y_pred: Any) -> Any:
    """Returns the share of found ones among true ones of a batch; predictions are rounded."""
    return _hits(y_true, y_pred) / (K.sum(_ones(y_true)) + K.epsilon())


def fbeta_score(y_true: Any, y_pred: Any, beta: float = 1) -> Any:
    """Returns (1 + beta^2) * precision * recall / (beta^2 * precision + recall) of a batch.

    It is 0 for a batch without a true one.

    Raises:
        MoxValueError: beta is negative.
    """
    if beta < 0:
        raise MoxValueError(f"fbeta_score: beta is {beta}; it must not be negative.")
    p, r = precision(y_true, y_pred), recall(y_true, y_pred)
    score = (1 + beta**2) * p * r / (beta**2 * p + r + K.epsilon())
    return K.switch(K.equal(K.sum(_ones(y_true)), 0), K.zeros_like(score), score)


def fmeasure(y_true: Any, y_pred: Any) -> Any:
    """Returns the harmonic mean of precision and recall of a batch."""
    return fbeta_score(y_true, y_pred, beta=1)


def matthews_correlation(y_true: Any, y_pred: Any) -> Any:
    """Returns Matthews' correlation of rounded predictions and labels of a batch.

    It is (TP*TN - FP*FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)) of the counts of right and wrong
    ones (P) and zeros (N).
    """
    found, true = _ones(y_pred), _ones(y_true)
    tp, tn = K.sum(true * found), K.sum((1 - true) * (1 - found))
    fp, fn = K.sum((1 - true) * found), K.sum(true * (1 - found))
    scale = K.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return (tp * tn - fp * fn) / (scale + K.epsilon())


def serve_bare() -> None:
    """From now on models take these metrics by their names, as in metrics=["precision"]."""
    for metric in (precision, recall, fbeta_score, fmeasure, matthews_correlation):
        utils.get_custom_objects().setdefault(metric.__name__, metric)


def _ones(values: Any) -> Any:
    return K.round(K.clip(values, 0, 1))


def _hits(y_true: Any, y_pred: Any) -> Any:
    return K.sum(K.round(K.clip(y_true * y_pred, 0, 1)))


def probas_to_classes(y_pred: Any) -> np.ndarray:
    """Returns the classes of probabilities [samples, classes] or [samples] of class 1."""
    y_pred = np.asarray(y_pred)
    if y_pred.ndim > 1 and y_pred.shape[1] > 1:
        return categorical_probas_to_classes(y_pred)
    return np.array([1 if p > 0.5 else 0 for p in y_pred])


def categorical_probas_to_classes(p: Any) -> np.ndarray:
    """Returns the class of the largest probability of each row."""
    return np.argmax(p, axis=1)


def accuracy(p: Any, y: Any) -> float:
    """Returns the share of equal elements of two arrays."""
    return float(np.mean([a == b for a, b in zip(p, y, strict=False)]))
