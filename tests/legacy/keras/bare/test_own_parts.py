"""Layers, initializers, models and loops that a program wrote for the package `keras`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


class _Prior:
    def __init__(self) -> None:
        self.types: list[Any] = []

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        self.types.append(dtype)
        return np.full(shape, -2.0, dtype=dtype)


def test_own_initializers_get_the_type_as_text_or_not_at_all(faces: Faces) -> None:
    keras, prior = faces.load("keras"), _Prior()
    with tf.Graph().as_default():
        given = keras.layers.Input((3,))
        dense = keras.layers.Dense(
            2,
            kernel_initializer=lambda shape: tf.ones(shape) * 3,
            bias_initializer=prior,
        )
        model = keras.models.Model(given, dense(given))
        kernel, bias = model.get_weights()

    assert prior.types == ["float32"]
    assert kernel.tolist() == [[3.0] * 2] * 3
    assert bias.tolist() == [-2.0, -2.0]


def test_sizes_that_an_own_layer_states_reach_the_layers_behind(faces: Faces) -> None:
    """TensorFlow knows no sizes of what a Python function makes; Keras 2 believed the layer."""
    keras = faces.load("keras")
    K = keras.backend  # noqa: N806, the name that programs know

    class Kept(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return tf.reshape(x, tf.stack([tf.shape(x)[0], -1, 3]))

        def compute_output_shape(self, shape: Any) -> Any:
            return (1, 2, 4)

    class Pairs(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            made = tf.py_func(lambda value: np.stack([value, value + 1], 1), [x], tf.float32)
            return [made, tf.reshape(made, [tf.shape(x)[0], -1, 3])]

        def compute_output_shape(self, shape: Any) -> Any:
            assert shape == (None, 3)
            return [(shape[0], 2, 3), (7, 2, None)]

    with tf.Graph().as_default():
        given = keras.layers.Input((3,))
        made, other = Pairs()(given)
        states = [K.int_shape(made), K.int_shape(other)]
        scored = keras.layers.TimeDistributed(keras.layers.Dense(4))(made)
        answer = keras.layers.Reshape((K.int_shape(scored)[1], 2, 2))(scored)
        lifted = keras.layers.Lambda(
            lambda x: tf.py_func(lambda value: value, [x], tf.float32), output_shape=(2, 3)
        )(made)
        states += [K.int_shape(lifted), K.int_shape(Kept()(other))]
        found = keras.models.Model(given, answer).predict(np.ones([5, 3], np.float32))

    # The last layer states another last size and batch than TensorFlow knows.
    assert states == [(None, 2, 3), (None, 2, 3), (None, 2, 3), (None, 2, 3)]
    assert found.shape == (5, 2, 2, 2)


def test_ones_and_zeros_are_made_within_loops(faces: Faces) -> None:
    K = faces.load("keras.backend")  # noqa: N806
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.map_fn(
            lambda x: K.ones((K.shape(x)[0],), dtype="int64") + K.zeros((2,), dtype="int64"),
            tf.ones([3, 2]),
            dtype=tf.int64,
        )
        total = K.ones((K.shape(made)[0], 2))
        session.run(tf.global_variables_initializer())
        assert session.run(made).tolist() == [[1, 1]] * 3
        assert session.run(total).dtype == np.float32


@pytest.mark.filterwarnings("ignore:.*_generator. is deprecated")
def test_objects_with_next_alone_are_generators(faces: Faces) -> None:
    class Batches:
        made = 0

        def __next__(self) -> Any:
            self.made += 1
            return np.ones([2, 3], np.float32), np.zeros([2, 1], np.float32)

    keras, batches, others = faces.load("keras"), Batches(), Batches()
    with tf.Graph().as_default():
        model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
        history = model.fit_generator(
            generator=batches,
            steps_per_epoch=3,
            epochs=1,
            verbose=0,
            validation_data=others,
            validation_steps=2,
        )
        score = model.evaluate_generator(others, steps=1)

    assert batches.made >= 3
    assert others.made >= 3
    assert history.history["val_loss"][0] >= score * 0.99


def test_losses_are_added_to_models_whose_lists_and_dicts_were_cleared(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default():
        given = keras.layers.Input((3,))
        layer = keras.layers.Dense(1, kernel_initializer="ones")
        model = keras.models.Model(given, layer(given))
        model._losses = []
        model._per_input_losses = {}
        model.add_loss(tf.reduce_mean(layer.output, keepdims=True))
        model.compile("sgd", loss=[None])
        loss = model.train_on_batch(np.ones([2, 3], np.float32))

    assert np.ravel(loss)[0] == pytest.approx(3.0)


@pytest.mark.parametrize("keras", ["keras", "tensorflow.keras"])
def test_layers_are_applied_by_name(faces: Faces, keras: str) -> None:
    layers = faces.load(f"{keras}.layers")
    with tf.Graph().as_default(), tf.Session() as session:
        layer = layers.Dense(2, kernel_initializer="ones")
        first = layer.apply(tf.ones([1, 3]))
        second = layer(tf.ones([1, 3]))
        halved = layers.Dropout(0.5).apply(tf.ones([1, 3]), training=False)
        session.run(tf.global_variables_initializer())
        found = session.run([first, second, halved])

    assert [value.tolist() for value in found] == [[[3, 3]], [[3, 3]], [[1, 1, 1]]]


def test_nodes_list_the_layers_before_them(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default():
        first = keras.layers.Input((3,))
        second = keras.layers.Dense(2, name="second")(first)
        both = keras.layers.add([second, keras.layers.Dense(2, name="third")(first)])
        model = keras.models.Model(first, keras.layers.Activation("relu")(both))
        copy = keras.models.clone_model(model)
        chain = keras.models.Sequential(
            [keras.layers.Dense(2, input_shape=(3,)), keras.layers.Dense(1)]
        )
        chain.pop()

    node = model.layers[-1]._inbound_nodes[0]
    assert [layer.name for layer in node.inbound_layers] == [model.layers[-2].name]
    node = model.layers[-2]._inbound_nodes[0]
    assert [layer.name for layer in node.inbound_layers] == ["second", "third"]
    assert model.layers[0]._inbound_nodes[0].inbound_layers == []
    assert [layer.name for layer in copy.layers] == [layer.name for layer in model.layers]
    assert chain.output_shape == (None, 2)


def test_node_0_of_a_model_is_its_own_whether_it_was_called_or_not(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default():
        model = keras.models.Sequential()
        model.add(keras.layers.Dense(3, input_shape=(4,)))
        model.add(keras.layers.Activation("softmax"))
        own = (model.input, model.output)
        assert (model.get_input_at(0), model.get_output_at(-1)) == own
        assert (model.get_input_shape_at(0), model.get_output_shape_at(0)) == ((None, 4), (None, 3))

        fed = keras.layers.Input(batch_shape=(5, 4))
        made = model(fed)
        assert (model.get_input_at(0), model.get_output_at(0)) == own
        assert (model.get_input_at(1), model.get_output_at(1)) == (fed, made)
        assert (model.get_input_at(-2), model.get_output_at(-1)) == (own[0], made)
        assert (model.get_input_shape_at(1), model.get_output_shape_at(1)) == ((5, 4), (5, 3))
        with pytest.raises(ValueError, match="at node 2, but it has 2 nodes"):
            model.get_output_at(2)
        # The layers of one model make another one.
        inner = [layer.get_output_at(0) for layer in model.layers]
        other = keras.models.Model(model.get_input_at(0), inner)
        first, last = other.predict(np.ones([2, 4], np.float32))
    assert (first.shape, last.sum(1).round(5).tolist()) == ((2, 3), [1.0, 1.0])


def test_a_model_of_several_tensors_lists_them(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default():
        one, two = keras.layers.Input((2,)), keras.layers.Input((3,))
        both = keras.layers.concatenate([one, two])
        model = keras.models.Model([one, two], both)
        assert model.get_input_at(0) == [one, two]
        assert model.get_input_shape_at(0) == [(None, 2), (None, 3)]
        assert model.get_output_at(0) is both


def test_a_model_that_knows_no_input_yet_says_so(faces: Faces) -> None:
    model = faces.load("keras").models.Sequential()
    with pytest.raises(RuntimeError, match="never been called"):
        model.get_input_at(0)


@pytest.mark.filterwarnings("ignore:.*_generator. is deprecated")
@pytest.mark.parametrize("form", ["generator", "iterator", "sequence", "weighted"])
def test_lists_of_a_generator_are_inputs_and_targets(faces: Faces, form: str) -> None:
    keras = faces.load("keras")
    batch = [np.ones([2, 3], np.float32), np.zeros([2, 1], np.float32)]
    batch += [np.full([2], 0.5, np.float32)] if form == "weighted" else []

    class Batches(keras.utils.Sequence):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return batch

    def generate() -> Any:
        while True:
            yield batch

    made: Any = {"iterator": lambda: iter(lambda: batch, None), "sequence": Batches}
    data = made.get(form, generate)
    with tf.Graph().as_default():
        ones = {"kernel_initializer": "ones"}
        model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(3,), **ones)])
        model.compile(keras.optimizers.SGD(lr=0.0), "mse")
        history = model.fit_generator(data(), steps_per_epoch=2, epochs=1, verbose=0)
        score = model.evaluate_generator(data(), steps=1)
        rows = model.predict_generator(iter([batch[0]]), steps=1)

    assert history.history["loss"] == [4.5 if form == "weighted" else 9.0]
    assert score == history.history["loss"][0]
    assert rows.tolist() == [[3.0], [3.0]]


@pytest.mark.parametrize(
    ("module", "name", "kinds"),
    [
        ("convolutional", "_Conv", "Conv1D Conv2D Conv3D Conv2DTranspose"),
        ("convolutional", "_SeparableConv", "SeparableConv1D SeparableConv2D"),
        ("pooling", "_Pooling1D", "MaxPooling1D AveragePooling1D"),
        ("pooling", "_Pooling2D", "MaxPooling2D AveragePooling2D"),
        ("pooling", "_GlobalPooling2D", "GlobalMaxPooling2D GlobalAveragePooling2D"),
    ],
)
def test_layers_derive_from_bases_by_their_names_of_keras_2(
    faces: Faces, module: str, name: str, kinds: str
) -> None:
    layers = faces.load("keras").layers
    base = getattr(getattr(layers, module), name)
    for kind in kinds.split():
        assert issubclass(getattr(layers, kind), base)
    assert not issubclass(layers.Dense, base)


def test_an_added_loss_may_wait_for_inputs_and_read_variables(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default():
        words, given = keras.layers.Input((None,)), keras.layers.Input((None,), dtype="int32")
        wide = keras.layers.Lambda(lambda x: x[..., None] * 1.0)(words)
        scores = keras.layers.Dense(3, kernel_initializer="zeros")(wide)
        factor = tf.get_variable("factor", initializer=2.0)
        with tf.control_dependencies([tf.assert_equal(tf.shape(words), tf.shape(given))]):
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.cast(given, tf.int32), logits=scores
            )
            loss = tf.reduce_sum(loss * factor, axis=tf.constant([0, 1])) / 6.0
        model = keras.models.Model([words, given], scores)
        model.add_loss([loss])
        model.compile(keras.optimizers.SGD(lr=0.1), None)
        keras.backend.get_session().run(factor.initializer)
        x, y = np.ones([2, 3], np.float32), np.zeros([2, 3], np.int32)
        first = model.train_on_batch([x, y])
        keras.backend.get_session().run(factor.assign(4.0))
        second = model.test_on_batch([x, y])

    np.testing.assert_allclose(first, 2 * np.log(3), rtol=1e-5)
    assert first < second < 2 * first  # The factor is read anew; and the step has helped.


def test_metrics_are_appended_to_the_lists_of_a_model(faces: Faces) -> None:
    keras = faces.load("keras")
    with tf.Graph().as_default():
        model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(2,), name="rows")])
        model.compile("sgd", "mse")
        output = model.get_layer("rows").output
        model.metrics_names.append("largest")
        model.metrics_tensors.append(tf.reduce_max(tf.stop_gradient(output)) * 0 + 4.0)
        model.metrics_tensors.append(tf.reduce_min(output, keepdims=True) * 0 + 2.0)
        x, y = np.ones([4, 2], np.float32), np.ones([4, 1], np.float32)
        history = model.fit(x, y, batch_size=2, epochs=1, verbose=0).history
        values = dict(zip(model.metrics_names, model.test_on_batch(x, y), strict=True))

    assert model.metrics_names == ["loss", "largest", "metric_2"]
    assert (history["largest"], history["metric_2"]) == ([4.0], [2.0])
    assert (values["largest"], values["metric_2"]) == (4.0, 2.0)
    assert len(model.metrics_tensors) == 2


def test_an_output_that_is_a_list_of_one_is_the_tensor(faces: Faces) -> None:
    """`K.gradients` gives a list, which programs return from a Lambda."""
    keras = faces.load("keras")
    K = keras.backend  # noqa: N806, the name that programs know
    with tf.Graph().as_default():
        given = keras.layers.Input((3,))
        squares = keras.layers.Lambda(lambda x: x * x)(given)
        slopes = keras.layers.Lambda(
            lambda pair: K.gradients(K.sum(pair[1]), pair[0]), output_shape=lambda shapes: shapes[0]
        )([given, squares])
        product = keras.layers.multiply([given, slopes])
        model = keras.models.Model(given, product)
        assert model.predict(np.array([[1.0, 2.0, 3.0]])).tolist() == [[2.0, 8.0, 18.0]]


@pytest.mark.parametrize("samples", [2, 6])
def test_regularized_outputs_are_summed_over_the_batch(faces: Faces, samples: int) -> None:
    keras = faces.load("keras")
    x = np.arange(2.0 * samples, dtype=np.float32).reshape(samples, 2)
    with tf.Graph().as_default():
        given = keras.layers.Input((2,))
        outputs = keras.layers.ActivityRegularization(l1=0.5, l2=0.25)(given)
        scores = keras.layers.Dense(
            1, use_bias=False, kernel_initializer="ones", activity_regularizer="l2"
        )(outputs)
        model = keras.models.Model(given, scores)
        model.compile("sgd", lambda true, found: 0 * found)
        loss = model.test_on_batch(x, np.zeros([samples, 1]))

    total = np.sum(0.5 * np.abs(x) + 0.25 * x**2) + 0.01 * np.sum(x.sum(axis=1) ** 2)
    assert loss == pytest.approx(total, rel=1e-5)
