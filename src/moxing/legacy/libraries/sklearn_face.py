"""scikit-learn's names that programs of 2018 use and that scikit-learn no longer has."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec

_OPENML = "Use sklearn.datasets.fetch_openml('mnist_784', version=1) and its like instead."
_BOSTON = "It was withdrawn; use fetch_california_housing, or fetch_openml(name='boston')."


# Functions that take most arguments by name only since scikit-learn 1.0.
_METRICS = (
    *("accuracy_score", "average_precision_score", "classification_report", "confusion_matrix"),
    *("f1_score", "fbeta_score", "log_loss", "mean_absolute_error", "mean_squared_error"),
    *("precision_recall_fscore_support", "precision_score", "r2_score", "recall_score"),
    *("roc_auc_score", "roc_curve", "silhouette_score", "zero_one_loss"),
)


def _by_place(module: str, names: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    return {name: (lambda name=name: _all_by_place(module, name)) for name in names}


def _all_by_place(module: str, name: str) -> Callable[..., Any]:
    """Returns a function of scikit-learn that takes all of its arguments by place too."""
    function = getattr(importlib.import_module(f"sklearn.{module}"), name)
    places = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        squared = kwargs.pop("squared", True) if name == "mean_squared_error" else True
        result = function(**dict(zip(places, args, strict=False)), **kwargs)
        return result if squared else result**0.5

    return called


def _with_arguments(module: str, name: str, renamed: dict[str, str | None]) -> type:
    """Returns a class of scikit-learn that also takes arguments by their old names.

    Args:
        module: the module under `sklearn`.
        name: the class.
        renamed: the old names with the new ones, and None for those without effect.
    """
    base = getattr(importlib.import_module(f"sklearn.{module}"), name)

    class Old(base):
        @functools.wraps(base.__init__)
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            for old in renamed.keys() & kwargs.keys():
                value, new = kwargs.pop(old), renamed[old]
                if new is not None:
                    kwargs[new] = value
            super().__init__(*args, **kwargs)

    Old.__name__ = Old.__qualname__ = name
    return Old


def linear_assignment(X: Any) -> Any:
    """Returns the pairs of rows and columns whose costs have the least sum, as [pairs, 2]."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    return np.stack(linear_sum_assignment(X), axis=1)


def spec() -> Spec:
    """scikit-learn with its old names; everything else is its own."""
    return Spec(
        roots=("sklearn",),
        names={
            "cross_validation": "moxing.legacy.libraries.cross_validation",
            "datasets": Spec(
                roots=("sklearn.datasets",),
                names={
                    "base": "sklearn.datasets",
                    "samples_generator": "face:sklearn.datasets",
                    **_by_place("datasets", ("load_digits", "make_blobs", "make_moons")),
                    **_by_place("datasets", ("make_circles", "make_swiss_roll")),
                },
                gone={"fetch_mldata": _OPENML, "load_boston": _BOSTON},
                library=True,
            ),
            "decomposition": Spec(
                roots=("sklearn.decomposition",),
                names={"RandomizedPCA": lambda: _randomized_pca, "pca": "sklearn.decomposition"},
                library=True,
            ),
            "externals": Spec(
                roots=("sklearn.externals",), names={"joblib": "joblib", "six": "six"}
            ),
            "grid_search": Spec(roots=("sklearn.model_selection",)),
            "lda": Spec(names={"LDA": "sklearn.discriminant_analysis:LinearDiscriminantAnalysis"}),
            "learning_curve": Spec(roots=("sklearn.model_selection",)),
            "metrics": Spec(
                roots=("sklearn.metrics",),
                names={
                    **_by_place("metrics", _METRICS),
                    **dict.fromkeys(
                        ("classification", "ranking", "regression", "scorer"),
                        "face:sklearn.metrics",
                    ),
                    "calinski_harabaz_score": "sklearn.metrics:calinski_harabasz_score",
                },
                library=True,
            ),
            "manifold": Spec(
                roots=("sklearn.manifold",),
                names={
                    "TSNE": lambda: _with_arguments("manifold", "TSNE", {"n_iter": "max_iter"}),
                    "t_sne": "face:sklearn.manifold",
                },
                library=True,
            ),
            "cluster": Spec(
                roots=("sklearn.cluster",),
                names={
                    "KMeans": lambda: _with_arguments(
                        "cluster", "KMeans", {"n_jobs": None, "precompute_distances": None}
                    ),
                    "k_means_": "face:sklearn.cluster",
                },
                library=True,
            ),
            "mixture": Spec(
                roots=("sklearn.mixture",),
                gone={"GMM": "Use sklearn.mixture.GaussianMixture, whose score is a mean."},
                library=True,
            ),
            "preprocessing": Spec(
                roots=("sklearn.preprocessing",),
                names={
                    "Imputer": lambda: _imputer(),
                    "OneHotEncoder": lambda: _with_arguments(
                        "preprocessing", "OneHotEncoder", {"sparse": "sparse_output"}
                    ),
                    "data": "face:sklearn.preprocessing",
                    "label": "face:sklearn.preprocessing",
                },
                library=True,
            ),
            "qda": Spec(
                names={"QDA": "sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis"}
            ),
            "utils": Spec(
                roots=("sklearn.utils",),
                names={
                    "class_weight": Spec(
                        roots=("sklearn.utils.class_weight",),
                        names=_by_place("utils.class_weight", ("compute_class_weight",)),
                        library=True,
                    ),
                    "linear_assignment_": Spec(
                        names={"linear_assignment": lambda: linear_assignment}
                    ),
                    **_by_place("utils", ("compute_class_weight",)),
                },
                library=True,
            ),
        },
        library=True,
    )


def _randomized_pca(n_components: Any = None, **options: Any) -> Any:
    """`PCA` by the randomized algorithm."""
    from sklearn.decomposition import PCA

    power = options.pop("iterated_power", 2)
    return PCA(n_components, svd_solver="randomized", iterated_power=power, **options)


def _imputer() -> type:
    import numpy as np
    from sklearn.impute import SimpleImputer

    class Imputer(SimpleImputer):
        """`SimpleImputer`, with the arguments of scikit-learn 0.19; `axis` must be 0, the columns.

        Raises:
            ValueError: `axis=1`.
        """

        def __init__(
            self,
            missing_values: Any = "NaN",
            strategy: str = "mean",
            axis: int = 0,
            verbose: int = 0,
            copy: bool = True,
        ) -> None:
            if axis:
                raise ValueError("Imputer(axis=1): give SimpleImputer the transposed array.")
            missing = np.nan if missing_values in ("NaN", None) else missing_values
            super().__init__(missing_values=missing, strategy=strategy, copy=copy)
            self.axis, self.verbose = axis, verbose

    return Imputer
