"""`flow.random`: random values."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError, shown
from moxing.flow import absent
from moxing.flow.trace import context, parallel, scopes
from moxing.flow.trace.blobs import Blob, tensor_of


def CoinFlip(  # noqa: N802
    batch_size: int = 1,
    seed: int | None = None,
    probability: float = 0.5,
    name: str | None = None,
) -> Blob:
    """Draws 1 with the given probability, else 0, for each sample: int8 of shape (batch_size,).

    Args:
        batch_size: samples of a step, on all devices together.
        seed: makes the values the same in each run.
        probability: the probability of 1.
        name: the name of the operation.

    Raises:
        MoxValueError: `probability` is not valid, or the devices can't share the batch.
    """
    if not 0 <= probability <= 1:
        raise MoxValueError(
            f"flow.random.CoinFlip: probability={shown(probability)} must be in [0, 1]."
        )
    own, batches = context.op_name(name, "coin_flip"), context.required("").conf.batches
    size, first = parallel.share(batch_size, "flow.random.CoinFlip") * batches, scopes.first()

    def values(index: int) -> Blob:
        # With the same seed all devices would draw the same values.
        mine = None if seed is None else seed + first + index
        drawn = tf.random.uniform([size], seed=mine) < probability
        return Blob(tf.cast(drawn, tf.int8, name=own))

    if scopes.total() > 1:
        return parallel.in_batches(parallel.each(len(scopes.active()), values))
    return parallel.in_batches(parallel.alike(values(0)))


def generate_random_batch_permutation_indices(
    value: Blob, seed: int | None = None, name: str | None = None
) -> Blob:
    """The numbers of the samples of a batch in a random order, int32."""
    tensor = tensor_of(value, "flow.random.generate_random_batch_permutation_indices")
    own = context.op_name(name, "permutation")
    order = tf.random.shuffle(tf.range(tf.shape(tensor)[0]), seed=seed, name=own)
    order.set_shape([tensor.shape[0]])
    return parallel.alike(Blob(order))


def shuffle(value: Blob, seed: int | None = None, name: str | None = None) -> Blob:
    """The samples of a batch in a random order."""
    tensor = tensor_of(value, "flow.random.shuffle")
    order = generate_random_batch_permutation_indices(value, seed).tensor
    return Blob(tf.gather(tensor, order, name=context.op_name(name, "shuffle")), value.batch_axis)


coin_flip = CoinFlip

__getattr__, __dir__ = absent.of("flow.random", globals())
