"""The losses of `tf.contrib.gan.losses`, which take a model, by those of `losses.py`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from moxing.legacy.contrib.gan import losses


def _of(loss: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(loss).parameters.values()
    needed = [each.name for each in parameters if each.default is each.empty]

    @functools.wraps(loss)
    def function(gan_model: Any, **named: Any) -> Any:
        return loss(**{name: getattr(gan_model, name) for name in needed}, **named)

    return function


acgan_discriminator_loss = _of(losses.acgan_discriminator_loss)
acgan_generator_loss = _of(losses.acgan_generator_loss)
least_squares_discriminator_loss = _of(losses.least_squares_discriminator_loss)
least_squares_generator_loss = _of(losses.least_squares_generator_loss)
minimax_discriminator_loss = _of(losses.minimax_discriminator_loss)
minimax_generator_loss = _of(losses.minimax_generator_loss)
modified_generator_loss = _of(losses.modified_generator_loss)
mutual_information_penalty = _of(losses.mutual_information_penalty)
wasserstein_discriminator_loss = _of(losses.wasserstein_discriminator_loss)
wasserstein_generator_loss = _of(losses.wasserstein_generator_loss)
wasserstein_gradient_penalty = _of(losses.wasserstein_gradient_penalty)


def cycle_consistency_loss(
    cyclegan_model: Any, scope: str | None = None, add_summaries: bool = False
) -> Any:
    """The mean distance of a CycleGAN's data from its reconstruction."""
    return losses.cycle_consistency_loss(
        *(cyclegan_model.model_x2y.generator_inputs, cyclegan_model.reconstructed_x),
        *(cyclegan_model.model_y2x.generator_inputs, cyclegan_model.reconstructed_y),
        *(scope, add_summaries),
    )
