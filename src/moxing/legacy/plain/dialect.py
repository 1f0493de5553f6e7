"""Tells by a program's text how to run it: as a graph or eagerly, and which Keras it means.

Programs of TensorFlow 1.x build graphs; programs of TensorFlow 2.0 and later run eagerly. Plain
`import keras` meant Keras 1 or 2 until 2023, and means Keras 3 since then.
"""

from __future__ import annotations

from dataclasses import dataclass

from moxing.legacy.plain import lost_names, texts, vintage
from moxing.legacy.plain.old_optimizers import Evidence
from moxing.legacy.plain.texts import Use

_ROOTS = ("tensorflow", "keras", "tf_keras", "moxing", "oneflow", "horovod")
_V1 = "tensorflow.compat.v1"
# Names of both TensorFlow 1.x and 2.x that eager programs use.
_EAGER = ("function", "GradientTape", "config.run_functions_eagerly")
_SWITCHED_ON = ("enable_eager_execution", "enable_v2_behavior")
_GRAPHS = (
    *("Session", "InteractiveSession", "placeholder", "disable_eager_execution"),
    *("disable_v2_behavior", "train.MonitoredTrainingSession", "app.run"),
)
_SESSIONS = ("Session", "InteractiveSession", "train.MonitoredTrainingSession")
# Versions of TensorFlow from 2.0 to 2.15 also had these names.
_ALSO_OF_V2 = (
    *("estimator", "keras.estimator", "compat.v1.estimator", "python"),
    *("mixed_precision", "train.experimental"),
)
# Calls of Keras 1 and 2 that Keras 3 no longer has.
_CALLS_OF_2 = (".fit_generator", ".predict_generator", ".evaluate_generator", ".predict_classes")
# Strategies whose training one process, the task "chief", coordinates.
_COORDINATED = ("ParameterServerStrategy", "ParameterServerStrategyV2")
_MARKS_OF_3 = ("keras_hub", "keras_cv", "keras_nlp")


@dataclass(frozen=True)
class Dialect:
    """How to run a program; the defaults fit a program of TensorFlow 1.x.

    Attributes:
        eager: whether operations run at once.
        old_names: whether `tensorflow` shows the names of TensorFlow 1.x.
        keras: 2 or 3.
        why: the evidence for `keras`; empty: there is none.
        bare: whether the program imports `keras` itself, not `tensorflow.keras`.
        horovod: whether the program imports horovod.
        graphs: whether there is evidence that the program builds graphs.
        old_optimizers: whether an eager program needs Keras' optimizers of before TensorFlow 2.11.
        coordinated: whether one process of an eager program gives the others their work.
        preempted: whether an eager program asks TensorFlow to tell it about SIGTERM.
    """

    eager: bool = False
    old_names: bool = True
    keras: int = 2
    why: str = ""
    bare: bool = False
    graphs: bool = False
    horovod: bool = False
    old_optimizers: bool = False
    coordinated: bool = False
    preempted: bool = False


@dataclass
class _Marks:
    """Evidence in files: names of only TensorFlow 2 or only 1.x, and calls that make graphs."""

    newer: bool = False
    older: bool = False
    surely_older: bool = False


