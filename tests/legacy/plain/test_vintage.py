"""What shows that a program is written for TensorFlow 1.x, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from moxing.legacy.plain import vintage


def _sign(folder: Path, source: str, **others: str) -> str:
    for name, text in {"train": source, **others}.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return vintage.sign(str(folder / "train.py"))


@pytest.mark.parametrize(
    ("source", "sign"),
    [
        ("import tensorflow as tf\n\ntf.Session()\n", "tf.Session (line 3)"),
        ("import tensorflow\ntensorflow.train.Saver()\n", "tf.train.Saver (line 2)"),
        ("from tensorflow.contrib import slim\n", "tensorflow.contrib.slim (line 1)"),
        ("import tensorflow.contrib.slim as s\n", "tensorflow.contrib.slim (line 1)"),
        ("from tensorflow import flags as f\n", "tensorflow.flags (line 1)"),
        ("from tensorflow import train\ntrain.Saver()\n", "tf.train.Saver (line 2)"),
        ("import tensorflow as tf\nt = tf.train\nt.Saver()\n", "tf.train.Saver (line 3)"),
        (
            "import tensorflow as tf\ndef f():\n  return tf.estimator.RunConfig()\n",
            "tf.estimator.RunConfig (line 3)",
        ),
        (
            "import tensorflow as tf\nm = tf.keras.datasets.mnist\nm.load_data(path=p)\n",
            "a path in load_data (line 3)",
        ),
        (
            "from tensorflow.keras.datasets import mnist\nmnist.load_data('/data/m.npz')\n",
            "a path in load_data (line 2)",
        ),
        ("import tensorflow as tf\ntry:\n  tf.app\nexcept KeyError:\n  1\n", "tf.app (line 3)"),
        ("import tensorflow as tf\nif tf.app:\n  1\n", "tf.app (line 2)"),
    ],
)
def test_old_programs(tmp_path: Path, source: str, sign: str) -> None:
    assert _sign(tmp_path, source) == sign


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow as tf\ntf.keras.Sequential().fit\ntf.GradientTape()\n",
        "import tensorflow.compat.v1 as tf\ntf.Session()\ntf.train.Saver()\n",
        "import tensorflow as tf\ntf = tf.compat.v1\ntf.Session()\n",
        "import tensorflow as tf\ntf.compat.v1.Session()\ntf.compat.v1.train.Saver()\n",
        "try:\n  import tensorflow.compat.v1 as tf\nexcept ImportError:\n"
        "  import tensorflow as tf\ntf.Session()\n",
        "import tensorflow as tf\ntry:\n  tf.contrib\nexcept (KeyError, AttributeError):\n  1\n",
        "import tensorflow as tf\nif tf.__version__ < '2':\n  tf.contrib\n",
        "import tensorflow as tf\nOLD = tf.__version__.startswith('1.')\nif OLD:\n  tf.contrib\n",
        "import tensorflow as tf\ns = tf.Session() if hasattr(tf, 'Session') else None\n",
        "import tensorflow as tf\ntf.keras.datasets.mnist.load_data()\n",
        "import tensorflow as tf\ntf.keras.datasets.mnist.load_data(path='mnist.npz')\n",
        "import keras\nkeras.Sequential().estimator\n",
        "import tensorflow as tf\n# tf.Session()\nx = 'tf.Session()'\n",
        "import train\nimport other\n",
        "print 'tf.Session()'\n",
        "\0",
        "",
    ],
)
def test_programs_that_run_as_they_are(tmp_path: Path, source: str) -> None:
    assert _sign(tmp_path, source) == ""


def test_the_modules_beside_the_program_are_read(tmp_path: Path) -> None:
    old = "import tensorflow as tf\nx = tf.placeholder\n"
    sign = "tf.placeholder ({}, line 2)"

    assert _sign(tmp_path, "import model\n", model=old) == sign.format("model.py")
    package = {"nets/__init__": "", "nets/a": "from . import b\n", "nets/b": old}
    assert _sign(tmp_path, "from nets.a import f\n", **package) == sign.format("nets/b.py")
    assert _sign(tmp_path, "from nets import b\n", **package) == sign.format("nets/b.py")
    assert _sign(tmp_path, "import os, numpy\n", **package) == ""


def test_what_cannot_be_read_shows_nothing(tmp_path: Path) -> None:
    assert vintage.sign(str(tmp_path / "none.py")) == ""
    (tmp_path / "x.py").mkdir()
    assert vintage.sign(str(tmp_path / "x.py")) == ""


def test_the_example_of_the_platform(tmp_path: Path) -> None:
    examples = Path(__file__).parents[3] / "examples"

    assert vintage.sign(str(examples / "uai" / "mnist_dist.py")).startswith(
        "tf.estimator.RunConfig"
    )
    assert vintage.sign(str(examples / "keras" / "train.py")) == ""
