"""`tf.keras.estimator.model_to_estimator`: an Estimator of a compiled Keras model."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph.rewrites.resources import resource_variables
from moxing.errors import MoxTypeError, MoxValueError
from moxing.estimator.config import RunConfig
from moxing.estimator.estimator import Estimator
from moxing.estimator.export import PredictOutput
from moxing.estimator.from_keras.recipe import Recipe, fresh_metrics, rebuilt, take_apart
from moxing.estimator.modeling.metrics import announce, of_keras
from moxing.estimator.modeling.spec import EstimatorSpec, ModeKeys
from moxing.framework import file
from moxing.framework.file import urls
from moxing.framework.file.configuration import tuning

_SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
# Keras abbreviates accuracy when TensorFlow 2 behavior is off.
_SHORT, _LONG = "acc", "accuracy"


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Mapping[str, Any] | None = None,
    model_dir: Any = None,
    config: RunConfig | None = None,
    checkpoint_format: str | None = None,
    metric_names_map: Mapping[str, str] | None = None,
    export_outputs: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Estimator:
    """Returns an Estimator that trains a Keras model, starting from its current weights.

    Each run builds the model again in its own graph. The trained weights are in the checkpoints of
    model_dir; `keras_model` itself does not change.

    Args:
        keras_model: a compiled tf_keras model, Sequential or functional.
        keras_model_path: the path or URL of such a saved model, instead of keras_model.
        custom_objects: the program's own layers and functions, by name.
        model_dir, config: see `Estimator`.
        checkpoint_format: not used: checkpoints have TensorFlow's format.
        metric_names_map: names of metrics in the results, by Keras's names.
        export_outputs: by signature name, a function from the dict of predictions to an export
            output.

    Raises:
        MoxTypeError, MoxValueError: the argument is not a compiled and built tf_keras model.
        MoxNotSupportedError: the model can't be rebuilt; the message names an alternative.
    """
    del checkpoint_format
    if (keras_model is None) == (keras_model_path is None):
        raise MoxValueError("model_to_estimator needs one of keras_model and keras_model_path.")
    if keras_model is None:
        import tf_keras

        with _near(keras_model_path) as path:
            known = dict(custom_objects or {})
            keras_model = tf_keras.models.load_model(path, custom_objects=known)
    recipe = take_apart(keras_model, custom_objects)
    names = dict(metric_names_map or {})

    def keras_model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        return _spec(recipe, features, labels, mode, names, export_outputs or {})

    folder = tempfile.mkdtemp(prefix="moxing-keras-")
    estimator = Estimator(keras_model_fn, model_dir, config, warm_start_from=_save(recipe, folder))
    weakref.finalize(estimator, shutil.rmtree, folder, ignore_errors=True)
    return estimator


@contextmanager
def _near(path: Any) -> Iterator[str]:
    """In the block, the local path of a saved model; a remote model is copied first."""
    if not file.is_remote(path):
        yield os.fspath(path)
        return
    url = urls.text(path).rstrip("/")
    with tempfile.TemporaryDirectory(prefix="moxing-keras-", dir=tuning.staging_dir()) as folder:
        local = os.path.join(folder, url.rpartition("/")[2])
        file.copy_parallel(url, local)
        yield local


def _spec(
    recipe: Recipe,
    features: Any,
    labels: Any,
    mode: str,
    names: Mapping[str, str],
    export_outputs: Mapping[str, Callable[[Any], Any]],
) -> EstimatorSpec:
    given = _inputs(recipe.model, features)
    with rebuilt(recipe, given, mode == ModeKeys.TRAIN) as model:
        predictions = dict(zip(model.output_names, model.outputs, strict=True))
        if mode == ModeKeys.PREDICT:
            made = {name: make(predictions) for name, make in export_outputs.items()}
            return EstimatorSpec(
                mode,
                predictions=predictions,
                export_outputs={_SIGNATURE: PredictOutput(predictions), **made},
            )
        metrics = fresh_metrics(recipe.metrics) if mode == ModeKeys.EVAL else None
        weighted = fresh_metrics(recipe.weighted_metrics) if mode == ModeKeys.EVAL else None
        model.compile(
            optimizer="sgd",  # Not used.
            loss=recipe.loss,
            loss_weights=recipe.loss_weights,
            metrics=metrics,
            weighted_metrics=weighted,
            target_tensors=_targets(model, labels),
        )
        # With several outputs, training also updates the mean loss of each output.
        for metric in (*model.metrics, *(model._output_loss_metrics or ())):
            announce(metric.variables)
        if mode == ModeKeys.EVAL:
            found = {_named(m.name, recipe, names): of_keras(m.name, m) for m in model.metrics}
            return EstimatorSpec(
                mode, predictions=predictions, loss=model.total_loss, eval_metric_ops=found
            )
        optimizer = recipe.make_optimizer()
        return EstimatorSpec(
            mode,
            predictions=predictions,
            loss=model.total_loss,
            train_op=_update(optimizer, model.total_loss, model.trainable_weights),
        )


def _update(optimizer: Any, loss: tf.Tensor, variables: Any) -> Any:
    if isinstance(optimizer, tf.train.Optimizer):
        return optimizer.minimize(loss, tf.train.get_global_step(), var_list=variables)
    return tf.group(*optimizer.get_updates(loss, variables))


def _inputs(model: Any, features: Any) -> list[Any]:
    """Returns the features in the order of the model's inputs, cast to their dtypes."""
    names = list(model.input_names)
    if isinstance(features, Mapping):
        missing = [name for name in names if name not in features]
        if missing and not len(names) == len(features) == 1:
            raise MoxValueError(
                f"input_fn gives the features {', '.join(map(repr, features))}, and the model's"
                f" inputs are {', '.join(map(repr, names))}. Give a dict by these names, or name"
                " the inputs: tf.keras.Input(shape, name=...)."
            )
        tensors = list(features.values()) if missing else [features[name] for name in names]
    else:
        tensors = list(features) if isinstance(features, list | tuple) else [features]
    if len(tensors) != len(names):
        raise MoxValueError(
            f"input_fn gives {len(tensors)} features, and the model has {len(names)} inputs:"
            f" {', '.join(names)}."
        )
    pairs = zip(tensors, model.inputs, strict=True)
    return [tf.cast(tensor, wanted.dtype) for tensor, wanted in pairs]


