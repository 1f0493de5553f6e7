"""A checkpoint that a user names, on the disk or in a store, is read in one way."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.remote.at_hand import at_hand
from moxing.errors import CheckpointError
from moxing.framework import file


def saved(folder: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=np.array([1, 2], np.float32))
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(folder / "model.ckpt"), global_step=7)


def test_a_checkpoint_of_the_disk_is_read_where_it_is(tmp_path: Path) -> None:
    prefix = saved(tmp_path)
    for path in (prefix, f"{prefix}.index", str(tmp_path)):
        with at_hand(path) as found:
            assert (found.prefix, found.step) == (prefix, 7)


def test_a_checkpoint_of_a_store_is_copied_for_the_block(bucket: str, tmp_path: Path) -> None:
    saved(tmp_path)
    file.copy_parallel(str(tmp_path), f"{bucket}/out")
    with at_hand(f"{bucket}/out/model.ckpt-7") as found:
        assert tf.train.load_variable(found.prefix, "w").tolist() == [1, 2]
    assert not os.path.exists(os.path.dirname(found.prefix))


@pytest.mark.parametrize("called", ["checkpoint_path", "the path"])
def test_messages_name_the_path_as_the_caller_does(
    called: str, bucket: str, tmp_path: Path
) -> None:
    saved(tmp_path)
    file.copy_parallel(str(tmp_path), f"{bucket}/out")
    for folder in (str(tmp_path), f"{bucket}/out"):
        with pytest.raises(CheckpointError) as caught, at_hand(f"{folder}/model.ckpt-8", called):
            pass
        assert str(caught.value) == (
            f"No checkpoint at {called} '{folder}/model.ckpt-8'. {folder} holds the checkpoints"
            " model.ckpt-7."
        )
