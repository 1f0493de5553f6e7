"""The smaller parts of contrib, each by what it computes or writes."""

from __future__ import annotations

import collections
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxAttributeError
from moxing.legacy.contrib import lookup, projector
from moxing.legacy.contrib.learn import data_files as learn
from moxing.legacy.contrib.learn import vocabulary
from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def test_tables_take_the_arguments_of_their_time() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        keys = tf.constant(["b", "x"])
        found = [
            lookup.string_to_index(keys, mapping=["a", "b"]),
            lookup.index_to_string(tf.constant([1, 5]), mapping=["a", "b"], default_value="?"),
            lookup.index_table_from_tensor(mapping=["a", "b"], num_oov_buckets=1).lookup(keys),
            lookup.string_to_index_table_from_tensor(["a", "b"], default_value=7).lookup(keys),
        ]
        table = lookup.HashTable(lookup.KeyValueTensorInitializer(["b"], [9]), -1)
        mutable = lookup.MutableHashTable(tf.string, tf.int64, -1)
        dense = lookup.MutableDenseHashTable(tf.int64, tf.int64, default_value=-1, empty_key=0)
        table.init.run()
        session.run(tf.tables_initializer())
        session.run(mutable.insert(keys, tf.constant([3, 4], tf.int64)))
        session.run(dense.insert(tf.constant([5], tf.int64), tf.constant([6], tf.int64)))
        found += [table.lookup(keys), mutable.lookup(keys)]
        found += [dense.lookup(tf.constant([5, 1], tf.int64)), mutable.size()]

        values = [np.asarray(v).tolist() for v in session.run(found)]
        wanted = [[1, -1], [b"b", b"?"], [1, 2], [1, 7], [9, -1], [3, 4], [6, -1], 2]
        assert values == wanted
        with pytest.raises(ValueError, match="mapping must be specified"):
            lookup.index_table_from_tensor()


def test_words_become_numbers_and_come_back(tmp_path) -> None:
    texts = ["the cat sat", "the CatNAP sat on", "dog"]
    processor = vocabulary.VocabularyProcessor(3, min_frequency=1)
    rows = list(processor.fit_transform(texts))
    processor.save(str(tmp_path / "vocab"))
    again = vocabulary.VocabularyProcessor.restore(str(tmp_path / "vocab"))

    # Two words come twice; of equals the first by name has the smaller number.
    assert [row.tolist() for row in rows] == [[2, 0, 1], [2, 0, 0], [0, 0, 0]]
    assert rows[0].dtype == np.int64
    assert len(processor.vocabulary_) == 3
    assert list(again.transform(["sat the unheard"]))[0].tolist() == [1, 2, 0]
    assert list(again.reverse([[1, 2, 0]])) == ["sat the <UNK>"]
    assert list(vocabulary.tokenizer(["CatNAP don't x-y, Z."])) == [
        ["Cat", "NAP", "don't", "x-y", "Z"]
    ]
    plain = vocabulary.VocabularyProcessor(4).fit(texts)
    assert list(plain.transform(["dog cat"]))[0].tolist() == [7, 2, 0, 0]
    row = next(vocabulary.ByteProcessor(4).transform(["hé"]))
    assert row.tolist() == [104, 195, 169, 0]


def test_files_of_data_sets(tmp_path) -> None:
    (tmp_path / "header.csv").write_text("2,2,a,b\n1.5,2,0\n3,4,1\n")
    (tmp_path / "plain.csv").write_text("7,1.5,2\n8,3,4\n")
    one = learn.load_csv_with_header(str(tmp_path / "header.csv"), int, float)
    two = learn.load_csv_without_header(str(tmp_path / "plain.csv"), int, float, 0)
    url = (tmp_path / "plain.csv").as_uri()
    path = learn.maybe_download("copy.csv", str(tmp_path / "new"), url)

    assert (one.data.tolist(), one.target.tolist()) == ([[1.5, 2], [3, 4]], [0, 1])
    assert (two.data.tolist(), two.target.tolist()) == ([[1.5, 2], [3, 4]], [7, 8])
    assert Path(path).read_text() == "7,1.5,2\n8,3,4\n"
    Path(path).write_text("kept")
    assert Path(learn.maybe_download("copy.csv", str(tmp_path / "new"), url)).read_text() == "kept"
    with pytest.raises(OSError, match="no such file|No such file"):
        learn.maybe_download("x", str(tmp_path / "new"), (tmp_path / "absent").as_uri())
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["copy.csv"]


