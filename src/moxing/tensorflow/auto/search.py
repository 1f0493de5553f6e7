"""`mox.auto.search`: tries learning rates and other hyper-parameters in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from moxing import flags
from moxing.engine.wording import report
from moxing.errors import MoxNotSupportedError, MoxRuntimeError, MoxTypeError, MoxValueError, shown
from moxing.flags import hello, rehearsal
from moxing.flags.placement import placement
from moxing.logs import TENSORFLOW
from moxing.tensorflow.auto import picture
from moxing.tensorflow.auto.curve import best_value, choose_rate, window_of
from moxing.tensorflow.auto.hook import Sweep, Watch
from moxing.tensorflow.auto.params import ModelSize, ParamSpec, values
from moxing.tensorflow.auto.passing import check
from moxing.tensorflow.auto.score import DIVERGED, Score, best
from moxing.tensorflow.auto.trials import Trials
from moxing.tensorflow.executor import arguments, export_only

_RATE = "learning_rate"
_DECAY = "weight_decay"
# Only a detector's evaluation reads these parameters: one training serves all their values.
_OF_EVALUATION = ("nms_score_threshold", "nms_iou_threshold", "score_threshold", "iou_threshold")
_START_RATE = 0.01  # Functions get this rate if the program gives no rate to start from.


def search(
    input_fn: Callable[..., Any],
    model_fn: Callable[..., Any],
    optimizer_fn: Any,
    batch_size: int | None,
    auto_batch: bool,
    total_steps: int,
    evaluation_total_steps: int,
    model_size: str | None = None,
    by_acc: bool = True,
    checkpoint_path: Any = None,
    select_by_eval: bool = False,
    weight_decay_diff_thres: float = 0.05,
    max_thres: int = 10,
    window: int = 50,
    warmup_steps: int = 0,
    warmup_lr: float = 0.01,
    evaluate_every_n_steps: int = 1,
    log_every_n_steps: int = 10,
    init_learning_rate: float | None = None,
    end_learning_rate: float | None = None,
    acc_name: str = "accuracy",
    loss_name: str = "loss",
    search_learning_rate: bool = True,
    param_spec: ParamSpec | None = None,
    param_list_spec: ParamSpec | None = None,
    log_dir: Any = None,
) -> ParamSpec:
    """Finds hyper-parameters in short trials, which leave no files and change no flags.

    The search chooses weight_decay first, then the learning rate, then the other parameters, each
    with the values already chosen. A range test finds the learning rate: a training of
    `total_steps` in which the rate grows by the same factor at each step. With a list for
    weight_decay, there is one range test per value, and the largest value whose result is about as
    good as the best is chosen.

    Args:
        input_fn, model_fn, optimizer_fn, batch_size, auto_batch, checkpoint_path: see `mox.run`.
            Functions that accept it get the values being tried as `kwargs["param_spec"]`.
        total_steps: the number of steps in each trial's training.
        evaluation_total_steps: the number of batches in each trial's evaluation.
        model_size: mox.auto.ModelSize.SMALL tests rates from 1e-4 to 10, LARGE from 1e-5 to 3.
            None: LARGE for models with a million trainable parameters or more.
        by_acc: whether acc_name, of which higher is better, decides; else loss_name does.
        select_by_eval: whether an evaluation after each trial's training decides; else the mean of
            the last training steps does. Parameters of detectors' evaluations (score_threshold and
            similar) are always evaluated.
        weight_decay_diff_thres: how much worse than the best a weight_decay may be: a difference
            of acc_name, or a fraction of the best loss_name.
        max_thres: a range test ends when the metric has got worse more often than this, minus the
            times it got better. It also ends at NaN, and at a loss of four times its best value.
        window: the number of values to average: at most a tenth of a range test, and at most the
            last third of another training.
        warmup_steps: the number of steps at warmup_lr before a range test.
        warmup_lr: the learning rate of the warmup.
        evaluate_every_n_steps: the number of steps between recorded values of a training.
        log_every_n_steps: the number of steps between log lines.
        init_learning_rate, end_learning_rate: the range of rates; None: by model_size.
        acc_name, loss_name: the names of the accuracy and the loss in log_info.
        search_learning_rate: whether to run a range test. There is none if param_list_spec has
            learning rates to try.
        param_spec: the values to start from; values without a list do not change.
        param_list_spec: the lists of values to try.
        log_dir: the directory for `learning_rate_search.png`, a picture of the range test; None:
            no picture.

    Returns:
        A new ParamSpec with the chosen values.

    Raises:
        MoxKeyError: acc_name or loss_name is not in log_info.
        MoxRuntimeError: training diverged in every trial.
        MoxNotSupportedError: several processes train together, or the optimizer's learning rate
            can't be changed.
        MoxError: see `mox.run`.
    """
    hello.say_hello()
    flags.read_command_line()
    rehearsal.refuse("mox.auto.search", "pass a small total_steps")
    start = values(check("param_spec", param_spec)) if param_spec is not None else {}
    lists = _lists(param_list_spec)
    directory = arguments.check_path("log_dir", log_dir)
    sweep = Sweep(
        steps=arguments.check_count("total_steps", total_steps, 2),
        warmup_steps=arguments.check_count("warmup_steps", warmup_steps, 0),
        warmup_rate=_rate("warmup_lr", warmup_lr) or 0.0,
        first=_rate("init_learning_rate", init_learning_rate),
        last=_rate("end_learning_rate", end_learning_rate),
        model_size=_model_size(model_size),
        window=arguments.check_count("window", window, 1),
        max_falls=arguments.check_count("max_thres", max_thres, 1),
    )
    if sweep.first and sweep.last and not sweep.first < sweep.last:
        raise MoxValueError(
            f"init_learning_rate={sweep.first:g}: it must be below end_learning_rate, which is"
            f" {sweep.last:g}."
        )
    trials = Trials(
        functions={"input_fn": input_fn, "model_fn": model_fn, "optimizer_fn": optimizer_fn},
        arguments={
            "batch_size": batch_size,
            "auto_batch": auto_batch,
            "checkpoint_path": checkpoint_path,
            "log_every_n_steps": log_every_n_steps,
        },
        steps=sweep.steps,
        evaluation_steps=arguments.check_count("evaluation_total_steps", evaluation_total_steps, 1),
        metric=acc_name if by_acc else loss_name,
        grows=bool(by_acc),
        loss_name=loss_name,
        by_evaluation=bool(select_by_eval),
        every=arguments.check_count("evaluate_every_n_steps", evaluate_every_n_steps, 1),
        window=sweep.window,
    )
    if export_only.requested() is not None:
        # `mox export` needs the program's run, for which any hyper-parameters will do.
        return ParamSpec(**{**{name: tried[0] for name, tried in lists.items()}, **start})
    _refuse_several_processes()
    began = time.perf_counter()
    finder = _Search(trials, sweep, start, lists, float(weight_decay_diff_thres))
    chosen = finder.run(bool(search_learning_rate))
    if directory is not None and finder.test is not None:
        picture.draw(finder.test, chosen[_RATE], loss_name, trials, directory)
    found = ", ".join(f"{name}={_shown(value)}" for name, value in chosen.items())
    spent = report.duration(time.perf_counter() - began)
    TENSORFLOW.info("mox.auto.search chose %s in %s.", found, spent)
    return ParamSpec(**chosen)


class _Search:
    """A search, which chooses one parameter at a time."""

    def __init__(
        self,
        trials: Trials,
        sweep: Sweep,
        start: Mapping[str, Any],
        lists: Mapping[str, list[Any]],
        tolerance: float,
    ) -> None:
        self._trials, self._sweep, self._tolerance = trials, sweep, tolerance
        self._lists = dict(lists)
        self._chosen: dict[str, Any] = dict(start)
        for name, candidates in lists.items():
            self._chosen.setdefault(name, candidates[0])
        # The range test whose learning rate was chosen.
        self.test: Watch | None = None

    def run(self, search_rate: bool) -> dict[str, Any]:
        """Returns the chosen values by name."""
        if search_rate and _RATE not in self._lists:
            self._by_range_tests(self._lists.pop(_DECAY, None))
        order = [_DECAY, _RATE, *(name for name in self._lists if name not in (_DECAY, _RATE))]
        for name in order:
            if name in self._lists:
                self._by_trials(name, self._lists[name])
        return self._chosen

    def _by_range_tests(self, decays: list[Any] | None) -> None:
        """Chooses the learning rate, and a weight decay from `decays` if given."""
        self._chosen.setdefault(_RATE, _START_RATE)
        tests: list[tuple[Any, Watch]] = []
        for decay in decays or [self._chosen.get(_DECAY)]:
            tried = {**self._chosen, **({} if decays is None else {_DECAY: decay})}
            watch, read = self._trials.range_test(tried, self._sweep)
            tests.append((decay, watch))
            if decays is not None and _DECAY not in read:
                self._say_unread(_DECAY)
                decays = None
                tests = [(self._chosen[_DECAY], watch)]
                break
        decay, watch = self._least_harmful(tests) if decays is not None else tests[0]
        if decays is not None:
            self._chosen[_DECAY] = decay
            _say(_DECAY, decay, len(decays))
        self.test = watch
        self._choose_rate(watch)

    def _least_harmful(self, tests: list[tuple[Any, Watch]]) -> tuple[Any, Watch]:
        """Returns the largest weight decay whose test was about as good as the best test."""
        window = window_of(self._sweep.window, self._sweep.steps // self._trials.every)
        metric, grows = self._trials.metric, self._trials.grows
        bests = [best_value(watch.curves[metric], window) for _, watch in tests]
        top = max(bests) if grows else min(bests)
        if not math.isfinite(top):
            raise self._all_diverged()
        slack = self._tolerance if grows else self._tolerance * abs(top)
        able = [
            test
            for test, value in zip(tests, bests, strict=True)
            if math.isfinite(value) and abs(value - top) <= slack
        ]
        return max(able, key=lambda test: float(test[0]))

    def _choose_rate(self, watch: Watch) -> None:
        curve = watch.curves[self._trials.metric]
        window = window_of(self._sweep.window, len(curve.values))
        if not any(map(math.isfinite, curve.values)):
            raise self._all_diverged()
        if watch.blind:
            self._say_unread(_RATE)
        rate = self._rate_of(watch, window)
        low, high = watch.limits
        tested = f"tested {low:g} to {curve.rates[-1]:g}" + (
            f", where {curve.broke}" if curve.broke else f" of {high:g}"
        )
        if rate is None:
            TENSORFLOW.warning(
                "%s got no better at any learning rate (%s): learning_rate stays %s. Raise"
                " total_steps, or look at the model.",
                self._trials.metric,
                tested,
                _shown(self._chosen[_RATE]),
            )
            return
        self._chosen[_RATE] = float(f"{rate:.3g}")
        TENSORFLOW.info("mox.auto.search: learning_rate=%s (%s).", _shown(rate), tested)

    def _rate_of(self, watch: Watch, window: int) -> float | None:
        """Returns the rate that the deciding metric suggests, or a higher one from the loss.

        The first small steps may already gain most of the accuracy, which depends only on the
        order of logits; the loss falls until their sizes are right, too.
        """
        rates = [choose_rate(curve, window) for curve in watch.curves.values()]
        if choose_rate(watch.curves[self._trials.metric], window) is None:
            return None
        return max(rate for rate in rates if rate is not None)

    def _by_trials(self, name: str, candidates: list[Any]) -> None:
        """Chooses the candidate with the best trial."""
        scores: list[Score] = []
        read: set[str] = set()
        if name in _OF_EVALUATION:
            scores, read = self._trials.score(self._chosen, {name: candidates})
        else:
            for candidate in candidates:
                score, read = self._trials.score({**self._chosen, name: candidate})
                scores += score
                if name not in read:
                    break
        if name not in read:
            self._say_unread(name)
            return
        if all(score == DIVERGED for score in scores):
            raise self._all_diverged()
        self._chosen[name] = candidates[best(scores)]
        _say(name, self._chosen[name], len(candidates))

    def _say_unread(self, name: str) -> None:
        TENSORFLOW.warning(
            "No function of the program reads param_spec.%s: the value chosen for it changes"
            " nothing. Take **kwargs, and kwargs['param_spec'].%s.",
            name,
            name,
        )

    def _all_diverged(self) -> MoxRuntimeError:
        return MoxRuntimeError(
            "Training diverged in every trial, so nothing can be chosen. Lower init_learning_rate"
            " or the learning rate in param_spec, or look at the model."
        )


def _say(name: str, value: Any, number: int) -> None:
    TENSORFLOW.info("mox.auto.search: %s=%s (the best of %d).", name, _shown(value), number)


def _lists(spec: ParamSpec | None) -> dict[str, list[Any]]:
    if spec is None:
        return {}
    found = values(check("param_list_spec", spec))
    for name, candidates in found.items():
        if not isinstance(candidates, list | tuple) or not candidates:
            raise MoxTypeError(
                f"param_list_spec: {name}={shown(candidates)}: it must be a list of values to try."
            )
    return {name: list(candidates) for name, candidates in found.items()}


def _rate(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise MoxTypeError(f"{name}={shown(value)}: it must be a number.") from error
    if not 0 < number < math.inf:
        raise MoxValueError(f"{name}={shown(value)}: it must be finite and above 0.")
    return number


def _model_size(value: Any) -> str | None:
    if value is not None and value not in (ModelSize.LARGE, ModelSize.SMALL):
        raise MoxValueError(
            f"model_size={shown(value)}: it must be mox.auto.ModelSize.LARGE, SMALL or None."
        )
    return value


def _refuse_several_processes() -> None:
    if not placement().group.alone:
        raise MoxNotSupportedError(
            "mox.auto.search works in one process: run it once without the cluster's flags, and"
            " give its result to mox.auto.run(param_spec=...)."
        )


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
