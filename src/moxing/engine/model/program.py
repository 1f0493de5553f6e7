"""Builds everything that a job runs, in one private graph, before any session is opened."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine import export
from moxing.engine.data import feed, inputs
from moxing.engine.data.feed import Feed, Taken
from moxing.engine.data.inputs import Inputs
from moxing.engine.graph import (
    ancestry,
    devices,
    hardware,
    keras_mode,
    keras_seed,
    structure,
    updates,
)
from moxing.engine.graph.rewrites import (
    convolution_gradients,
    fused_sums,
    plain_conditionals,
    precision,
    stateless,
)
from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.engine.job.job import EXPORT, TRAIN, Job, Model
from moxing.engine.model import (
    also,
    begun,
    inter_evaluation,
    learning_rate,
    recompute,
    streaming_metrics,
    trainable,
)
from moxing.engine.model.accumulation import Accumulation, EarlierBatches
from moxing.engine.model.begun import Begun
from moxing.engine.model.train_op import Rules, train_op
from moxing.engine.parallel import replicas
from moxing.engine.parallel.place import ALONE, Place, TeamOps, TrainStep, Update
from moxing.engine.parallel.reduce import Spread
from moxing.engine.parallel.replicas import Replica
from moxing.engine.wording import user_calls
from moxing.engine.wording.option_names import option
from moxing.errors import MoxTypeError, MoxValueError
from moxing.logs import TENSORFLOW

_NOTHING = Taken()


@dataclass(frozen=True)
class Program:
    """A built job.

    Attributes:
        graph: the graph; not yet final.
        inputs: the input part.
        replicas: the model that model_fn built for each device of this process.
        model: the first device's model.
        log: the values that log lines show.
        global_step: int64 variable, counts updates over all runs.
        step_op: makes one step: an update in TRAIN, else the evaluation of every result. If a step
            takes several batches, this operation takes the last of them.
        hooks: the hooks of the model, and of the second model that evaluates during training.
        initializers: operations to run once before the first step.
        slots: variables that belong to optimizers, not to the model.
        export_graph: the graph of the exported model; None where nothing is exported.
        export_signature: its inputs and outputs.
        team: the operations by which processes agree to stop; None if this process is alone.
        earlier: takes the batches of a step before the last one; None if a step is one batch.
        begun: counts the steps whose data has come; None: steps wait for nothing.
        shown: numbers for TensorBoard that are not in log lines.
    """

    graph: tf.Graph
    inputs: Inputs
    replicas: tuple[Replica, ...]
    log: Mapping[str, tf.Tensor]
    global_step: tf.Variable
    step_op: tf.Operation
    hooks: tuple[tf.train.SessionRunHook, ...]
    initializers: tuple[tf.Operation, ...]
    slots: tuple[tf.Variable, ...]
    export_graph: tf.Graph | None = None
    export_signature: export.ExportSignature | None = None
    team: TeamOps | None = None
    earlier: EarlierBatches | None = None
    begun: Begun | None = None
    shown: Mapping[str, tf.Tensor] = field(default_factory=dict)

    @property
    def model(self) -> Model:
        """The first device's model."""
        return self.replicas[0].model


class _ReadsInputsDirectly(Exception):
    """The model reads tensors of input_fn that are not among its inputs."""


def build(
    job: Job, taken: Taken = _NOTHING, order: int | None = None, place: Place = ALONE
) -> Program:
    """Builds the graphs of a job.

    Calls input_fn and model_fn once, each optimizer_fn once, and model_fn once more in EXPORT mode
    if the job exports.

    Args:
        job: the job.
        taken: the data that earlier runs took from the input; a reader that can be positioned
            starts after it.
        order: seeds the order of the readers' data if the job has no seed.
        place: where this process's variables are and how its gradients are added up.
    """
    devices.has_gpu()
    _check_averages(job)
    convolution_gradients.install()
    fused_sums.install()
    plain_conditionals.install()
    with resource_variables():
        try:
            return _build(job, taken, order, place, may_lift=True)
        except _ReadsInputsDirectly:
            return _build(job, taken, order, place, may_lift=False)


