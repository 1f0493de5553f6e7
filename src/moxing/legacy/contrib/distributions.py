"""`tf.contrib.distributions`, from TensorFlow Probability if it is installed.

Otherwise, only the few distributions of `tf.distributions` in TensorFlow are available.
"""

from __future__ import annotations

import contextlib
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

# Modules of `contrib.distributions.python.ops` that TensorFlow has without Probability.
_MODULES = (
    *("bernoulli", "beta", "bijector", "categorical", "dirichlet", "dirichlet_multinomial"),
    *("distribution", "exponential", "gamma", "kullback_leibler", "laplace", "multinomial"),
    *("normal", "student_t", "uniform", "util"),
)
_LISTED = """
Autoregressive BatchReshape Bernoulli Beta BetaWithSoftplusConcentration Binomial Categorical
Cauchy Chi2 Chi2WithAbsDf ConditionalDistribution ConditionalTransformedDistribution Deterministic
Dirichlet DirichletMultinomial Distribution ExpRelaxedOneHotCategorical Exponential
ExponentialWithSoftplusRate FULLY_REPARAMETERIZED Gamma GammaWithSoftplusConcentrationRate
Geometric HalfNormal Independent InverseGamma InverseGammaWithSoftplusConcentrationRate
Kumaraswamy Laplace LaplaceWithSoftplusScale Logistic Mixture MixtureSameFamily Multinomial
MultivariateNormalDiag MultivariateNormalDiagPlusLowRank MultivariateNormalDiagWithSoftplusScale
MultivariateNormalFullCovariance MultivariateNormalTriL NOT_REPARAMETERIZED NegativeBinomial
Normal NormalWithSoftplusScale OneHotCategorical Poisson PoissonLogNormalQuadratureCompound
QuantizedDistribution RegisterKL RelaxedBernoulli RelaxedOneHotCategorical ReparameterizationType
SeedStream SinhArcsinh StudentT StudentTWithAbsDfSoftplusScale TransformedDistribution Uniform
VectorDeterministic VectorDiffeomixture VectorExponentialDiag VectorLaplaceDiag
VectorSinhArcsinhDiag WishartCholesky WishartFull assign_log_moving_mean_exp
assign_moving_mean_variance auto_correlation bijectors estimator_head_distribution_regression
fill_triangular fill_triangular_inverse kl_divergence matrix_diag_transform moving_mean_variance
normal_conjugates_known_scale_posterior normal_conjugates_known_scale_predictive percentile
quadrature_scheme_lognormal_gauss_hermite quadrature_scheme_lognormal_quantiles
quadrature_scheme_softmaxnormal_gauss_hermite quadrature_scheme_softmaxnormal_quantiles
reduce_weighted_logsumexp softplus_inverse tridiag
"""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _THROUGH:
        globals()[name] = _through(name)
        return globals()[name]
    try:
        if name in _ELSEWHERE:
            module = importlib.import_module(_ELSEWHERE[name])
            return module if name == "bijectors" else getattr(module, name)
        found = getattr(importlib.import_module(f"{_PROBABILITY}.python.distributions"), name, None)
    except ModuleNotFoundError:
        if hasattr(tf.distributions, name):
            return getattr(tf.distributions, name)
        if name in _MODULES:
            return importlib.import_module(f"tensorflow.python.ops.distributions.{name}")
        raise MoxAttributeError(_INSTALL.format(name), name=name) from None
    if found is not None:
        return found
    if hasattr(tf.distributions, name):
        return getattr(tf.distributions, name)
    advice = _GONE.get(name, "Port this part to TensorFlow Probability.")
    raise MoxAttributeError(
        f"tf.contrib.distributions.{name} is not in TensorFlow Probability. {advice}", name=name
    )


def __dir__() -> list[str]:
    """The names of TensorFlow 1.15 that are available; programs look distributions up among them.

    What TensorFlow Probability added later is found by its name, and not listed: Edward makes a
    class of each distribution listed, in place of its own class of that name.
    """
    names = {name for name in dir(tf.distributions) if not name.startswith("_")}
    with contextlib.suppress(ModuleNotFoundError):
        there = importlib.import_module(f"{_PROBABILITY}.python.distributions")
        names |= {*_ELSEWHERE, *(name for name in dir(there) if not name.startswith("_"))}
    names |= {name for name, (base, _) in _THROUGH.items() if base in names}
    return sorted(names.intersection(_LISTED.split()))


def _through(name: str) -> type[Any]:
    """Returns the class of the base distribution, which is made from transformed parameters."""
    base_name, functions = _THROUGH[name]
    base = __getattr__(base_name)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = {"name": name, **dict(zip(functions, args, strict=False)), **kwargs}
        changed = {
            parameter: function(tf.convert_to_tensor(given[parameter]))
            for parameter, function in functions.items()
            if given.get(parameter) is not None
        }
        base.__init__(self, **{**given, **changed})
        self._parameters = {**self._parameters, **given}  # `copy` starts from the given arguments.

    return type(base)(name, (base,), {"__init__": __init__, "__module__": __name__})
