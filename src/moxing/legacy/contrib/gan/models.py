"""The models of `tf.contrib.gan`: tuples of tensors, variables and the functions behind them."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

_FIELDS = (
    *("generator_inputs", "generated_data", "generator_variables", "generator_scope"),
    *("generator_fn", "real_data", "discriminator_real_outputs", "discriminator_gen_outputs"),
    *("discriminator_variables", "discriminator_scope", "discriminator_fn"),
)
GANModel = collections.namedtuple("GANModel", _FIELDS)
InfoGANModel = collections.namedtuple(
    "InfoGANModel",
    (
        *_FIELDS,
        *("structured_generator_inputs", "predicted_distributions", "discriminator_and_aux_fn"),
    ),
)
ACGANModel = collections.namedtuple(
    "ACGANModel",
    (
        *_FIELDS,
        *("one_hot_labels", "discriminator_real_classification_logits"),
        "discriminator_gen_classification_logits",
    ),
)
CycleGANModel = collections.namedtuple(
    "CycleGANModel", ("model_x2y", "model_y2x", "reconstructed_x", "reconstructed_y")
)


def gan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> Any:
    """Builds a generator and a discriminator, which sees generated and real data."""
    inputs = _tensors(generator_inputs)
    with tf.variable_scope(generator_scope) as own:
        generated = generator_fn(inputs)
    with tf.variable_scope(discriminator_scope) as other:
        of_generated = discriminator_fn(generated, inputs)
    with tf.variable_scope(other, reuse=True):
        real_data = _tensors(real_data)
        of_real = discriminator_fn(real_data, inputs)
    if check_shapes:
        _check(generated, real_data)
    return GANModel(
        *(inputs, generated, _variables(own), own, generator_fn),
        *(real_data, of_real, of_generated),
        *(_variables(other), other, discriminator_fn),
    )


def infogan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    unstructured_generator_inputs: list[Any],
    structured_generator_inputs: list[Any],
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> Any:
    """Builds a model whose discriminator also predicts the structured part of the noise."""
    inputs = _tensors(list(unstructured_generator_inputs) + list(structured_generator_inputs))
    seen: list[Any] = []

    def discriminate(data: Any, given: Any) -> Any:
        seen.append(discriminator_fn(data, given))
        return seen[-1][0]

    built = gan_model(
        generator_fn, discriminate, real_data, inputs, generator_scope, discriminator_scope
    )
    predicted = seen[0][1]
    only = built._replace(discriminator_fn=lambda data, given: discriminator_fn(data, given)[0])
    return InfoGANModel(*only, list(structured_generator_inputs), predicted, discriminator_fn)


def acgan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> Any:
    """Builds a model whose discriminator also classifies the data."""
    seen: list[Any] = []

    def discriminate(data: Any, given: Any) -> Any:
        seen.append(discriminator_fn(data, given))
        return seen[-1][0]

    built = gan_model(
        *(generator_fn, discriminate, real_data, generator_inputs),
        *(generator_scope, discriminator_scope, check_shapes),
    )
    (_, of_generated), (_, of_real) = seen
    only = built._replace(discriminator_fn=discriminator_fn)
    return ACGANModel(*only, one_hot_labels, of_real, of_generated)


def cyclegan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    data_x: Any,
    data_y: Any,
    generator_scope: str = "Generator",
    discriminator_scope: str = "Discriminator",
    model_x2y_scope: str = "ModelX2Y",
    model_y2x_scope: str = "ModelY2X",
    check_shapes: bool = True,
) -> Any:
    """Builds two models, each of which makes the other's data, and both ways back."""

    def one(scope: str, inputs: Any, real: Any) -> Any:
        with tf.variable_scope(scope):
            return gan_model(
                *(generator_fn, discriminator_fn, real, inputs),
                *(generator_scope, discriminator_scope, check_shapes),
            )

    def back(model: Any, generated: Any) -> Any:
        with tf.variable_scope(model.generator_scope, reuse=True):
            return model.generator_fn(generated)

    x2y, y2x = one(model_x2y_scope, data_x, data_y), one(model_y2x_scope, data_y, data_x)
    return CycleGANModel(x2y, y2x, back(y2x, x2y.generated_data), back(x2y, y2x.generated_data))


def _tensors(values: Any) -> Any:
    return tf.nest.map_structure(tf.convert_to_tensor, values)


def _variables(scope: Any) -> list[Any]:
    return tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope.name + "/")


def _check(generated: Any, real: Any) -> None:
    pairs = zip(tf.nest.flatten(generated), tf.nest.flatten(real), strict=False)
    for made, given in pairs:
        if not made.shape.is_compatible_with(given.shape):
            raise ValueError(
                f"Generator output shape ({made.shape}) must be the same shape as real data"
                f" ({given.shape})."
            )
