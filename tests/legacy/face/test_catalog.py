"""What a program of 2018 imports from TensorFlow is there, and works in a graph."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as real  # noqa: E402
from absl import flags as absl_flags  # noqa: E402

from moxing.errors import (  # noqa: E402
    MoxAttributeError,
    MoxImportError,
    MoxNotSupportedError,
)
from moxing.legacy.face import catalog, importer  # noqa: E402
from moxing.legacy.face.faces import Faces  # noqa: E402
from moxing.legacy.flags.command_line import CommandLine  # noqa: E402

v1 = real.compat.v1


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


MODULES = """
    tensorflow tensorflow.flags tensorflow.app tensorflow.keras tensorflow.keras.layers
    tensorflow.layers tensorflow.train tensorflow.core.framework.graph_pb2
    tensorflow.core.protobuf.config_pb2 tensorflow.compat.v1 tensorflow.compat.v2
    tensorflow.contrib.slim tensorflow.contrib.slim.nets
    tensorflow.contrib.slim.python.slim.nets tensorflow.contrib.slim.python.slim.nets.resnet_v1
    tensorflow.contrib.slim.nets.vgg tensorflow.contrib.slim.python.slim.learning
    tensorflow.contrib.slim.data.tfexample_decoder
    tensorflow.contrib.slim.python.slim.data.tfexample_decoder tensorflow.contrib.layers
    tensorflow.contrib.layers.python.layers tensorflow.contrib.layers.python.layers.utils
    tensorflow.contrib.layers.python.layers.initializers tensorflow.contrib.framework
    tensorflow.contrib.framework.python.ops.arg_scope
    tensorflow.contrib.framework.python.ops.variables
    tensorflow.contrib.framework.python.framework.checkpoint_utils tensorflow.contrib.losses
    tensorflow.contrib.metrics tensorflow.contrib.metrics.python.ops.metric_ops
    tensorflow.contrib.training tensorflow.contrib.training.python.training.hparam
    tensorflow.contrib.training.python.training.training tensorflow.contrib.rnn
    tensorflow.contrib.data tensorflow.contrib.image tensorflow.contrib.lookup
    tensorflow.contrib.keras.layers tensorflow.contrib.learn.python.learn.datasets.mnist
    tensorflow.contrib.compiler.jit tensorflow.contrib.staging tensorflow.contrib.util
    tensorflow.examples.tutorials.mnist.input_data tensorflow.python.platform.flags
    tensorflow.python.platform.gfile tensorflow.python.platform.tf_logging
    tensorflow.python.platform.app tensorflow.python.client.device_lib
    tensorflow.python.client.timeline tensorflow.python.framework.ops
    tensorflow.python.framework.graph_util tensorflow.python.ops.rnn_cell_impl
    tensorflow.python.ops.rnn_cell tensorflow.python.ops.array_ops
    tensorflow.python.ops.control_flow_ops tensorflow.python.ops.variable_scope
    tensorflow.python.training.moving_averages tensorflow.python.training.saver
    tensorflow.python.keras.layers tensorflow.python.keras.layers.core
    tensorflow.python.keras.models tensorflow.python.keras.losses
    tensorflow.python.keras.backend tensorflow.python.keras.utils.np_utils
    tensorflow.python.keras._impl.keras.layers tensorflow.python.pywrap_tensorflow
    tensorflow.contrib.keras.api.keras.layers tensorflow.contrib.keras.python.keras.models
    tensorflow.python.layers.normalization tensorflow.python.lib.io.tf_record
    tensorflow.python.tools.freeze_graph tensorflow.python.saved_model.tag_constants numpy
    numpy.random numpy.linalg absl.flags absl.app absl.logging importlib.util
