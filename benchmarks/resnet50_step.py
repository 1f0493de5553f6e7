"""A training step of ResNet-50 on the CPU: ours beside its peers, and the time to build the model.

One step: 224x224 images from memory, cross-entropy over 1000 classes, gradients, momentum SGD, the
averages of batch norm, the loss as a number; no weight decay. Contestants, in processes of their
own, taking turns:

- mox.run: the zoo's resnet_v1_50 through `mox.run`,
- zoo: the same network in a bare session,
- slim: tf-slim's resnet_v1_50 in a bare session,
- keras: Keras 3 `ResNet50`, `train_on_batch`,
- torchvision: `resnet50`, eager.

    python benchmarks/resnet50_step.py [--batch N] [--rounds N] [--steps N] [--cores N]
        [--torch-python PATH]

On a machine that others use, take --cores 1 and compare CPU time: threads that wait for each other,
those of OpenMP above all, burn CPU time while other programs keep the cores.

For torchvision give the Python of an environment of its own, made by

    python -m venv /tmp/torch && /tmp/torch/bin/pip install torch==2.14.1 torchvision==0.29.1
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import rounds

SIZE = 224
CLASSES = 1000
RATE, MOMENTUM = 0.01, 0.9
NAME = "resnet_v1_50"


class Build:
    """Measures a block that builds a network; its threads are one, so CPU time is what counts."""

    def __init__(self, turns: rounds.Turns) -> None:
        self._turns = turns

    def __enter__(self) -> None:
        self._started, self._used = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        wall, cpu = time.perf_counter() - self._started, time.process_time() - self._used
        self._turns.ready = {"build": wall, "build_cpu": cpu}


def data(batch: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(0)
    images = chance.uniform(0.0, 255.0, (batch, SIZE, SIZE, 3)).astype(np.float32)
    return images, chance.integers(0, CLASSES, batch)


def input_fn_of(batch: int) -> Callable[[str], Any]:
    def input_fn(mode: str) -> Any:
        import tensorflow.compat.v1 as tf

        batches = tf.data.Dataset.from_tensors(data(batch)).repeat()
        return tf.data.make_one_shot_iterator(batches).get_next()

    return input_fn


def zoo_net(images: Any) -> Any:
    import moxing.tensorflow as mox

    return mox.get_model_fn(NAME, mox.ModeKeys.TRAIN, CLASSES)(images)[0]


def slim_net(images: Any) -> Any:
    # tf-slim looks for a module of Keras under a name that it had before.
    home, old = "tf_keras.src.legacy_tf_layers", "tf_keras.legacy_tf_layers"
    for part in ("", ".base", ".convolutional", ".core", ".normalization", ".pooling"):
        sys.modules.setdefault(old + part, importlib.import_module(home + part))
    import tf_slim
    from tf_slim.nets import resnet_v1

    means = np.array([123.68, 116.78, 103.94], np.float32)
    with tf_slim.arg_scope(resnet_v1.resnet_arg_scope(weight_decay=0.0)):
        logits, _ = resnet_v1.resnet_v1_50(images - means, CLASSES, is_training=True)
    return logits[:, 0, 0] if logits.shape.rank == 4 else logits


def mox_run(batch: int, turns: rounds.Turns) -> None:
    import tensorflow.compat.v1 as tf

    import moxing.tensorflow as mox

    def model_fn(inputs: Any, mode: str) -> Any:
        images, labels = inputs
        with Build(turns):
            logits = zoo_net(images)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, output_info={"loss": loss})

    mox.run(
        input_fn=input_fn_of(batch),
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=RATE, momentum=MOMENTUM),
        run_mode=mox.ModeKeys.TRAIN,
        output_fn=lambda outputs: turns.tick(),
        output_every_n_steps=1,
        max_number_of_steps=sys.maxsize,
    )


def bare(net: Callable[[Any], Any], batch: int, turns: rounds.Turns, ours: bool) -> None:
    """A plain program of TensorFlow 1.x around a network."""
    import tensorflow.compat.v1 as tf

    from moxing.engine.graph import tf_executor

    with tf.Graph().as_default() as graph:
        images, labels = input_fn_of(batch)("TRAIN")
        with Build(turns):
            logits = net(images)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
        initialize = tf.global_variables_initializer()
    config = tf.ConfigProto()
    config.experimental.executor_type = tf_executor.choose(graph.get_operations()) if ours else ""
    with tf.Session(graph=graph, config=config) as session:
        session.run(initialize)
        step = session.make_callable([loss, train])
        while True:
            step()
            turns.tick()


def keras(batch: int, turns: rounds.Turns) -> None:
    import keras as k

    images, labels = data(batch)
    images = k.applications.resnet.preprocess_input(images)
    with Build(turns):
        model = k.applications.ResNet50(weights=None, classes=CLASSES)
    model.compile(k.optimizers.SGD(RATE, MOMENTUM), "sparse_categorical_crossentropy")
    while True:
        model.train_on_batch(images, labels)
        turns.tick()


def torchvision(batch: int, turns: rounds.Turns) -> None:
    import torch
    from torchvision.models import resnet50

    images, labels = data(batch)
    # The layout of images that PyTorch's kernels of CPUs prefer.
    inputs = torch.from_numpy(images / 255.0).permute(0, 3, 1, 2)
    targets = torch.from_numpy(labels)
    with Build(turns):
        model = resnet50(weights=None, num_classes=CLASSES).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    while True:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        loss.item()
        turns.tick()


CONTESTANTS: dict[str, Callable[[int, rounds.Turns], None]] = {
    "mox.run": mox_run,
    "zoo": lambda batch, turns: bare(zoo_net, batch, turns, ours=True),
    "slim": lambda batch, turns: bare(slim_net, batch, turns, ours=False),
    "keras": keras,
    "torchvision": torchvision,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3, help="a round")
    parser.add_argument("--cores", type=int, default=0, help="that each may use; 0: all")
    parser.add_argument("--torch-python", help="Python of an environment with torchvision")
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=CONTESTANTS)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        if arguments.cores:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
        CONTESTANTS[arguments.contestant](arguments.batch, rounds.Turns(arguments.steps))
    common = ("--batch", arguments.batch, "--steps", arguments.steps, "--cores", arguments.cores)
    playing = []
    for name in arguments.only:
        python = arguments.torch_python if name == "torchvision" else sys.executable
        if python is None:
            print("torchvision is left out: give --torch-python (how to make it: head of the file)")
            continue
        command = (python, __file__, "--contestant", name, *map(str, common))
        environment = {"TF_USE_LEGACY_KERAS": "0" if name == "keras" else "1"}
        playing.append(rounds.Contestant(name, command, environment))
    load = rounds.compete(playing, arguments.rounds)
    print(f"batch {arguments.batch}, median of {arguments.rounds} rounds, {load}")
    report(playing)
    for contestant in playing:
        contestant.close()


def report(playing: list[rounds.Contestant]) -> None:
    base = playing[0]
    for contestant in playing:
        wall, cpu = contestant.median("wall"), contestant.median("cpu")
        print(
            f"  {contestant.name:12s} {wall:6.2f} s a step ({wall / base.median('wall'):.2f} x"
            f" {base.name})   {cpu:6.2f} s of CPU ({cpu / base.median('cpu'):.2f} x)"
            f"   network built in {contestant.ready['build']:.2f} s,"
            f" {contestant.ready['build_cpu']:.2f} s of CPU"
        )


if __name__ == "__main__":
    main()
