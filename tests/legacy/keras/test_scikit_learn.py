"""Keras models as estimators of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from absl import flags as absl_flags
from sklearn.model_selection import GridSearchCV

from moxing.errors import MoxValueError
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def test_a_grid_of_arguments_is_searched(faces: Faces) -> None:
    keras, wrappers = faces.load("keras"), faces.load("keras.wrappers.scikit_learn")

    def build(rate: float = 0.0) -> object:
        model = keras.models.Sequential([keras.layers.Dense(2, "softmax", input_shape=(2,))])
        model.compile(keras.optimizers.SGD(rate), "categorical_crossentropy", ["accuracy"])
        return model

    x = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    y = np.where(x[:, 0] > x[:, 1], "up", "down")
    classifier = wrappers.KerasClassifier(build, batch_size=10, verbose=0, nb_epoch=5)
    search = GridSearchCV(classifier, {"rate": [1e-9, 1.0]}, cv=2, n_jobs=1).fit(x, y)

    assert search.best_params_ == {"rate": 1.0}
    assert search.best_score_ > 0.9
    assert set(search.best_estimator_.predict(x)) == {"up", "down"}
    np.testing.assert_allclose(search.best_estimator_.predict_proba(x).sum(1), 1, rtol=1e-5)
    with pytest.raises(MoxValueError, match="has the argument 'ratte'.*Did you mean 'rate'"):
        wrappers.KerasClassifier(build, ratte=1)


def test_a_regressor_scores_by_its_loss(faces: Faces) -> None:
    keras, wrappers = faces.load("keras"), faces.load("keras.wrappers.scikit_learn")

    def build() -> object:
        model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(1,))])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    x = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    regressor = wrappers.KerasRegressor(build, epochs=20, batch_size=8, verbose=0)
    regressor.fit(x, 3 * x[:, 0])
    np.testing.assert_allclose(regressor.predict(x), 3 * x[:, 0], atol=0.2)
    assert -0.02 < regressor.score(x, 3 * x[:, 0]) <= 0
