"""Checkpoints written with tf-slim's own nets load by name and give tf-slim's logits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets import get_model_fn

Graphs = Callable[[], AbstractContextManager[tf.Graph]]

CLASSES = 7
# A graph that runs once is not worth the time in which TensorFlow would rewrite it.
AS_BUILT = tf.ConfigProto()
AS_BUILT.graph_options.rewrite_options.disable_meta_optimizer = True
# Name, module of tf_slim.nets, image size that is legal and small.
RESTORED = [
    ("resnet_v1_50", "resnet_v1", 64),
    pytest.param("inception_v1", "inception_v1", 224, marks=pytest.mark.slow),
    pytest.param("alexnet_v2", "alexnet", 224, marks=pytest.mark.slow),
    pytest.param("vgg_a", "vgg", 224, marks=pytest.mark.slow),
    pytest.param("overfeat", "overfeat", 231, marks=pytest.mark.slow),
    pytest.param("inception_v2", "inception_v2", 224, marks=pytest.mark.slow),
    pytest.param("inception_v3", "inception_v3", 299, marks=pytest.mark.slow),
    pytest.param("resnet_v2_50", "resnet_v2", 64, marks=pytest.mark.slow),
]
# Deeper forms of the same, which differ in the number of layers only. Those left out repeat the
# units of these more often: test_registry counts their parameters.
DEEPER = [
    ("vgg_16", "vgg"),
    ("vgg_19", "vgg"),
]


def _slim_net(nets: Any, name: str, images: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    import tf_slim

    scopes = [key for key in vars(nets) if key.endswith("_arg_scope") and key != "add_arg_scope"]
    # The auxiliary classifier of inception_v3 is in slim's graph in every mode.
    extra = {"create_aux_logits": False} if name == "inception_v3" else {}
    with tf_slim.arg_scope(getattr(nets, scopes[0])()):
        return getattr(nets, name)(images, CLASSES, is_training=False, **extra)


@pytest.mark.parametrize(("name", "module", "size"), RESTORED)
def test_slim_checkpoint_gives_slims_logits(
    name: str,
    module: str,
    size: int,
    slim_nets: Callable[[str], Any],
    load_random: Callable[[tf.Session], None],
    without_initializers: Graphs,
    tmp_path: Path,
) -> None:
    images = np.random.default_rng(0).normal(0.0, 1.0, (2, size, size, 3)).astype(np.float32)
    prefix = str(tmp_path / "model.ckpt")
    with without_initializers():
        theirs, their_points = _slim_net(slim_nets(module), name, tf.constant(images))
        with tf.Session(config=AS_BUILT) as session:
            load_random(session)
            expected = session.run(tf.reshape(theirs, [2, CLASSES]))
            tf.train.Saver().save(session, prefix)
    saved = dict(tf.train.list_variables(prefix))

    with without_initializers():
        ours, our_points = get_model_fn(name, "EVAL", CLASSES, preprocess_fn=None)(
            tf.constant(images)
        )
        assert {v.op.name: v.shape.as_list() for v in tf.global_variables()} == saved
        with tf.Session(config=AS_BUILT) as session:
            tf.train.Saver().restore(session, prefix)
            logits = session.run(ours)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(logits / scale, expected / scale, atol=1e-4)
    assert np.ptp(expected) > 1e-3
    assert set(their_points) - set(our_points) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "module"), DEEPER)
def test_deeper_networks_have_slims_variables(
    name: str, module: str, slim_nets: Callable[[str], Any], without_initializers: Graphs
) -> None:
    shapes = []
    for ours in (False, True):
        with without_initializers():
            images = tf.placeholder(tf.float32, [1, 224, 224, 3])
            if ours:
                get_model_fn(name, "EVAL", CLASSES)(images)
            else:
                _slim_net(slim_nets(module), name, images)
            shapes.append({v.op.name: v.shape.as_list() for v in tf.global_variables()})
    assert shapes[0] == shapes[1]


@pytest.mark.slow
def test_inception_v3_trains_as_slims(
    slim_nets: Callable[[str], Any],
    build: Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]],
    without_initializers: Graphs,
) -> None:
    import tf_slim

    nets = slim_nets("inception_v3")
    collections = (tf.GraphKeys.REGULARIZATION_LOSSES, tf.GraphKeys.UPDATE_OPS)
    graphs = []
    for ours in (False, True):
        with without_initializers():
            if ours:
                build("inception_v3", "TRAIN", num_classes=CLASSES, weight_decay=4e-5)
            else:
                images = tf.placeholder(tf.float32, [2, 299, 299, 3])
                with tf_slim.arg_scope(nets.inception_v3_arg_scope()):
                    nets.inception_v3(images, CLASSES, is_training=True)
            shapes = {v.op.name: v.shape.as_list() for v in tf.trainable_variables()}
            graphs.append((shapes, *(len(tf.get_collection(key)) for key in collections)))
    assert graphs[0] == graphs[1]
