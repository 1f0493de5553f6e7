"""`DistributedOptimizer` and `DistributedGradientTape`, which average gradients over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from moxing.errors import MoxNotSupportedError, MoxTypeError, shown
from moxing.horovod import world
from moxing.horovod.compression import Compression
from moxing.horovod.operations import Average, name_of, op_of, reduced


class Meeting:
    """Merges gradients over processes.

    Args:
        compression, op: see `allreduce`.
        sparse_as_dense: whether tf.IndexedSlices are converted to dense tensors first.
        backward_passes_per_step: must be 1.
        **others: other arguments of Horovod. `gradient_predivide_factor` divides dense gradients
            before the exchange and multiplies them afterwards; the rest is not used.

    Raises:
        MoxNotSupportedError: several backward passes per step, or `op` is Adasum.
    """

    def __init__(
        self,
        compression: Any = Compression.none,
        op: str | None = Average,
        sparse_as_dense: bool = False,
        backward_passes_per_step: int = 1,
        **others: Any,
    ) -> None:
        if backward_passes_per_step != 1:
            raise MoxNotSupportedError(
                f"backward_passes_per_step={backward_passes_per_step} is not here: use a batch"
                " that is larger by this factor."
            )
        self._compression, self._op = compression or Compression.none, op_of(None, op)
        self._dense = sparse_as_dense
        predivide = others.get("gradient_predivide_factor") or 1.0
        self._before, self._after = 1.0 / predivide, float(predivide)

    def means(self, gradients: Sequence[Any]) -> list[Any]:
        """Returns the gradients, each merged over processes; None stays None."""
        found = [
            tf.convert_to_tensor(g) if self._dense and isinstance(g, tf.IndexedSlices) else g
            for g in gradients
        ]
        if world.size() == 1:
            return found
        with tf.name_scope("DistributedGradients"):
            name = name_of("gradients", found)
            return reduced(found, self._op, self._compression, name, self._before, self._after)


class GraphOptimizer(tf.compat.v1.train.Optimizer):
    """A `tf.train` optimizer that averages gradients over processes.

    Args:
        optimizer: the optimizer that computes and applies the gradients.
        meeting: merges the gradients.
        name: the name of its operations.
    """

    def __init__(self, optimizer: Any, meeting: Meeting, name: str | None = None) -> None:
        super().__init__(False, name or f"Distributed{type(optimizer).__name__}")
        self._optimizer, self._meeting = optimizer, meeting

    def compute_gradients(self, *given: Any, **named: Any) -> list[Any]:
        """Returns the wrapped optimizer's gradients, merged over processes."""
        pairs = self._optimizer.compute_gradients(*given, **named)
        gradients = self._meeting.means([gradient for gradient, _ in pairs])
        return [(g, variable) for g, (_, variable) in zip(gradients, pairs, strict=True)]

    def apply_gradients(self, *given: Any, **named: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.apply_gradients(*given, **named)

    def get_slot(self, *given: Any, **named: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.get_slot(*given, **named)

    def get_slot_names(self, *given: Any, **named: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.get_slot_names(*given, **named)

    def variables(self, *given: Any, **named: Any) -> Any:
        """Calls the wrapped optimizer's method."""
        return self._optimizer.variables(*given, **named)


def distributed_optimizer(
    optimizer: Any,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: str | None = Average,
    **others: Any,
) -> Any:
    """Makes an optimizer average its gradients over processes.

    A `tf.train` optimizer is wrapped; a Keras optimizer is changed in place and returned.

    Args:
        optimizer: an optimizer of `tf.train` or of Keras.
        name: the name of the wrapper's operations.
        use_locking, device_dense, device_sparse: not used.
        compression, sparse_as_dense, backward_passes_per_step, op, **others: see `Meeting`.

    Raises:
        MoxTypeError: `optimizer` is not an optimizer.
        MoxNotSupportedError: see `Meeting`.
    """
    del use_locking, device_dense, device_sparse
    meeting = Meeting(compression, op, sparse_as_dense, backward_passes_per_step, **others)
    if isinstance(optimizer, tf.compat.v1.train.Optimizer):
        return GraphOptimizer(optimizer, meeting, name)
    if not hasattr(optimizer, "apply_gradients") and not hasattr(optimizer, "get_updates"):
        raise MoxTypeError(
            f"DistributedOptimizer got {shown(optimizer)}; it needs an optimizer of tf.train or of"
            " Keras."
        )
    return _of_keras(optimizer, meeting)


def _of_keras(optimizer: Any, meeting: Meeting) -> Any:
    """Changes the class of the optimizer, so that it keeps its variables and settings."""
    base = type(optimizer)
    if getattr(base, "meets_by_horovod", False):
        return optimizer
    package = next(
        (k.__module__.split(".")[0] for k in base.__mro__ if "eras" in k.__module__), "tf_keras"
    )
    if package == "keras":
        members = {"apply": _apply_of_keras3}
        _without_xla()
    elif hasattr(base, "apply_gradients"):
        members = {"apply_gradients": _apply_gradients}
    else:
        members = {"get_gradients": _get_gradients}
    # Keep the class name, under which a saved model records its optimizer.
    kind = type(base.__name__, (base,), {**members, "meets_by_horovod": True})
    kind.__module__ = base.__module__
    optimizer.__class__ = kind
    optimizer.__dict__["_horovod"] = (base, meeting)
    return optimizer


def _apply_of_keras3(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
    base, meeting = self.__dict__["_horovod"]
    return base.apply(self, meeting.means(list(grads)), trainable_variables)


def _apply_gradients(self: Any, grads_and_vars: Any, *given: Any, **named: Any) -> Any:
    base, meeting = self.__dict__["_horovod"]
    pairs = list(grads_and_vars)
    gradients = meeting.means([gradient for gradient, _ in pairs])
    merged = [(g, variable) for g, (_, variable) in zip(gradients, pairs, strict=True)]
    return base.apply_gradients(self, merged, *given, **named)


def _get_gradients(self: Any, loss: Any, params: Any) -> Any:
    base, meeting = self.__dict__["_horovod"]
    return meeting.means(base.get_gradients(self, loss, params))


def _without_xla() -> None:
    """Keeps Keras 3 from compiling steps with XLA, which can't run the exchange of gradients."""
    from keras.src.trainers import trainer

    original = trainer.Trainer.compile
    if getattr(original, "knows_horovod", False):
        return

    def compile(self: Any, *given: Any, **named: Any) -> Any:  # noqa: A001
        optimizer = given[0] if given else named.get("optimizer")
        if getattr(optimizer, "meets_by_horovod", False):
            named["jit_compile"] = False
        return original(self, *given, **named)

    compile.knows_horovod = True  # type: ignore[attr-defined]
    trainer.Trainer.compile = compile


class Tape:
    """A gradient tape that averages gradients over processes.

    Args:
        tape: the wrapped tf.GradientTape.
        meeting: merges the gradients.
    """

    def __init__(self, tape: Any, meeting: Meeting) -> None:
        self._tape, self._meeting = tape, meeting

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, **named: Any
    ) -> Any:
        """Returns the tape's gradients, merged over processes, in the structure of `sources`."""
        found = self._tape.gradient(target, sources, output_gradients, **named)
        flat = tf.nest.flatten(found)
        return tf.nest.pack_sequence_as(found, self._meeting.means(flat))

    def __enter__(self) -> Tape:
        self._tape.__enter__()
        return self

    def __exit__(self, *details: Any) -> Any:
        return self._tape.__exit__(*details)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape, name)


def distributed_gradient_tape(
    gradtape: Any,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    op: str | None = Average,
    **others: Any,
) -> Tape:
    """Wraps a tape to average its gradients over processes.

    Args:
        gradtape: a tf.GradientTape.
        device_dense, device_sparse: not used.
        compression, sparse_as_dense, op, **others: see `Meeting`.
    """
    del device_dense, device_sparse
    return Tape(gradtape, Meeting(compression, op, sparse_as_dense, **others))