def test_the_projector_is_told_of_embeddings(tmp_path) -> None:
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words", "words.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(str(tmp_path))
        projector.visualize_embeddings(writer, config)
        writer.close()

    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'embeddings {\n  tensor_name: "words"\n  metadata_path: "words.tsv"\n  sprite {\n'
        '    image_path: "sprite.png"\n    single_image_dim: 28\n    single_image_dim: 28\n'
        "  }\n}\n"
    )


def test_summaries_write_themselves_in_a_graph(faces: Faces, tmp_path) -> None:
    summary = faces.load("tensorflow.contrib.summary")
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        more = tf.assign_add(step, 1)
        with summary.create_file_writer(str(tmp_path), flush_millis=10).as_default():
            with summary.always_record_summaries():
                summary.scalar("loss", tf.cast(step, tf.float32) * 2)
            with summary.record_summaries_every_n_global_steps(2):
                summary.scalar("rare", 1.0)
            session.run(tf.global_variables_initializer())
            summary.initialize(session=session, graph=tf.get_default_graph())
            for _ in range(4):
                session.run(summary.all_summary_ops())
                session.run(more)
            session.run(summary.flush())

    seen = collections.defaultdict(list)
    for event in tf.train.summary_iterator(str(next(tmp_path.glob("events*")))):
        for value in event.summary.value:
            plain = value.HasField("simple_value")
            number = value.simple_value if plain else float(tf.make_ndarray(value.tensor))
            seen[value.tag].append((event.step, number))
    assert seen["loss"] == [(0, 0.0), (1, 2.0), (2, 4.0), (3, 6.0)]
    assert [step for step, _ in seen["rare"]] == [0, 2]


def test_reductions_over_devices_add_and_have_gradients(faces: Faces) -> None:
    nccl = faces.load("tensorflow.contrib.nccl")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant([1.0, 5.0]), tf.constant([3.0, 4.0])
        sums = nccl.all_sum([x, y])
        gradient = tf.gradients(sums, x)[0]
        found = session.run(
            [sums[0], sums[1], nccl.all_max([x, y])[0], nccl.reduce_sum([x, y]), gradient]
        )
        with pytest.raises(ValueError, match="Must pass >0 tensors"):
            nccl.all_sum([])

    assert [value.tolist() for value in found] == [[4, 9], [4, 9], [3, 5], [4, 9], [2, 2]]


@pytest.mark.parametrize("dynamic_pad", [False, True])
def test_buckets_hold_elements_of_about_one_length(faces: Faces, dynamic_pad: bool) -> None:
    training = faces.load("tensorflow.contrib.training")
    with tf.Graph().as_default(), tf.Session() as session:
        length = tf.train.range_input_producer(8, num_epochs=2, shuffle=False).dequeue()
        text = tf.fill([length if dynamic_pad else 1], length)
        lengths, batch = training.bucket_by_sequence_length(
            length,
            [text],
            batch_size=2,
            bucket_boundaries=[3, 6],
            shapes=[[None] if dynamic_pad else [1]],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=True,
        )
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        seen: list[int] = []
        while len(seen) < 16:
            found, (texts,) = session.run([lengths, batch])
            assert len({int(np.searchsorted([3, 6], n, "right")) for n in found}) == 1
            if dynamic_pad:
                assert texts.shape == (len(found), max(found))
            seen.extend(found.tolist())
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(lengths)
        coordinator.request_stop()
        coordinator.join(threads)

    assert sorted(seen) == sorted([*range(8)] * 2)


def test_datasets_take_the_arguments_of_their_time(faces: Faces) -> None:
    contrib = faces.load("tensorflow.contrib.data")
    with tf.Graph().as_default(), tf.Session() as session:
        data = contrib.Dataset.range(6).map(lambda n: n * 2, num_threads=2, output_buffer_size=4)
        data = data.filter(lambda n: n > 0).repeat(2).map(lambda n: n + 1, num_threads=1).batch(3)
        batch = data.make_one_shot_iterator().get_next()
        files = contrib.Dataset.from_tensor_slices([3, 4])
        pair = contrib.Dataset.zip((files, files)).make_one_shot_iterator().get_next()
        first, second = session.run(batch), session.run(pair)

    assert first.tolist() == [3, 5, 7]
    assert second == (3, 3)