def _targets(model: Any, labels: Any) -> Any:
    if labels is None:
        raise MoxTypeError(
            "input_fn gives no labels, which a Keras model needs to be trained and evaluated:"
            " return (features, labels)."
        )
    if isinstance(labels, Mapping):
        missing = [name for name in model.output_names if name not in labels]
        if missing:
            raise MoxValueError(
                f"input_fn gives no labels for the model's output {missing[0]!r}; it gives"
                f" {', '.join(map(repr, labels))}."
            )
        return [labels[name] for name in model.output_names]
    return list(labels) if isinstance(labels, list | tuple) else [labels]


def _named(name: str, recipe: Recipe, names: Mapping[str, str]) -> str:
    """Returns a metric's name as the program knows it: "accuracy" if it asked for "accuracy"."""
    asked = tf.nest.flatten([recipe.metrics, recipe.weighted_metrics])
    if _LONG in asked and (name == _SHORT or name.endswith(f"_{_SHORT}")):
        name = name.removesuffix(_SHORT) + _LONG
    return names.get(name, name)


def _save(recipe: Recipe, folder: str) -> str:
    """Writes the weights to a checkpoint, under the variable names of a run's graph."""
    prefix = os.path.join(folder, "keras_model.ckpt")
    with tf.Graph().as_default() as graph, resource_variables():
        tf.train.get_or_create_global_step()
        fed = [tf.placeholder(item.dtype, item.shape) for item in recipe.model.inputs]
        with rebuilt(recipe, fed, False) as model:
            names = [variable.op.name for variable in model.weights]
        values = [tf.placeholder(value.dtype, value.shape) for value in recipe.weights]
        save = tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=values
        )
        with tf.Session(graph=graph) as session:
            session.run(save, dict(zip(values, recipe.weights, strict=True)))
    return prefix
