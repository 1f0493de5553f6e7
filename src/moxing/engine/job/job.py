"""The description of a run, as frozen dataclasses: a dialect makes a `Job`, the engine runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.engine.job.pauses import Pauses
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.job.ranking import Ranking
from moxing.engine.job.signature import ExportSignature
from moxing.engine.job.updating import Updating

TRAIN: Final = "TRAIN"
EVAL: Final = "EVAL"
PREDICT: Final = "PREDICT"
EXPORT: Final = "EXPORT"


@dataclass(frozen=True)
class Loss:
    """A scalar to minimize, and the scopes of the variables that it trains (empty: all)."""

    tensor: tf.Tensor
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """The model that one call of the user's model function built, for one device.

    Attributes:
        losses: losses minimized together, each by the optimizer at the same position.
        log: scalars printed at log steps, in this order; in EVAL averaged over all samples.
        outputs: tensors passed to `Outputs.function`.
        export: the inputs and outputs of the exported model.
        hooks: hooks called around every step.
        inter_hooks: hooks called around every step if this is the model of `Job.inter_mode`.
    """

    losses: tuple[Loss, ...] = ()
    log: Mapping[str, tf.Tensor] = field(default_factory=dict)
    outputs: Mapping[str, tf.Tensor] = field(default_factory=dict)
    export: ExportSignature | None = None
    hooks: tuple[tf.train.SessionRunHook, ...] = ()
    inter_hooks: tuple[tf.train.SessionRunHook, ...] = ()


@dataclass(frozen=True)
class Data:
    """The source of samples.

    Attributes:
        input_fn: takes the mode; returns the tensors of one sample or one batch, or a Dataset.
        batch_size: samples per batch; None: the input decides.
        make_batches: whether the engine batches single samples.
        shared: whether a step takes one batch, which the devices of the process share. Known when
            `input_fn` was called: see `Job.with_inputs`.
    """

    input_fn: Callable[[str], Any]
    batch_size: int | None = None
    make_batches: bool = False
    shared: bool = False


@dataclass(frozen=True)
class Optimization:
    """The optimizers that update the variables in TRAIN mode.

    Attributes:
        optimizer_fns: functions that make the optimizers, one for each loss of the model; each is
            called once, inside the graph.
        include, exclude: patterns of variables that may be trained.
        updating: changes of gradients on their way to the optimizers.
    """

    optimizer_fns: Sequence[Callable[[], tf.train.Optimizer]] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    updating: Updating = Updating()


@dataclass(frozen=True)
class Saving:
    """When TRAIN saves checkpoints in `Job.log_dir`, in addition to the first and the last.

    Attributes:
        every_secs, every_steps: seconds or steps between saves; both None: only first and last.
        keep: how many checkpoints of log_dir to keep; None: all.
        listeners: listeners called around every commit of a checkpoint.
        hours: the time after which a further checkpoint stays for good; None: no checkpoint does.
        cached: whether files are written to a local cache first; always so if log_dir is remote.
        in_step: whether each save is written before the next step. Otherwise a process that trains
            alone copies large saves, and writes them beside the next steps.
        best: the metric whose best checkpoints are kept beside the newest; None: there is none.
    """

    every_secs: float | None = 60.0
    every_steps: int | None = None
    keep: int | None = 5
    listeners: tuple[tf.train.CheckpointSaverListener, ...] = ()
    hours: float | None = None
    cached: bool = False
    in_step: bool = False
    best: Ranking | None = None


@dataclass(frozen=True)
class Restoring:
    """The values that a run starts from. It resumes from a checkpoint in `Job.log_dir` if it can.

    Attributes:
        checkpoint_path: the checkpoint to start from when log_dir holds none.
        include, exclude: patterns of variables to restore from checkpoint_path.
        again: whether to continue training after the input of an earlier run has ended.
        untrained: whether modes other than TRAIN may also start from initial values.
        averaged: whether modes other than TRAIN, evaluations during TRAIN, and exports use the
            moving averages of the weights.
        not_used: the local log_dir of a worker that uses none of its files; None: there is none.
    """

    checkpoint_path: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    again: bool = False
    untrained: bool = False
    averaged: bool = False
    not_used: str | None = None


@dataclass(frozen=True)
class Logging:
    """The settings of the reports that a run makes on the console and in its records.

    Attributes:
        every: steps between log lines; 0: no log lines.
        first_device: whether logged values are the first device's; otherwise, means over devices.
        profile: the first step of this run to profile, and the first step after the profile; None:
            no profile.
        settings: the dialect's settings in addition to its arguments, by name, for the report.
        program: the command of this process as plain values, for `run.json`.
        names: the names of options in messages, by the engine's names; see `option_names`.
        also: values that log lines of TRAIN show beside the model's, by the names in `model.also`.
        loggers: the experiment trackers that TRAIN reports to; see `reporting.trackers.opening`.
        sums_up: whether a line at the end of PREDICT sums up the run.
    """

    every: int = 10
    first_device: bool = True
    profile: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    program: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    loggers: tuple[str, ...] = ()
    sums_up: bool = True


@dataclass(frozen=True)
class Summaries:
    """The summaries that TRAIN writes for TensorBoard.

    Attributes:
        every: steps between summaries.
        automatic: whether logged values become summaries.
        histograms: whether trained variables become summaries.
    """

    every: int = 100
    automatic: bool = False
    histograms: bool = False


@dataclass(frozen=True)
class Outputs:
    """The function that receives `Model.outputs`.

    Attributes:
        function: takes a list with one dictionary of arrays for each step; None: no function.
        every: the number of steps whose outputs the function gets in one call.
    """

    function: Callable[[list[dict[str, Any]]], None] | None = None
    every: int = 0


@dataclass(frozen=True)
class Export:
    """Which models are exported after a run.

    Attributes:
        wanted: whether to export at all.
        kinds: other kinds of model to write beside the SavedModel; constants of `export.kinds`.
    """

    wanted: bool = False
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Precision:
    """The types in which a model computes.

    Attributes:
        compute_dtype: type to cast float32 inputs to, "float16" or "bfloat16", while variables stay
            float32; None: the program's own types.
        loss_scale: factor by which losses are multiplied while gradients are computed.
        dynamic: whether the loss scale changes during training; `loss_scale` is then its start.
    """

    compute_dtype: str | None = None
    loss_scale: float = 1.0
    dynamic: bool = False


@dataclass(frozen=True)
class Threads:
    """Sizes of the session's thread pools; 0: automatic."""

    inter_op: int = 0
    intra_op: int = 0


