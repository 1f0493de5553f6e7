"""`tf.contrib.learn.Estimator`: fit, evaluate and predict on arrays, by openmox's Estimator."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.estimator.estimator import Estimator as _Estimator
from moxing.estimator.modeling import functions
from moxing.estimator.modeling.spec import ModeKeys, SpecLike
from moxing.legacy.contrib.learn import model_results, monitors
from moxing.legacy.contrib.learn.inputs import input_fn_of

_OPTIONAL = ("mode", "params", "config", "model_dir")


class LearnMethods(_Estimator):
    """The methods of `tf.contrib.learn`'s Estimators, which take arrays or an input function."""

    _metrics: Mapping[Any, Any] | None = None

    @property
    def given_model_fn(self) -> Callable[..., Any]:
        """The model function; in an evaluation with metrics it also makes those."""
        given, metrics = super().given_model_fn, self._metrics
        if not metrics:
            return given

        def call(features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
            made = functions.call_model_fn(given, features, labels, mode, params, config)
            if mode != ModeKeys.EVAL or not isinstance(made, SpecLike):
                return made
            spec = made.as_estimator_spec()
            added = model_results.metric_ops(metrics, features, labels, spec.predictions)
            return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

        return call

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> Any:
        """Trains from the newest checkpoint on, and returns this Estimator.

        Args:
            x, y: arrays of features and labels, or dicts of arrays, in place of `input_fn`.
            input_fn: see `tf.estimator.Estimator.train`.
            steps: the number of steps to train in this call.
            batch_size: the number of samples in a batch of arrays; None: all.
            monitors: SessionRunHooks, or monitors of `tf.contrib.learn.monitors`.
            max_steps: training ends when the global step reaches this value.
        """
        chosen = input_fn_of("fit", x, y, input_fn, batch_size, trains=True)
        hooks, listeners = _monitors(monitors, self)
        return self.train(self._adapted(chosen), hooks, steps, max_steps, listeners)

    partial_fit = fit

    def evaluate(  # type: ignore[override]
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        feed_fn: Callable[[], Any] | None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Sequence[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Evaluates a checkpoint, see `tf.estimator.Estimator.evaluate`.

        Args:
            x, y, input_fn, batch_size: see `fit`; arrays are read once, in their order.
            feed_fn: returns a feed_dict for every step.
            steps: the number of batches; None: all the data.
            metrics: more metrics: by name, a MetricSpec or a function of (predictions, labels).
            name, checkpoint_path, hooks: see `tf.estimator.Estimator.evaluate`.
            log_progress: not used.
        """
        del log_progress
        if callable(x) and input_fn is None:
            x, input_fn = None, x  # Called as tf.estimator's: evaluate(input_fn).
        chosen = input_fn_of("evaluate", x, y, input_fn, batch_size, trains=False)
        feeding = [tf.train.FeedFnHook(feed_fn)] if feed_fn is not None else []
        with self._with_metrics(metrics):
            return super().evaluate(
                self._adapted(chosen), steps, [*(hooks or ()), *feeding], checkpoint_path, name
            )

    def predict(  # type: ignore[override]
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
        **others: Any,
    ) -> Any:
        """Predicts with the newest checkpoint.

        Args:
            x, input_fn, batch_size: see `fit`.
            outputs: the names of the predictions to return; None: all.
            as_iterable: whether predictions are yielded, one sample at a time; False: returns
                arrays of all samples.
            iterate_batches: whether batches are yielded.
            **others: further arguments of `tf.estimator.Estimator.predict`.

        Returns:
            An iterator, or an array or a dict of arrays.
        """
        if callable(x) and input_fn is None:
            x, input_fn = None, x
        chosen = input_fn_of("predict", x, None, input_fn, batch_size, trains=False)
        keys = list(outputs) if outputs is not None else others.pop("predict_keys", None)
        found = super().predict(
            self._adapted(chosen), keys, yield_single_examples=not iterate_batches, **others
        )
        return found if as_iterable else _stacked(list(found), iterate_batches)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments of the Estimator, by name."""
        del deep
        return {"model_dir": self.model_dir, "params": self.params, "config": self.config}

    def _adapted(self, input_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the input function as this Estimator's model function needs it."""
        return input_fn

    @contextlib.contextmanager
    def _with_metrics(self, metrics: Mapping[Any, Any] | None) -> Iterator[None]:
        self._metrics = metrics
        try:
            yield
        finally:
            self._metrics = None


class Estimator(LearnMethods):
    """An Estimator whose model function returns ModelFnOps or (predictions, loss, train_op).

    Args:
        model_fn: a function of features and labels, by position, and, by name, of those of mode,
            params, config and model_dir that it has parameters for.
        model_dir, config, params: see `tf.estimator.Estimator`.
        feature_engineering_fn: a function of (features, labels), whose pair of results the model
            function gets.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        taken = functions.names(model_fn)

        def adapted(features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            known = dict(mode=mode, params=params, config=config, model_dir=config.model_dir)
            named = {name: known[name] for name in _OPTIONAL if name in taken}
            return model_results.spec_of(mode, model_fn(features, labels, **named))

        super().__init__(adapted, model_dir, config, params)


class SKCompat:
    """An Estimator with the methods of scikit-learn: fit and predict return plain results."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> SKCompat:
        """Trains on arrays, and returns this object."""
        self._estimator.fit(
            x, y, steps=steps, max_steps=max_steps, batch_size=batch_size, monitors=monitors
        )
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Returns the metrics of the newest checkpoint on arrays."""
        return self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """Returns the predictions of all samples, as arrays."""
        return self._estimator.predict(
            x=x, batch_size=batch_size, outputs=outputs, as_iterable=False
        )


def _monitors(given: Sequence[Any] | None, estimator: Any) -> tuple[list[Any], list[Any]]:
    """Returns the hooks among monitors, and the listeners that others stand for."""
    hooks, listeners = [], []
    for monitor in given or ():
        hooks.append(monitor)
        if isinstance(monitor, monitors.ValidationMonitor):
            monitor.set_estimator(estimator)
            listeners.append(monitor.listener)
    return hooks, listeners


def _stacked(found: list[Any], batches: bool) -> Any:
    join = np.concatenate if batches else np.stack
    if found and isinstance(found[0], Mapping):
        return {name: join([item[name] for item in found]) for name in found[0]}
    return join(found) if found else np.array([])
