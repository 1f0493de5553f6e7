"""The scores of generated images, against NumPy and SciPy, and the pictures of summaries."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.errors import MoxAttributeError, MoxRuntimeError, MoxValueError
from moxing.legacy.contrib.gan import inception, pictures, scores
from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine

RNG = np.random.default_rng(3)
REAL = RNG.normal(size=(60, 5)).astype(np.float32)
FAKE = (RNG.normal(size=(50, 5)) * [1, 2, 3, 0.5, 1] + 0.3).astype(np.float32)


def _run(function: Any, *arrays: np.ndarray, **how: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(function(*[tf.constant(array) for array in arrays], **how))


def test_the_inception_score_is_that_of_its_formula() -> None:
    logits = RNG.normal(size=(20, 7)).astype(np.float32) * 3
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    wanted = np.exp((p * (np.log(p) - np.log(p.mean(0)))).sum(1).mean())

    found = _run(scores.classifier_score_from_logits, logits)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    # Of images that are all alike, no image tells anything: 1. Each of its own class: as many.
    assert _run(scores.classifier_score_from_logits, np.ones((4, 3), np.float32)) == 1
    sure = np.eye(3, dtype=np.float32) * 100
    np.testing.assert_allclose(_run(scores.classifier_score_from_logits, sure), 3, rtol=1e-5)


def test_frechet_distances_are_those_of_scipy() -> None:
    m, w = REAL.mean(0), FAKE.mean(0)
    c, d = np.cov(REAL, rowvar=False), np.cov(FAKE, rowvar=False)
    apart = ((m - w) ** 2).sum()
    wanted = apart + np.trace(c + d - 2 * scipy.linalg.sqrtm(c @ d).real)
    var, var_w = REAL.var(0), FAKE.var(0)

    found = _run(scores.frechet_classifier_distance_from_activations, REAL, FAKE)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    same = _run(scores.frechet_classifier_distance_from_activations, REAL, REAL)
    assert abs(same) < 1e-4
    means = _run(scores.mean_only_frechet_classifier_distance_from_activations, REAL, FAKE)
    np.testing.assert_allclose(means, apart, rtol=1e-4)
    diagonal = _run(scores.diagonal_only_frechet_classifier_distance_from_activations, REAL, FAKE)
    np.testing.assert_allclose(
        diagonal, apart + (var + var_w - 2 * np.sqrt(var * var_w)).sum(), rtol=1e-4
    )


def test_kernel_distances_are_means_of_blocks() -> None:
    def estimate(x: np.ndarray, y: np.ndarray) -> float:
        kernel = lambda a, b: (a @ b.T / 5 + 1) ** 3  # noqa: E731
        pairs = [kernel(a, a)[~np.eye(len(a), dtype=bool)].mean() for a in (x, y)]
        return sum(pairs) - 2 * kernel(x, y).mean()

    real, fake = REAL.astype(np.float64), FAKE.astype(np.float64)
    blocks = [
        estimate(real[20 * k : 20 * k + 20], fake[at[0] : at[1]])
        for k, at in enumerate([(0, 16), (16, 33), (33, 50)])
    ]
    of = scores.kernel_classifier_distance_and_std_from_activations

    mean, error = _run(of, REAL, FAKE, max_block_size=20, dtype=tf.float64)
    np.testing.assert_allclose(mean, np.mean(blocks))
    np.testing.assert_allclose(error, np.std(blocks, ddof=1) / np.sqrt(3))
    whole, unknown = _run(of, real, fake)
    np.testing.assert_allclose(whole, estimate(real, fake))
    assert np.isnan(unknown)


def _classifier() -> Any:
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 4, 4, 1], "Mul")
        tf.multiply(images[:, :2, :2], 2.0, name="pool_3")
        tf.reduce_mean(images, [1, 2], name="logits")
    return graph.as_graph_def()


def test_a_frozen_classifier_sees_images_in_groups() -> None:
    images = RNG.normal(size=(6, 4, 4, 1)).astype(np.float32)
    graph_def = _classifier()

    def classify(batch: Any) -> Any:
        return inception.run_inception(batch, graph_def, image_size=4, output_tensor="pool_3:0")

    flat = 2 * images[:, :2, :2].reshape(6, 4)
    assert _run(classify, images).tolist() == flat.tolist()
    both = _run(
        inception.run_inception,
        images,
        graph_def=graph_def,
        image_size=4,
        output_tensor=["pool_3:0", "logits:0"],
    )
    assert [each.shape for each in both] == [(6, 4), (6, 1)]
    other = images[::-1] * 2
    found = _run(
        scores.frechet_classifier_distance, images, other, classifier_fn=classify, num_batches=3
    )
    wanted = _run(scores.frechet_classifier_distance_from_activations, flat, flat[::-1] * 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    with pytest.raises(MoxValueError, match="must provide `default_graph_def_fn`"):
        _run(inception.run_inception, images, default_graph_def_fn=None, image_size=4)
    with pytest.raises(ValueError, match="not compatible"):
        _run(inception.run_inception, images, graph_def=graph_def)
    gray = inception.preprocess_image(tf.fill([2, 2, 3], tf.constant(255, tf.uint8)), 5, 6)
    assert gray.shape == (5, 6, 3)
    np.testing.assert_allclose(gray, np.full((5, 6, 3), 127 / 128))


def test_graphs_come_from_tarballs(tmp_path: Path) -> None:
    graph_def = _classifier()
    data = graph_def.SerializeToString()
    place = tmp_path / "frozen.tar.gz"
    with tarfile.open(place, "w:gz") as tar:
        entry = tarfile.TarInfo("./graph.pb")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    of = inception.get_graph_def_from_url_tarball

    assert of("http://unused", "graph.pb", str(place)) == graph_def
    copy = tmp_path / "copy.tar.gz"
    assert of(place.as_uri(), "graph.pb", str(copy)) == graph_def
    assert copy.read_bytes() == place.read_bytes()
    with pytest.raises(MoxValueError, match=r"no file 'other.pb' in .*, but ./graph.pb"):
        of("http://unused", "other.pb", str(place))
    absent = tmp_path / "absent.tar.gz"
    with pytest.raises(MoxRuntimeError, match="can't be downloaded .* Put that file at"):
        of(absent.as_uri(), "graph.pb", str(tmp_path / "no.tar.gz"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.tar.gz", "frozen.tar.gz"]


def test_many_images_become_one() -> None:
    images = np.arange(4 * 2 * 3 * 1, dtype=np.float32).reshape(4, 2, 3, 1)
    grid = _run(pictures.image_grid, images, grid_shape=(2, 2), image_shape=(2, 3), num_channels=1)
    rows = [np.concatenate([images[2 * row], images[2 * row + 1]], 1) for row in range(2)]
    assert grid[0].tolist() == np.concatenate(rows, 0).tolist()
    odd = _run(pictures.image_reshaper, images[:3])
    assert odd.shape == (1, 4, 6, 1)
    assert odd[0, 2:, 3:].max() == 0
    assert _run(pictures.image_reshaper, images, num_cols=4).shape == (1, 2, 12, 1)
    with pytest.raises(MoxValueError, match="incompatible with minibatch size 4"):
        _run(pictures.image_grid, images, grid_shape=(3, 2))


def test_a_model_has_summaries() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    gan = faces.load("tensorflow.contrib.gan")
    with tf.Graph().as_default(), tf.Session() as session:
        model = gan.gan_model(
            lambda x: tf.layers.conv2d(x, 1, 1, kernel_regularizer=tf.nn.l2_loss),
            lambda data, _: tf.layers.dense(tf.layers.flatten(data), 1),
            tf.random_uniform([4, 2, 3, 1]),
            tf.random_uniform([4, 2, 3, 1]),
        )
        gan.eval.add_gan_model_image_summaries(model, grid_size=2)
        gan.eval.add_image_comparison_summaries(model, display_diffs=True)
        gan.eval.add_regularization_loss_summaries(model)
        session.run(tf.global_variables_initializer())
        summary = tf.Summary.FromString(session.run(tf.summary.merge_all()))

    sizes = {v.tag: (v.image.height, v.image.width) for v in summary.value if v.image.height}
    assert sizes == {
        "real_data/image": (4, 6),
        "generated_data/image": (4, 6),
        "image_comparison/image": (4, 12),
    }
    tags = {value.tag for value in summary.value}
    assert {"discriminator_gen_outputs", "generator_regularization_loss"} <= tags
    assert "discriminator_regularization_loss" not in tags
    private = faces.load("tensorflow.contrib.gan.python.eval.python.classifier_metrics_impl")
    assert private.classifier_score is gan.eval.classifier_score
    with pytest.raises(MoxAttributeError, match="image_reshaper"):
        _ = gan.eval.add_stargan_image_summaries
