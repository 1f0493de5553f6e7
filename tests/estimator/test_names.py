"""What `tf.estimator` shows, to programs under `mox run` and to others."""

from __future__ import annotations

from types import ModuleType

import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing.errors import MoxAttributeError, MoxNotSupportedError
from moxing.estimator import strategies
from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def shown() -> ModuleType:
    """The TensorFlow that a program sees."""
    return catalog.make_faces(CommandLine([], {}, ())).load("tensorflow")


@pytest.mark.parametrize(
    "name",
    [
        "estimator",
        "compat.v1.estimator",
        "contrib.estimator",
    ],
)
def test_estimators_are_where_programs_look(shown: ModuleType, name: str) -> None:
    found = shown
    for part in name.split("."):
        found = getattr(found, part)
    assert found.Estimator is tfe.Estimator
    assert found.export.ServingInputReceiver is tfe.export.ServingInputReceiver
    assert found.inputs.numpy_input_fn is tfe.inputs.numpy_input_fn
    assert (found.ModeKeys.TRAIN, found.ModeKeys.EVAL) == ("train", "eval")
    assert found.ModeKeys.PREDICT == "infer"
    assert found.SessionRunHook is tf.train.SessionRunHook


def test_models_of_keras_become_estimators(shown: ModuleType) -> None:
    assert shown.keras.estimator.model_to_estimator is tfe.model_to_estimator


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("from tensorflow.estimator import RunConfig", "RunConfig", tfe.RunConfig),
        (
            "from tensorflow.python.estimator.run_config import RunConfig",
            "RunConfig",
            tfe.RunConfig,
        ),
        ("from tensorflow.python.estimator.model_fn import ModeKeys", "ModeKeys", tfe.ModeKeys),
        (
            "from tensorflow.estimator.export import PredictOutput as p",
            "p",
            tfe.export.PredictOutput,
        ),
        ("import tensorflow.estimator as e", "e", tfe),
        (
            "from tensorflow.contrib.distribute import MirroredStrategy as s",
            "s",
            strategies.MirroredStrategy,
        ),
    ],
)
def test_imports(line: str, name: str, value: object) -> None:
    from moxing.legacy.face import importer

    faces = catalog.make_faces(CommandLine([], {}, ()))
    space = {"__builtins__": {"__import__": importer._import_function(importer.UserCode(faces))}}
    exec(line, space)
    assert space[name] is value


def test_strategies_start_nothing(shown: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where TF_CONFIG tells TensorFlow's own to start a server on this process's port."""
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["127.0.0.1:1"]}, "task": {}}')
    made = [
        shown.distribute.MirroredStrategy(["/gpu:0", "/gpu:1", "/gpu:2"]),
        shown.distribute.experimental.MultiWorkerMirroredStrategy(),
        shown.distribute.MultiWorkerMirroredStrategy(),
        shown.distribute.experimental.ParameterServerStrategy(),
        shown.distribute.OneDeviceStrategy("/cpu:0"),
        shown.contrib.distribute.MirroredStrategy(num_gpus=2),
        shown.contrib.distribute.CollectiveAllReduceStrategy(num_gpus_per_worker=3),
    ]
    assert all(isinstance(one, strategies.Strategy) for one in made)
    assert [strategies.asked_devices(one) for one in made] == [3, None, None, None, 1, 2, 3]
    assert all(one._made is None for one in made)
    assert repr(made[1]) == "<tf.distribute.experimental.MultiWorkerMirroredStrategy of openmox>"
    for one in made:
        assert tfe.RunConfig(train_distribute=one).train_distribute is one


def test_contrib_distribute_config(shown: ModuleType) -> None:
    strategy = shown.contrib.distribute.MirroredStrategy(num_gpus=1)
    asked = shown.contrib.distribute.DistributeConfig(train_distribute=strategy)
    config = tfe.RunConfig(experimental_distribute=asked)
    assert config.train_distribute is strategy
    # TensorFlow's own has no num_gpus any more.
    assert isinstance(strategy.real(), tf.distribute.MirroredStrategy)


def test_a_strategy_that_is_used_as_one_becomes_one(shown: ModuleType) -> None:
    strategy = shown.distribute.OneDeviceStrategy("/cpu:0")
    with tf.Graph().as_default(), strategy.scope():
        assert tf.distribute.has_strategy()
    assert isinstance(strategy.real(), tf.distribute.OneDeviceStrategy)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "BoostedTreesClassifier",
            "tf.estimator.BoostedTreesClassifier is not supported: TensorFlow no longer has the"
            " operations that grow trees. Use HistGradientBoosting of scikit-learn, XGBoost or YDF"
            " on the same table, or tf.estimator.DNNLinearCombinedClassifier and its kin.",
        ),
    ],
)
def test_what_is_not_here_names_the_alternative(name: str, message: str) -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        getattr(tfe, name)
    assert str(caught.value) == message
    assert not hasattr(tfe, name)


def test_export_has_no_outputs_of_evaluation() -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        _ = tfe.export.EvalOutput
    assert str(caught.value) == (
        "tf.estimator.export.EvalOutput is not supported: only the predictions of a model are"
        " exported. Use tf.estimator.export.PredictOutput, and Estimator.evaluate for metrics."
    )
    with pytest.raises(MoxAttributeError) as misspelled:
        _ = tfe.export.PredictOutputs
    assert "Did you mean 'PredictOutput'" in str(misspelled.value)


def test_a_misspelled_name() -> None:
    with pytest.raises(MoxAttributeError) as caught:
        _ = tfe.EstimatorSpecs
    assert str(caught.value) == (
        "tf.estimator has no 'EstimatorSpecs'. Did you mean 'EstimatorSpec' or 'Estimator' or"
        " 'DNNEstimator'?"
    )
    with pytest.raises(MoxNotSupportedError) as unsupported:
        _ = tfe.experimental.KMeans
    assert str(unsupported.value) == (
        "tf.estimator.experimental.KMeans is not supported. It is not trained by gradients of a"
        " loss, as every run of openmox trains. Use sklearn.cluster.KMeans or MiniBatchKMeans."
    )
