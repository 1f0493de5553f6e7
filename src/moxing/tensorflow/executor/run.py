"""`mox.run`: converts the documented arguments and flags to a job of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moxing import flags
from moxing.engine.export import ExportSignature
from moxing.engine.graph import graph_keras
from moxing.engine.job.job import (
    Data,
    Export,
    Job,
    Logging,
    Loss,
    Model,
    Optimization,
    Outputs,
    Precision,
    Restoring,
    Result,
    Saving,
    Summaries,
    Threads,
)
from moxing.engine.job.placement import Placement
from moxing.engine.run import in_cell as engine
from moxing.engine.run import rehearsed
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.flags import command, hello, idle, recording, rehearsal, saving
from moxing.flags.placement import placement
from moxing.flags.updating import updating
from moxing.tensorflow.executor import (
    arguments,
    cache,
    compression,
    export_only,
    label_file,
    meeting,
)
from moxing.tensorflow.executor.callables import positional, presented_as
from moxing.tensorflow.executor.input_spec import Groups
from moxing.tensorflow.executor.keys import ModeKeys
from moxing.tensorflow.executor.spec import ModelSpec, describe

_UNSET: Any = object()
_SAVE_SECS = 60.0
_DYNAMIC_LOSS_SCALE = 2.0**15


def run(
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
    model_fn: Callable[..., Any] | None = None,
    optimizer_fn: Any = None,
    run_mode: str = "invalid",
    inter_mode: str | None = None,
    batch_size: int | None = None,
    auto_batch: bool = True,
    log_dir: Any = None,
    max_number_of_steps: int = 0,
    checkpoint_path: Any = None,
    log_every_n_steps: int = 10,
    output_every_n_steps: int = 0,
    save_summary_steps: int = 100,
    save_model_secs: float | None = _UNSET,
    export_model: Any = False,
    fetch_strategy_fn: Any = None,
    save_model_steps: int | None = _UNSET,
    **others: Any,
) -> Result:
    """Trains, evaluates or predicts, in a new graph and session.

    Args:
        input_fn: a function of the mode that returns a tensor, a list, tuple or dict of tensors,
            a tf.data Dataset or a mox.InputSpec. It returns single samples with auto_batch, else
            batches.
        output_fn: a function of a list of output_info values, one dict of arrays per step.
        model_fn: a function of the inputs (a list or dict, or the InputSpec) and the mode that
            returns a ModelSpec.
        optimizer_fn: a function that returns a tf.train.Optimizer, or a list of such functions,
            one per loss.
        run_mode: mox.ModeKeys.TRAIN, EVAL or PREDICT.
        inter_mode: mox.ModeKeys.EVAL builds input_fn and model_fn a second time, on the trained
            variables, for hooks that evaluate during training.
        batch_size: the number of samples per batch and device; None: no batching, regardless of
            auto_batch.
        auto_batch: whether the run batches the samples of input_fn. In TRAIN every batch is full;
            in EVAL and PREDICT the last one may be smaller.
        log_dir: the directory of checkpoints, summaries and exports; None: no files at all. The
            run resumes from, or evaluates, a checkpoint found there.
        max_number_of_steps: TRAIN ends at this global step; other modes end after this number of
            steps.
        checkpoint_path: a checkpoint, or a directory of checkpoints, to start from if log_dir has
            none.
        log_every_n_steps: the number of steps between log lines.
        output_every_n_steps: the number of steps whose outputs output_fn gets in one call.
        save_summary_steps: the number of steps between summaries.
        save_model_secs: seconds between checkpoints, default 60; None: only the first and last
            state are saved, unless save_model_steps is given. If both are given, seconds win.
        export_model: the kind of model to export after TRAIN or EVAL, such as
            mox.ExportKeys.TF_SERVING, or a list of kinds; False: no export.
        fetch_strategy_fn: not supported.
        save_model_steps: the number of steps between checkpoints.

    Returns:
        The number of steps done, the last or mean values of log_info, the checkpoint and the
        export directory.

    Raises:
        MoxError: the run is invalid, which is raised before work starts if possible, or fails.
        SystemExit: 143 after SIGTERM, 130 after Ctrl-C; the current step is saved first.
    """
    arguments.check_no_others(run, others)
    hello.say_hello()
    flags.read_command_line()
    flags.check_supported()
    idle.warn()
    _refuse_fetch_strategy(fetch_strategy_fn)
    mode = arguments.check_mode(run_mode)
    wanted, dry = export_only.requested(), rehearsal.wanted()
    directory = arguments.check_path("log_dir", log_dir)
    batch = arguments.check_batch_size(batch_size)
    seconds, steps = _save_schedule(save_model_secs, save_model_steps)
    exporting = arguments.check_export(export_model, directory, mode)
    placed = placement()
    verbosity = flags.get_flag("summary_verbosity")
    groups = Groups()
    job = Job(
        mode=mode,
        data=Data(
            label_file.kept_beside(
                None if dry or wanted is not None else directory,
                groups.from_input_fn(
                    positional("input_fn", arguments.check_callable("input_fn", input_fn), 1)
                ),
            ),
            batch,
            make_batches=arguments.check_flag("auto_batch", auto_batch) and batch is not None,
        ),
        model_fn=_model_fn(
            arguments.check_callable("model_fn", model_fn), groups, output_fn, inter_mode
        ),
        optimization=Optimization(
            _optimizers(arguments.check_optimizers(optimizer_fn, mode), batch, placed),
            flags.patterns("trainable_include_patterns"),
            flags.patterns("trainable_exclude_patterns"),
            updating(),
        ),
        max_steps=arguments.check_steps(max_number_of_steps, mode),
        inter_mode=arguments.check_inter_mode(inter_mode, mode),
        log_dir=directory,
        restoring=Restoring(
            arguments.check_path("checkpoint_path", checkpoint_path),
            flags.patterns("checkpoint_include_patterns"),
            flags.patterns("checkpoint_exclude_patterns"),
            averaged=flags.get_flag("use_ema"),
        ),
        logging=Logging(
            arguments.check_count("log_every_n_steps", log_every_n_steps, 1),
            first_device=flags.get_flag("log_first_clone"),
            profile=recording.profile_steps(flags.get_flag("profile_steps"), directory),
            settings=recording.settings(),
            program=command.recorded(),
            also=recording.also(),
            loggers=recording.loggers(),
        ),
        outputs=Outputs(_output_fn(output_fn), _output_every(output_fn, output_every_n_steps)),
        summaries=Summaries(
            arguments.check_count("save_summary_steps", save_summary_steps, 1),
            automatic=verbosity >= 1,
            histograms=verbosity >= 2,
        ),
        saving=Saving(
            every_secs=seconds,
            every_steps=steps,
            hours=saving.hours(),
            cached=cache.wanted(),
            in_step=saving.in_step(),
            best=saving.best(),
        ),
        export=Export(bool(exporting), exporting),
        precision=_precision(),
        threads=Threads(flags.get_flag("num_inter_threads"), flags.get_flag("num_intra_threads")),
        seed=flags.get_flag("seed"),
        placement=placed,
    )
    if wanted is not None:
        with graph_keras.shown():
            export_only.end_with_export(job, wanted)
    with graph_keras.shown():
        return rehearsed.rehearse(lambda: job) if dry else engine.execute(job)


def _optimizers(
    functions: Sequence[Callable[..., Any]], batch: int | None, placed: Placement
) -> Sequence[Callable[[], Any]]:
    """Returns the program's optimizer functions, with the wrappers that flags ask for."""
    called = [positional("optimizer_fn", function, 0) for function in functions]
    taken = None if batch is None else batch * flags.get_flag("accumulate_steps")
    return meeting.checked(compression.optimizers(called, taken, placed), placed)


