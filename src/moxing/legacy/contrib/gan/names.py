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
_SCORES = Spec(roots=(f"{_HERE}.scores", f"{_HERE}.inception"))
_PICTURES = Spec(roots=(f"{_HERE}.pictures",))
_EVALUATION = Spec(
    roots=(f"{_HERE}.scores", f"{_HERE}.inception", f"{_HERE}.pictures"),
    names={
        "classifier_metrics": _SCORES,
        "eval_utils": _PICTURES,
        "summaries": _PICTURES,
    },
    gone={
        "sliced_wasserstein_distance": "Compute it in NumPy, of images that a session returns.",
        **{
            f"add_{name}_image_summaries": "Show the images with image_reshaper and"
            " tf.summary.image."
            for name in ("cyclegan", "stargan")
        },
    },
)
_PRIVATE = Spec(
    names={
        **{name: _SCORES for name in ("classifier_metrics", "classifier_metrics_impl")},
        **{
            name: _PICTURES
            for name in ("eval_utils", "eval_utils_impl", "summaries", "summaries_impl")
        },
    }
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
        "eval": _EVALUATION,
        "python": Spec(names={"eval": Spec(names={"python": _PRIVATE})}),
        "estimator": Spec(roots=(f"{_HERE}.estimator",)),
    },
    gone={
        "features": "Write the layer with tf.layers.",
        **{
            name: "Build the models with gan_model, and add their losses."
            for name in ("stargan_model", "stargan_loss", "StarGANModel", "StarGANLoss")
        },
    },
)