def _build(job: Job, taken: Taken, order: int | None, place: Place, may_lift: bool) -> Program:
    with tf.Graph().as_default() as built, place.scope(), keras_seed.fixed(job.seed):
        if job.seed is not None:
            tf.set_random_seed(job.seed)
        tf.train.get_or_create_global_step()
        feed.announce(Feed.behind(taken, place.index, place.size, job.seed, order))
        program = _build_step(job, place, _build_models(job, place, may_lift))
    if not job.export.wanted or not place.is_chief:
        return program
    names = export.checkpoint_names(built)
    export_graph, signature = _build_export(job, program.inputs, names, f"the {job.mode} graph")
    return dataclasses.replace(program, export_graph=export_graph, export_signature=signature)


@dataclass(frozen=True)
class _Models:
    """The models of a graph and their inputs, before a step is built of them.

    Attributes:
        inputs: the input part.
        replicas: the model of each device.
        log: the values that log lines show.
        results: the tensors that the models and log lines return.
        variables: the names of all variables in the graph.
    """

    inputs: Inputs
    replicas: tuple[Replica, ...]
    log: Mapping[str, tf.Tensor]
    results: Sequence[tf.Tensor]
    variables: Collection[str]

    @property
    def losses(self) -> list[tf.Tensor]:
        """The losses of all devices."""
        return [loss.tensor for replica in self.replicas for loss in replica.model.losses]

    @property
    def computed(self) -> list[tf.Tensor | tf.Operation]:
        """All that the models compute: results, losses and updates of batch-norm statistics."""
        updates = [update for replica in self.replicas for update in replica.updates]
        return [*self.results, *self.losses, *updates]


def _build_models(job: Job, place: Place, may_lift: bool) -> _Models:
    data = job.data
    made = inputs.build(
        data.input_fn, job.mode, data.batch_size, data.make_batches, may_lift, job.devices
    )
    updates.watch_keras()
    places = devices.local(job.devices) if job.devices > 1 else ("",)
    copied = hardware.copies(devices.machine(), job.placement.copied)
    parts = replicas.build(
        places,
        copied and job.devices > 1,
        lambda index: _call_on_device(job, made.structures[index], place, index),
    )
    log = _logged(job, parts)
    variables = {variable.name for variable in tf.global_variables()}
    results = [tensor for part in parts for tensor in _results(part.model)] + [*log.values()]
    return _Models(made, tuple(parts), log, results, variables)


def _build_step(job: Job, place: Place, models: _Models) -> Program:
    made = models.inputs
    global_step = tf.train.get_or_create_global_step()
    accumulation = Accumulation(job.batches)
    if job.training:
        update = _update_of(job, global_step, accumulation)
        step = place.train_step(models.replicas, sources(made), update)
    else:
        step = TrainStep(tf.group(*models.results))
    step_op = _reading_inputs(step.op, made)
    with tf.control_dependencies(None):
        earlier = accumulation.earlier(sources(made) if made.initializers else [])
    log = models.log
    if job.training:
        log = {**log, **also.logged(job.logging.also, log)}
    recorded = job.training and job.log_dir is not None
    program = Program(
        tf.get_default_graph(),
        made,
        models.replicas,
        log,
        global_step,
        step_op,
        _hooks(models.replicas),
        made.initializers,
        team=step.team,
        earlier=earlier,
        shown=learning_rate.shown() if recorded else {},
        slots=tuple(v for v in tf.global_variables() if v.name not in models.variables),
    )
    shown = _summaries(made, job) if recorded else []
    _check_reads(job, made, [step_op, *models.results, *shown])
    if not program.model.hooks:  # Else one of them may update the metrics.
        streaming_metrics.check(program.model.log, [step_op, *models.results])
    _seed_random_numbers(job, place, models, program, accumulation)
    if job.training and job.optimization.updating.recompute:
        recompute.mark(models.losses, sources(made))
    if job.inter_mode is not None:
        program = _with_second_model(program, job, job.inter_mode)
    if not job.training or place.trial:
        return program
    agreed = step.team.agreed if step.team is not None else None
    return dataclasses.replace(program, begun=begun.mark(step_op, sources(made), agreed))