def _compute_dtype() -> str | None:
    if flags.get_flag("use_fp16") and flags.get_flag("use_bf16"):
        raise MoxValueError("--use_fp16 and --use_bf16 are both given; choose one.")
    if flags.get_flag("use_fp16"):
        return "float16"
    return "bfloat16" if flags.get_flag("use_bf16") else None


def _precision() -> Precision:
    """Returns the precision; a dynamic loss scale starts high, because it adapts downward."""
    compute_dtype = _compute_dtype()
    scale, dynamic = float(flags.get_flag("loss_scale")), flags.get_flag("dynamic_loss_scale")
    if not 0 < scale < float("inf"):
        raise MoxValueError(f"--loss_scale={scale}: it must be a finite number above 0.")
    if dynamic and scale == 1.0:
        scale = _DYNAMIC_LOSS_SCALE
    return Precision(compute_dtype, scale, dynamic)


def _refuse_fetch_strategy(fetch_strategy_fn: Any) -> None:
    if fetch_strategy_fn is not None:
        raise MoxNotSupportedError(
            "fetch_strategy_fn is not supported: what it did was never published. Leave it out."
        )


def _save_schedule(seconds: Any, steps: Any) -> tuple[float | None, int | None]:
    by_steps = None
    if steps is not _UNSET and steps is not None:
        by_steps = arguments.check_count("save_model_steps", steps, 1)
    if seconds is _UNSET:
        return (None if by_steps else _SAVE_SECS), by_steps
    by_time = arguments.check_seconds("save_model_secs", seconds)
    return by_time, None if by_time is not None else by_steps


