"""`tf.contrib.gan.estimator`: an Estimator of a generator and a discriminator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.estimator import Estimator, EstimatorSpec, ModeKeys
from moxing.legacy.contrib.gan import models, training


class GANEstimator(Estimator):
    """Trains both networks, evaluates their losses, and predicts with the generator."""

    def __init__(
        self,
        model_dir: Any = None,
        generator_fn: Any = None,
        discriminator_fn: Any = None,
        generator_loss_fn: Any = None,
        discriminator_loss_fn: Any = None,
        generator_optimizer: Any = None,
        discriminator_optimizer: Any = None,
        get_hooks_fn: Callable[..., Any] | None = None,
        get_eval_metric_ops_fn: Callable[..., Any] | None = None,
        add_summaries: Any = None,
        use_loss_summaries: bool = True,
        config: Any = None,
        warm_start_from: Any = None,
        is_chief: bool = True,
        params: Any = None,
    ) -> None:
        """Makes the Estimator.

        Args:
            model_dir: the folder of checkpoints.
            generator_fn: makes data of the features; may take `mode`.
            discriminator_fn: judges data; may take `mode`.
            generator_loss_fn: a loss of `tf.contrib.gan.losses`.
            discriminator_loss_fn: such a loss, too.
            generator_optimizer: an optimizer, or a function that returns one.
            discriminator_optimizer: likewise.
            get_hooks_fn: makes the hooks that run the train operations.
            get_eval_metric_ops_fn: makes further metrics of a model.
            add_summaries: without effect here.
            use_loss_summaries: whether losses are summaries.
            config: a RunConfig.
            warm_start_from: as for every Estimator.
            is_chief: without effect here.
            params: as for every Estimator.
        """

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            scope = functools.partial(tf.variable_scope, "Generator")
            make, judge = _with_mode(generator_fn, mode), _with_mode(discriminator_fn, mode)
            if mode == ModeKeys.PREDICT:
                with scope():
                    return EstimatorSpec(mode, predictions=make(features))
            model = models.gan_model(make, judge, labels, features)
            loss = training.gan_loss(
                model, generator_loss_fn, discriminator_loss_fn, add_summaries=use_loss_summaries
            )
            if mode == ModeKeys.EVAL:
                return _evaluated(model, loss, get_eval_metric_ops_fn)
            optimizers = [_made(o) for o in (generator_optimizer, discriminator_optimizer)]
            ops = training.gan_train_ops(model, loss, *optimizers)
            hooks = (get_hooks_fn or training.get_sequential_train_hooks())(ops)
            return EstimatorSpec(
                mode,
                loss=loss.discriminator_loss,
                train_op=ops.global_step_inc_op,
                training_hooks=hooks,
            )

        super().__init__(model_fn, model_dir, config, params, warm_start_from)


def _with_mode(function: Callable[..., Any], mode: str) -> Callable[..., Any]:
    if "mode" in inspect.signature(function).parameters:
        return functools.partial(function, mode=mode)
    return function


def _made(optimizer: Any) -> Any:
    return optimizer() if callable(optimizer) else optimizer


def _evaluated(model: Any, loss: Any, metrics_of: Callable[..., Any] | None) -> Any:
    metrics = {
        "generator_loss": tf.metrics.mean(loss.generator_loss),
        "discriminator_loss": tf.metrics.mean(loss.discriminator_loss),
    }
    metrics.update(metrics_of(model) if metrics_of else {})
    return EstimatorSpec(ModeKeys.EVAL, loss=loss.discriminator_loss, eval_metric_ops=metrics)
