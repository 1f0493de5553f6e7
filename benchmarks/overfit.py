"""Overfitting check: ResNet-18 learns 40 photographs by heart, and the checkpoint knows them too.

It trains on the first photographs of each class, in the middle crop that evaluation has, then
evaluates the same images from the checkpoint with `mox.run` in EVAL. Batch normalization that
trains and evaluates differently, labels that are mixed up or a checkpoint that lacks something show
here at once. The moving averages of batch normalization need some hundred steps (their decay is
0.997), long after the training accuracy is 1.

    python benchmarks/overfit.py --data DIR [--images N] [--size N] [--steps N] [--batch N]

DIR has a folder of images for each class. Two cores take 4 minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox

NETWORK = "resnet_v1_18"


def take(data: Path, images: int, into: Path) -> None:
    """Copies the first images of each class, `images` in all, into a tree of their own."""
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    for index, folder in enumerate(folders):
        count = images // len(folders) + (index < images % len(folders))
        (into / folder.name).mkdir(parents=True)
        for image in sorted(folder.iterdir())[:count]:
            shutil.copy(image, into / folder.name)


def run(
    tree: Path, log_dir: Path, mode: str, steps: int, size: int, batch: int, rate: float
) -> dict[str, float]:
    """Trains, or evaluates each image once; gives the mean loss and accuracy of the last steps."""
    meta = mox.ImageClassificationRawMetadata(tree)
    seen: list[Any] = []

    def input_fn(_: str) -> Any:
        augment = mox.get_data_augmentation_fn(NETWORK, mox.ModeKeys.EVAL, size, size)
        training = mode == mox.ModeKeys.TRAIN
        dataset = mox.ImageClassificationRawDataset(
            meta,
            batch_size=batch,
            num_epochs=None if training else 1,
            shuffle=training,
            augmentation_fn=augment,
        )
        return dataset.get(["image", "label"])

    def model_fn(inputs: Any, mode: str) -> Any:
        images, labels = inputs
        logits, _ = mox.get_model_fn(NETWORK, mode, meta.num_classes)(images)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        right = tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32)
        info = {"loss": loss, "accuracy": tf.reduce_mean(right)}
        return mox.ModelSpec(loss=loss, log_info=info, output_info=info | {"count": tf.size(right)})

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=rate, momentum=0.9),
        output_fn=seen.extend,
        output_every_n_steps=1,
        run_mode=mode,
        batch_size=batch,
        auto_batch=False,
        log_dir=str(log_dir),
        max_number_of_steps=steps,
        save_model_secs=None,
    )
    last = seen[-max(1, meta.total_num_samples // batch) * 3 :] if mode == "TRAIN" else seen
    total = sum(int(step["count"]) for step in last)
    return {
        name: sum(float(step[name]) * int(step["count"]) for step in last) / total
        for name in ("loss", "accuracy")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--rate", type=float, default=0.005)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        tree, log_dir = Path(work) / "images", Path(work) / "log"
        take(arguments.data, arguments.images, tree)
        common = (arguments.size, arguments.batch, arguments.rate)
        started = time.perf_counter()
        trained = run(tree, log_dir, mox.ModeKeys.TRAIN, arguments.steps, *common)
        seconds = time.perf_counter() - started
        evaluated = run(tree, log_dir, mox.ModeKeys.EVAL, arguments.steps, *common)
    for name, values in (("training", trained), ("evaluation", evaluated)):
        print(f"{name:10s} loss {values['loss']:.4f}   accuracy {values['accuracy']:.3f}")
    print(f"{arguments.steps} steps of {arguments.batch} took {seconds:.0f} s")
    if min(trained["accuracy"], evaluated["accuracy"]) <= 0.95:
        raise SystemExit("It did not learn them by heart.")


if __name__ == "__main__":
    main()
