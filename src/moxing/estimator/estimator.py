"""The Estimator: a model function, and a directory with what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.cluster.cluster import EVALUATOR
from moxing.engine.graph import graph_keras
from moxing.engine.run import execution
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
from moxing.framework.file import urls
from moxing.logs import TENSORFLOW


class Estimator(Described):
    """Trains, evaluates, predicts with and exports what a model function builds.

    Args:
        model_fn: given features, and by name labels, mode, params and config as far as it takes
            them, returns a `tf.estimator.EstimatorSpec`. It is called anew in every mode.
        model_dir: directory of checkpoints and summaries; None: that of `config`, or a new one.
        config: a `tf.estimator.RunConfig`.
        params: handed to the functions, each call a copy: a dict, or an object such as
            `tf.contrib.training.HParams` or a Namespace.
        warm_start_from: a checkpoint, or directory of some, to start from where model_dir has none.

    Raises:
        MoxTypeError, MoxValueError: an argument that can't be used.
        MoxNotSupportedError: an argument that is not here.
    """

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[tf.train.CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Trains from the newest checkpoint on, and saves the last step.

        Args:
            input_fn: returns a Dataset of (features, labels), or such tensors; of batches.
            hooks: called around every step.
            steps: how many to train now.
            max_steps: ends when the global step reaches it. None of both: at the end of the data.
            saving_listeners: called around every commit of a checkpoint.

        Raises:
            MoxError: whatever cannot be run.
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
        job = jobs.training(
            self,
            input_fn,
            max_steps,
            check_hooks("Estimator.train", hooks),
            check_listeners("Estimator.train", saving_listeners),
            again=True,
        )
        if steps is not None:
            job = counted_from_here(job, steps, self._step)
        with sharing.training(), graph_keras.shown():
            execution.execute(job)
        return self

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[tf.train.SessionRunHook] | None = None,
        checkpoint_path: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluates a checkpoint, in one process: of several, in the chief.

        Args:
            input_fn: as of `train`.
            steps: batches to evaluate; None: all that there are.
            hooks: called around every step.
            checkpoint_path: None: the newest of model_dir.
            name: its summaries go to `eval_<name>` of model_dir.

        Returns:
            The value of each metric, "loss" (the mean over all samples), and "global_step". Of
            several processes the chief evaluates; all that call this get its values.

        Raises:
            CheckpointError: there is no checkpoint.
        """
        count = check_steps("Estimator.evaluate", "steps", steps)
        own = check_hooks("Estimator.evaluate", hooks)

        def here() -> dict[str, Any]:
            path = self._start(checkpoint_path)
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
        """Yields predictions, one example at a time, as they are asked for.

        Args:
            input_fn: returns features; labels beside them are not used.
            predict_keys: names of predictions to yield; None: all.
            hooks: called around every step.
            checkpoint_path: None: the newest of model_dir.
            yield_single_examples: False: a whole batch at a time.

        Yields:
            A dict of arrays by the names of the predictions; or an array.

        Raises:
            CheckpointError: there is no checkpoint.
            MoxValueError: predictions that can't be divided into examples.
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
            export_dir_base: where to.
            serving_input_receiver_fn: returns what `tf.estimator.export` makes.
            assets_extra: files by their path within `assets.extra` of the export.
            as_text: whether the graph is written as text.
            checkpoint_path: None: the newest of model_dir.
            experimental_mode: PREDICT.

        Returns:
            The directory, as bytes.

        Raises:
            CheckpointError: there is no checkpoint.
            MoxNotSupportedError: another mode.
        """
        if experimental_mode != ModeKeys.PREDICT or any(others.values()):
            raise MoxNotSupportedError(
                "export_saved_model exports what predicts, for serving. Leave"
                f" {next(iter(others), 'experimental_mode')} out."
            )
        return exporting.export(
            self,
            urls.text(export_dir_base),
            serving_input_receiver_fn,
            self._checkpoint(checkpoint_path),
            dict(assets_extra or {}),
            as_text,
        )

    def export_savedmodel(self, *arguments: Any, **keywords: Any) -> bytes:
        """`export_saved_model` under its former name."""
        keywords.pop("strip_default_attrs", None)
        return self.export_saved_model(*arguments, **keywords)

    def experimental_export_all_saved_models(self, *arguments: Any, **keywords: Any) -> bytes:
        """Not here.

        Raises:
            MoxNotSupportedError: always, with what to call instead.
        """
        del arguments, keywords
        raise MoxNotSupportedError(
            "Estimator.experimental_export_all_saved_models is not supported: of a model only"
            " predictions are exported. Use Estimator.export_saved_model(export_dir_base,"
            " serving_input_receiver_fn), and Estimator.evaluate for metrics."
        )

    def get_variable_names(self) -> list[str]:
        """The names of the variables of the newest checkpoint."""
        with checkpoints.at_hand(self._checkpoint(None)) as prefix:
            return [name for name, _ in tf.train.list_variables(prefix)]

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint, as an array.

        Raises:
            MoxValueError: it has no such variable.
        """
        with checkpoints.at_hand(self._checkpoint(None)) as prefix:
            names = [known for known, _ in tf.train.list_variables(prefix)]
            if name not in names:
                raise MoxValueError(
                    f"the newest checkpoint of {self.model_dir} has no variable {name!r}."
                    f"{near_matches(str(name), names)} get_variable_names() lists them."
                )
            return tf.train.load_variable(prefix, name)

    def _step(self) -> int:
        return checkpoints.step(self.latest_checkpoint())

    def _start(self, path: Any) -> str | None:
        """The given checkpoint, the newest, or what a training would start from; None: none."""
        return urls.text(path) if path is not None else self.latest_checkpoint() or self.warm_start

    def _checkpoint(self, path: Any) -> str:
        """The checkpoint to read: the given one, the newest, or what a training would start from.

        Raises:
            CheckpointError: there is none.
        """
        found = self._start(path)
        if found is None:
            raise starting.missing(self.model_dir)
        return found