"""


@pytest.mark.parametrize("name", MODULES.split())
def test_modules_can_be_imported(faces: Faces, name: str) -> None:
    assert faces.load(name) is faces.load(name)


ATTRIBUTES = {
    "tensorflow": "placeholder get_variable Session VERSION __version__ layers losses gfile logging"
    " py_func to_float AUTO_REUSE data train image nn pywrap_tensorflow python contrib.slim",
    "tensorflow.flags": "DEFINE_string DEFINE_integer DEFINE_float DEFINE_boolean DEFINE_bool"
    " DEFINE_list DEFINE_enum DEFINE_multi_string FLAGS mark_flag_as_required",
    "tensorflow.python.platform.flags": "_FlagValues _FlagValuesWrapper FLAGS",
    "tensorflow.app": "run flags.FLAGS flags.DEFINE_string",
    "tensorflow.python.platform.app": "run",
    "tensorflow.python.keras.layers": "Embedding LSTM Dense concatenate Input CuDNNGRU",
    "tensorflow.python.keras.losses": "binary_crossentropy",
    "tensorflow.python.keras.models": "Model Sequential model_from_json load_model",
    "tensorflow.python.ops.control_flow_ops": "cond while_loop case Assert group",
    "tensorflow.python.ops.array_ops": "stack unstack concat placeholder",
    "tensorflow.python.ops.gen_nn_ops": "_max_pool_grad _avg_pool_grad max_pool_grad relu",
    "tensorflow.python.ops.gen_array_ops": "_concat_v2 _mirror_pad_grad reshape",
    "tensorflow.python.framework.ops": "Tensor IndexedSlices get_collection RegisterGradient",
    "tensorflow.python.pywrap_tensorflow": "NewCheckpointReader",
    "tensorflow.contrib.slim": "conv2d arg_scope batch_norm l2_regularizer flatten nets.resnet_v1"
    " one_hot_encoding learning.train losses metrics get_model_variables"
    " variance_scaling_initializer tfexample_decoder.Image"
    " dataset_data_provider.DatasetDataProvider evaluation.evaluate_once",
    "tensorflow.contrib.layers": "xavier_initializer l2_regularizer fully_connected optimize_loss"
    " batch_norm flatten safe_embedding_lookup_sparse",
    "tensorflow.contrib.framework": "arg_scope get_variables assign_from_checkpoint_fn nest"
    " get_or_create_global_step list_variables load_variable init_from_checkpoint"
    " is_tensor argsort",
    "tensorflow.contrib.training": "create_train_op HParams",
    "tensorflow.contrib.metrics": "streaming_accuracy streaming_mean aggregate_metric_map",
    "tensorflow.contrib.rnn": "LSTMCell BasicLSTMCell GRUCell MultiRNNCell DropoutWrapper"
    " static_rnn LSTMStateTuple static_bidirectional_rnn",
    "tensorflow.contrib.data": "map_and_batch shuffle_and_repeat parallel_interleave"
    " TFRecordDataset batch_and_drop_remainder unbatch prefetch_to_device Dataset Iterator",
    "tensorflow.contrib.lookup": "index_table_from_file index_table_from_tensor HashTable"
    " KeyValueTensorInitializer",
    "tensorflow.contrib.learn.datasets": "mnist.read_data_sets load_dataset",
    "tensorflow.contrib.tpu.python.ops.tpu_ops": "cross_replica_sum outfeed_dequeue_tuple",
    "tensorflow.contrib.tpu.python.tpu": "training_loop.while_loop tpu_feed.InfeedQueue"
    " tpu.rewrite tpu.core tpu.shard tpu._TPU_REPLICATE_ATTR tpu_config.RunConfig"
    " tpu_function.get_tpu_context device_assignment topology.Topology",
    "tensorflow.examples.tutorials.mnist.input_data": "read_data_sets DataSet extract_images",
}


@pytest.mark.parametrize("module", ATTRIBUTES)
def test_names_are_there(faces: Faces, module: str) -> None:
    face = faces.load(module)
    for path in ATTRIBUTES[module].split():
        value = face
        for part in path.split("."):
            value = getattr(value, part)


def test_it_is_the_v1_face_of_the_real_tensorflow(faces: Faces) -> None:
    tf = faces.load("tensorflow")

    assert tf.placeholder is v1.placeholder
    assert tf.train.GradientDescentOptimizer is v1.train.GradientDescentOptimizer
    assert tf.compat.v1 is tf
    assert faces.load("tensorflow.compat.v1") is tf
    assert tf.compat.as_str(b"x") == "x"
    assert tf.__name__ == "tensorflow"
    assert "placeholder" in dir(tf)
    assert not hasattr(real, "contrib")
    assert not hasattr(real, "placeholder")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("replicate_model_fn", "Leave it out: model_fn is called once for each device"),
        ("TowerOptimizer", "Leave it out: model_fn is called once for each device"),
        ("SavedModelEstimator", "from its checkpoint"),
        ("export_all_saved_models", "export_saved_model"),
        ("export_saved_model_for_mode", "export_saved_model"),
    ],
)
def test_what_is_gone_from_contrib_estimator_says_what_to_do(
    faces: Faces, name: str, advice: str
) -> None:
    module = faces.load("tensorflow.contrib.estimator")

    with pytest.raises(MoxNotSupportedError) as told:
        getattr(module, name)
    with pytest.raises(MoxImportError) as imported:
        importer._import_function(importer.UserCode(faces))(
            "tensorflow.contrib.estimator", fromlist=[name]
        )

    assert str(told.value).startswith(f"tf.contrib.estimator.{name} is not supported. ")
    assert advice in str(told.value)
    assert str(imported.value) == str(told.value)
    assert not hasattr(module, name)


def test_what_contrib_estimator_has(faces: Faces) -> None:
    module = faces.load("tensorflow.contrib.estimator")
    ours = faces.load("tensorflow").estimator

    assert module.make_early_stopping_hook is ours.experimental.make_early_stopping_hook
    assert module.Estimator is ours.Estimator
    assert module.DNNEstimator is ours.DNNEstimator
    assert module.stop_if_higher_hook is ours.experimental.stop_if_higher_hook
    assert module.binary_classification_head is ours.BinaryClassHead
    with pytest.raises(MoxAttributeError, match="Did you mean 'replicate_model_fn'"):
        _ = module.replicate_modelfn


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tensorflow.contrib.labeled_tensor", "openmox restores layers, slim, framework"),
        ("tensorflow.examples.speech_commands", "tutorials.mnist.input_data has a stand-in."),
        (
            "tensorflow.contrib.learn.DynamicRnnEstimator",
            "Build tf.nn.dynamic_rnn in a model_fn of tf.estimator.Estimator.",
        ),
        ("tensorflow.reduce_meen", "Did you mean 'reduce_mean'"),
        ("tensorflow.contrib.tpu.KerasTPUModel", "train the model itself, with moxing.keras.fit"),
        ("tensorflow.contrib.tpu.BatchConfig", "export_saved_model writes a SavedModel for CPUs"),
        ("tensorflow.contrib.tpu.ExportSavedModelApiVersion", "export_saved_model writes"),
        ("tensorflow.contrib.tpu.infeed_enqueue_tuple", "pass the tensors to the function"),
        ("tensorflow.contrib.tpu.model_fn_inference_on_tpu", "export_saved_model writes"),
        ("tensorflow.contrib.tpu.proto", "pass use_tpu=False to TPUEstimator"),
        ("tensorflow.contrib.tpu.python.tpu.session_support", "TPUEstimator with use_tpu=False"),
        ("tensorflow.contrib.tpu.python.profiler", "It drives TPUs, which openmox does not"),
        ("tensorflow.contrib.distribute.TPUStrategy", "use MirroredStrategy"),
        ("tensorflow.contrib.distribute.Nothing", "openmox has the strategies of tf.distribute"),
    ],
)
def test_what_is_gone_says_what_to_do(faces: Faces, name: str, message: str) -> None:
    parent, _, leaf = name.rpartition(".")

    with pytest.raises(MoxAttributeError) as attribute:
        getattr(faces.load(parent), leaf)
    with pytest.raises(MoxImportError) as imported:
        faces.load(name)

    assert message in str(attribute.value)
    assert str(imported.value) == str(attribute.value)
    assert name.rpartition(".")[2] in str(attribute.value)


def test_a_function_may_have_its_modules_name(faces: Faces) -> None:
    ops = faces.load("tensorflow.contrib.framework.python.ops")

    assert faces.load("tensorflow.contrib.framework.python.ops.arg_scope").has_arg_scope
    assert ops.arg_scope is faces.load("tensorflow.contrib.framework").arg_scope
    assert ops.add_arg_scope.__name__ == "add_arg_scope"


def test_contrib_data_and_lookup_run(faces: Faces) -> None:
    tf = faces.load("tensorflow")
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(7).apply(tf.contrib.data.batch_and_drop_remainder(3))
        batch = data.make_one_shot_iterator().get_next()
        table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b"]))
        found = table.lookup(tf.constant(["b", "c"]))
        session.run(tf.tables_initializer())

        assert session.run(batch).tolist() == [0, 1, 2]
        assert session.run(batch).tolist() == [3, 4, 5]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch)
        assert session.run(found).tolist() == [1, -1]


def test_padded_batches_drop_the_remainder(faces: Faces) -> None:
    tf = faces.load("tensorflow")
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
        data = data.apply(tf.contrib.data.padded_batch_and_drop_remainder(2, [None]))
        batch = data.make_one_shot_iterator().get_next()

        assert session.run(batch).tolist() == [[1, 0], [2, 2]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch)


def test_images_turn_counterclockwise_and_move(faces: Faces) -> None:
    tf = faces.load("tensorflow")
    image = np.arange(9, dtype=np.float32).reshape(3, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        both = tf.constant(np.stack([image, image])[..., None])
        turned = tf.contrib.image.rotate(both, [np.pi / 2, 0.0])
        one = tf.contrib.image.rotate(tf.constant(image), np.pi / 2, interpolation="BILINEAR")
        moved = tf.contrib.image.translate(tf.constant(image), [1, 0])
        got_turned, got_one, got_moved = session.run([turned, one, moved])

        assert turned.shape.as_list() == [2, 3, 3, 1]
        assert (got_turned[0, ..., 0] == np.rot90(image)).all()
        assert (got_turned[1, ..., 0] == image).all()
        assert np.allclose(got_one, np.rot90(image), atol=1e-4)
        assert got_moved.tolist() == [[0, 0, 1], [0, 3, 4], [0, 6, 7]]
        with pytest.raises(ValueError, match="2, 3 or 4 dimensions"):
            tf.contrib.image.rotate(tf.constant([1.0]), 0.0)


def test_old_checkpoints_can_be_looked_into(faces: Faces, tmp_path) -> None:
    tf = faces.load("tensorflow")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))

    reader = faces.load("tensorflow.python").pywrap_tensorflow.NewCheckpointReader(path)

    assert reader.get_tensor("w").tolist() == [1.0, 2.0]
    assert faces.load("tensorflow.contrib.framework").list_variables(path) == [("w", [2])]


def test_all_names_of_mock_patch_what_the_program_sees(faces: Faces) -> None:
    tf = faces.load("tensorflow")
    for name in ("mock", "unittest.mock", "tensorflow.test.mock"):
        face = faces.load(name)
        with face.patch("tensorflow.get_variable", "patched"):
            assert tf.get_variable == "patched"
            assert v1.get_variable != "patched"
        assert tf.get_variable is v1.get_variable
    assert faces.load("unittest.mock").MagicMock is mock.MagicMock
    assert faces.load("pydoc").locate("tensorflow.contrib.rnn.LSTMCell") is (
        faces.load("tensorflow.contrib.rnn").LSTMCell
    )
