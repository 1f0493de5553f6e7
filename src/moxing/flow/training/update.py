"""Builds, from the losses of a train job, the one operation that makes its step."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.graph import ancestry
from moxing.errors import MoxValueError
from moxing.flow.trace import context, scopes, shards, variables
from moxing.flow.trace.blobs import Blob
from moxing.flow.trace.context import Trace
from moxing.flow.training import conf as confs
from moxing.flow.training import optimizers, reads, schedule, totals

_ENTRIES = frozenset({"Enter", "RefEnter", "Switch", "RefSwitch"})


def step_op(trace: Trace) -> tf.Operation:
    """Builds a step of a train job: gradients, optimizer, moving averages, step counter.

    Raises:
        MoxValueError: a required setting is missing, or a loss depends on no variable.
    """
    train = trace.conf.train
    for name in ("primary_lr", "model_update_conf"):
        if name not in train:
            raise MoxValueError(
                f"train job {trace.name} needs flow.config.train.{name}(...) at its beginning."
            )
    _check_batch_size(trace)
    trace.losses += _named_losses(trace)
    _check_losses(trace)
    key, fields = confs.optimizer(train["model_update_conf"])
    read = reads.of(trace)
    before = _reads_by_variable(trace)
    found = zip(read, _gradients(trace, read), strict=True)
    gradients = [_regularized(trace, one, gradient) for one, gradient in found]
    counter = variables.train_step(trace)
    step = tf.reshape(counter.read_value(), [])
    rates = _rates(train, step, trace.conf.later)
    scale = _common_scale(trace, read, gradients)
    done: list[Any] = []
    for one, gradient in zip(read, gradients, strict=True):
        if gradient is not None:
            lengths = reads.lengths(one, read, gradients)
            with one.place(), tf.control_dependencies([*before[one.name], *_uses(one)]):
                update = _update(trace, one, gradient, rates, step, lengths, scale)
                made = optimizers.BY_KEY[key](update, fields)
                done += made
                if key in optimizers.DECOUPLED and (decay := _decay(train, one.name)):
                    with tf.control_dependencies(made):
                        done.append(update.lower(update.lr * tf.cast(decay, one.kind) * one.tensor))
    done += assignments(trace)
    with tf.control_dependencies([step]):
        done.append(counter.assign_add([1]).op)
    return tf.group(*done)


def assignments(trace: Trace) -> list[tf.Operation]:
    """The job's own assignments: moving averages, and those of `flow.assign`."""
    before, done = _reads_by_variable(trace), []
    for name, value in trace.updates:
        variable = trace.variables.by_name[name]
        with tf.control_dependencies(before[name]):
            made = variable.assign(value)
        done.append(made if isinstance(made, tf.Operation) else made.op)
    return done


def _reads_by_variable(trace: Trace) -> dict[str, list[tf.Tensor]]:
    """The tensors that the job read from each variable, by the variable's name.

    An update waits for these reads: a gradient need not depend on the variable, and without such an
    edge TensorFlow may read the variable after its update.
    """
    return {
        name: blob.reads if isinstance(blob, shards.SplitBlob) else [blob.tensor]
        for name, blob in trace.blobs.items()
    }


def _uses(read: reads.Read) -> list[tf.Operation]:
    """The operations of a session on one device that use a value that was read.

    An update that waits for these operations writes in place; while the value is in use,
    TensorFlow copies the variable first. On several devices, the other devices would have to tell
    of their uses.
    """
    if len(scopes.active()) > 1:
        return []
    # Nothing outside can wait for the operations that enter TensorFlow 1's loops and branches.
    return [op for op in read.tensor.consumers() if op.type not in _ENTRIES]


def _named_losses(trace: Trace) -> list[Blob]:
    """The blobs that `train_conf().loss_lbn` names, as in "softmax_loss/out"."""
    found = []
    for name in trace.conf.train.get("loss_lbn", ()):
        operation = str(name).partition("/")[0]
        blobs = [blob for blob in trace.made if blob.op_name == operation]
        if not blobs:
            raise MoxValueError(
                f"train_conf().loss_lbn of job {trace.name} names {name!r}, and the job has no"
                f" operation {operation!r}. Name an operation of the job by its name=, or call"
                " flow.losses.add_loss(blob)."
            )
        found.append(blobs[-1])
    return found


def _check_batch_size(trace: Trace) -> None:
    batch, piece = trace.conf.train.get("batch_size"), trace.conf.values.get("piece_size")
    if batch is not None and piece is not None and batch != piece:
        raise MoxValueError(
            f"job {trace.name} has the training batch_size {batch} and the piece_size {piece}, and"
            " a step here takes one batch. Give both one value; for steps of several batches, call"
            " flow.config.train.num_gradient_accumulation_steps(n)."
        )


