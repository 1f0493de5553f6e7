"""`moxing.keras.fit`: trains a Keras model on any number of devices and machines."""

from __future__ import annotations

import dataclasses
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
from moxing.engine.job.updating import Updating
from moxing.engine.run import in_cell
from moxing.errors import MoxNotSupportedError
from moxing.flags import command, hello, recording, rehearsal, saving
from moxing.flags.updating import updating
from moxing.keras import (
    arguments,
    as_keras,
    checks,
    data,
    dry_run,
    evaluation,
    foreign,
    generated,
    misfit,
    place,
)
from moxing.keras.building import families
from moxing.keras.building.model import TrainedModel
from moxing.keras.callbacks import Callbacks, stopped, without_done
from moxing.keras.epochs import Epochs, Plan
from moxing.keras.pipeline import Pipeline
from moxing.keras.restored import restore_done
from moxing.keras.result import FitResult
from moxing.logs import TENSORFLOW

_SAVE_SECS = 60.0
_START_SECS = 300.0


@as_keras.positions
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
    keep_every_hours: float | None = None,
    keep_best: str | None = None,
    log_every: int = 100,
    callbacks: Any = (),
    num_gpus: int | None = None,
    accumulate_steps: int | None = None,
    parameter_server: bool = False,
    seed: int | None = None,
    start_timeout: float = _START_SECS,
    **others: Any,
) -> FitResult:
    """Trains a model on all devices of all processes in TF_CONFIG, to one device's result.

    All devices and processes share each batch: each device computes its share, and the gradient is
    the mean over the whole batch. So the number of devices changes the duration of training but not
    its result (except for batch normalization, which computes its statistics per share). At the
    end, the model has the trained weights in every process.

    Args:
        model: a Keras 3 (on TensorFlow) or tf_keras model, either compiled or to be compiled with
            `optimizer` and `loss`.
        train_data: the training data, in one of these forms:
            arrays x, (x, y) or (x, y, sample_weight), where each is an array or a nest of arrays
            with the samples along the first axis;
            a tf.data.Dataset of such tuples, of batches unless `batch_size` is given;
            a PyDataset or Sequence of Keras, or a generator, of such tuples as batches, without
            `batch_size`. Several processes need the same batches in the same order, and each
            takes its share of every batch. A generator object needs `steps_per_epoch` or `steps`;
            a run that resumes reads it up to its place;
            a function that returns one of these. A function with one required argument gets a
            tf.distribute.InputContext, and returns a Dataset of its own process's batches only.
        eval_data: the evaluation data, in the same forms. The chief evaluates on it with the
            model's own `evaluate`.
        output_dir: the folder, or the URL in an object store, of checkpoints, records and
            summaries. A run with a checkpoint there is resumed. None: no files.
        epochs: the number of passes over the data; default 1 if `steps` is not given.
        steps: the number of updates in all, counting those of earlier runs in output_dir; replaces
            `epochs`.
        steps_per_epoch: the number of updates in an epoch; default: the number of batches in the
            data.
        batch_size: the number of samples in a batch, over all devices together. Default 32 for
            arrays. With a Dataset, its elements are single samples, and fit batches them.
        shuffle: whether arrays are read in a new order each epoch.
        optimizer, loss, metrics, loss_weights: arguments of `Model.compile`, which fit calls if
            `loss` is given.
        eval_every: the number of steps between evaluations; default: one at the end of each epoch.
        eval_steps: the number of batches to evaluate; default: all.
        save_every: the number of steps between checkpoints; the first and the last state are
            always saved.
        save_every_secs: seconds between checkpoints; default 60 if `save_every` is not given.
        keep: the number of checkpoints to keep; None: all.
        keep_every_hours: hours after which another checkpoint is kept for good, besides the newest
            `keep`. Default: `--keep_checkpoint_every_n_hours` of the command line, else no
            checkpoint is.
        keep_best: the name of the metric whose best checkpoint is kept in `best` of output_dir,
            beside these: as in the history, such as "val_accuracy". "val_loss:min" and "score:max"
            say the direction, which otherwise follows from the name, and "val_loss:min:3" keeps the
            three best. `restore` gives a model these weights. MOX_KEEP_BEST overrides it.
        log_every: the number of steps between log lines.
        callbacks: Keras callbacks, called when training, epochs and batches start and end. The
            calls at batches take time, and are made only for callbacks that use them.
            BackupAndRestore is not called: its folder is `output_dir` where that is None.
        num_gpus: the number of devices in this process; without GPUs, logical devices that share
            the CPU. Default: the `--num_gpus=N` of the command line, else 1.
        accumulate_steps: the number of parts in which each device computes its share of a batch,
            one after another, before the update. It lowers the memory that a batch takes, and
            does not change the result, except with batch normalization. Default: the
            `--accumulate_steps=N` of the command line, else 1.
        parameter_server: whether the cluster's ps processes store the weights. Otherwise each
            worker has a copy, and ps processes do nothing.
        seed: fixes the order of the data, and the random numbers of tf_keras layers.
        start_timeout: seconds to wait for the other processes.
        **others: arguments of Keras' own `fit`: x, y, sample_weight, class_weight,
            validation_data, validation_split (of arrays), validation_steps and verbose (0: no log
            lines of steps). Other names raise an error that says what to write instead.

    Returns:
        The history, and the counts of steps and seconds of the run.

    Raises:
        MoxError: the run is invalid, or fails.
        PeerFailureError: another process was lost.
        SystemExit: 143 after SIGTERM, 130 after Ctrl-C; the current step is saved first. 0 in an
            evaluator process, and in a parameter server at its end.
    """
    call = dict(locals())
    logs.use()
    hello.say_hello()
    if rehearsal.wanted() and not dry_run.under_way():
        return dry_run.rehearse(fit, call)
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
    callbacks, directory = without_done(callbacks, arguments.directory(output_dir))
    chief = cluster is None or cluster.is_chief
    eval_steps = arguments.count("eval_steps", eval_steps)
    changes = _updating(accumulate_steps)
    examined = evaluation.read(eval_data, batch, eval_steps)
    if examined is not None:
        arguments.check_rank(model, examined, "eval_data")
    evaluate = evaluation.maker(model, examined, eval_steps)
    pipeline = Pipeline(given, bool(shuffle), devices, index, size, changes.accumulate)
    evaluated = examined.element if examined is not None else None
    fuses = not parameter_server
    trained = TrainedModel(family, model, pipeline, index * devices, fuses, evaluated)
    called = Callbacks(callbacks, model, chief, family.package)
    every = arguments.count("eval_every", eval_every)
    pauses = Epochs(trained, Plan(per_epoch, every, max_steps), evaluate, called, chief)
    group = ProcessGroup(
        cluster,
        devices,
        digest=place.digest(
            epochs=epochs,
            steps=steps,
            steps_per_epoch=per_epoch,
            batch_size=batch,
            seed=seed,
            accumulate_steps=changes.accumulate,
            gradient_clip_norm=changes.clip_norm,
            gradient_clip_value=changes.clip_value,
        ),
        start_timeout=arguments.duration("start_timeout", start_timeout) or _START_SECS,
    )
    job = Job(
        mode=TRAIN,
        data=Data(pipeline.input_fn),
        model_fn=_presented(trained, model),
        optimization=Optimization([trained.optimizer_fn], updating=changes),
        max_steps=max_steps,
        log_dir=directory,
        logging=Logging(
            arguments.count("log_every", log_every) or 1,
            settings=recording.settings(),
            program=command.recorded(),
            names=arguments.option_names(epochs, steps),
            also=recording.also(),
            loggers=recording.loggers(),
        ),
        saving=dataclasses.replace(
            _saving(save_every, save_every_secs, keep, keep_every_hours),
            best=arguments.ranking(keep_best, directory, examined is not None),
        ),
        pauses=pauses,
        summaries=Summaries(automatic=True),
        seed=seed,
        placement=Placement(group, on_servers=parameter_server and cluster is not None),
    )
    with misfit.told_in_steps("train_data", given.element, model):
        result = dry_run.execute(job) if dry_run.under_way() else in_cell.execute(job)
    if generated.is_generated(train_data) and not stopped(model):
        _warn_of_early_end(result.global_step, max_steps)
    if not result.steps and not pauses.ended:
        restore_done(family, model, result.checkpoint)
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


