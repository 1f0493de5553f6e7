"""Ready-made models on real tables, against scikit-learn and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tf_keras
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale

import moxing.estimator as tfe
from moxing.engine.graph import tf_executor

columns = tf.feature_column


def table_of(load: Any) -> SimpleNamespace:
    x, y = load(return_X_y=True)
    return SimpleNamespace(x=scale(x).astype(np.float32), y=y)


@pytest.fixture(scope="module")
def tumors() -> SimpleNamespace:
    """569 tumors of two kinds by 30 numbers."""
    return table_of(load_breast_cancer)


@pytest.fixture(scope="module")
def wines() -> SimpleNamespace:
    """178 wines of three kinds by 13 numbers."""
    return table_of(load_wine)


def read(
    features: dict[str, Any], labels: Any, batch: int = 100, epochs: int | None = 1
) -> Callable[[], tf.data.Dataset]:
    def input_fn() -> tf.data.Dataset:
        data = tf.data.Dataset.from_tensor_slices((features, labels))
        data = data if epochs == 1 else data.shuffle(len(labels), seed=1)
        return data.repeat(epochs).batch(batch)

    return input_fn


def numeric(table: SimpleNamespace) -> list[Any]:
    return [columns.numeric_column("x", shape=[table.x.shape[1]])]


def test_logistic_regression_is_that_of_scikit_learn(tumors: Any, tmp_path: Path) -> None:
    known = LogisticRegression(C=1).fit(tumors.x, tumors.y)
    estimator = tfe.LinearClassifier(numeric(tumors), tmp_path)
    estimator.train(read({"x": tumors.x}, tumors.y, 569, None), steps=100)
    values = estimator.evaluate(read({"x": tumors.x}, tumors.y))
    scores = known.predict_proba(tumors.x)[:, 1]
    assert values["accuracy"] == pytest.approx(known.score(tumors.x, tumors.y), abs=0.004)
    assert values["auc"] == pytest.approx(roc_auc_score(tumors.y, scores), abs=0.004)
    assert values["label/mean"] == pytest.approx(tumors.y.mean())
    assert values["accuracy_baseline"] == pytest.approx(max(tumors.y.mean(), 1 - tumors.y.mean()))


def test_a_step_is_that_of_the_gradient(tumors: Any, tmp_path: Path) -> None:
    rate = 0.001
    estimator = tfe.LinearClassifier(
        numeric(tumors), tmp_path, optimizer=tf.train.GradientDescentOptimizer(rate)
    )
    estimator.train(read({"x": tumors.x}, tumors.y, 569, None), steps=10)
    x, w, bias = tumors.x.astype(np.float64), np.zeros(30), 0.0
    for _ in range(10):
        error = 1 / (1 + np.exp(-(x @ w + bias))) - tumors.y  # The loss is a sum over the batch.
        w, bias = w - rate * x.T @ error, bias - rate * error.sum()
    name = "linear/linear_model/{}"
    learned = estimator.get_variable_value(name.format("x/weights"))[:, 0]
    np.testing.assert_allclose(learned, w, atol=1e-5)
    assert estimator.get_variable_value(name.format("bias_weights"))[0] == pytest.approx(
        bias, abs=1e-5
    )


def test_linear_regression_is_least_squares(tmp_path: Path) -> None:
    table = table_of(load_diabetes)
    y = scale(table.y).astype(np.float32)
    known = LinearRegression().fit(table.x, y)
    estimator = tfe.LinearRegressor(
        numeric(table), tmp_path, optimizer=tf.train.AdamOptimizer(0.05)
    )
    estimator.train(read({"x": table.x}, y, 442, None), steps=200)
    values = estimator.evaluate(read({"x": table.x}, y))
    residual = float(np.mean((known.predict(table.x) - y) ** 2))
    assert values["average_loss"] == pytest.approx(residual, rel=0.01)
    given = np.array([one["predictions"][0] for one in estimator.predict(read({"x": table.x}, y))])
    assert np.abs(given - known.predict(table.x)).max() < 0.1


@pytest.mark.parametrize("optimizer", ["Adagrad", tf_keras.optimizers.legacy.Adam(0.01)])
def test_a_network_of_three_classes_by_name(wines: Any, tmp_path: Path, optimizer: Any) -> None:
    names = np.array(["red", "white", "rosé"])
    known = LogisticRegression(max_iter=500).fit(wines.x[::2], wines.y[::2])
    estimator = tfe.DNNClassifier(
        [16, 8],
        numeric(wines),
        tmp_path,
        n_classes=3,
        label_vocabulary=list(names),
        optimizer=optimizer,
        config=tfe.RunConfig(tf_random_seed=1),
    )
    learned, left = slice(0, None, 2), slice(1, None, 2)
    estimator.train(read({"x": wines.x[learned]}, names[wines.y[learned]], 30, None), max_steps=120)
    values = estimator.evaluate(read({"x": wines.x[left]}, names[wines.y[left]]))
    assert values["accuracy"] >= known.score(wines.x[left], wines.y[left]) - 0.05
    one = next(estimator.predict(read({"x": wines.x[left]}, names[wines.y[left]])))
    assert one["classes"][0].decode() in names
    assert one["probabilities"].sum() == pytest.approx(1, abs=1e-5)


def test_wide_and_deep_learns_what_only_both_see(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    town = np.array(["a", "b", "c", "d"])[random.integers(0, 4, 2000)]
    size = random.normal(size=2000).astype(np.float32)
    y = ((town == "b") | (town == "d")) ^ (np.abs(size) > 0.7)
    towns = columns.categorical_column_with_vocabulary_list("town", ["a", "b", "c", "d"])
    cut = columns.bucketized_column(columns.numeric_column("size"), [-0.7, 0.7])
    estimator = tfe.DNNLinearCombinedClassifier(
        tmp_path,
        linear_feature_columns=[columns.crossed_column([towns, cut], 200)],
        dnn_feature_columns=[columns.numeric_column("size"), columns.embedding_column(towns, 3)],
        dnn_hidden_units=[16],
        linear_optimizer=tf.train.FtrlOptimizer(0.5),
        config=tfe.RunConfig(tf_random_seed=1),
    )
    features = {"town": town, "size": size}
    estimator.train(read(features, y.astype(np.int64), 100, None), max_steps=100)
    values = estimator.evaluate(read(features, y.astype(np.int64)))
    assert values["accuracy"] > 0.97
    assert estimator.get_variable_value("global_step") == 100


def test_a_weight_column_counts_samples(tumors: Any, tmp_path: Path) -> None:
    weight = np.where(tumors.y == 1, 3.0, 1.0).astype(np.float32)
    estimator = tfe.BaselineClassifier(tmp_path, weight_column="w")
    features = {"x": tumors.x, "w": weight}
    estimator.train(read(features, tumors.y, 569, None), steps=60)
    share = float(weight[tumors.y == 1].sum() / weight.sum())
    one = next(estimator.predict(read(features, tumors.y)))
    assert one["logistic"][0] == pytest.approx(share, abs=0.03)
    values = estimator.evaluate(read(features, tumors.y))
    assert values["label/mean"] == pytest.approx(share, abs=1e-5)


def test_export_by_a_parsing_spec(tumors: Any, tmp_path: Path) -> None:
    estimator = tfe.LinearClassifier(numeric(tumors), tmp_path / "model")
    estimator.train(read({"x": tumors.x}, tumors.y, 100, None), steps=50)
    spec = columns.make_parse_example_spec(numeric(tumors))
    receiver = tfe.export.build_parsing_serving_input_receiver_fn(spec)
    folder = estimator.export_saved_model(tmp_path / "export", receiver).decode()
    wanted = next(estimator.predict(read({"x": tumors.x}, tumors.y)))["probabilities"]
    floats = tf.train.Feature(float_list=tf.train.FloatList(value=tumors.x[0]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": floats}))
    with tf.Graph().as_default(), tf.Session() as session:
        graph = tf.saved_model.load(session, ["serve"], folder)
        assert {*graph.signature_def} >= {"serving_default", "classification", "predict"}
        signature = graph.signature_def["classification"]
        given = session.run(
            signature.outputs["scores"].name,
            {signature.inputs["inputs"].name: [example.SerializeToString()]},
        )
    np.testing.assert_allclose(given[0], wanted, atol=1e-6)


def test_heads_for_a_network_of_ones_own(wines: Any, tmp_path: Path) -> None:
    """Two heads on one network, with an optimizer of tf.train and with one of Keras."""
    kinds = tfe.MultiClassHead(3, name="kind")
    strong = tfe.RegressionHead(name="strength")

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        head = tfe.MultiHead([kinds, strong])
        hidden = tf.matmul(features["x"], tf.get_variable("w", [13, 4]))
        outputs = {"kind": hidden[:, :3], "strength": hidden[:, 3:]}
        optimizer = params["optimizer"]()
        if not isinstance(optimizer, tf.train.Optimizer):
            optimizer.iterations = tf.train.get_or_create_global_step()
        variables = tf.trainable_variables()
        return head.create_estimator_spec(
            features, mode, outputs, labels, optimizer, trainable_variables=variables
        )

    labels = {"kind": wines.y, "strength": wines.x[:, 0]}

    def input_fn() -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(({"x": wines.x}, labels)).repeat(40).batch(89)

    for number, optimizer in enumerate(
        [lambda: tf.train.AdamOptimizer(0.03), lambda: tf_keras.optimizers.legacy.Adam(0.03)]
    ):
        folder = tmp_path / str(number)
        estimator = tfe.Estimator(model_fn, folder, params={"optimizer": optimizer})
        estimator.train(input_fn)
        assert estimator.get_variable_value("global_step") == 80
        values = estimator.evaluate(input_fn, steps=2)
        assert values["accuracy/kind"] > 0.9
        assert values["average_loss/strength"] < 0.1


def test_chosen_variables_start_from_another_model(tumors: Any, tmp_path: Path) -> None:
    source = tfe.LinearClassifier(numeric(tumors), tmp_path / "a")
    source.train(read({"x": tumors.x}, tumors.y, 569, None), steps=20)
    settings = tfe.WarmStartSettings(str(tmp_path / "a"), vars_to_warm_start=".*x/weights")
    target = tfe.LinearClassifier(
        numeric(tumors),
        tmp_path / "b",
        warm_start_from=settings,
        optimizer=tf.train.GradientDescentOptimizer(0.5),
    )
    zero = [np.zeros_like(tumors.x[:1]), tumors.y[:1]]
    target.train(read({"x": zero[0]}, zero[1]), steps=1)
    name = "linear/linear_model/{}"
    kept, fresh = name.format("x/weights"), name.format("bias_weights")
    np.testing.assert_allclose(
        target.get_variable_value(kept), source.get_variable_value(kept), atol=1e-5
    )
    assert abs(target.get_variable_value(fresh)[0]) > 0.1  # One step from zero.
    assert abs(source.get_variable_value(fresh)[0] - target.get_variable_value(fresh)[0]) > 0.01


def test_trees_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="no longer has the operations that grow trees"):
        _ = tfe.BoostedTreesClassifier
    assert not hasattr(tfe, "BoostedTreesRegressor")


def test_a_linear_model_runs_without_conditionals(
    tumors: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[str] = []
    choose = tf_executor.choose
    monkeypatch.setattr(tf_executor, "choose", lambda ops: chosen.append(choose(ops)) or chosen[-1])
    data = {name: tumors.x[:, index] for index, name in enumerate("abc")}
    numbers = [columns.numeric_column(name) for name in data]
    estimator = tfe.LinearClassifier(numbers, tmp_path / "right")
    estimator.train(read(data, tumors.y), steps=2)
    assert chosen == [tf_executor.SINGLE_THREADED]
    labels = np.where(tumors.y == 1, 2, 0)  # Two is no label of two classes.
    estimator = tfe.LinearClassifier(numbers, tmp_path / "wrong")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must <= n_classes - 1"):
        estimator.train(read(data, labels), steps=2)
