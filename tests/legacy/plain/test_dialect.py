"""How a program is to run, and which Keras it means, by its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.legacy.plain import dialect


def _of(folder: Path, source: str) -> dialect.Dialect:
    (folder / "train.py").write_text(source)
    return dialect.of(str(folder / "train.py"))


_TF = "import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("source", "eager", "old_names"),
    [
        (_TF + "tf.Session()\n", False, True),
        (_TF + "tf.keras.Sequential().fit()\n", False, True),
        (_TF + "@tf.function\ndef f(): pass\n", True, False),
        (_TF + "with tf.GradientTape() as tape: pass\n", True, False),
        (_TF + "tf.random.set_seed(1)\n", True, False),
        (_TF + "tf.optimizers.Adam()\n", True, False),
        (_TF + "tf.losses.MeanSquaredError()\n", True, False),
        (_TF + "tf.losses.mean_squared_error(a, b)\n", False, True),
        (_TF + "x = f()\nx.numpy()\n", True, False),
        (_TF + "tf.enable_eager_execution()\ntf.contrib.eager\n", True, True),
        (_TF + "tf.compat.v1.enable_v2_behavior()\n", True, False),
        (_TF + "tf.GradientTape\ntf.compat.v1.disable_eager_execution()\n", False, True),
        (_TF + "s = tf.distribute.MirroredStrategy()\n", True, False),
        (_TF + "tf.distribute.MirroredStrategy()\ntf.estimator.RunConfig()\n", False, True),
        (_TF + "import moxing.tensorflow as mox\nx.numpy()\n", False, True),
        ("import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nx.numpy()\n", False, True),
        (_TF + "@tf.function\ndef f(): tf.compat.v1.train.cosine_decay\n", True, False),
        (_TF + "import oneflow as flow\ntf.GradientTape()\n", True, False),
        ("import oneflow as flow\nflow.math.relu\n", True, False),
        (_TF + "import oneflow as flow\ntf.Session()\n", False, True),
    ],
)
def test_how_it_runs(tmp_path: Path, source: str, eager: bool, old_names: bool) -> None:
    found = _of(tmp_path, source)

    assert (found.eager, found.old_names) == (eager, old_names)


@pytest.mark.parametrize(
    ("source", "module", "eager"),
    [
        ("tf.random.set_seed(1)\n", "tf.variable_scope('a')\n", True),
        ("tf.random.set_seed(1)\n", "tf.Session()\n", False),
        ("tf.random.set_seed(1)\ntf.set_random_seed(1)\n", "tf.variable_scope('a')\n", False),
        ("f()\n", "tf.random.set_seed(1)\ntf.variable_scope('a')\n", False),
    ],
)
def test_modules_of_another_time_do_not_outvote_the_program(
    tmp_path: Path, source: str, module: str, eager: bool
) -> None:
    (tmp_path / "helper.py").write_text(_TF + module)
    found = _of(tmp_path, _TF + "import helper\n" + source)
    assert (found.eager, found.old_names) == (eager, not eager)


@pytest.mark.parametrize("call", ["tf.Session()", "tf.train.MonitoredTrainingSession()"])
def test_a_program_with_an_option_for_eager_execution_starts_with_graphs(
    tmp_path: Path, call: str
) -> None:
    found = _of(tmp_path, _TF + f"if argued:\n    tf.enable_eager_execution()\nelse:\n    {call}\n")
    assert not found.eager
    assert found.old_names


@pytest.mark.parametrize(
    ("source", "keras", "why"),
    [
        ("from keras.layers import Dense\n", 2, ""),
        ("from keras.layers.core import Dense\n", 2, "keras.layers.core.Dense (line 1)"),
        ("import keras\nkeras.utils.np_utils\n", 2, "keras.utils.np_utils (line 2)"),
        ("import keras\nkeras.optimizers.Adam(lr=1)\n", 2, "lr= (line 2)"),
        ("import keras\nm.fit_generator(g)\n", 2, ".fit_generator() (line 2)"),
        ("import keras\nkeras.ops.ones(3)\n", 3, "keras.ops.ones() (line 2)"),
        ("from keras import ops\n", 3, "keras.ops (line 1)"),
        ("import keras\nkeras.__version__\n", 2, ""),
        (_TF + "tf.keras.ops.ones(3)\n", 3, "tf.keras.ops.ones() (line 2)"),
    ],
)
def test_which_keras(tmp_path: Path, source: str, keras: int, why: str) -> None:
    found = _of(tmp_path, source)

    assert (found.keras, found.why) == (keras, why)


def test_only_a_program_without_graphs_is_plain_keras_3(tmp_path: Path) -> None:
    assert dialect.is_plain_keras_3(_of(tmp_path, "import keras\nkeras.ops.ones(3)\n"))
    graph = _of(tmp_path, _TF + "import keras\nkeras.ops.ones(3)\ntf.Session()\n")
    assert graph.keras == 3
    assert not dialect.is_plain_keras_3(graph)


_PS = "tf.distribute.experimental.ParameterServerStrategy(resolver)\n"


@pytest.mark.parametrize(
    ("source", "coordinated", "preempted"),
    [
        (_TF + _PS, True, False),
        (_TF + "tf.distribute.ParameterServerStrategy(resolver)\n", True, False),
        (_TF + _PS + "tf.estimator.RunConfig()\n", False, False),
        (_TF + "tf.distribute.MultiWorkerMirroredStrategy()\n", False, False),
        (_TF + "tf.distribute.experimental.PreemptionCheckpointHandler(r, c)\n", False, True),
        (
            _TF
            + "tf.function\ntf.keras.callbacks.BackupAndRestore(d, save_before_preemption=True)\n",
            False,
            True,
        ),
    ],
)
def test_who_coordinates_and_who_reads_sigterm(
    tmp_path: Path, source: str, coordinated: bool, preempted: bool
) -> None:
    found = _of(tmp_path, source)

    assert (found.coordinated, found.preempted) == (coordinated, preempted)
