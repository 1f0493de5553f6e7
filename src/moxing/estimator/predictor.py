"""`tf.contrib.predictor`: calls a loaded model like a function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.remote.at_hand import at_hand
from moxing.errors import MoxTypeError, MoxValueError, near_matches, shown
from moxing.estimator.described import Described
from moxing.estimator.running import starting
from moxing.estimator.serving import serving_graph, signatures
from moxing.framework import file

_DEFAULT = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Predictor:
    """Computes the outputs of a model in a session.

    Args:
        graph: the graph of the model.
        session: a session in which the model's variables are initialized.
        feed_tensors: the input tensors, by the names that callers use.
        fetch_tensors: the output tensors, by the names that callers use.
    """

    def __init__(
        self,
        graph: tf.Graph,
        session: tf.Session,
        feed_tensors: Mapping[str, Any],
        fetch_tensors: Mapping[str, Any],
    ) -> None:
        self._graph, self._session = graph, session
        self._feeds, self._fetches = dict(feed_tensors), dict(fetch_tensors)

    @property
    def graph(self) -> tf.Graph:
        """The graph of the model."""
        return self._graph

    @property
    def session(self) -> tf.Session:
        """The session; the caller that made the predictor closes it."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """The input tensors, by the names that callers use."""
        return self._feeds

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """The output tensors, by the names that callers use."""
        return self._fetches

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the outputs by name, as arrays.

        Args:
            input_dict: the input arrays, by the names of `feed_tensors`.

        Raises:
            MoxValueError: a name is not among the inputs.
        """
        unknown = [name for name in input_dict if name not in self._feeds]
        if unknown:
            raise MoxValueError(
                f"the predictor has no input {unknown[0]!r}; it has {', '.join(self._feeds)}."
                f"{near_matches(str(unknown[0]), self._feeds)}"
            )
        feed = {self._feeds[name]: value for name, value in input_dict.items()}
        return self._session.run(self._fetches, feed)

    def __repr__(self) -> str:
        return f"Predictor of {', '.join(self._feeds)} to {', '.join(self._fetches)}"


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: tf.Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Returns a predictor of an exported SavedModel.

    Args:
        export_dir: the directory of the SavedModel, on this machine.
        signature_def_key: the key of the signature; None: "serving_default".
        signature_def: the signature itself, instead of its key.
        input_names, output_names: tensor names by the names that callers use; each replaces that
            half of the signature.
        tags: the tags of the graph, separated by commas; None: "serve".
        graph: the graph to load the model into; None: a new one.
        config: the session's `tf.ConfigProto`; None: TensorFlow's defaults.

    Raises:
        MoxValueError: there is no such model or signature.
    """
    if isinstance(export_dir, bytes):
        export_dir = export_dir.decode()
    folder = str(export_dir)
    if file.is_remote(folder) or not tf.saved_model.contains_saved_model(folder):
        raise MoxValueError(
            f"from_saved_model has export_dir={shown(folder)}, which is no SavedModel's directory"
            " on this machine. Name the one that export_saved_model returned."
        )
    target: Any = tf.Graph() if graph is None else graph
    with target.as_default():
        session = tf.Session(graph=target, config=config)
        wanted = [tag.strip() for tag in (tags or tf.saved_model.SERVING).split(",")]
        meta = tf.saved_model.load(session, wanted, folder)
    feeds, fetches = dict(input_names or {}), dict(output_names or {})
    if not (feeds and fetches):
        signature = signature_def or _signature(meta, signature_def_key or _DEFAULT, folder)
        feeds = feeds or {name: info.name for name, info in signature.inputs.items()}
        fetches = fetches or {name: info.name for name, info in signature.outputs.items()}
    return Predictor(target, session, _tensors(target, feeds), _tensors(target, fetches))


def from_estimator(
    estimator: Described,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: tf.Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Returns a predictor of an Estimator's newest checkpoint.

    Args:
        estimator: a trained Estimator.
        serving_input_receiver_fn: see `Estimator.export_saved_model`.
        output_key: the name of one of the model's export outputs; None: "serving_default".
        graph: the graph to build the model in; None: a new one.
        config: the session's `tf.ConfigProto`; None: TensorFlow's defaults.

    Raises:
        MoxTypeError: an argument of another type.
        MoxValueError: there is no such output.
        CheckpointError: there is no checkpoint.
    """
    if not isinstance(estimator, Described):
        raise MoxTypeError(
            f"from_estimator has estimator={shown(estimator)}; it must be a tf.estimator.Estimator."
        )
    newest = estimator.latest_checkpoint()
    if newest is None:
        raise starting.missing(estimator.model_dir)
    target: Any = tf.Graph() if graph is None else graph
    with target.as_default(), at_hand(newest) as found:
        served = serving_graph.build(estimator, serving_input_receiver_fn)
        outputs = signatures.outputs_of(served.spec)
        key = output_key or _DEFAULT
        if key not in outputs:
            raise MoxValueError(
                f"from_estimator has output_key={key!r}; the model has {', '.join(outputs)}."
                f"{near_matches(key, outputs)}"
            )
        session = tf.Session(graph=target, config=config)
        served.saver().restore(session, found.prefix)
        session.run(served.initializer())
    return Predictor(target, session, served.receiver.receiver_tensors, outputs[key].outputs)


def from_contrib_estimator(
    estimator: Described,
    prediction_input_fn: Callable[[], Any],
    input_alternative_key: str | None = None,
    output_alternative_key: str | None = None,
    graph: tf.Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Calls `from_estimator`: here, the Estimators of `tf.contrib.learn` are Estimators too."""
    del input_alternative_key
    return from_estimator(estimator, prediction_input_fn, output_alternative_key, graph, config)


def _signature(meta: Any, key: str, folder: str) -> Any:
    known: Sequence[str] = sorted(meta.signature_def)
    if key not in known:
        raise MoxValueError(
            f"the SavedModel in {folder} has no signature {key!r}; it has {', '.join(known)}."
            f"{near_matches(key, known)} Pass signature_def_key."
        )
    return meta.signature_def[key]


def _tensors(graph: tf.Graph, names: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tensors that `names` holds, by the names that callers use."""
    return {
        name: graph.get_tensor_by_name(given if ":" in given else f"{given}:0")
        if isinstance(given, str)
        else given
        for name, given in names.items()
    }
