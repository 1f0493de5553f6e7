"""What to run, as frozen values: a dialect makes a `Job` and the engine takes it from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import tensorflow.compat.v1 as tf

from moxing.engine.job.pauses import Pauses
from moxing.engine.job.signature import ExportSignature

if TYPE_CHECKING:
    from moxing.cluster.cluster import Cluster

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
        outputs: tensors handed to `Job.output_fn`.
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
class Job:
    """One run. Every field is checked by the dialect that makes it.

    Attributes:
        mode: TRAIN, EVAL or PREDICT.
        input_fn: given the mode, returns the tensors of one sample or one batch, or a Dataset.
        model_fn: given the inputs and the mode (also EXPORT), builds the model.
        optimizer_fns: as many as the model has losses; called once, inside the graph.
        batch_size: samples per batch; None where the input decides.
        make_batches: whether the engine batches single samples.
        max_steps: TRAIN ends when the global step reaches it, other modes after that many steps.
        inter_mode: EVAL, to build a second input and model for hooks that evaluate; or None.
        log_dir: checkpoints, summaries and exports; None: no files at all.
        cached: whether log_dir is written to a local cache first, as one in a store always is.
        checkpoint_path: where to start from when log_dir holds no checkpoint.
        untrained: whether another mode than TRAIN may start from initial values, too.
        log_every: steps between log lines; 0: none.
        output_fn, output_every: given the outputs of so many steps at a time.
        summary_every: steps between summaries.
        save_secs, save_steps: time or steps between saves; both None: only first and last.
        keep: how many checkpoints of log_dir to keep; None: all.
        listeners: called around every commit of a checkpoint.
        pauses: in TRAIN, called between steps; None: nothing is.
        again: whether to train on where the input of an earlier run had ended.
        export: whether to export after the run.
        export_kinds: what to write beside the exported SavedModel: constants of `export.kinds`.
        restore_include, restore_exclude: patterns of variables to restore from checkpoint_path.
        trainable_include, trainable_exclude: patterns of variables that may be trained.
        compute_dtype: "float16" or "bfloat16": what float32 inputs are cast to, on variables that
            stay float32; None: as the program says.
        loss_scale: what losses are multiplied by while gradients are taken.
        dynamic_loss_scale: whether `loss_scale` is only where the scale starts.
        automatic_summaries: whether logged values become summaries.
        histograms: whether trained variables become summaries.
        profile: first step of this run to profile, and the first one not to; None: no profile.
        inter_op_threads, intra_op_threads: sizes of the session's thread pools; 0: automatic.
        seed: fixes every random number of the graph; None: a new one each run.
        devices: devices of this process, each with a model and a batch of its own.
        copied: whether each device has a copy of the variables; None: where that is faster.
        log_first: whether logged values are the first device's; else means over devices.
        cluster: the processes that train together; None: this one is alone.
        synchronous: whether processes update together, with the mean of their gradients.
        on_servers: whether variables live on the cluster's parameter servers.
        trial: whether `copied` and `on_servers` are to be found by trying what is faster.
        compressed: whether gradients travel between processes as float16.
        names: what messages call options, by the engine's names of them; see `options`.
        digest: what has to be equal in all processes, by name.
        settings: what the dialect was told beside its arguments, by name, for the report.
        start_timeout: seconds to wait for the other processes.
        stall_timeout: seconds after which a process that stands still counts as lost.
    """

    mode: str
    input_fn: Callable[[str], Any]
    model_fn: Callable[[Any, str], Model]
    optimizer_fns: Sequence[Callable[[], tf.train.Optimizer]] = ()
    batch_size: int | None = None
    make_batches: bool = False
    max_steps: int = 0
    inter_mode: str | None = None
    log_dir: str | None = None
    cached: bool = False
    checkpoint_path: str | None = None
    untrained: bool = False
    log_every: int = 10
    output_fn: Callable[[list[dict[str, Any]]], None] | None = None
    output_every: int = 0
    summary_every: int = 100
    save_secs: float | None = 60.0
    save_steps: int | None = None
    keep: int | None = 5
    listeners: tuple[tf.train.CheckpointSaverListener, ...] = ()
    pauses: Pauses | None = None
    again: bool = False
    export: bool = False
    export_kinds: tuple[str, ...] = ()
    restore_include: tuple[str, ...] = ()
    restore_exclude: tuple[str, ...] = ()
    trainable_include: tuple[str, ...] = ()
    trainable_exclude: tuple[str, ...] = ()
    compute_dtype: str | None = None
    loss_scale: float = 1.0
    dynamic_loss_scale: bool = False
    automatic_summaries: bool = False
    histograms: bool = False
    profile: tuple[int, int] | None = None
    inter_op_threads: int = 0
    intra_op_threads: int = 0
    seed: int | None = None
    devices: int = 1
    copied: bool | None = None
    log_first: bool = True
    cluster: Cluster | None = None
    synchronous: bool = True
    on_servers: bool = False
    trial: bool = False
    compressed: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    digest: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    start_timeout: float = 300.0
    stall_timeout: float = 60.0

    @property
    def training(self) -> bool:
        return self.mode == TRAIN


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