def test_windows_of_old_datasets_have_their_methods(faces: Faces) -> None:
    contrib = faces.load("tensorflow.contrib.data")
    with tf.Graph().as_default(), tf.Session() as session:
        data = contrib.Dataset.range(6).group_by_window(
            key_func=lambda n: n % 2,
            reduce_func=lambda key, window: window.map(lambda n: n, num_threads=1).batch(3),
            window_size=3,
        )
        parted = contrib.Dataset.from_tensor_slices([[1, 2]]).unbatch().ignore_errors()
        batch = data.make_one_shot_iterator().get_next()
        part = parted.make_one_shot_iterator().get_next()
        assert sorted(session.run(batch).tolist() for _ in range(2)) == [[0, 2, 4], [1, 3, 5]]
        assert session.run(part) == 1


def test_variables_go_to_the_server_that_has_the_least(faces: Faces) -> None:
    training = faces.load("tensorflow.contrib.training")
    with tf.Graph().as_default():
        strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
        setter = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)
        with tf.device(setter):
            made = [
                tf.get_variable(f"v{at}", [size], use_resource=at % 2 == 0)
                for at, size in enumerate([100, 10, 20, 30])
            ]

    assert [v.device[-1] for v in made] == ["0", "1", "1", "1"]


def test_small_functions(faces: Faces) -> None:
    tf1 = faces.load("tensorflow")
    contrib = tf1.contrib
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.random_normal([4000], seed=1)
        dropped = contrib.nn.alpha_dropout(x, 0.8, seed=2)
        flipped = contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits(
            [[0.0, 0.0]], [[1.0, 0.0]]
        )
        embedded = contrib.layers.embed_sequence(tf.constant([[1, 0]]), 3, 2)
        same = contrib.framework.with_same_shape(x, x)
        sparse = contrib.framework.nest.is_sequence([1]), contrib.framework.nest.is_sequence(1)
        tf.get_default_graph().seed = 3
        random = contrib.stateless.stateless_random_uniform([2], seed=[1, 2])
        contrib.deprecated.scalar_summary("old", 1.0)
        session.run(tf.global_variables_initializer())
        values = session.run([dropped, flipped, embedded, same, random])

        assert [v.op.name for v in tf.global_variables()] == ["EmbedSequence/embeddings"]
        assert values[2].shape == (1, 2, 2)
        np.testing.assert_allclose([values[0].mean(), values[0].std()], [0, 1], atol=0.06)
        np.testing.assert_allclose(values[1], [np.log(2)], rtol=1e-6)
        assert sparse == (True, False)
        assert tf.get_collection(tf.GraphKeys.SUMMARIES)
        with pytest.raises(ValueError, match="has the shape"):
            contrib.framework.with_shape([3], x)


def test_cells_and_linear_operators_by_their_first_paths(faces: Faces) -> None:
    contrib = faces.load("tensorflow").contrib
    cell = contrib.rnn.core_rnn_cell.BasicLSTMCell(3)
    with tf.Graph().as_default(), tf.Session() as session:
        lower = contrib.linalg.LinearOperatorTriL([[2.0, 9.0], [1.0, 3.0]])
        dense = contrib.linalg.LinearOperatorMatrix([[2.0, 1.0], [0.0, 3.0]])
        vector = tf.constant([1.0, 2.0])
        found = session.run([lower.matvec(vector), dense.matvec(vector)])
    assert cell.state_size == (3, 3)
    # The operator reads only the triangle below: 2 * 1, and 1 * 1 + 3 * 2.
    np.testing.assert_allclose(found, [[2.0, 7.0], [4.0, 6.0]])


def test_modes_and_eager_names(faces: Faces) -> None:
    contrib = faces.load("tensorflow").contrib

    assert contrib.learn.ModeKeys.INFER == "infer"
    assert not contrib.eager.executing_eagerly() or not tf.get_default_graph().building_function
    assert any("CPU" in name for name in contrib.eager.list_devices())
    with pytest.raises(AttributeError, match="Use tf.keras.metrics"):
        _ = contrib.eager.metrics


