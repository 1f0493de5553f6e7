"""The Estimator: a model function, and a directory with the checkpoints of its training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.cluster.cluster import EVALUATOR
from moxing.engine.graph import graph_keras
from moxing.engine.job.job import Job
from moxing.engine.remote.at_hand import at_hand
from moxing.errors import (
    MoxNotSupportedError,
    MoxValueError,
    near_matches,
)
from moxing.estimator.described import Described
from moxing.estimator.modeling.spec import ModeKeys
from moxing.estimator.running import (
    checkpoints,
    evaluations,
    jobs,
    predictions,
    runtime,
    sharing,
    starting,
)
from moxing.estimator.running.steps import counted_from_here
from moxing.estimator.serving import exporting
from moxing.estimator.specs import check_hooks, check_listeners, check_steps
from moxing.flags import rehearsal
from moxing.framework.file import urls
from moxing.logs import TENSORFLOW


class Estimator(Described):
    """Trains, evaluates and exports the model that a model function builds, and predicts with it.

    Args:
        model_fn: a function that gets the features and, by name, those of labels, mode, params and
            config that it has parameters for; returns a `tf.estimator.EstimatorSpec`. It is
            called again for every mode and every device.
        model_dir: the directory of checkpoints and summaries; None: the model_dir of `config`, or
            a new temporary directory.
        config: a `tf.estimator.RunConfig`; None: its defaults.
        params: passed to the functions, a fresh copy at each call: a dict, or an object such as
            `tf.contrib.training.HParams` or a Namespace.
        warm_start_from: a checkpoint, a directory of checkpoints, or a
            `tf.estimator.WarmStartSettings` to start from when model_dir has no checkpoint.

    Raises:
        MoxTypeError, MoxValueError: an argument that can't be used.
        MoxNotSupportedError: an argument that openmox does not support.
    """

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[tf.train.CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Continues training from the newest checkpoint, and saves the last step.

        Args:
            input_fn: returns a Dataset of batches (features, labels), or a pair of such tensors.
            hooks: called around every step.
            steps: the number of steps to train in this call.
            max_steps: training ends when the global step reaches this value. With neither limit,
                training ends with the data.
            saving_listeners: called around every commit of a checkpoint.

        Raises:
            MoxError: the run is invalid, or fails.
            SystemExit: 143 after SIGTERM, 130 after Ctrl-C; the current step is saved first.
        """
        if steps is not None and max_steps is not None:
            raise MoxValueError(
                f"Estimator.train has steps={steps} and max_steps={max_steps}; give one of them."
            )
        steps = check_steps("Estimator.train", "steps", steps)
        max_steps = check_steps("Estimator.train", "max_steps", max_steps)
        cluster = runtime.cluster()
        if cluster is not None and cluster.job == EVALUATOR:
            TENSORFLOW.info("%s leaves the training to the workers.", cluster.task)
            return self
        own = check_hooks("Estimator.train", hooks)
        listeners = check_listeners("Estimator.train", saving_listeners)

        def job() -> Job:
            made = jobs.training(self, input_fn, max_steps, own, listeners, again=True)
            return made if steps is None else counted_from_here(made, steps, self._step)

        with sharing.training(), graph_keras.shown():
            rehearsal.execute(job)
        return self

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        checkpoint_path: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluates a checkpoint in one process: the chief, where there are several.

        Args:
            input_fn: see `train`.
            steps: the number of batches to evaluate; None: all the data.
            hooks: called around every step.
            checkpoint_path: the checkpoint; None: the newest in model_dir, else `warm_start_from`.
            name: the name of the evaluation; its summaries go to `eval_<name>` in model_dir.

        Returns:
            The value of each metric, "loss" (the mean over all samples), and "global_step". The
            chief shares its values with every worker that calls this method.

        Raises:
            CheckpointError: there is no checkpoint, and model_fn reads no weights either.
        """
        count = check_steps("Estimator.evaluate", "steps", steps)
        own = check_hooks("Estimator.evaluate", hooks)

        def here() -> dict[str, Any]:
            path = self._start(checkpoint_path, quiet=True)  # The run says what is damaged.
            return evaluations.evaluate(self, input_fn, count, own, path, name)

        cluster = runtime.cluster()
        if cluster is None or cluster.job == EVALUATOR:
            return here()
        return sharing.of_chief(runtime.group(self.config), here)

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        checkpoint_path: Any = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yields predictions lazily, by default one example at a time.

        Args:
            input_fn: returns features; labels, if any, are not used.
            predict_keys: names of predictions to yield; None: all.
            hooks: called around every step.
            checkpoint_path: the checkpoint; None: the newest in model_dir, else `warm_start_from`.
            yield_single_examples: whether to split each batch into examples; False: yields batches.

        Yields:
            A dict of arrays by the names of the predictions; an array where model_fn's predictions
            are one tensor.

        Raises:
            CheckpointError: there is no checkpoint, and model_fn reads no weights either.
            MoxValueError: the predictions can't be split into examples.
        """
        wanted = [predict_keys] if isinstance(predict_keys, str) else predict_keys
        own = check_hooks("Estimator.predict", hooks)
        path = self._start(checkpoint_path)
        job = jobs.prediction(self, input_fn, own, path, wanted)
        return predictions.predictions(job, yield_single_examples)

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        experimental_mode: str = ModeKeys.PREDICT,
        **others: Any,
    ) -> bytes:
        """Exports a checkpoint as a SavedModel, to a new numbered directory of export_dir_base.

        Args:
            export_dir_base: the directory of all exports, a local path or a URL.
            serving_input_receiver_fn: returns a `tf.estimator.export.ServingInputReceiver`.
            assets_extra: files to copy, by their path within `assets.extra` of the export.
            as_text: whether the graph is written as text.
            checkpoint_path: the checkpoint; None: the newest in model_dir, else `warm_start_from`.
            experimental_mode: must be PREDICT.

        Returns:
            The path of the new directory, as bytes.

        Raises:
            CheckpointError: there is no checkpoint.
            MoxNotSupportedError: another mode, or an unknown argument with a true value.
        """
        if experimental_mode != ModeKeys.PREDICT or any(others.values()):
            raise MoxNotSupportedError(
                "export_saved_model exports the graph of predictions, for serving. Leave"
                f" {next(iter(others), 'experimental_mode')} out."
            )
        return exporting.export(
            self,
            rehearsal.folder_for(urls.text(export_dir_base)),
            serving_input_receiver_fn,
            self._checkpoint(checkpoint_path),
            dict(assets_extra or {}),
            as_text,
        )

    def export_savedmodel(self, *arguments: Any, **keywords: Any) -> bytes:
        """Calls `export_saved_model`, the newer name of this method."""
        keywords.pop("strip_default_attrs", None)
        return self.export_saved_model(*arguments, **keywords)

    def experimental_export_all_saved_models(self, *arguments: Any, **keywords: Any) -> bytes:
        """Always raises an error: openmox exports only predictions.

        Raises:
            MoxNotSupportedError: always; the message says which method to call instead.
        """
        del arguments, keywords
        raise MoxNotSupportedError(
            "Estimator.experimental_export_all_saved_models is not supported: only the predictions"
            " of a model are exported. Use Estimator.export_saved_model(export_dir_base,"
            " serving_input_receiver_fn), and Estimator.evaluate for metrics."
        )

    def get_variable_names(self) -> list[str]:
        """Returns the names of the variables in the newest checkpoint."""
        with at_hand(self._checkpoint(None)) as found:
            return [name for name, _ in tf.train.list_variables(found.prefix)]

    def get_variable_value(self, name: str) -> Any:
        """Returns the value of a variable in the newest checkpoint, as an array.

        Raises:
            MoxValueError: the checkpoint has no such variable.
        """
        with at_hand(self._checkpoint(None)) as found:
            names = [known for known, _ in tf.train.list_variables(found.prefix)]
            if name not in names:
                raise MoxValueError(
                    f"the newest checkpoint of {self.model_dir} has no variable {name!r}."
                    f"{near_matches(str(name), names)} get_variable_names() lists them."
                )
            return tf.train.load_variable(found.prefix, name)

    def _step(self) -> int:
        return checkpoints.step(self.latest_unsaid())

    def _start(self, path: Any, quiet: bool = False) -> str | None:
        """Returns `path`, or the newest checkpoint, or the warm-start one; None: there is none."""
        if path is not None:
            return rehearsal.checkpoint_for(urls.text(path))
        newest = self.latest_unsaid() if quiet else self.latest_checkpoint()
        return newest or self.earlier_checkpoint() or self.warm_start

    def _checkpoint(self, path: Any) -> str:
        """Returns the checkpoint to read: `path`, or the newest one, or the warm-start one.

        Raises:
            CheckpointError: there is none.
        """
        found = self._start(path)
        if found is None:
            raise starting.missing(self.model_dir)
        return found