def _output_fn(output_fn: Any) -> Any:
    if output_fn is None:
        return None
    return positional("output_fn", arguments.check_callable("output_fn", output_fn), 1)


def _output_every(output_fn: Any, every: Any) -> int:
    count = arguments.check_count("output_every_n_steps", every, 0)
    if output_fn is not None and count == 0:
        raise MoxValueError(
            "output_fn is given, but output_every_n_steps is 0: it would never be called. Pass the"
            " number of steps whose outputs it gets at a time."
        )
    return count


def _model_fn(model_fn: Callable[..., Any], groups: Groups, output_fn: Any, inter_mode: Any) -> Any:
    call = groups.to_model_fn(positional("model_fn", model_fn, 2))
    evaluates = inter_mode is not None

    def build(inputs: Any, mode: str) -> Model:
        spec = call(inputs, mode)
        if not isinstance(spec, ModelSpec):
            raise MoxTypeError(
                f"model_fn returned {describe(spec)} in {mode}; it must return mox.ModelSpec(...)."
            )
        if not (evaluates and mode == inter_mode):
            _check_complete(spec, mode, wants_outputs=output_fn is not None)
        if mode == ModeKeys.TRAIN and not evaluates:
            _check_no_evaluation(spec)
        return _as_model(spec)

    return presented_as(model_fn, build)


def _check_complete(spec: ModelSpec, mode: str, wants_outputs: bool) -> None:
    needed = {
        ModeKeys.TRAIN: ("loss", spec.losses),
        ModeKeys.EVAL: ("log_info", spec.log_info),
        ModeKeys.PREDICT: ("output_info", spec.output_info),
        ModeKeys.EXPORT: ("export_spec", spec.export_spec),
    }
    field, value = needed[mode]
    if not value:
        raise MoxValueError(
            f"ModelSpec has no {field}, which {mode} needs: mox.ModelSpec({field}=...)."
        )
    if wants_outputs and mode != ModeKeys.EXPORT and not spec.output_info:
        raise MoxValueError(
            f"output_fn is given, but ModelSpec has no output_info in {mode}: there is nothing to"
            " hand to it."
        )


def _check_no_evaluation(spec: ModelSpec) -> None:
    asking = [type(hook).__name__ for hook in spec.hooks if hook.run_inter_mode()]
    if asking:
        raise MoxValueError(
            f"the hook {asking[0]} evaluates during training (run_inter_mode() is True), which"
            " needs mox.run(..., inter_mode=mox.ModeKeys.EVAL)."
        )


def _as_model(spec: ModelSpec) -> Model:
    export = None
    if spec.export_spec is not None:
        inner = spec.export_spec
        export = ExportSignature(inner.inputs_dict, inner.outputs_dict, inner.version)
    return Model(
        losses=tuple(
            Loss(tensor, scopes) for tensor, scopes in zip(spec.losses, spec.scopes, strict=True)
        ),
        log=spec.log_info,
        outputs=spec.output_info,
        export=export,
        hooks=tuple(hook for hook in spec.hooks if not hook.run_inter_mode()),
        inter_hooks=tuple(hook for hook in spec.hooks if hook.run_inter_mode()),
    )
