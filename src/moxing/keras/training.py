"""`moxing.keras.fit`: trains a Keras model by the engine, on any number of devices and machines."""

from __future__ import annotations

import inspect
from typing import Any

from moxing import logs
from moxing.engine.job.job import (
    TRAIN,
    Data,
    Job,
    Logging,
    Model,
    Optimization,
    Saving,
    Summaries,
)
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.run import execution
from moxing.flags import hello
from moxing.keras import arguments, as_keras, checks, data, evaluation, foreign, misfit, place
from moxing.keras.building import families
from moxing.keras.building.model import TrainedModel
from moxing.keras.callbacks import Callbacks
from moxing.keras.epochs import Epochs
from moxing.keras.pipeline import Pipeline
from moxing.keras.restored import restore
from moxing.keras.result import FitResult

_SAVE_SECS = 60.0
_START_SECS = 300.0


def fit(
    model: Any,
    train_data: Any = None,
    eval_data: Any = None,
    *,
    output_dir: Any = None,
    epochs: int | None = None,
    steps: int | None = None,
    steps_per_epoch: int | None = None,
    batch_size: int | None = None,
    shuffle: bool = True,
    optimizer: Any = None,
    loss: Any = None,
    metrics: Any = None,
    loss_weights: Any = None,
    eval_every: int | None = None,
    eval_steps: int | None = None,
    save_every: int | None = None,
    save_every_secs: float | None = None,
    keep: int | None = 5,
    log_every: int = 100,
    callbacks: Any = (),
    num_gpus: int | None = None,
    parameter_server: bool = False,
    seed: int | None = None,
    start_timeout: float = _START_SECS,
    **others: Any,
) -> FitResult:
    """Trains a model on every device of every process that TF_CONFIG names, as one would.

    A batch is the batch of all devices and processes together: each computes its share, and the
    gradient is the mean over the whole batch. So the number of devices changes the time that
    training takes and not its result (but for batch norm, whose statistics are each share's own).
    At the end the model has the trained weights, in every process.

    Args:
        model: a Keras 3 (on TensorFlow) or tf_keras model, compiled or with `optimizer` and `loss`
            given here.
        train_data: arrays x, (x, y) or (x, y, sample_weight), each array or nest of arrays with
            the samples along its first axis; or a tf.data.Dataset of such tuples, batches unless
            `batch_size` is given; or a function that returns one of these, called where it is
            needed. A function of one argument gets a tf.distribute.InputContext, and returns a
            Dataset of the batches of its process alone.
        eval_data: the same, to evaluate on: by the chief, with the model's own `evaluate`.
        output_dir: folder, or address in an object store, of checkpoints, records and summaries. A
            run of which it holds a checkpoint is resumed. None: no files.
        epochs: passes over the data; default 1 if `steps` is not given.
        steps: updates in all, those of resumed runs included; instead of `epochs`.
        steps_per_epoch: updates in an epoch; default: as many as the data has batches.
        batch_size: samples in a batch, of all devices together. Default 32 for arrays. With a
            Dataset: it is one of single samples, to be batched.
        shuffle: whether arrays are read in a new order each epoch.
        optimizer, loss, metrics, loss_weights: as of `Model.compile`, which is called with them
            where `optimizer` or `loss` is given.
        eval_every: steps between evaluations; default: one at the end of each epoch.
        eval_steps: batches of an evaluation; default: all.
        save_every: steps between checkpoints; the first and the last state are always saved.
        save_every_secs: seconds between checkpoints; default 60 where `save_every` is not given.
        keep: how many checkpoints to keep; None: all.
        log_every: steps between log lines.
        callbacks: Keras callbacks, called at the begin and end of training and of epochs. Those
            that work in every batch are refused.
        num_gpus: devices of this process; without GPUs logical devices that share the CPU.
            Default: the --num_gpus=N of the command line, or 1.
        parameter_server: whether weights live on the cluster's ps processes; else each worker has
            a copy, and a ps process has nothing to do.
        seed: fixes the order of data, and random numbers of tf_keras layers.
        start_timeout: seconds to wait for the other processes.
        **others: of Keras' own `fit`: x, y, sample_weight, class_weight, validation_data,
            validation_split (of arrays), validation_steps and verbose (0: no lines of steps); the
            rest raises an error that says what to write here.

    Returns:
        History and what else is known of the run.

    Raises:
        MoxError: whatever cannot be run.
        PeerFailureError: another process was lost.
        SystemExit: 143 after SIGTERM, 130 after Ctrl-C; the current step is saved first. 0 in a
            parameter server that is done.
    """
    logs.use()
    hello.say_hello()
    checks.require_eager()
    family = families.of(model)
    families.check_backend(family)
    arguments.compile_model(model, optimizer, loss, metrics, loss_weights)
    taken = as_keras.taken(model, train_data, eval_data, eval_steps, log_every, others)
    train_data, eval_data, eval_steps = taken.train_data, taken.eval_data, taken.eval_steps
    log_every = taken.log_every
    foreign.refuse(taken.others, inspect.signature(fit).parameters)
    cluster = place.cluster()
    devices = place.devices(num_gpus)
    index, size = (cluster.index, cluster.size) if cluster is not None else (0, 1)
    batch, seed = arguments.count("batch_size", batch_size), arguments.seed_of(seed)
    given = data.read(train_data, batch, "train_data", index, size)
    arguments.check_rank(model, given, "train_data")
    per_epoch = arguments.count("steps_per_epoch", steps_per_epoch) or given.batches
    max_steps = arguments.all_steps(epochs, steps, per_epoch)
    directory = arguments.directory(output_dir)
    chief = cluster is None or cluster.is_chief
    eval_steps = arguments.count("eval_steps", eval_steps)
    examined = evaluation.read(eval_data, batch, eval_steps)
    if examined is not None:
        arguments.check_rank(model, examined, "eval_data")
    evaluate = evaluation.maker(model, examined, eval_steps)
    pipeline = Pipeline(given, per_epoch, bool(shuffle), devices, index, size)
    evaluated = examined.element if examined is not None else None
    fuses = not parameter_server
    trained = TrainedModel(family, model, pipeline, index * devices, fuses, evaluated)
    called = Callbacks(callbacks, model, chief, family.package)
    every = arguments.count("eval_every", eval_every)
    pauses = Epochs(family, model, trained, per_epoch, every, evaluate, called, chief)
    saves = arguments.count("save_every", save_every)
    save_secs = arguments.seconds("save_every_secs", save_every_secs)
    group = ProcessGroup(
        cluster,
        devices,
        digest=place.digest(
            epochs=epochs, steps=steps, steps_per_epoch=per_epoch, batch_size=batch, seed=seed
        ),
        start_timeout=arguments.seconds("start_timeout", start_timeout) or _START_SECS,
    )
    job = Job(
        mode=TRAIN,
        data=Data(pipeline.input_fn),
        model_fn=_presented(trained, model),
        optimization=Optimization([trained.optimizer_fn]),
        max_steps=max_steps,
        log_dir=directory,
        logging=Logging(
            arguments.count("log_every", log_every) or 1,
            names=arguments.option_names(epochs, steps),
        ),
        saving=Saving(
            every_steps=saves,
            every_secs=save_secs if save_secs is not None or saves else _SAVE_SECS,
            keep=arguments.count("keep", keep),
        ),
        pauses=pauses,
        summaries=Summaries(automatic=True),
        seed=seed,
        placement=Placement(group, on_servers=parameter_server and cluster is not None),
    )
    with misfit.told_in_steps("train_data", given.element, model):
        result = execution.execute(job)
    if not result.steps and not pauses.ended:
        restore(family, model, result.checkpoint)
    arguments.finalize(model)
    checks.require_finite(family, model, result.global_step)
    return FitResult(
        history=pauses.history,
        epoch=pauses.epochs,
        global_step=result.global_step,
        steps=result.steps,
        seconds=result.seconds,
        checkpoint=result.checkpoint,
    )


def _presented(trained: TrainedModel, model: Any) -> Any:
    """The model function, which messages call by what it calls: the model's own `train_step`."""

    def model_fn(inputs: Any, mode: str) -> Model:
        return trained.model_fn(inputs, mode)

    model_fn.__wrapped__ = model.train_step  # type: ignore[attr-defined]
    return model_fn
