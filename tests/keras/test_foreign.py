"""What people used to Keras' own `fit` write is answered with how it is written here."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from models import BATCH, FAMILIES, X, Y, dense

import moxing.keras
from moxing.errors import MoxTypeError
from moxing.keras import foreign

KNOWN = inspect.signature(moxing.keras.fit).parameters


@pytest.mark.parametrize("package", FAMILIES)
def test_labels_as_the_third_argument(package: str) -> None:
    for x, y in ((X, Y), (X.tolist(), Y.tolist()), ([X], Y)):
        with pytest.raises(MoxTypeError) as caught:
            moxing.keras.fit(dense(package), x, y, epochs=1)
        assert str(caught.value) == (
            "train_data has no labels, which the model's loss needs, and the third argument of"
            " moxing.keras.fit is eval_data, to evaluate on. Write fit(model, (x, y)) for"
            " fit(model, x, y)."
        )


def test_arrays_without_labels_may_be_evaluated_on_others() -> None:
    model = dense("keras")
    for train, evaluated in (((X, Y), X), (X, (X, Y)), (X, None), (lambda: X, X)):
        foreign.check_labels(model, train, evaluated)
    model.loss = None  # It adds its losses itself.
    foreign.check_labels(model, X, X)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"x": X, "y": Y}, "no argument x. Give arrays together: fit(model, (x, y))."),
        ({"y": Y}, "no argument y. Give arrays together: fit(model, (x, y))."),
        (
            {"validation_data": (X, Y)},
            "no argument validation_data. It is the third argument: fit(model, (x, y), (x_val,"
            " y_val)).",
        ),
        (
            {"verbose": 0},
            "no argument verbose. Leave it out: log_every= says how many steps there are between"
            " log lines.",
        ),
        (
            {"class_weight": {0: 1.0}},
            "no argument class_weight. Give each sample the weight of its class, as the third"
            " array: fit(model, (x, y, weights)), with weights ="
            " np.vectorize(class_weight.get)(y).",
        ),
        (
            {"validation_split": 0.1},
            "no argument validation_split. Split the arrays before: fit(model, (x[:n], y[:n]),"
            " (x[n:], y[n:])), with n = int(len(x) * (1 - validation_split)).",
        ),
        (
            {"sample_weight": X},
            "no argument sample_weight. It is the third array: fit(model, (x, y, sample_weight)).",
        ),
        ({"batchsize": 3}, "no argument batchsize. Did you mean 'batch_size'?"),
        ({"qqq": 3}, "no argument qqq."),
    ],
)
def test_keywords(keywords: dict[str, Any], message: str) -> None:
    data = () if "x" in keywords else ((X, Y),)
    with pytest.raises(MoxTypeError) as caught:
        moxing.keras.fit(dense("keras"), *data, **keywords)
    assert str(caught.value) == f"moxing.keras.fit has {message}"


def test_every_argument_of_keras_fit_is_ours_or_has_an_alternative() -> None:
    for package in FAMILIES:
        theirs = inspect.signature(type(dense(package)).fit).parameters
        for name in set(theirs) - {"self", *KNOWN}:
            assert name in foreign._INSTEAD, name
    assert not set(foreign._INSTEAD) & set(KNOWN)


def test_the_advice_on_class_weights_works() -> None:
    class_weight = {0: 1.0, 1: 0.0, 2: 0.0}
    weights = np.vectorize(class_weight.get)(Y)
    ours, theirs = dense("keras", "sgd"), dense("keras", "sgd")

    moxing.keras.fit(ours, (X, Y, weights), batch_size=BATCH, shuffle=False)
    theirs.fit(X, Y, class_weight=class_weight, batch_size=BATCH, shuffle=False, verbose=0)

    np.testing.assert_allclose(ours.get_weights()[0], theirs.get_weights()[0], atol=1e-6)