def of(script: str) -> Dialect:
    """Reads a program and the modules beside it."""
    graph, session, switched, at_once, flow, strategy = False, False, False, False, False, ""
    estimators, bare, horovod = False, False, False
    coordinated, preempted = False, False
    own, others, optimizers = _Marks(), _Marks(), Evidence()
    shows: dict[int, str] = {}
    for use in texts.uses(script, _ROOTS):
        first, _, rest = use.path.partition(".")
        optimizers.see(use)
        preempted |= _reads_sigterm(use)
        if first == "keras":
            bare = True
            if (version := _keras_of(rest.split("."), use)) and version not in shows:
                shows[version] = str(use)
        horovod |= first == "horovod"
        # Jobs of OneFlow have their own graph, whichever mode TensorFlow is in.
        flow |= first == "oneflow"
        if first == "moxing":
            graph |= not (rest == "keras" or rest.startswith("keras."))
        if first == "tensorflow":
            if rest.startswith("keras.") and _only_in_3(rest.split(".")[1:]):
                shows.setdefault(3, str(use))
            short = rest.removeprefix("compat.v1.")
            switched |= short in _SWITCHED_ON
            session |= short in _SESSIONS
            newer = _only_in_v2(rest)
            at_once |= newer or rest in _EAGER
            at_once |= rest.startswith("config.experimental_run_functions")
            estimators |= "estimator" in rest
            older = short in _GRAPHS if use.path.startswith(_V1) else _of_graphs(use)
            graph |= older
            marks = own if use.is_own else others
            marks.newer |= newer
            marks.older |= older
            marks.surely_older |= short in _GRAPHS or "estimator" in rest
            if use.call is not None and rest.endswith("Strategy"):
                strategy = str(use)
                coordinated |= rest.endswith(_COORDINATED)
        elif use.path == ".numpy":
            at_once = True
        elif use.path in _CALLS_OF_2:
            shows.setdefault(2, str(use))
        if use.call is not None and any(k.arg == "lr" for k in use.call.keywords):
            shows.setdefault(2, f"lr= ({use.where})")
    keras = 3 if 3 in shows and 2 not in shows else 2
    alone = keras == 3 or bool(strategy and not estimators)
    if own.newer and others.older and not (own.older or own.surely_older or others.surely_older):
        # A program of TensorFlow 2 with copied modules of 1.x that it does not call.
        graph = False
    # A program with sessions that also enables eager execution has an option for both modes: it
    # starts with graphs, as in TensorFlow 1.x, and its own call switches to eager mode.
    # OneFlow is as old as TensorFlow 2.0, with which its programs are commonly compared.
    eager = (switched and not session) or (not graph and (at_once or alone or flow))
    why, old = shows.get(keras, ""), eager and optimizers.is_old
    return Dialect(
        eager,
        old_names=graph or not eager,
        keras=keras,
        why=why,
        bare=bare,
        graphs=graph,
        horovod=horovod,
        old_optimizers=old,
        coordinated=eager and coordinated,
        preempted=eager and preempted,
    )


def is_plain_keras_3(found: Dialect) -> bool:
    """Whether a program is written for Keras 3 alone, without graphs and Horovod."""
    return found.bare and found.keras == 3 and not found.graphs and not found.horovod


def _reads_sigterm(use: Use) -> bool:
    """Whether a program names the part of TensorFlow that saves at SIGTERM before a preemption."""
    if use.path.endswith(".PreemptionCheckpointHandler"):
        return True
    return use.call is not None and any(
        word.arg == "save_before_preemption" for word in use.call.keywords
    )


def _of_graphs(use: Use) -> bool:
    rest = use.path.partition(".")[2]
    if any(rest == name or rest.startswith(f"{name}.") for name in _ALSO_OF_V2):
        return False
    return rest not in _SWITCHED_ON and vintage.is_lost(use.path)


def _only_in_v2(name: str) -> bool:
    """Whether a name in `tensorflow` is new in TensorFlow 2."""
    parts = name.split(".")
    if not name or parts[0] in ("compat", "keras", "python", "contrib") or "*" in parts:
        return False
    return lost_names.is_new(parts)


def _keras_of(parts: list[str], use: Use) -> int:
    """Returns the version of Keras that a name in `keras` shows; 0: several versions have it."""
    if not parts[0] or parts[-1].startswith("__"):
        return 0
    if _only_in_3(parts):
        return 3
    return 2 if use.call is None and not lost_names.is_in("keras", (), parts) else 0


def _only_in_3(parts: list[str]) -> bool:
    old = lost_names.is_in("tf_keras", ("api", "_v2", "keras"), parts)
    return not old and lost_names.is_in("keras", (), parts)