@dataclass(frozen=True)
class Job:
    """One run. Every field is checked by the dialect that makes it.

    Attributes:
        mode: TRAIN, EVAL or PREDICT.
        data: where samples come from.
        model_fn: takes the inputs and the mode (also EXPORT); builds the model.
        optimization: the optimizers, and which variables they update.
        max_steps: TRAIN ends when the global step reaches this number, other modes after this many
            steps.
        inter_mode: EVAL to build a second input and model for hooks that evaluate; otherwise None.
        seed: fixes every random number of the graph; None: a new seed in each run.
        log_dir: directory of checkpoints, summaries and exports; None: no files at all.
        pauses: its methods are called between training steps; None: there are no pauses.
        placement: processes, devices, and where variables are placed.
        saving, restoring, logging, summaries, outputs, export, precision, threads: see the classes.
    """

    mode: str
    data: Data
    model_fn: Callable[[Any, str], Model]
    optimization: Optimization = Optimization()
    max_steps: int = 0
    inter_mode: str | None = None
    seed: int | None = None
    log_dir: str | None = None
    pauses: Pauses | None = None
    placement: Placement = field(default_factory=Placement)
    saving: Saving = Saving()
    restoring: Restoring = Restoring()
    logging: Logging = field(default_factory=Logging)
    summaries: Summaries = Summaries()
    outputs: Outputs = Outputs()
    export: Export = Export()
    precision: Precision = Precision()
    threads: Threads = Threads()

    @property
    def training(self) -> bool:
        return self.mode == TRAIN

    @property
    def batches(self) -> int:
        """The number of batches that a step takes on each device."""
        return self.optimization.updating.accumulate if self.training else 1

    @property
    def group(self) -> ProcessGroup:
        """The processes that train together."""
        return self.placement.group

    @property
    def devices(self) -> int:
        """The number of devices of this process."""
        return self.placement.devices

    @property
    def elements(self) -> int:
        """How many elements of its input a process takes in a step, as the input counts them."""
        data = self.data
        batches = 1 if self.optimization.updating.parts else self.batches
        size = data.batch_size if data.make_batches and data.batch_size else 1
        return (1 if data.shared else self.devices) * batches * size

    def with_inputs(self, shared: bool) -> Job:
        """The same job, of which is known whether devices share each batch of the input."""
        return self if not shared else replace(self, data=replace(self.data, shared=True))

    def starting_from(self, checkpoint_path: str | None) -> Job:
        """The same job with another `restoring.checkpoint_path`."""
        return replace(self, restoring=replace(self.restoring, checkpoint_path=checkpoint_path))


@dataclass(frozen=True)
class Result:
    """The outcome of a run.

    Attributes:
        global_step: the global step at the end.
        steps: number of steps of this run.
        seconds: total time of these steps, without the start and the end of the run.
        metrics: in EVAL, sample-weighted means of the logged values; in other modes, the values of
            the last log line.
        checkpoint: prefix of the last committed or restored checkpoint.
        export_dir: directory of the exported model.
    """

    global_step: int
    steps: int
    seconds: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    checkpoint: str | None = None
    export_dir: str | None = None
