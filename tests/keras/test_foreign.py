"""What people used to Keras' own `fit` write is taken, or answered with how it is written here."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from models import BATCH, FAMILIES, X, Y, dense

import moxing.keras
from moxing.errors import MoxError, MoxTypeError
from moxing.keras import as_keras, foreign

KNOWN = inspect.signature(moxing.keras.fit).parameters


@pytest.mark.parametrize("package", FAMILIES)
def test_a_call_of_keras_gives_what_keras_gives(package: str) -> None:
    ours, theirs = dense(package, "sgd"), dense(package, "sgd")
    theirs.set_weights(ours.get_weights())
    call = {
        "class_weight": {0: 2.0, 1: 0.5, 2: 1.0},
        "validation_split": 0.25,
        "batch_size": BATCH,
        "epochs": 2,
        "shuffle": False,
        "verbose": 0,
    }

    found = moxing.keras.fit(ours, X, Y, **call).history
    expected = theirs.fit(X, Y, **call).history

    np.testing.assert_allclose(ours.get_weights()[0], theirs.get_weights()[0], atol=1e-6)
    for name in ("loss", "val_loss"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4)


def _taken(*data: Any, **others: Any) -> as_keras.Given:
    train, evaluated = (*data, None, None)[:2]
    return as_keras.taken(dense("keras"), train, evaluated, None, 100, others)


def test_where_arguments_go() -> None:
    weight = np.ones(len(X))
    given = _taken(x=X, y=Y, sample_weight=weight, validation_data=(X, Y), validation_steps=3)
    assert [part is one for part, one in zip(given.train_data, (X, Y, weight), strict=True)]
    assert given.eval_data[0] is X
    assert (given.eval_steps, given.log_every, given.others) == (3, 100, {})
    assert _taken((X, Y), X).eval_data is X
    assert _taken((X, Y), verbose=0, workers=4).log_every > 1 << 40
    assert _taken((X, Y), batchsize=3).others == {"batchsize": 3}
    one_hot = np.eye(3)[[0, 2]]
    assert _taken((X[:2], one_hot), class_weight={2: 5.0}).train_data[2].tolist() == [1.0, 5.0]


@pytest.mark.parametrize(
    ("data", "keywords", "message"),
    [
        ((X,), {"x": X}, "train_data and x=, which are the same"),
        (((X, Y), X), {"validation_data": X}, "eval_data and validation_data="),
        (((X, Y),), {"y": Y}, r"fit\(model, \(x, y, sample_weight\)\)"),
        (((X, Y),), {"validation_split": 1.5}, "must be between 0 and 1"),
        (((X[:2], Y[:2]),), {"validation_split": 0.9}, "leaves none for one side"),
        ((lambda: X,), {"class_weight": {0: 1}}, "needs train_data of arrays"),
        (((X, Y), X), {"validation_split": 0.1}, "give one"),
    ],
)
def test_what_can_not_be(data: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(MoxError, match=message):
        _taken(*data, **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"batchsize": 3}, "no argument batchsize. Did you mean 'batch_size'?"),
        ({"qqq": 3}, "no argument qqq."),
        ({"log_dir": "out"}, "no argument log_dir. Use output_dir=, the folder of checkpoints"),
        ({"max_steps": 9}, "no argument max_steps. Use steps=, the total number of updates."),
        ({"validation_freq": 2}, "no argument validation_freq. Use eval_every=, the steps between"),
    ],
)
def test_keywords_that_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(MoxTypeError) as caught:
        moxing.keras.fit(dense("keras"), (X, Y), **keywords)
    assert str(caught.value).startswith(f"moxing.keras.fit has {message}")


def test_every_argument_of_keras_fit_is_ours_or_has_an_alternative() -> None:
    for package in FAMILIES:
        theirs = set(inspect.signature(type(dense(package)).fit).parameters) - {"self"}
        taken = {name for name in theirs if not _taken(X, **{name: None}).others}
        assert theirs - taken - set(KNOWN) == theirs & set(foreign._INSTEAD)
    assert not set(foreign._INSTEAD) & set(KNOWN)