def _check_losses(trace: Trace) -> None:
    if not trace.losses:
        raise MoxValueError(f"train job {trace.name} has no loss: call flow.losses.add_loss(blob).")
    first = trace.losses[0]
    for loss in trace.losses:
        if (loss.static_shape, loss.dtype) != (first.static_shape, first.dtype):
            raise MoxValueError(
                f"the losses of job {trace.name} differ: {first.location} is {first.static_shape}"
                f" {first.dtype.name}, and {loss.location} {loss.static_shape} {loss.dtype.name}."
                " Give them one shape and one type."
            )
    for loss in trace.losses:
        others = {
            part.name: other
            for other in trace.losses
            if other is not loss
            for part in _parts(other)
        }
        for op in ancestry.behind(_parts(loss)):
            for tensor in op.outputs:
                if tensor.name in others:
                    other = others[tensor.name]
                    raise MoxValueError(
                        f"the loss of job {trace.name}, {loss.location}, is computed from another"
                        f" loss, {other.location}. Call add_loss with one of the two."
                    )


def _parts(blob: Blob) -> list[tf.Tensor]:
    return [part.tensor for part in blob.parts] or [blob.tensor]


def _gradients(trace: Trace, read: Sequence[reads.Read]) -> list[tf.Tensor | None]:
    """The gradients of the sum of the losses' means, and those that `watch_diff` asks for."""
    losses = [loss.own for loss in trace.losses]
    trained = [one.tensor for one in read]
    factor = float(trace.conf.train.get("loss_scale_factor", 1))
    count = totals.elements(trace.losses[0])
    watched = [watch for watch in trace.watches if watch.of_gradient]
    # With a factor, the division comes after the gradients, since small values would be lost
    # otherwise. It also does if gradients are watched, which are gradients of the sum of the
    # elements.
    divided = factor != 1 or bool(watched)
    seed = tf.cast(factor, count.dtype) if divided else 1 / count
    seeds = [totals.seed(loss, seed) for loss in trace.losses]
    for loss, blob in zip(losses, trace.losses, strict=True):
        if all(gradient is None for gradient in tf.gradients(loss, trained)):
            raise MoxValueError(
                f"the loss of job {trace.name}, {blob.location}, depends on no variable that the"
                " job trains. Pass add_loss a blob that is computed from the model's output."
            )
    # A variable is one tensor that all devices read: its gradient is the sum over devices. Watched
    # blobs may be in parts, which only an operation on the whole concatenates.
    parts = [w.blob.parts or (w.blob,) for w in watched]
    found = tf.gradients(
        losses,
        [*trained, *(part.source for blobs in parts for part in blobs)],
        seeds,
        colocate_gradients_with_ops=len(scopes.active()) > 1,
    )
    dense = totals.dense(found, read)
    rest = iter(dense[len(trained) :])
    for watch, blobs in zip(watched, parts, strict=True):
        pieces = [part.in_its_layout(next(rest)) for part in blobs]
        if any(piece is None for piece in pieces):
            if watch.optional:
                trace.watches[:] = [other for other in trace.watches if other is not watch]
                continue
            raise MoxValueError(
                f"flow.watch_diff: the losses of job {trace.name} do not depend on {watch.blob},"
                f" {watch.blob.location}. Watch a blob from which they are computed."
            )
        watch.deliver = tf.concat(pieces, 0) if len(pieces) > 1 else pieces[0]
    gradients = dense[: len(trained)]
    if not divided:
        return gradients
    return [None if g is None else _quotient(g, count * factor) for g in gradients]


