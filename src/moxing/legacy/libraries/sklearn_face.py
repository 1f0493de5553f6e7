"""scikit-learn's names that programs of 2018 use and that scikit-learn no longer has."""

from __future__ import annotations

from typing import Any

from moxing.legacy.face.faces import Spec

_OPENML = "Use sklearn.datasets.fetch_openml('mnist_784', version=1) and its like instead."
_BOSTON = "It was withdrawn; use fetch_california_housing, or fetch_openml(name='boston')."


def spec() -> Spec:
    """scikit-learn with its old names; everything else is its own."""
    return Spec(
        roots=("sklearn",),
        names={
            "cross_validation": "moxing.legacy.libraries.cross_validation",
            "datasets": Spec(
                roots=("sklearn.datasets",),
                names={"base": "sklearn.datasets", "samples_generator": "sklearn.datasets"},
                gone={"fetch_mldata": _OPENML, "load_boston": _BOSTON},
                library=True,
            ),
            "decomposition": Spec(
                roots=("sklearn.decomposition",),
                names={"RandomizedPCA": lambda: _randomized_pca},
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
                names={"classification": "sklearn.metrics", "scorer": "sklearn.metrics"},
                library=True,
            ),
            "mixture": Spec(
                roots=("sklearn.mixture",),
                gone={"GMM": "Use sklearn.mixture.GaussianMixture, whose score is a mean."},
                library=True,
            ),
            "preprocessing": Spec(
                roots=("sklearn.preprocessing",),
                names={"Imputer": lambda: _imputer()},
                library=True,
            ),
            "qda": Spec(
                names={"QDA": "sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis"}
            ),
            "utils": Spec(
                roots=("sklearn.utils",),
                gone={
                    "linear_assignment_": "Use scipy.optimize.linear_sum_assignment(cost), which"
                    " returns the rows and the columns: np.stack(..., axis=1) is what it returned."
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
