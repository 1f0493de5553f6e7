"""`tf.contrib.learn`'s export strategies, and the serving inputs that they took."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from moxing.estimator import export as serving


class InputFnOps(NamedTuple):
    """The features, labels and fed tensors of a served model."""

    features: Any
    labels: Any
    default_inputs: Any


class ExportStrategy(NamedTuple):
    """A name, and a function that exports a checkpoint.

    Attributes:
        name: the name of the folder of the exports.
        export_fn: a function of (estimator, export_dir_base, checkpoint_path), and of eval_result
            if it has that parameter.
        strip_default_attrs: not used.
    """

    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None

    def export(
        self,
        estimator: Any,
        export_path: Any,
        checkpoint_path: str | None = None,
        eval_result: Mapping[str, Any] | None = None,
    ) -> Any:
        """Returns the directory of the export."""
        taken = inspect.signature(self.export_fn).parameters
        named = {"eval_result": eval_result} if "eval_result" in taken else {}
        return self.export_fn(estimator, export_path, checkpoint_path, **named)


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Returns an ExportStrategy named "Servo" that writes SavedModels.

    Args:
        serving_input_fn: returns InputFnOps, or a `tf.estimator.export.ServingInputReceiver`.
        assets_extra, as_text: see `tf.estimator.Estimator.export_saved_model`.
        default_output_alternative_key, exports_to_keep, strip_default_attrs: not used: one export
            is written, after training, with all its signatures.
    """
    del default_output_alternative_key, exports_to_keep

    def write(estimator: Any, export_dir_base: Any, checkpoint_path: str | None = None) -> Any:
        return estimator.export_saved_model(
            export_dir_base, receiver_fn(serving_input_fn), assets_extra, as_text, checkpoint_path
        )

    return ExportStrategy("Servo", write, strip_default_attrs)


def receiver_fn(serving_input_fn: Callable[[], Any]) -> Callable[[], serving.ServingInputReceiver]:
    """Returns a function that returns the serving inputs as a ServingInputReceiver."""

    def receive() -> serving.ServingInputReceiver:
        made = serving_input_fn()
        if isinstance(made, serving.ServingInputReceiver):
            return made
        features, _, fed = made
        return serving.ServingInputReceiver(features, fed)

    return receive


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Returns a serving_input_fn for clients that feed serialized `tf.train.Example`s."""

    def parse() -> InputFnOps:
        examples = tf.placeholder(tf.string, [default_batch_size], name="input_example_tensor")
        return InputFnOps(
            tf.parse_example(examples, dict(feature_spec)), None, {"examples": examples}
        )

    return parse


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Returns a serving_input_fn for clients that feed the features directly."""
    receive = serving.build_raw_serving_input_receiver_fn(features, default_batch_size)

    def feed() -> InputFnOps:
        made = receive()
        return InputFnOps(made.features, None, made.receiver_tensors)

    return feed
