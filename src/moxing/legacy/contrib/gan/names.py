"""The table of `tf.contrib.gan`'s names."""

from __future__ import annotations

from moxing.legacy.face.faces import Spec

_HERE = "moxing.legacy.contrib.gan"
# The losses that take a model, under the names of those that take its tensors.
_OF_MODELS = (
    *("acgan_discriminator_loss", "acgan_generator_loss", "least_squares_discriminator_loss"),
    *("least_squares_generator_loss", "minimax_discriminator_loss", "minimax_generator_loss"),
    *("modified_generator_loss", "mutual_information_penalty", "wasserstein_discriminator_loss"),
    *("wasserstein_generator_loss", "wasserstein_gradient_penalty"),
)
_EVALUATION = (
    "Write summaries with tf.summary, and compute scores of images outside of the training."
)

GAN = Spec(
    roots=(f"{_HERE}.models", f"{_HERE}.training"),
    names={
        "losses": Spec(
            names={
                **{name: f"{_HERE}.of_models:{name}" for name in _OF_MODELS},
                "cycle_consistency_loss": f"{_HERE}.of_models:cycle_consistency_loss",
                "wargs": f"{_HERE}.losses",
            }
        ),
        "estimator": Spec(roots=(f"{_HERE}.estimator",)),
    },
    gone={
        "eval": _EVALUATION,
        "features": "Write the layer with tf.layers.",
        **{
            name: "Build the models with gan_model, and add their losses."
            for name in ("stargan_model", "stargan_loss", "StarGANModel", "StarGANLoss")
        },
    },
)