def test_the_mnist_tutorial_learns(faces: Faces) -> None:
    mnist = faces.load("tensorflow.examples.tutorials.mnist.mnist")
    draw = np.random.RandomState(0)
    images = draw.randn(50, mnist.IMAGE_PIXELS).astype(np.float32)
    labels = draw.randint(10, size=50).astype(np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        logits = mnist.inference(tf.constant(images), 64, 32)
        loss = mnist.loss(logits, tf.constant(labels))
        step = mnist.training(loss, 0.1)
        right = mnist.evaluation(logits, tf.constant(labels))
        session.run(tf.global_variables_initializer())
        for _ in range(300):
            session.run(step)

        assert session.run(right) > 40
        assert "hidden1/weights" in {v.op.name for v in tf.trainable_variables()}


def test_graphs_are_transformed(faces: Faces) -> None:
    transforms = faces.load("tensorflow.tools.graph_transforms")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], "x")
        two = tf.multiply(tf.constant(1.0), tf.constant(2.0), "two")
        tf.identity(tf.identity(x, "between") * two, "y")
        tf.constant(1.0, name="unused")
    steps = ["strip_unused_nodes", "remove_nodes(op=Identity)", "fold_constants"]
    small = transforms.TransformGraph(
        graph.as_graph_def(), ["x"], ["y"], [*steps, "sort_by_execution_order"]
    )
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(small, name="")
        found = session.run("y:0", {"x:0": [1, 2]})

    assert found.tolist() == [2, 4]
    kinds = {node.name: node.op for node in small.node}
    assert set(kinds.values()) == {"Placeholder", "Const", "Mul", "Identity"}
    assert kinds["two"] == "Const"
    assert "between" not in kinds
    with pytest.raises(ValueError, match="'quantize_weights' ended"):
        transforms.TransformGraph(small, ["x"], ["y"], ["quantize_weights"])


def test_distributions_can_be_listed(faces: Faces) -> None:
    distributions = faces.load("tensorflow.contrib.distributions")
    base = distributions.Distribution
    every = {name: getattr(distributions, name) for name in dir(distributions)}
    kinds = {k for k, v in every.items() if isinstance(v, type) and issubclass(v, base)}

    assert {"Bernoulli", "Beta", "Normal", "NormalWithSoftplusScale"} <= kinds
    assert distributions.NormalWithSoftplusScale is every["NormalWithSoftplusScale"]
    assert issubclass(distributions.NormalWithSoftplusScale, distributions.Normal)
    assert "NOT_REPARAMETERIZED" in every
    assert not [name for name in every if name.startswith("_") and name[1] != "_"]


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "normal"])
def test_modules_of_distributions_need_no_probability(faces: Faces, name: str) -> None:
    module = faces.load(f"tensorflow.contrib.distributions.python.ops.{name}")
    kind = getattr(module, name.capitalize())
    with tf.Graph().as_default(), tf.Session() as session:
        drawn = session.run(kind(0.0, 1.0).sample() if name == "normal" else kind([9.0]).sample())

    assert np.isfinite(drawn).all()


def test_distributions_that_came_later_are_found_and_not_listed(
    faces: Faces, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = types.ModuleType("tensorflow_probability.python.distributions")
    later.Empirical = later.Cauchy = object  # type: ignore[attr-defined]
    for name in ("tensorflow_probability", "tensorflow_probability.python"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, later.__name__, later)
    distributions = faces.load("tensorflow.contrib.distributions")

    # Programs such as Edward have a class Empirical of their own, beside all that is listed.
    assert "Cauchy" in dir(distributions)
    assert "Empirical" not in dir(distributions)
    assert distributions.Empirical is object


def test_a_copy_of_a_distribution_transforms_what_was_given_once(faces: Faces) -> None:
    distributions = faces.load("tensorflow.contrib.distributions")
    with tf.Graph().as_default(), tf.Session() as session:
        first = distributions.NormalWithSoftplusScale(0.0, scale=[1.0, -3.0])
        second = first.copy(loc=2.0)
        scales = session.run([first.scale, second.scale])
        divergence = session.run(distributions.kl_divergence(first, second))

    wanted = np.log1p(np.exp([1.0, -3.0]))
    np.testing.assert_allclose(scales, [wanted, wanted], rtol=1e-5)
    np.testing.assert_allclose(divergence, 2.0 / wanted**2, rtol=1e-5)
    assert type(second) is distributions.NormalWithSoftplusScale
    assert first.name.strip("/") == "NormalWithSoftplusScale"


def test_distributions_say_what_to_install_or_are_those_of_probability(faces: Faces) -> None:
    distributions = faces.load("tensorflow.contrib.distributions")
    with tf.Graph().as_default(), tf.Session() as session:
        normal = distributions.NormalWithSoftplusScale(0.0, 1.0)
        log = session.run(normal.log_prob(0.5))
    scale = np.log1p(np.exp(1.0))
    wanted = -0.5 * (0.5 / scale) ** 2 - np.log(scale * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(log, wanted, rtol=1e-5)
    try:
        import tensorflow_probability  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(MoxAttributeError, match=r"pip install 'openmox\[probability\]'"):
            _ = distributions.MultivariateNormalDiag
        return
    with tf.Graph().as_default(), tf.Session() as session:
        many = distributions.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0])
        log, sample = session.run([many.log_prob([0.0, 0.0]), many.sample(2, seed=1)])
        softplus = session.run(distributions.softplus_inverse(1.0))
    np.testing.assert_allclose(log, -np.log(2 * np.pi) - np.log(2) - 0.125, rtol=1e-5)
    np.testing.assert_allclose(softplus, np.log(np.expm1(1.0)), rtol=1e-5)
    assert sample.shape == (2, 2)
    assert distributions.bijectors.Exp().name == "exp"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("tensor_forest", "scikit-learn"),
        ("boosted_trees", "scikit-learn"),
        ("tensorrt", "NVIDIA"),
    ],
)
def test_what_cannot_be_had_says_what_to_do(faces: Faces, name: str, advice: str) -> None:
    with pytest.raises(MoxAttributeError) as told:
        getattr(faces.load("tensorflow.contrib"), name)

    assert "is gone from TensorFlow 2.x" in str(told.value)
    assert advice in str(told.value)


