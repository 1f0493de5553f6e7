"""`tf.contrib.learn`: Estimators and experiments train as programs of 2016 to 2018 did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing import estimator as tfe
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.legacy.contrib.learn import canned, experiment, exports, monitors, old_columns
from moxing.legacy.contrib.learn.config import RunConfig
from moxing.legacy.contrib.learn.estimator import Estimator, SKCompat
from moxing.legacy.contrib.learn.model_results import MetricSpec, ModelFnOps
from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)


@pytest.fixture(scope="module")
def points() -> SimpleNamespace:
    """Points of two numbers of 64 bits, and whether the first is above the second."""
    x = np.random.default_rng(0).normal(size=(200, 2))
    return SimpleNamespace(x=x, y=(x[:, 0] > x[:, 1]).astype(np.int64))


def _logits(features: Any) -> tf.Tensor:
    return tf.layers.dense(features, 2, kernel_initializer=tf.zeros_initializer())


def _of_three(features: Any, targets: Any, mode: str, params: Any) -> Any:
    """A model function of TensorFlow 1.0: `targets`, and a tuple."""
    logits = _logits(features)
    if mode == "infer":
        return {"class": tf.argmax(logits, 1)}, None, None
    loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return {"class": tf.argmax(logits, 1)}, loss, train_op


def test_an_estimator_fits_arrays_and_its_metrics_are_asked_for(tmp_path, points) -> None:
    made = Estimator(_of_three, str(tmp_path), params={"rate": 2.0})
    assert made.fit(points.x, points.y, steps=30) is made
    values = made.evaluate(
        points.x,
        points.y,
        metrics={
            "right": MetricSpec(tf.metrics.accuracy, prediction_key="class"),
            ("of pair", "class"): lambda predictions, labels: tf.metrics.accuracy(
                labels, predictions
            ),
        },
    )
    classes = made.predict(points.x, as_iterable=False)["class"]
    right = float(np.mean(classes == points.y))

    assert right > 0.95
    assert values["right"] == values["of pair"] == pytest.approx(right)
    assert values["global_step"] == 30
    assert "right" not in made.evaluate(points.x, points.y)
    assert next(made.predict(points.x[:1]))["class"] == classes[0]


def test_a_batch_of_arrays_is_all_of_them_unless_its_size_is_given(tmp_path, points) -> None:
    sizes = []

    def model(features: Any, labels: Any, mode: str) -> ModelFnOps:
        size = tf.shape(features)[0]

        def see(count: Any) -> None:
            sizes.append(int(count))

        with tf.control_dependencies([tf.py_func(see, [size], [])]):
            loss = tf.get_variable("v", []) + 0.0
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        return ModelFnOps(mode, loss=loss, train_op=train_op)

    Estimator(model, str(tmp_path / "all")).fit(points.x, points.y, steps=1)
    Estimator(model, str(tmp_path / "few")).fit(points.x, points.y, steps=1, batch_size=7)

    assert sizes == [200, 7]


def test_arguments_of_a_call_that_contradict_are_refused(tmp_path, points) -> None:
    made = Estimator(_of_three, str(tmp_path), params={"rate": 1.0})
    with pytest.raises(MoxValueError, match=r"Estimator\.fit has neither x nor input_fn"):
        made.fit(steps=1)
    with pytest.raises(MoxValueError, match=r"Estimator\.fit has both x and input_fn"):
        made.fit(points.x, points.y, input_fn=lambda: None)
    with pytest.raises(MoxTypeError, match="it must return ModelFnOps or the tuple"):
        Estimator(lambda features, labels, mode: 3, str(tmp_path)).fit(points.x, points.y, steps=1)


def test_feature_engineering_comes_before_the_model(tmp_path, points) -> None:
    def model(features: Any, labels: Any, mode: str) -> ModelFnOps:
        return ModelFnOps(mode, predictions={"sum": features["both"]})

    def engineer(features: Any, labels: Any) -> Any:
        return {"both": tf.reduce_sum(features, 1)}, labels

    made = Estimator(model, str(tmp_path), feature_engineering_fn=engineer)
    found = made.predict(points.x[:3], as_iterable=False, checkpoint_path=_empty(tmp_path))
    np.testing.assert_allclose(found["sum"], points.x[:3].sum(1), rtol=1e-5)


def _empty(folder: Path) -> str:
    """Returns a checkpoint of a step and no weights."""
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.create_global_step()
        session.run(step.initializer)
        return tf.train.Saver([step]).save(session, str(folder / "empty.ckpt"))


def test_fields_of_a_session_are_set_on_the_config() -> None:
    config = RunConfig()

    config.tf_config.gpu_options.allow_growth = True
    config.tf_config.intra_op_parallelism_threads = 2

    assert config.session_config.intra_op_parallelism_threads == 2
    assert config.tf_config.gpu_options.allow_growth


def test_a_monitor_evaluates_checkpoints_and_stops_in_time(tmp_path, points) -> None:
    config = RunConfig(save_checkpoints_steps=5)
    made = Estimator(_of_three, str(tmp_path), config, params={"rate": 1e-9})
    monitor = monitors.ValidationMonitor(
        points.x,
        points.y,
        every_n_steps=5,
        early_stopping_rounds=10,
        metrics={"right": MetricSpec(tf.metrics.accuracy, "class")},
    )
    made.fit(points.x, points.y, steps=100, monitors=[monitor])

    assert monitor.early_stopped
    assert made.get_variable_value("global_step") < 30
    assert monitor.best_metrics is not None
    assert "right" in monitor.best_metrics


def test_ready_made_models_take_old_columns_and_return_classes(tmp_path, points) -> None:
    columns = old_columns.infer_real_valued_columns_from_input(points.x)
    classifier = canned.model("DNNClassifier")(
        feature_columns=columns,
        hidden_units=[4],
        n_classes=2,
        model_dir=str(tmp_path / "dnn"),
        optimizer=tf.train.AdagradOptimizer(0.5),
        gradient_clip_norm=5.0,
    )
    classifier.fit(x=points.x, y=points.y, steps=60)
    accuracy = classifier.evaluate(x=points.x, y=points.y)["accuracy"]
    classes = classifier.predict(points.x, as_iterable=False)
    probabilities = classifier.predict_proba(points.x[:4], as_iterable=False)

    assert accuracy > 0.95
    assert np.mean(classes == points.y) == pytest.approx(accuracy)
    assert list(classifier.predict(points.x[:4])) == classes[:4].tolist()
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    with pytest.raises(MoxNotSupportedError, match=r"DNNClassifier\(enable_centered_bias=\.\.\.\)"):
        canned.model("DNNClassifier")([4], columns, enable_centered_bias=True)


def test_a_regressor_predicts_numbers(tmp_path, points) -> None:
    target = points.x @ np.array([2.0, -1.0]) + 0.5
    regressor = canned.model("LinearRegressor")(
        old_columns.infer_real_valued_columns_from_input(points.x),
        str(tmp_path),
        optimizer=tf.train.GradientDescentOptimizer(0.1),
    )
    plain = SKCompat(regressor).fit(points.x, target, steps=150, batch_size=200)
    np.testing.assert_allclose(plain.predict(points.x[:5]), target[:5], atol=0.05)


def test_crossed_and_embedded_columns_make_dense_input() -> None:
    kind = old_columns.sparse_column_with_keys("kind", ["a", "b"])
    place = old_columns.sparse_column_with_hash_bucket("place", 10)
    age = old_columns.real_valued_column("age")
    columns = [
        old_columns.embedding_column(kind, 3, initializer=tf.ones_initializer()),
        old_columns.one_hot_column(old_columns.crossed_column([kind, place], 4)),
        old_columns.bucketized_column(age, [10, 5, 10]),
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        features = {
            "kind": tf.constant(["a", "b"]),
            "place": tf.constant(["x", "y"]),
            "age": tf.constant([7, 12]),
        }
        dense = old_columns.input_from_feature_columns(features, columns)
        linear, by_column, bias = old_columns.weighted_sum_from_feature_columns(
            features, [kind, age], num_outputs=2
        )
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values, sums = session.run([dense, linear])

    assert values.shape == (2, 3 + 3 + 4)
    # In the order of the columns' names: the ranges of age, the cross, the embedding.
    assert values[:, :3].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert values[:, 3:7].sum(1).tolist() == [1, 1]
    assert values[:, 7:].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert sums.tolist() == [[0, 0], [0, 0]]
    assert set(by_column) == {kind, age}
    assert bias.shape == [2]


def _experiment(folder: Path, points: Any, **more: Any) -> Callable[..., Any]:
    def make(run_config: Any, hparams: Any) -> experiment.Experiment:
        made = Estimator(_of_three, config=run_config, params=hparams)
        read = tfe.inputs.numpy_input_fn(
            points.x.astype(np.float32), points.y, 50, None, shuffle=True
        )
        return experiment.Experiment(made, read, read, train_steps=12, eval_steps=2, **more)

    return make


def test_an_experiment_trains_evaluates_and_exports(tmp_path, points) -> None:
    def serving() -> exports.InputFnOps:
        fed = tf.placeholder(tf.float32, [None, 2])
        return exports.InputFnOps(fed, None, {"x": fed})

    make = _experiment(
        tmp_path,
        points,
        eval_metrics={"right": MetricSpec(tf.metrics.accuracy, prediction_key="class")},
        export_strategies=exports.make_export_strategy(serving),
    )
    config = RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=6)
    values, folders = experiment.run(make, run_config=config, hparams={"rate": 2.0})

    assert values["global_step"] == 12
    assert 0 <= values["right"] <= 1
    assert [Path(tf.compat.as_str(folder)).parent.name for folder in folders] == ["Servo"]
    only = experiment.run(make, schedule="evaluate", run_config=config, hparams={"rate": 2.0})
    assert only["global_step"] == 12


def test_an_experiment_trains_and_evaluates_in_turns(tmp_path, points) -> None:
    class Own(experiment.Experiment):
        """As programs derived from it: by private names of the original."""

        turns: list[int]

        def continuous_train_and_eval(self, continuous_eval_predicate_fn: Any = None) -> Any:
            self.turns = []
            return super().continuous_train_and_eval(self._goes_on)

        def _goes_on(self, eval_result: Any) -> bool:
            self.turns.append(eval_result["global_step"] if eval_result else 0)
            return True

    make = _experiment(tmp_path, points, train_steps_per_iteration=5)
    config = RunConfig(model_dir=str(tmp_path))
    own = make(config, {"rate": 2.0})
    assert (own._train_steps, own._eval_steps, own._min_eval_frequency) == (12, 2, 1)
    own.__class__ = Own
    values, folders = own.continuous_train_and_eval()

    assert own.turns == [0, 5, 10, 15]
    assert (values["global_step"], folders) == (15, [])
    with pytest.raises(MoxTypeError, match="continuous_eval_predicate_fn=3, which is no function"):
        make(config, {"rate": 2.0}).continuous_train_and_eval(3)


def test_a_predicate_ends_the_turns_of_an_experiment(tmp_path, points) -> None:
    strategy = exports.ExportStrategy("kept", lambda estimator, base, path: base)
    make = _experiment(tmp_path, points, export_strategies=strategy)
    own = make(RunConfig(model_dir=str(tmp_path)), {"rate": 2.0})
    assert own.train_steps == 12
    values, folders = own.continuous_train_and_eval(lambda found: found is None)
    assert values["global_step"] == 1, "a turn is a tenth of the steps, and at least one"
    assert folders == [str(tmp_path / "export" / "kept")]


def test_a_signature_has_the_type_and_the_shape_of_a_tensor() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    module = faces.load("tensorflow.contrib.learn.estimators.tensor_signature")
    with tf.Graph().as_default():
        dense = module.TensorSignature(tf.zeros([2, 3], tf.int64))
        sparse = module.TensorSignature(tf.sparse.placeholder(tf.float32, [2, 3]))
    assert dense == (tf.int64, tf.TensorShape([2, 3]), False)
    assert sparse == (tf.float32, None, True)


def test_the_runner_names_the_errors_of_a_call(tmp_path, points) -> None:
    make = _experiment(tmp_path, points)
    with pytest.raises(MoxValueError, match=r"output_dir=None and run_config=None"):
        experiment.run(make)
    config = RunConfig(model_dir=str(tmp_path))
    with pytest.raises(MoxValueError, match="schedule='trian'.*Did you mean 'train'"):
        experiment.run(make, schedule="trian", run_config=config, hparams={"rate": 1.0})
    with pytest.raises(MoxTypeError, match="it must return a tf.contrib.learn.Experiment"):
        experiment.run(lambda folder: 1, str(tmp_path))
    with pytest.raises(MoxValueError, match="which only Estimators of tf.contrib.learn take"):
        experiment.Experiment(
            tfe.Estimator(_of_three, str(tmp_path)), print, print, eval_metrics={"a": print}
        )


def test_the_paths_that_programs_import_lead_to_the_same_names() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    learn = faces.load("tensorflow.contrib.learn")
    below = "tensorflow.contrib.learn.python.learn"
    assert faces.load(f"{below}.learn_runner").run is experiment.run
    assert faces.load(f"{below}.estimators.model_fn").ModelFnOps is learn.ModelFnOps
    assert faces.load(f"{below}.estimators.run_config").RunConfig is learn.RunConfig is RunConfig
    assert faces.load(f"{below}.utils.saved_model_export_utils").make_export_strategy
    assert learn.DNNClassifier is canned.model("DNNClassifier")
    layers = faces.load("tensorflow.contrib.layers")
    keras = faces.load("tensorflow.contrib.keras")
    assert faces.load("tensorflow.contrib.keras.python.keras.layers").Dense is keras.layers.Dense
    assert layers.real_valued_column is old_columns.real_valued_column
    with pytest.raises(AttributeError, match="Use LinearSVC of scikit-learn"):
        _ = learn.SVM