def _quotient(gradient: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    kind = tf.float32 if gradient.dtype == tf.float16 else gradient.dtype
    return tf.cast(tf.cast(gradient, kind) / tf.cast(count, kind), gradient.dtype)


def _rates(train: Mapping[str, Any], step: tf.Tensor, later: bool) -> dict[str, tf.Tensor]:
    conf, primary = train["model_update_conf"], float(train["primary_lr"])
    result = {"primary": schedule.rate(primary, step, conf, later)}
    second = train.get("secondary_lr")
    result["bias"] = result["primary"]
    if second is not None:
        result["bias"] = schedule.rate(float(second), step, conf, later)
    return result


def _update(
    trace: Trace,
    read: reads.Read,
    gradient: tf.Tensor,
    rates: Mapping[str, tf.Tensor],
    step: tf.Tensor,
    lengths: tuple[tf.Tensor | None, tf.Tensor | None],
    scale: tf.Tensor | None,
) -> optimizers.Update:
    name, group = read.name, trace.variables.model_name(read.name)
    w, train = read.tensor, trace.conf.train
    l1, l2 = (float(train.get(f"{group}_{kind}", 0)) for kind in ("l1", "l2"))
    conf = train["model_update_conf"]
    if not any(key in optimizers.DECOUPLED for key in conf):
        l2 += _decay(train, name)
    penalty = _penalty(w, l1, l2)
    lr = rates["bias" if group == "bias" else "primary"]

    slot = functools.partial(read.slot, trace)
    size, slope = lengths
    if scale is None:
        scale = _clip_scale(gradient, confs.clip(conf), slope)
    scale = scale if scale is None else tf.cast(scale, gradient.dtype)
    if scale is not None:
        gradient, slope = gradient * scale, None if slope is None else slope * scale
    return optimizers.Update(
        *(read.variable, w, gradient, penalty, l2, tf.cast(lr, w.dtype), step, slot),
        *(size, slope, read.shared),
    )


def _penalty(w: tf.Tensor, l1: float, l2: float) -> tf.Tensor | None:
    parts = [tf.cast(l1, w.dtype) * tf.sign(w)] if l1 else []
    parts += [tf.cast(l2, w.dtype) * w] if l2 else []
    return tf.add_n(parts) if parts else None


def _regularized(trace: Trace, read: reads.Read, gradient: tf.Tensor | None) -> tf.Tensor | None:
    """The gradient with that of the variable's own regularizer."""
    own = trace.regularizers.get(read.name)
    penalty = None if own is None or gradient is None else _penalty(read.tensor, own.l1, own.l2)
    if gradient is None or penalty is None:
        return gradient
    return gradient + penalty


def _decay(train: Mapping[str, Any], name: str) -> float:
    """The rate of a variable's weight decay; 0 if it has none."""
    decay = confs.weight_decay(train["model_update_conf"])
    if decay is None or not _decays(name, decay):
        return 0.0
    return float(decay["weight_decay_rate"])


def _decays(name: str, decay: Mapping[str, Any]) -> bool:
    def matches(group: Any) -> bool:
        patterns = group.get("pattern", ()) if isinstance(group, Mapping) else group
        return any(re.search(pattern, name) for pattern in patterns)

    if decay["includes"]:
        return matches(decay["includes"])
    return not (decay["excludes"] and matches(decay["excludes"]))


def _clip_scale(
    gradient: tf.Tensor, fields: Mapping[str, Any] | None, own: tf.Tensor | None
) -> tf.Tensor | None:
    """The factor that limits a gradient's norm to `clip_norm`, by its own or the given norm."""
    if fields is None:
        return None
    limit = tf.cast(fields["clip_norm"], gradient.dtype)
    norm = fields["global_norm"]
    if norm is not None:
        norm = tf.cast(norm, gradient.dtype)
    elif own is not None:
        norm = own
    else:
        norm = tf.norm(gradient)
    return limit / tf.maximum(norm, limit)


def _common_scale(
    trace: Trace, read: Sequence[reads.Read], gradients: Sequence[tf.Tensor | None]
) -> tf.Tensor | None:
    """The factor by which the norm of all gradients together is clipped, in jobs of 2020.

    Before, the original clipped each variable's gradient by its own norm.
    """
    fields = confs.clip(trace.conf.train["model_update_conf"])
    if fields is None or fields["global_norm"] is not None or not trace.conf.later:
        return None
    squares = {}
    for one, gradient in zip(read, gradients, strict=True):
        if gradient is not None and one.name not in squares:
            wide = tf.cast(gradient, tf.float32) if gradient.dtype == tf.float16 else gradient
            slope = reads.lengths(one, read, gradients)[1]
            square = tf.reduce_sum(tf.square(wide)) if slope is None else tf.square(slope)
            squares[one.name] = tf.cast(square, tf.float32)
    limit = tf.constant(fields["clip_norm"], tf.float32)
    return limit / tf.maximum(tf.sqrt(tf.add_n(list(squares.values()))), limit)


def add_loss(loss: Blob) -> None:
    """Makes a blob a loss of this train job, which trains the mean of the blob's elements.

    Raises:
        MoxRuntimeError: no train job is being traced.
    """
    trace = context.enter_op("flow.losses.add_loss")
    variables.require_train(trace, "flow.losses.add_loss")
    trace.losses.append(variables.require_blob(loss, "flow.losses.add_loss"))