def test_an_eager_network_tracks_the_layers_it_is_told_of() -> None:
    from moxing.legacy.contrib.eager_network import Network

    class Net(Network):
        def __init__(self) -> None:
            super().__init__()
            self.first = self.track_layer(tf.layers.Dense(3))
            self.track_layer(self.first)
            self.track_layer(tf.layers.Dense(2))

        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            return self.layers[-1](self.first(inputs))

    with tf.Graph().as_default():
        net = Net()
        assert net(tf.ones([1, 4])).shape == (1, 2)
        assert [tuple(v.shape) for v in net.trainable_weights] == [(4, 3), (3,), (3, 2), (2,)]


def test_transformations_of_images_are_composed_in_their_order() -> None:
    from moxing.legacy.contrib import image

    pixels = np.arange(24, dtype=np.float32).reshape(4, 6)
    with tf.Graph().as_default(), tf.Session() as session:
        first = image.angles_to_projective_transforms(np.pi / 2, 4.0, 6.0)
        second = image.translations_to_projective_transforms([1.0, 2.0])
        tensors = [
            image.transform(image.transform(tf.constant(pixels), first), second),
            image.transform(tf.constant(pixels), image.compose_transforms(first, second)),
            image.compose_transforms(second) - second,
        ]
        one_by_one, at_once, nothing = session.run(tensors)

    # Pixels that the first step moves out of the picture are only kept at once.
    np.testing.assert_array_equal(at_once[one_by_one > 0], one_by_one[one_by_one > 0])
    assert (one_by_one > 0).sum() >= 6
    assert not nothing.any()


def test_the_profiler_counts_parameters_and_multiplications(faces: Faces, capfd) -> None:
    tfprof = faces.load("tensorflow.contrib.tfprof")
    with tf.Graph().as_default() as graph:
        weights = tf.get_variable("w", initializer=np.ones([3, 4], np.float32))
        tf.get_variable("frozen", initializer=np.ones([7], np.float32), trainable=False)
        tf.matmul(tf.zeros([2, 3]), weights)
        analyzer = tfprof.model_analyzer
        counted = analyzer.print_model_analysis(graph)
        flops = analyzer.print_model_analysis(graph, tfprof_options=analyzer.FLOAT_OPS_OPTIONS)

    assert counted.total_parameters == 12
    # A multiplication and an addition for each element of [2, 4], three times.
    assert flops.total_float_ops == 2 * 2 * 4 * 3
    assert "w (3x4, 12/12 params)" in capfd.readouterr().out


def test_events_are_written_by_the_private_writer(faces: Faces, tmp_path: Path) -> None:
    inner = faces.load("tensorflow.python.pywrap_tensorflow")
    writer = inner.EventsWriter(tf.compat.as_bytes(str(tmp_path / "run")))
    value = tf.Summary.Value(tag="loss", simple_value=2.5)
    writer.WriteEvent(tf.Event(step=3, summary=tf.Summary(value=[value])))
    writer.Flush()
    writer.Close()

    events = list(tf.train.summary_iterator(tf.compat.as_str(writer.FileName())))
    assert [(e.step, v.tag, v.simple_value) for e in events for v in e.summary.value] == [
        (3, "loss", 2.5)
    ]
