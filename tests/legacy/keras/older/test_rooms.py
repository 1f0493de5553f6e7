"""Programs find the names of Keras 1 and 2 in the modules where they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.keras.older import kernels, small


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


@pytest.mark.parametrize(
    "name",
    [
        "applications.imagenet_utils.get_file",
        "applications.keras_modules_injection",
        "applications.mobilenetv2.MobileNetV2",
        "applications.resnet50.Input",
        "applications.resnet50.ZeroPadding2D",
        "applications.vgg16.Model",
        "applications.vgg16.convert_all_kernels_in_model",
        "applications.xception.get_source_inputs",
        "backend.common.normalize_data_format",
        "backend.tensorflow_backend.is_tensor",
        "callbacks.callbacks.EarlyStopping",
        "callbacks.tensorboard_v1.TensorBoard",
        "engine.base_layer.disable_tracking",
        "engine.saving.load_model",
        "engine.saving.model_from_json",
        "engine.topology.to_list",
        "engine.training._standardize_input_data",
        "engine.training.GeneratorEnqueuer",
        "engine.training_arrays.fit_loop",
        "engine.training_generator.fit_generator",
        "engine.training_utils.iter_sequence_infinite",
        "engine.training_utils.standardize_weights",
        "initializers._compute_fans",
        "layers.Deconvolution3D",
        "layers.convolutional.AtrousConvolution2D",
        "layers.convolutional.transpose_shape",
        "layers.convolutional_recurrent.ConvRNN2D",
        "layers.core.func_dump",
        "layers.recurrent._standardize_args",
        "legacy.interfaces.generate_legacy_interface",
        "metrics.fmeasure",
        "objectives.huber_loss",
        "optimizers.clip_norm",
        "preprocessing.image.list_pictures",
        "regularizers.activity_l1l2",
        "utils.HDF5Matrix",
        "utils.conv_utils.deconv_length",
        "utils.generic_utils.unpack_singleton",
        "utils.io_utils.HDF5Matrix",
        "utils.layer_utils.convert_all_kernels_in_model",
        "utils.multi_gpu_utils.multi_gpu_model",
        "utils.np_utils.probas_to_classes",
    ],
)
def test_a_name_is_where_it_was(faces: Faces, name: str) -> None:
    module, _, leaf = f"keras.{name}".rpartition(".")
    assert callable(getattr(faces.load(module), leaf))


def test_functions_of_the_backend_compute_as_their_documentation_says(faces: Faces) -> None:
    K = faces.load("keras.backend")  # noqa: N806, the name that programs know
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        variable = tf.get_variable("v", [2])
        assert K.get_variable_shape(x) == (2, 3)
        assert (K.is_tensor(x), K.is_tensor([1.0])) == (True, False)
        assert (K.is_variable(variable), K.is_variable(x)) == (True, False)
        assert K.normalize_data_format(None) == "channels_last"
        found = session.run(
            [K.slice(x, [0, 1], [2, 2]), K.size(x), K.lesser(x, 2.5), K.lesser_equal(x, 1.0)]
        )
    assert found[0].tolist() == [[2, 3], [5, 6]]
    assert found[1] == 6
    assert found[2].tolist() == [[True, True, False], [False] * 3]
    assert found[3].sum() == 1
    assert K.symbolic(len) is len


def test_kernels_are_turned_around_along_their_axes_of_space() -> None:
    kernel = np.arange(12.0).reshape(2, 3, 1, 2)
    turned = kernels.convert_kernel(kernel)
    assert turned[0, 0].tolist() == kernel[1, 2].tolist()
    assert turned[1, 1].tolist() == kernel[0, 1].tolist()
    np.testing.assert_array_equal(kernels.convert_kernel(turned), kernel)
    with pytest.raises(ValueError, match="3, 4 or 5 axes, not 2"):
        kernels.convert_kernel(np.ones([2, 2]))


def test_all_convolutions_of_a_model_are_converted(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default(), tf.Session():
        layers = [keras.layers.Conv2D(2, 3, input_shape=(5, 5, 1)), keras.layers.Flatten()]
        model = keras.models.Sequential([*layers, keras.layers.Dense(1)])
        before = model.get_weights()
        faces.load("keras.utils.layer_utils").convert_all_kernels_in_model(model)
        after = model.get_weights()
    np.testing.assert_array_equal(after[0], before[0][::-1, ::-1])
    np.testing.assert_array_equal(after[2], before[2])


@pytest.mark.parametrize(
    ("given", "length"),
    [
        ((5, 2, 3, "same"), 10),
        ((5, 2, 3, "valid"), 11),
        ((5, 2, 3, "same", 1), 10),
        ((None, 2, 3, "same"), None),
    ],
)
def test_the_length_of_a_transposed_convolution(given: tuple[int, ...], length: int) -> None:
    assert kernels.deconv_length(*given) == length  # type: ignore[arg-type]


def test_small_functions() -> None:
    assert small.unpack_singleton([3]) == 3
    assert small.unpack_singleton([3, 4]) == [3, 4]
    assert small.transpose_shape((16, 128, 64, 3), "channels_first", (1, 2)) == (16, 3, 128, 64)
    assert small.transpose_shape([128, 64, 3], "channels_first", (0, 1)) == [3, 128, 64]
    assert small.transpose_shape((16, 128, 64, 3), "channels_last", (1, 2)) == (16, 128, 64, 3)
    with pytest.raises(ValueError, match="target_format is 'up'"):
        small.transpose_shape((1, 2), "up", (1,))
    one, other = object(), object()
    assert small.object_list_uid([one, other]) != small.object_list_uid([other, one])
    assert small.arguments_as_they_are((1,), {"a": 2}) == ((1,), {"a": 2}, [])


def test_a_gradient_is_clipped_where_the_norm_of_its_group_is_larger() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        g = tf.constant([3.0, 4.0])
        found = session.run([small.clip_norm(g, c, 10.0) for c in (5.0, 20.0, 0.0)])
    np.testing.assert_allclose(found, [[1.5, 2.0], [3.0, 4.0], [3.0, 4.0]])


def test_pictures_are_listed_in_folders_below(faces: Faces, tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    for name in ("a.JPG", "cats/b.png", "cats/c.txt"):
        (tmp_path / name).write_bytes(b"")
    listed = faces.load("keras.preprocessing.image").list_pictures(str(tmp_path))
    assert sorted(listed) == [str(tmp_path / "a.JPG"), str(tmp_path / "cats" / "b.png")]


def test_a_mask_drops_in_training_only(faces: Faces) -> None:
    make = faces.load("keras.layers.recurrent")._generate_dropout_mask
    with tf.Graph().as_default(), tf.Session() as session:
        ones = tf.ones([1000])
        masks = session.run(make(ones, 0.5, training=True, count=2))
        kept = session.run(make(ones, 0.5, training=False))
    assert len(masks) == 2
    for mask in masks:
        assert set(mask.tolist()) == {0.0, 2.0}
        assert 400 < (mask == 0).sum() < 600
    assert kept.tolist() == [1.0] * 1000