def _seed_random_numbers(
    job: Job, place: Place, models: _Models, program: Program, accumulation: Accumulation
) -> None:
    """Lets the models draw other numbers in each process, and the same ones in a seeded rerun."""
    if job.seed is not None:
        stateless.replace_in_model(
            [program.step_op, *models.results],
            job.seed,
            lambda: accumulation.number_of_batch(program.global_step),
            models.computed,
            place.index,
        )
    stateless.tell_apart(models.computed, place.index)


def _with_second_model(program: Program, job: Job, mode: str) -> Program:
    """Adds the second model, which evaluates during training, with its hooks and initializers."""
    second = inter_evaluation.build(job, mode, _call_model_fn)
    return dataclasses.replace(
        program,
        hooks=(*program.hooks, *second.model.inter_hooks),
        initializers=(*program.initializers, *second.inputs.initializers),
    )


def _check_averages(job: Job) -> None:
    if job.training and job.restoring.averaged:
        if job.optimization.updating.average_decay is None:
            raise MoxValueError(
                "--use_ema evaluates and exports moving averages of the weights, but this training"
                " keeps none: give --ema_decay=0.999 too, or leave --use_ema out."
            )
        if job.inter_mode is not None and not job.group.synchronous:
            raise MoxValueError(
                "--use_ema with inter_mode puts averages into the variables while it evaluates, and"
                " with --sync_replicas=false other workers train these variables meanwhile. Leave"
                " --use_ema out, and evaluate with it in a run of its own."
            )


def sources(made: Inputs) -> list[tf.Operation]:
    """The operations that read the input of a step."""
    leaves = [leaf for part in made.structures for leaf in structure.tensors(part)]
    return list({leaf.op.name: leaf.op for leaf in leaves}.values())


def _results(model: Model) -> list[tf.Tensor]:
    return [*model.log.values(), *model.outputs.values()]


def _logged(job: Job, parts: Sequence[Replica]) -> Mapping[str, tf.Tensor]:
    """Returns the values for log lines: the first device's, or means over devices."""
    first = parts[0].model.log
    if job.logging.first_device or len(parts) == 1:
        return first
    return {
        name: tf.add_n([tf.cast(part.model.log[name], tf.float32) for part in parts]) / len(parts)
        for name in first
    }


def _hooks(parts: Sequence[Replica]) -> tuple[tf.train.SessionRunHook, ...]:
    """Returns the first device's hooks, and the other devices' hooks that it can't replace."""
    others = [
        hook
        for part in parts[1:]
        for hook in part.model.hooks
        if not getattr(hook, "support_aggregation", lambda: False)()
    ]
    return (*parts[0].model.hooks, *others)


def _reading_inputs(step_op: tf.Operation, made: Inputs) -> tf.Operation:
    """Returns a step that reads an element even if the model ignores it, so that data can end."""
    known = {op.name: op for op in sources(made)}
    if not made.initializers or any(op.name in known for op in ancestry.behind([step_op])):
        return step_op
    return tf.group(step_op, *known.values())


def _call_on_device(job: Job, given: Any, place: Place, device: int) -> Model:
    with stateless.seed_of_device(job.seed, place.index, device):
        return _call_model_fn(job, given, job.mode)


def _call_model_fn(job: Job, given: Any, mode: str) -> Model:
    """Calls model_fn; with a compute type, inputs have that type, and variables are float32."""
    scope: AbstractContextManager[None] = nullcontext()
    if job.precision.compute_dtype is not None:
        tensors = [leaf for _, leaf in structure.leaves(given)]
        dtype, labels = tf.as_dtype(job.precision.compute_dtype), structure.labels(given)
        cast = precision.cast_inputs(tensors, dtype, labels)
        given = structure.replace(given, cast)
        scope = precision.stored_as(tf.float32)
    about = f"mode {mode}, {structure.describe(given)}"
    if isinstance(given, list) and len(given) == 1:
        about += "; inputs is a list also where it holds one tensor: images = inputs[0]"
    with scope, keras_mode.following(mode == TRAIN):
        return user_calls.call(option("model_fn"), job.model_fn, given, mode, about=about)


def _update_of(job: Job, global_step: tf.Variable, accumulation: Accumulation) -> Update:
    """Returns the function that builds the update of a job's variables."""

    def update(spread: Spread) -> tf.Operation:
        functions = _optimizer_fns(job, spread.replicas[0].model)
        variables = trainable.of_graph(job.optimization.include, job.optimization.exclude)
        scale = precision.make_loss_scale(job.precision.loss_scale, job.precision.dynamic)
        rules = Rules(scale, job.optimization.updating, accumulation)
        return train_op(spread, functions, variables, global_step, rules)

    return update


