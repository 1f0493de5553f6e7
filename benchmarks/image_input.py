"""Photographs to batches for training: images/s of our readers beside the usual pipelines.

The work: read and decode a JPEG, crop it as vgg_preprocessing does in training (the shorter side
scaled to 256..512, a random 224x224 of that), resize bilinearly, mirror half of the images, batch
32. Contestants, in processes of their own, taking turns:

- reader: `mox.ImageClassificationRawDataset` with `batch_size` and `augmentation_fn`,
- auto-batch: the dataset gives single images, `input_fn` augments them, `mox.run` batches,
- tf.data: a hand-tuned pipeline: fused decode and crop, parallel, prefetched,
- torchvision: ImageFolder and DataLoader with as many workers as cores.

    python benchmarks/image_input.py --data DIR [--rounds N] [--images N] [--torch-python PATH]

DIR has a folder of JPEGs for each class. For torchvision give the Python of an environment of its
own, made by

    python -m venv /tmp/torch && /tmp/torch/bin/pip install torch==2.14.1 torchvision==0.29.1
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import rounds

BATCH = 32
SIZE = 224
SIDES = (256.0, 512.0)
WARM_UP = 4  # Batches.


def timed(next_batch: Callable[[], Any], images: int) -> rounds.Numbers:
    """What a batch costs when the pipeline is in full swing."""
    for _ in range(WARM_UP):
        next_batch()
    started, used = time.perf_counter(), rounds.cpu_seconds()
    for _ in range(images // BATCH):
        next_batch()
    seconds, used = time.perf_counter() - started, rounds.cpu_seconds() - used
    count = images // BATCH * BATCH
    return {"rate": count / seconds, "cpu": used / count * 1000}


def reader(data: str, images: int) -> Callable[[], rounds.Numbers]:
    def input_fn(mode: str) -> Any:
        import moxing.tensorflow as mox

        dataset = mox.ImageClassificationRawDataset(
            mox.ImageClassificationRawMetadata(data),
            batch_size=BATCH,
            augmentation_fn=mox.get_data_augmentation_fn("resnet_v1_50", mode, SIZE, SIZE),
        )
        return dataset.get(["image", "label"])

    return ours(input_fn, None, images)


def auto_batch(data: str, images: int) -> Callable[[], rounds.Numbers]:
    def input_fn(mode: str) -> Any:
        import moxing.tensorflow as mox

        dataset = mox.ImageClassificationRawDataset(mox.ImageClassificationRawMetadata(data))
        image, label = dataset.get(["image", "label"])
        return mox.get_data_augmentation_fn("resnet_v1_50", mode, SIZE, SIZE)(image), label

    return ours(input_fn, BATCH, images)


def ours(
    input_fn: Callable[[str], Any], batch: int | None, images: int
) -> Callable[[], rounds.Numbers]:
    """Rounds of the input part of `mox.run`."""
    import tensorflow.compat.v1 as tf

    from moxing.engine.data import inputs

    with tf.Graph().as_default() as graph:
        made = inputs.build(input_fn, "TRAIN", batch, batch is not None)
    pair = tf.nest.flatten(made.structure)
    assert pair[0].shape.as_list() == [BATCH, SIZE, SIZE, 3], pair[0].shape

    def measure() -> rounds.Numbers:
        with tf.Session(graph=graph) as session:
            session.run(list(made.initializers))
            # The operations only: fetching their values would copy each batch.
            return timed(session.make_callable([tensor.op for tensor in pair]), images)

    return measure


def tf_data(data: str, images: int) -> Callable[[], rounds.Numbers]:
    import tensorflow as tf

    paths = sorted(str(path) for path in Path(data).glob("*/*.jpg"))
    classes = sorted({Path(path).parent.name for path in paths})
    labels = [classes.index(Path(path).parent.name) for path in paths]
    tuned = tf.data.AUTOTUNE

    def load(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        content = tf.io.read_file(path)
        size = tf.io.extract_jpeg_shape(content)[:2]
        side = tf.random.uniform([], *SIDES)
        extent = SIZE / side * tf.cast(tf.reduce_min(size), tf.float32)
        extent = tf.cast(tf.round(extent), tf.int32)
        free = tf.cast(size - extent + 1, tf.float32)
        first = tf.cast(tf.random.uniform([2]) * free, tf.int32)
        window = tf.stack([first[0], first[1], extent, extent])
        image = tf.image.decode_and_crop_jpeg(content, window, channels=3)
        image = tf.image.random_flip_left_right(image)
        return tf.image.resize(image, [SIZE, SIZE]), label

    dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
    dataset = dataset.shuffle(len(paths)).repeat()
    dataset = dataset.map(load, num_parallel_calls=tuned, deterministic=False)
    dataset = dataset.batch(BATCH, drop_remainder=True).prefetch(tuned)

    def measure() -> rounds.Numbers:
        batches = iter(dataset)
        return timed(lambda: next(batches), images)

    return measure


class TorchTransform:
    """The same work on an image of Pillow."""

    def __call__(self, image: Any) -> Any:
        from torchvision.transforms import functional

        width, height = image.size
        extent = round(SIZE / random.uniform(*SIDES) * min(width, height))
        top, left = random.randint(0, height - extent), random.randint(0, width - extent)
        size = [SIZE, SIZE]
        image = functional.resized_crop(image, top, left, extent, extent, size)
        if random.random() < 0.5:
            image = functional.hflip(image)
        return functional.to_tensor(image)


def torchvision(data: str, images: int) -> Callable[[], rounds.Numbers]:
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    workers = len(os.sched_getaffinity(0))
    folder = ImageFolder(data, TorchTransform())

    def forever() -> Iterator[Any]:
        while True:
            yield from loader

    loader = DataLoader(
        folder, BATCH, shuffle=True, num_workers=workers, drop_last=True, persistent_workers=True
    )
    batches = forever()
    return lambda: timed(lambda: next(batches), images)


CONTESTANTS = {
    "reader": reader,
    "auto-batch": auto_batch,
    "tf.data": tf_data,
    "torchvision": torchvision,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--images", type=int, default=960, help="a round")
    parser.add_argument("--torch-python", help="Python of an environment with torchvision")
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        rounds.serve(CONTESTANTS[arguments.contestant](arguments.data, arguments.images))
    common = ("--data", arguments.data, "--images", str(arguments.images))
    playing = []
    for name in arguments.only:
        python = arguments.torch_python if name == "torchvision" else sys.executable
        if python is None:
            print("torchvision is left out: give --torch-python (how to make it: head of the file)")
            continue
        command = (python, __file__, "--contestant", name, *common)
        playing.append(rounds.Contestant(name, command, {}))
    load = rounds.compete(playing, arguments.rounds)
    print(f"{arguments.images} images a round, median of {arguments.rounds} rounds, {load}")
    report(playing)
    for contestant in playing:
        contestant.close()


def report(playing: list[rounds.Contestant]) -> None:
    for contestant in playing:
        rate, cpu = contestant.median("rate"), contestant.median("cpu")
        print(f"  {contestant.name:12s} {rate:7.0f} images/s   {cpu:6.2f} ms CPU an image", end="")
        for other in playing:
            if other.name in ("tf.data", "torchvision") and other is not contestant:
                ratio, saved = rate / other.median("rate"), other.median("cpu") / cpu
                print(f"   {ratio:.2f} x {other.name} (by CPU {saved:.2f} x)", end="")
        print()


if __name__ == "__main__":
    main()
