"""`tf.contrib.distributions`, from TensorFlow Probability if it is installed.

Otherwise, only the few distributions of `tf.distributions` in TensorFlow are available.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxAttributeError

_PROBABILITY = "tensorflow_probability"
_INSTALL = (
    "tf.contrib.distributions.{} is a part of TensorFlow Probability now. Install it:"
    " pip install 'openmox[probability]'"
)
# Distributions with transformed parameters: by name, the base distribution and the functions.
_THROUGH: dict[str, tuple[str, dict[str, Callable[[Any], Any]]]] = {
    "BernoulliWithSigmoidProbs": ("Bernoulli", {"probs": tf.sigmoid}),
    "BetaWithSoftplusConcentration": (
        "Beta",
        {"concentration1": tf.nn.softplus, "concentration0": tf.nn.softplus},
    ),
    "Chi2WithAbsDf": ("Chi2", {"df": lambda df: tf.floor(tf.abs(df))}),
    "ExponentialWithSoftplusRate": ("Exponential", {"rate": tf.nn.softplus}),
    "GammaWithSoftplusConcentrationRate": (
        "Gamma",
        {"concentration": tf.nn.softplus, "rate": tf.nn.softplus},
    ),
    "InverseGammaWithSoftplusConcentrationRate": (
        "InverseGamma",
        {"concentration": tf.nn.softplus, "scale": tf.nn.softplus},
    ),
    "LaplaceWithSoftplusScale": ("Laplace", {"loc": tf.identity, "scale": tf.nn.softplus}),
    "MultivariateNormalDiagWithSoftplusScale": (
        "MultivariateNormalDiag",
        {"loc": tf.identity, "scale_diag": tf.nn.softplus},
    ),
    "NormalWithSoftplusScale": ("Normal", {"loc": tf.identity, "scale": tf.nn.softplus}),
    "StudentTWithAbsDfSoftplusScale": (
        "StudentT",
        {"df": lambda df: tf.floor(tf.abs(df)), "loc": tf.identity, "scale": tf.nn.softplus},
    ),
}
_ELSEWHERE = {
    "bijectors": f"{_PROBABILITY}.python.bijectors",
    "fill_triangular": f"{_PROBABILITY}.python.math",
    "fill_triangular_inverse": f"{_PROBABILITY}.python.math",
    "softplus_inverse": f"{_PROBABILITY}.python.math",
    "percentile": f"{_PROBABILITY}.python.stats",
    "auto_correlation": f"{_PROBABILITY}.python.stats",
}
_GONE = {
    "ConditionalDistribution": "Give the condition to the parameters instead.",
    "VectorLaplaceDiag": "Use Independent(Laplace(loc, scale_diag), 1) instead.",
    "Wishart": "Use WishartTriL instead.",
    "WishartCholesky": "Use WishartTriL instead.",
    "WishartFull": "Use WishartTriL of the Cholesky factor instead.",
    "moving_mean_variance": "Use tf.train.ExponentialMovingAverage instead.",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _THROUGH:
        return _through(name)
    try:
        if name in _ELSEWHERE:
            module = importlib.import_module(_ELSEWHERE[name])
            return module if name == "bijectors" else getattr(module, name)
        found = getattr(importlib.import_module(f"{_PROBABILITY}.python.distributions"), name, None)
    except ModuleNotFoundError:
        if hasattr(tf.distributions, name):
            return getattr(tf.distributions, name)
        raise MoxAttributeError(_INSTALL.format(name), name=name) from None
    if found is not None:
        return found
    if hasattr(tf.distributions, name):
        return getattr(tf.distributions, name)
    advice = _GONE.get(name, "Port this part to what TensorFlow Probability has.")
    raise MoxAttributeError(
        f"tf.contrib.distributions.{name} is not in TensorFlow Probability. {advice}", name=name
    )


def _through(name: str) -> Callable[..., Any]:
    """Returns a function that makes the base distribution from transformed parameters."""
    base, functions = _THROUGH[name]

    def make(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(functions, args, strict=False)) | kwargs
        for parameter, function in functions.items():
            if given.get(parameter) is not None:
                given[parameter] = function(tf.convert_to_tensor(given[parameter]))
        return __getattr__(base)(**given)

    make.__name__ = name
    return make