def _updating(accumulate_steps: Any) -> Updating:
    """How mean gradients become an update: by the flags and the argument."""
    changes = dataclasses.replace(updating(), parts=True)
    if changes.average_decay is not None:
        raise MoxNotSupportedError(
            f"--ema_decay={changes.average_decay:g} is not for moxing.keras.fit: compile the model"
            f" with an optimizer that has use_ema=True, ema_momentum={changes.average_decay:g}."
        )
    parts = arguments.count("accumulate_steps", accumulate_steps)
    return changes if parts is None else dataclasses.replace(changes, accumulate=parts)


def _saving(save_every: Any, save_every_secs: Any, keep: Any, keep_every_hours: Any) -> Saving:
    """When a training saves; every minute, unless the arguments say otherwise."""
    steps = arguments.count("save_every", save_every)
    seconds = arguments.duration("save_every_secs", save_every_secs)
    hours = arguments.duration("keep_every_hours", keep_every_hours, "hours")
    return Saving(
        every_steps=steps,
        every_secs=seconds if seconds is not None or steps else _SAVE_SECS,
        keep=arguments.count("keep", keep),
        hours=hours or saving.hours(),
        in_step=saving.in_step(),
    )


def _warn_of_early_end(step: int, max_steps: int) -> None:
    """Says so if a generator ended before the training was to end."""
    if step < max_steps:
        TENSORFLOW.warning(
            "train_data ended at step %d, before step %d: the generator gave no further batch. Pass"
            " a generator that goes on, or fewer epochs.",
            step,
            max_steps,
        )


def _presented(trained: TrainedModel, model: Any) -> Any:
    """Returns the model function, which messages show as the model's own `train_step`."""

    def model_fn(inputs: Any, mode: str) -> Model:
        return trained.model_fn(inputs, mode)

    model_fn.__wrapped__ = model.train_step  # type: ignore[attr-defined]
    return model_fn
