"""The flow dialect beside bare TensorFlow: steps of AlexNet, LeNet and BERT, OFRecord reading,
overlap.

Contestants, in processes of their own, taking turns:

- alexnet, lenet: a train step on arrays from memory, `train(images, labels).get()`, beside the same
  network in a plain TensorFlow 1.x program (NHWC, `make_callable`); AlexNet with batch 12 of
  227x227, LeNet with batch 100 of 28x28;
- bert: the same of an encoder of two layers with Adam, 16 texts of 64 tokens, which predicts each
  token;
- reading: batches of 32 images, decoded, resized to 227x227 and normalized, of OFRecord parts
  through `decode_ofrecord`, beside the same images in TFRecord files through a hand-tuned tf.data
  pipeline;
- overlap: a caller that is busy elsewhere for as long as a LeNet step takes, with `.async_get`
  beside `.get()`; half the time is all that overlap can give.

    python benchmarks/flow_step.py [--rounds N] [--only alexnet lenet bert reading overlap]

Compare CPU time where others use the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import numpy as np
import rounds

RATE = 1e-4
ALEXNET = (12, 227, 3, 1001)  # Batch, size, channels, classes.
LENET = (100, 28, 1, 10)
# Filters, kernel, stride, padding, and whether a pool follows.
CONVOLUTIONS = {
    "alexnet": ((64, 11, 4, "VALID", True), (192, 5, 1, "SAME", True), (384, 3, 1, "SAME", False),
                (384, 3, 1, "SAME", False), (256, 3, 1, "SAME", True)),
    "lenet": ((32, 5, 1, "SAME", True), (64, 5, 1, "SAME", True)),
}  # fmt: skip
UNITS = {"alexnet": (4096, 4096), "lenet": (512,)}
POOL = {"alexnet": (3, 2, "VALID"), "lenet": (2, 2, "SAME")}
SHAPES = {"alexnet": ALEXNET, "lenet": LENET}
STEPS = {"alexnet": 3, "lenet": 40, "bert": 20, "reading": 40, "overlap": 40}
# Texts, tokens of each, words, width, heads, layers.
TEXTS, LENGTH, WORDS, WIDTH, HEADS, LAYERS = 16, 64, 2000, 128, 2, 2
READ_BATCH, READ_IMAGES, READ_PARTS = 32, 320, 4
GRAIN = 12.0
MEANS = (103.94, 116.78, 123.68)


def data(network: str) -> tuple[np.ndarray, np.ndarray]:
    if network == "bert":
        words = np.random.default_rng(0).integers(0, WORDS, (TEXTS, LENGTH)).astype(np.int32)
        return words, words.reshape(-1)
    batch, size, channels, classes = SHAPES[network]
    chance = np.random.default_rng(0)
    images = chance.normal(size=(batch, size, size, channels)).astype(np.float32)
    return images, chance.integers(0, classes, batch).astype(np.int32)


def flow_job(network: str) -> Callable[..., Any]:
    import moxing.flow as flow

    images, labels = data(network)
    initial = flow.variance_scaling_initializer(2.0, "fan_in", "random_normal")
    relu = flow.keras.activations.relu

    def model(x: Any, y: Any) -> Any:
        x = flow.transpose(x, perm=[0, 3, 1, 2])
        for i, (filters, kernel, stride, padding, pool) in enumerate(CONVOLUTIONS[network]):
            shape = (filters, x.static_shape[1], kernel, kernel)
            w = flow.get_variable(f"conv{i}", shape=shape, initializer=initial)
            x = relu(flow.nn.conv2d(x, w, stride, padding, "NCHW"))
            x = flow.nn.max_pool2d(x, *POOL[network], "NCHW") if pool else x
        x = flow.reshape(x, (x.static_shape[0], -1))
        for i, units in enumerate(UNITS[network]):
            x = flow.layers.dense(x, units, relu, False, initial, name=f"fc{i}")
        x = flow.layers.dense(x, SHAPES[network][3], None, False, initial, name="logits")
        return flow.nn.sparse_softmax_cross_entropy_with_logits(y, x)

    @flow.function
    def train(
        x: Any = flow.FixedTensorDef(images.shape),  # noqa: B008
        y: Any = flow.FixedTensorDef(labels.shape, flow.int32),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(RATE)
        flow.config.train.model_update_conf({"naive_conf": {}})
        loss = model(x, y)
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    return train


def bare_step(network: str) -> Callable[..., Any]:
    """A plain program of TensorFlow 1.x."""
    import tensorflow.compat.v1 as tf

    shape = data(network)[0].shape
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, shape)
        labels = tf.placeholder(tf.int32, shape[:1])
        count = 0

        def variable(*sizes: int) -> Any:
            nonlocal count
            count += 1
            deviation = (2.0 / np.prod(sizes[:-1])) ** 0.5
            initial = tf.random_normal_initializer(0.0, deviation)
            return tf.get_variable(f"w{count}", sizes, initializer=initial, use_resource=True)

        x = images
        for filters, kernel, stride, padding, pool in CONVOLUTIONS[network]:
            w = variable(kernel, kernel, int(x.shape[3]), filters)
            x = tf.nn.relu(tf.nn.conv2d(x, w, strides=stride, padding=padding))
            x = tf.nn.max_pool2d(x, *POOL[network]) if pool else x
        x = tf.reshape(x, [shape[0], -1])
        for units in UNITS[network]:
            x = tf.nn.relu(tf.matmul(x, variable(int(x.shape[1]), units)))
        x = tf.matmul(x, variable(int(x.shape[1]), SHAPES[network][3]))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        step = tf.train.GradientDescentOptimizer(RATE).minimize(tf.reduce_mean(losses))
        initialize = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(initialize)
    return session.make_callable([losses, step], [images, labels])


def flow_bert() -> Callable[..., Any]:
    import moxing.flow as flow

    initial = flow.truncated_normal(0.02)

    def dense(x: Any, units: int, name: str, activation: Any = None) -> Any:
        return flow.layers.dense(x, units, activation, True, initial, name=name)

    def heads(x: Any, name: str) -> Any:
        made = dense(x, WIDTH, name)
        made = flow.reshape(made, (TEXTS, LENGTH, HEADS, WIDTH // HEADS))
        return flow.transpose(made, (0, 2, 1, 3))

    def layer(x: Any, name: str) -> Any:
        query, key, value = (heads(x, f"{name}-{part}") for part in "qkv")
        scores = flow.matmul(query, key, transpose_b=True)
        weights = flow.nn.softmax(flow.math.multiply(scores, (WIDTH / HEADS) ** -0.5))
        mixed = flow.transpose(flow.matmul(weights, value), (0, 2, 1, 3))
        mixed = dense(flow.reshape(mixed, (-1, WIDTH)), WIDTH, f"{name}-o")
        x = flow.layers.layer_norm(x + mixed, name=f"{name}-n1")
        wide = dense(x, 4 * WIDTH, f"{name}-w", flow.keras.activations.gelu)
        return flow.layers.layer_norm(x + dense(wide, WIDTH, f"{name}-m"), name=f"{name}-n2")

    @flow.function
    def train(
        words: Any = flow.FixedTensorDef((TEXTS, LENGTH), flow.int32),  # noqa: B008
        labels: Any = flow.FixedTensorDef((TEXTS * LENGTH,), flow.int32),  # noqa: B008
    ) -> Any:
        flow.config.train.primary_lr(RATE)
        flow.config.train.model_update_conf({"adam_conf": {}})
        table = flow.get_variable("table", (WORDS, WIDTH), initializer=initial)
        x = flow.reshape(flow.gather(table, words), (-1, WIDTH))
        for index in range(LAYERS):
            x = layer(x, f"layer{index}")
        logits = flow.matmul(x, table, transpose_b=True)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        flow.losses.add_loss(loss)
        return loss

    flow.train.CheckPoint().init()
    return train


def bare_bert() -> Callable[..., Any]:
    """A plain program of TensorFlow 1.x."""
    import tensorflow.compat.v1 as tf

    initial = tf.truncated_normal_initializer(0.0, 0.02)

    def variable(name: str, *shape: int, first: Any = initial) -> Any:
        return tf.get_variable(name, shape, initializer=first, use_resource=True)

    def dense(x: Any, units: int, name: str) -> Any:
        made = tf.matmul(x, variable(f"{name}w", int(x.shape[1]), units))
        return tf.nn.bias_add(made, variable(f"{name}b", units, first=tf.zeros_initializer()))

    def norm(x: Any, name: str) -> Any:
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        scale = variable(f"{name}g", WIDTH, first=tf.ones_initializer())
        shift = variable(f"{name}b", WIDTH, first=tf.zeros_initializer())
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + shift

    def heads(x: Any, name: str) -> Any:
        made = tf.reshape(dense(x, WIDTH, name), [TEXTS, LENGTH, HEADS, WIDTH // HEADS])
        return tf.transpose(made, [0, 2, 1, 3])

    def layer(x: Any, name: str) -> Any:
        query, key, value = (heads(x, f"{name}{part}") for part in "qkv")
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * (WIDTH / HEADS) ** -0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, WIDTH])
        x = norm(x + dense(mixed, WIDTH, f"{name}o"), f"{name}n1")
        wide = dense(x, 4 * WIDTH, f"{name}w")
        wide = 0.5 * wide * (1 + tf.math.erf(wide * 0.5**0.5))
        return norm(x + dense(wide, WIDTH, f"{name}m"), f"{name}n2")

    with tf.Graph().as_default() as graph:
        words = tf.placeholder(tf.int32, [TEXTS, LENGTH])
        labels = tf.placeholder(tf.int32, [TEXTS * LENGTH])
        table = variable("table", WORDS, WIDTH)
        x = tf.reshape(tf.gather(table, words), [-1, WIDTH])
        for index in range(LAYERS):
            x = layer(x, f"layer{index}")
        logits = tf.matmul(x, table, transpose_b=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        step = tf.train.AdamOptimizer(RATE).minimize(tf.reduce_mean(losses))
        initialize = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(initialize)
    return session.make_callable([losses, step], [words, labels])


def steps(network: str, ours: bool) -> Callable[[], Any]:
    images, labels = data(network)
    if ours:
        train = flow_bert() if network == "bert" else flow_job(network)
        return lambda: train(images, labels).get()
    step = bare_bert() if network == "bert" else bare_step(network)
    return lambda: step(images, labels)


def write_records(folder: str, kind: str) -> None:
    """The same photographs, of many sizes, in OFRecord parts or TFRecord files."""
    import tensorflow.compat.v1 as tf

    import moxing.flow as flow  # noqa: F401
    from moxing.flow.data import convert

    chance = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        small = tf.placeholder(tf.float32, [1, 12, 12, 3])
        size = tf.placeholder(tf.int32, [2])
        smooth = tf.image.resize_bilinear(small, size)[0]
        # About as many bytes a pixel as photographs have.
        grainy = smooth + tf.random.normal(tf.shape(smooth), 0.0, GRAIN)
        photograph = tf.cast(tf.clip_by_value(grainy, 0, 255), tf.uint8)
        jpeg = tf.image.encode_jpeg(pixels)

        def samples() -> Any:
            for number in range(READ_IMAGES):
                sides = chance.integers(240, 480, 2)
                noise = chance.uniform(0, 255, (1, 12, 12, 3))
                image = session.run(photograph, {small: noise, size: sides})
                yield f"image {number}", session.run(jpeg, {pixels: image}), number % 1000

        convert._to_records(samples(), _path(folder), kind, READ_PARTS)  # noqa: SLF001


def _path(folder: str) -> Any:
    from pathlib import Path

    Path(folder).mkdir()
    return Path(folder)


def reading(ours: bool, folder: str) -> Callable[[], Any]:
    import tensorflow.compat.v1 as tf

    kind = "ofrecord" if ours else "tfrecord"
    path = os.path.join(folder, kind)
    write_records(path, kind)
    if ours:
        import moxing.flow as flow

        size = ALEXNET[1]
        image = flow.data.BlobConf(
            "encoded", (size, size, 3), flow.float,
            flow.data.ImageCodec([flow.data.ImageResizePreprocessor(size, size)]),
            [flow.data.NormByChannelPreprocessor(MEANS)],
        )  # fmt: skip
        label = flow.data.BlobConf("class/label", (), flow.int32, flow.data.RawCodec())

        @flow.function
        def read() -> Any:
            return flow.data.decode_ofrecord(path, (label, image), READ_BATCH, READ_PARTS)

        return lambda: read().get()
    with tf.Graph().as_default() as graph:
        files = [os.path.join(path, name) for name in sorted(os.listdir(path))]
        records = tf.data.TFRecordDataset(files).repeat().map(_parsed, tf.data.AUTOTUNE)
        batches = records.batch(READ_BATCH).prefetch(2)
        following = tf.data.make_one_shot_iterator(batches).get_next()
    return tf.Session(graph=graph).make_callable(following)


def _parsed(record: Any) -> Any:
    import tensorflow.compat.v1 as tf

    found = tf.io.parse_single_example(
        record,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    pixels = tf.io.decode_image(found["image/encoded"], channels=3, expand_animations=False)
    sizes = [ALEXNET[1]] * 2
    # The values of OFRecord readers: whole numbers in the order BGR.
    image = tf.round(tf.image.resize_bilinear(pixels[None], sizes, half_pixel_centers=True)[0])
    image = tf.reverse(image, [-1]) - tf.constant(MEANS)
    return tf.cast(found["image/class/label"], tf.int32), tf.ensure_shape(image, [*sizes, 3])


def overlap(ours: bool) -> Callable[[], Any]:
    """`ours` is async_get."""
    images, labels = data("lenet")
    train = flow_job("lenet")
    count, busy = 0, 0.0

    def step() -> None:
        nonlocal count, busy
        if count % (STEPS["overlap"] + 1) == 0:  # The first of a round, which is not counted.
            times = []
            for _ in range(9):
                started = time.perf_counter()
                train(images, labels).get()
                times.append(time.perf_counter() - started)
            busy = sorted(times)[4]
        count += 1
        handle = train(images, labels)
        handle.async_get(lambda loss: None) if ours else handle.get()
        time.sleep(busy)

    return step


def contest(name: str, ours: bool, turns: rounds.Turns, folder: str) -> None:
    if name == "reading":
        step = reading(ours, folder)
    elif name == "overlap":
        step = overlap(ours)
    else:
        step = steps(name, ours)
    while True:
        step()
        turns.tick()


KINDS = {
    **dict.fromkeys(("alexnet", "lenet", "bert"), ("flow", "bare TensorFlow")),
    "reading": ("decode_ofrecord", "TFRecord, tf.data"), "overlap": ("async_get", "get"),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        name, _, ours = arguments.contestant.partition("/")
        with tempfile.TemporaryDirectory() as folder:
            contest(name, ours == "ours", rounds.Turns(STEPS[name]), folder)
    for name in arguments.only:
        playing = [
            rounds.Contestant(
                f"{name}/{side}", (sys.executable, __file__, "--contestant", f"{name}/{side}"), {}
            )
            for side in ("ours", "theirs")
        ]
        load = rounds.compete(playing, arguments.rounds)
        print(f"{name}, median of {arguments.rounds} rounds, {load}")
        base = playing[1]
        for contestant, shown in zip(playing, KINDS[name], strict=True):
            (wall, slower), (cpu, dearer) = (
                (contestant.median(key) * 1e3, contestant.median(key) / base.median(key))
                for key in ("wall", "cpu")
            )
            print(
                f"  {shown:18s} {wall:8.2f} ms a step ({slower:.3f} x)   {cpu:8.2f} ms of CPU"
                f" ({dearer:.3f} x)"
            )
            contestant.close()


if __name__ == "__main__":
    main()