def _optimizer_fns(job: Job, model: Model) -> Sequence[Any]:
    """Returns one optimizer function for each loss."""
    functions: Sequence[Any] = job.optimization.optimizer_fns
    if len(functions) == 1:
        functions = [functions[0]] * len(model.losses)
    if len(functions) != len(model.losses):
        raise MoxValueError(
            f"optimizer_fn is a list of {len(functions)}, but ModelSpec has {len(model.losses)}"
            f" {'loss' if len(model.losses) == 1 else 'losses'}. Give one optimizer_fn, or one for"
            " each loss."
        )
    return functions


def build_export(
    job: Job, names: Collection[str], where: str
) -> tuple[tf.Graph, export.ExportSignature]:
    """Builds only the export graph; calls input_fn for the shapes of the inputs.

    Args:
        job: the job.
        names: the names of the variables in `where`.
        where: the source of the values, such as "the checkpoint output/model.ckpt-10".
    """
    devices.has_gpu()
    with resource_variables():
        with tf.Graph().as_default():
            data = job.data
            made = inputs.build(data.input_fn, job.mode, data.batch_size, data.make_batches)
        return _build_export(job, made, names, where)


def _build_export(
    job: Job, made: Inputs, names: Collection[str], where: str
) -> tuple[tf.Graph, export.ExportSignature]:
    with tf.Graph().as_default() as built:
        tf.train.get_or_create_global_step()
        fed = export.placeholders(made.structure, job.data.make_batches)
        about = f"mode {EXPORT}, {structure.describe(fed)}"
        loops = export.functional_loops(job.export.kinds)
        with loops, keras_mode.following(False):
            model = user_calls.call("model_fn", job.model_fn, fed, EXPORT, about=about)
        if not isinstance(model.export, export.ExportSignature):
            raise MoxTypeError("model_fn gave no export_spec in EXPORT mode.")
        export.check(model.export, fed)
        export.check_kinds(job.export.kinds, model.export)
        export.check_variables(model.export, names, where)
    return built, model.export


def _summaries(made: Inputs, job: Job) -> list[tf.Tensor]:
    """The graph's summaries without summaries of single samples, which a step can't evaluate."""
    summaries: list[tf.Tensor] = tf.get_collection_ref(tf.GraphKeys.SUMMARIES)
    if job.data.make_batches:
        lost = [summary for summary in summaries if _reads(made, [summary]) is not None]
        summaries[:] = [summary for summary in summaries if summary not in lost]
        if lost:
            TENSORFLOW.warning(
                "Left out are summaries of single samples, which input_fn made: %s. Make summaries"
                " in model_fn, of its inputs, which are the batch.",
                ", ".join(summary.op.name for summary in lost),
            )
    return list(summaries)


def _check_reads(job: Job, made: Inputs, targets: Iterable[Any]) -> None:
    """Raises if targets read an element of input_fn directly, and not through the lifted pipeline.

    Such a tensor reached the model through a global variable or a closure, and would belong to
    another sample than the tensors in `inputs`.
    """
    name = _reads(made, targets)
    if name is None:
        return
    if not job.data.make_batches:
        if job.devices == 1:
            raise _ReadsInputsDirectly
        raise MoxValueError(
            f"{option('model_fn')} uses a tensor of {option('input_fn')} ({name}) that is not among"
            f" its inputs, which are one device's part of the data: return the tensor from"
            f" {option('input_fn')} and take it from the inputs."
        )
    raise MoxValueError(
        f"model_fn uses a tensor of input_fn ({name}) that is not among its inputs."
        " With auto_batch=True that is a single sample, not the batch: return the tensor"
        " from input_fn and take it from model_fn's inputs."
    )


def _reads(made: Inputs, targets: Iterable[Any]) -> str | None:
    """The name of an operation of input_fn that the targets read directly; else None."""
    cut = {op.name for op in made.cut}
    if not cut:
        return None
    return next((op.name for op in ancestry.behind(targets) if op.name in cut), None)
