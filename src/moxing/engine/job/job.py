"""What to run, as frozen values: a dialect makes a `Job` and the engine takes it from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import tensorflow.compat.v1 as tf

from moxing.engine.job.pauses import Pauses
from moxing.engine.job.placement import Placement, ProcessGroup
from moxing.engine.job.signature import ExportSignature

TRAIN: Final = "TRAIN"
EVAL: Final = "EVAL"
PREDICT: Final = "PREDICT"
EXPORT: Final = "EXPORT"


@dataclass(frozen=True)
class Loss:
    """A scalar to minimize, and the variable scopes it may move (none given: all variables)."""

    tensor: tf.Tensor
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """What a call of the user's model function built, for one device.

    Attributes:
        losses: minimized together, each with the optimizer of the same position.
        log: scalars printed at log steps, in this order; in EVAL averaged over all samples.
        outputs: tensors handed to `Outputs.function`.
        export: the inputs and outputs of the exported model.
        hooks: called around every step.
        inter_hooks: called around every step if this is the model of `Job.inter_mode`.
    """

    losses: tuple[Loss, ...] = ()
    log: Mapping[str, tf.Tensor] = field(default_factory=dict)
    outputs: Mapping[str, tf.Tensor] = field(default_factory=dict)
    export: ExportSignature | None = None
    hooks: tuple[tf.train.SessionRunHook, ...] = ()
    inter_hooks: tuple[tf.train.SessionRunHook, ...] = ()


@dataclass(frozen=True)
class Data:
    """Where samples come from.

    Attributes:
        input_fn: given the mode, returns the tensors of one sample or one batch, or a Dataset.
        batch_size: samples per batch; None where the input decides.
        make_batches: whether the engine batches single samples.
    """

    input_fn: Callable[[str], Any]
    batch_size: int | None = None
    make_batches: bool = False


@dataclass(frozen=True)
class Optimization:
    """What moves the variables in TRAIN.

    Attributes:
        optimizer_fns: as many as the model has losses; called once, inside the graph.
        include, exclude: patterns of variables that may be trained.
    """

    optimizer_fns: Sequence[Callable[[], tf.train.Optimizer]] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Saving:
    """When TRAIN commits checkpoints to `Job.log_dir`, beside the first and the last.

    Attributes:
        every_secs, every_steps: time or steps between saves; both None: only first and last.
        keep: how many checkpoints of log_dir to keep; None: all.
        listeners: called around every commit of a checkpoint.
        cached: whether log_dir is written to a local cache first, as one in a store always is.
    """

    every_secs: float | None = 60.0
    every_steps: int | None = None
    keep: int | None = 5
    listeners: tuple[tf.train.CheckpointSaverListener, ...] = ()
    cached: bool = False


@dataclass(frozen=True)
class Restoring:
    """Which values a run starts from, beside a checkpoint of `Job.log_dir`, which it resumes.

    Attributes:
        checkpoint_path: where to start from when log_dir holds no checkpoint.
        include, exclude: patterns of variables to restore from checkpoint_path.
        again: whether to train on where the input of an earlier run had ended.
        untrained: whether another mode than TRAIN may start from initial values, too.
    """

    checkpoint_path: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    again: bool = False
    untrained: bool = False


@dataclass(frozen=True)
class Logging:
    """What a run says of itself on the console and in its records.

    Attributes:
        every: steps between log lines; 0: none.
        first_device: whether logged values are the first device's; else means over devices.
        profile: first step of this run to profile, and the first one not to; None: no profile.
        settings: what the dialect was told beside its arguments, by name, for the report.
        names: what messages call options, by the engine's names of them; see `option_names`.
    """

    every: int = 10
    first_device: bool = True
    profile: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Summaries:
    """What TRAIN writes for TensorBoard.

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
    """Who gets `Model.outputs`.

    Attributes:
        function: is given the outputs of some steps, a dictionary of arrays a step; None: nobody.
        every: how many steps' outputs it gets at a time.
    """

    function: Callable[[list[dict[str, Any]]], None] | None = None
    every: int = 0


@dataclass(frozen=True)
class Export:
    """Which models are exported after a run.

    Attributes:
        wanted: whether to export at all.
        kinds: what to write beside the exported SavedModel: constants of `export.kinds`.
    """

    wanted: bool = False
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Precision:
    """In which types a model computes.

    Attributes:
        compute_dtype: "float16" or "bfloat16": what float32 inputs are cast to, on variables that
            stay float32; None: as the program says.
        loss_scale: what losses are multiplied by while gradients are taken.
        dynamic: whether `loss_scale` is only where the scale starts.
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
        model_fn: given the inputs and the mode (also EXPORT), builds the model.
        optimization: what moves the variables.
        max_steps: TRAIN ends when the global step reaches it, other modes after that many steps.
        inter_mode: EVAL, to build a second input and model for hooks that evaluate; or None.
        seed: fixes every random number of the graph; None: a new one each run.
        log_dir: checkpoints, summaries and exports; None: no files at all.
        pauses: in TRAIN, called between steps; None: nothing is.
        placement: processes, devices, and where variables live.
        saving, restoring, logging, summaries, outputs, export, precision, threads: see there.
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
    def group(self) -> ProcessGroup:
        """The processes that train together."""
        return self.placement.group

    @property
    def devices(self) -> int:
        """Devices of this process."""
        return self.placement.devices

    def starting_from(self, checkpoint_path: str | None) -> Job:
        """The same job with another `restoring.checkpoint_path`."""
        return replace(self, restoring=replace(self.restoring, checkpoint_path=checkpoint_path))


@dataclass(frozen=True)
class Result:
    """What a run did.

    Attributes:
        global_step: the global step at the end.
        steps: steps of this run.
        seconds: time these steps took together, without start and end of the run.
        metrics: sample-weighted means of the logged values in EVAL, else those of the last line.
        checkpoint: prefix of the last committed or restored checkpoint.
        export_dir: where the model was exported to.
    """

    global_step: int
    steps: int
    seconds: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    checkpoint: str | None = None
    export_dir: str | None = None
