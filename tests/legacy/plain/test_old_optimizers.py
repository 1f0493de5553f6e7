"""Which programs need Keras' optimizers of before TensorFlow 2.11, by their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.legacy.plain import dialect

_EAGER = "import tensorflow as tf\n@tf.function\ndef step(): pass\n"
_NEW = "from tensorflow.keras.optimizers import Adam\nAdam(0.1, weight_decay=0.1)\n"


def _needs_old(folder: Path, source: str) -> bool:
    (folder / "train.py").write_text(_EAGER + source)
    found = dialect.of(str(folder / "train.py"))
    assert found.eager
    return found.old_optimizers


@pytest.mark.parametrize(
    "source",
    [
        "tf.keras.optimizers.SGD(0.1, decay=1e-6)\n",
        "from tensorflow.keras.optimizers import Adam\nAdam(lr=0.1, decay=1e-6)\n",
        "from tensorflow.keras import optimizers\noptimizers.Adam(decay=0.1)\n",
        "tf.optimizers.RMSprop(decay=0.1)\n",
        "print(model.optimizer._decayed_lr(tf.float32))\n",
        "print(optimizer.learning_rate(optimizer.iterations))\n",
        "optimizer.get_slot(variable, 'm')\n",
        "pickle.dump(model.optimizer.get_weights(), file)\n",
        "class A(tf.keras.optimizers.Adam):\n  def _resource_apply_dense(self, g, v): pass\n",
    ],
)
def test_a_use_of_the_old_classes(tmp_path: Path, source: str) -> None:
    assert _needs_old(tmp_path, source)


@pytest.mark.parametrize(
    "source",
    [
        "tf.keras.optimizers.Adam(lr=0.1)\n",
        "model.get_weights()\n",
        "tf.keras.layers.BatchNormalization(decay=0.1)\n",
        "print(optimizer.learning_rate.numpy())\n",
        "tf.keras.optimizers.legacy.Adam(0.1).get_slot(v, 'm')\n",
        _NEW + "self.learning_rate(step)\n",
        "optimizer.build(v)\nself.learning_rate(step)\n",
        "tf.keras.optimizers.AdamW(0.1)\nstate.get_slot(v)\n",
    ],
)
def test_the_new_classes_stay(tmp_path: Path, source: str) -> None:
    assert not _needs_old(tmp_path, source)


def test_graphs_have_the_old_classes_anyhow(tmp_path: Path) -> None:
    text = "import tensorflow as tf\ntf.Session()\ntf.keras.optimizers.Adam(decay=0.1)\n"
    (tmp_path / "train.py").write_text(text)

    assert not dialect.of(str(tmp_path / "train.py")).old_optimizers
