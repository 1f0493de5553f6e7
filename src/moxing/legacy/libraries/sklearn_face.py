"""scikit-learn's names that programs of 2018 use and that scikit-learn no longer has."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only

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


# The first arguments of classes in scikit-learn 0.19, which took them by place too.
_SPLITS = ("n_splits", "shuffle", "random_state")
_SHUFFLES = ("n_splits", "test_size", "train_size", "random_state")
_NEIGHBORS = ("n_neighbors", "weights", "algorithm", "leaf_size", "p", "metric", "metric_params")
_TREE = ("criterion", "splitter", "max_depth", "min_samples_split", "min_samples_leaf")
_FOREST = ("n_estimators", "criterion", *_TREE[2:])
_TEXT = ("input", "encoding", "decode_error", "strip_accents", "lowercase", "preprocessor")
_PLACES: dict[str, dict[str, tuple[str, ...]]] = {
    "cluster": {
        "DBSCAN": ("eps", "min_samples", "metric"),
        "KMeans": ("n_clusters", "init", "n_init", "max_iter", "tol", "precompute_distances"),
        "MiniBatchKMeans": ("n_clusters", "init", "max_iter", "batch_size"),
    },
    "decomposition": {
        "NMF": ("n_components", "init", "solver", "beta_loss", "tol", "max_iter", "random_state"),
        "PCA": ("n_components", "copy", "whiten", "svd_solver", "tol", "iterated_power"),
        "TruncatedSVD": ("n_components", "algorithm", "n_iter", "random_state", "tol"),
    },
    "ensemble": {
        "AdaBoostClassifier": ("base_estimator", "n_estimators", "learning_rate", "algorithm"),
        "AdaBoostRegressor": ("base_estimator", "n_estimators", "learning_rate", "loss"),
        "BaggingClassifier": ("base_estimator", "n_estimators", "max_samples", "max_features"),
        "BaggingRegressor": ("base_estimator", "n_estimators", "max_samples", "max_features"),
        "ExtraTreesClassifier": _FOREST,
        "ExtraTreesRegressor": _FOREST,
        "GradientBoostingClassifier": ("loss", "learning_rate", "n_estimators", "subsample"),
        "GradientBoostingRegressor": ("loss", "learning_rate", "n_estimators", "subsample"),
        "IsolationForest": ("n_estimators", "max_samples", "contamination", "max_features"),
        "RandomForestClassifier": _FOREST,
        "RandomForestRegressor": _FOREST,
    },
    "feature_extraction.text": {"CountVectorizer": _TEXT, "TfidfVectorizer": _TEXT},
    "linear_model": {
        "Lasso": ("alpha", "fit_intercept"),
        "LinearRegression": ("fit_intercept",),
        "LogisticRegression": ("penalty", "dual", "tol", "C", "fit_intercept"),
        "PassiveAggressiveClassifier": ("C", "fit_intercept", "max_iter", "tol"),
        "PassiveAggressiveRegressor": ("C", "fit_intercept", "max_iter", "tol"),
        "Perceptron": ("penalty", "alpha", "fit_intercept", "max_iter", "tol"),
        "Ridge": ("alpha", "fit_intercept"),
        "SGDClassifier": ("loss", "penalty", "alpha", "l1_ratio", "fit_intercept", "max_iter"),
        "SGDRegressor": ("loss", "penalty", "alpha", "l1_ratio", "fit_intercept", "max_iter"),
    },
    "manifold": {
        "MDS": ("n_components", "metric_mds", "n_init", "max_iter", "verbose", "eps"),
        "TSNE": ("n_components", "perplexity", "early_exaggeration", "learning_rate", "n_iter"),
    },
    "mixture": {"GaussianMixture": ("n_components", "covariance_type", "tol", "reg_covar")},
    "model_selection": {
        "GridSearchCV": ("estimator", "param_grid", "scoring"),
        "KFold": _SPLITS,
        "ShuffleSplit": _SHUFFLES,
        "StratifiedKFold": _SPLITS,
        "StratifiedShuffleSplit": _SHUFFLES,
    },
    "neighbors": {
        "KNeighborsClassifier": _NEIGHBORS,
        "KNeighborsRegressor": _NEIGHBORS,
        "KernelDensity": ("bandwidth", "algorithm", "kernel", "metric"),
        "NearestNeighbors": ("n_neighbors", "radius", "algorithm", "leaf_size", "metric", "p"),
    },
    "preprocessing": {
        "Binarizer": ("threshold", "copy"),
        "LabelBinarizer": ("neg_label", "pos_label", "sparse_output"),
        "MinMaxScaler": ("feature_range", "copy"),
        "Normalizer": ("norm", "copy"),
        "OneHotEncoder": (),
        "PolynomialFeatures": ("degree", "interaction_only", "include_bias"),
        "StandardScaler": ("copy", "with_mean", "with_std"),
    },
    "svm": {
        "LinearSVC": ("penalty", "loss", "dual", "tol", "C", "multi_class", "fit_intercept"),
        "OneClassSVM": ("kernel", "degree", "gamma", "coef0", "tol", "nu"),
        "SVC": ("C", "kernel", "degree", "gamma", "coef0", "shrinking", "probability", "tol"),
        "SVR": ("kernel", "degree", "gamma", "coef0", "tol", "C", "epsilon"),
    },
    "tree": {"DecisionTreeClassifier": _TREE, "DecisionTreeRegressor": _TREE},
}
# Class -> the old names of its arguments with the new ones, and None for those without effect.
_RENAMED: dict[str, dict[str, str | None]] = {
    **dict.fromkeys(
        ("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"),
        {"base_estimator": "estimator"},
    ),
    "AdaBoostClassifier": {"base_estimator": "estimator", "algorithm": None},
    **dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor"), {"presort": None}),
    "GridSearchCV": {"iid": None},
    "KMeans": {"n_jobs": None, "precompute_distances": None},
    "OneHotEncoder": {"sparse": "sparse_output"},
    "TSNE": {"n_iter": "max_iter"},
}
# Class -> an argument -> its old values with the new ones.
_CRITERIA = {"mse": "squared_error", "mae": "absolute_error"}
_LOSSES = {"log": "log_loss", "squared_loss": "squared_error"}
_BOOSTED = {"deviance": "log_loss", "ls": "squared_error", "lad": "absolute_error"}
_VALUES: dict[str, dict[str, dict[Any, Any]]] = {
    "DecisionTreeClassifier": {"max_features": {"auto": "sqrt"}},
    "DecisionTreeRegressor": {"criterion": _CRITERIA, "max_features": {"auto": 1.0}},
    "ExtraTreesClassifier": {"max_features": {"auto": "sqrt"}},
    "ExtraTreesRegressor": {"criterion": _CRITERIA, "max_features": {"auto": 1.0}},
    "GradientBoostingClassifier": {"loss": _BOOSTED, "max_features": {"auto": "sqrt"}},
    "GradientBoostingRegressor": {"loss": _BOOSTED, "max_features": {"auto": 1.0}},
    "KMeans": {"algorithm": {"auto": "lloyd", "full": "lloyd"}},
    "RandomForestClassifier": {"max_features": {"auto": "sqrt"}},
    "RandomForestRegressor": {"criterion": _CRITERIA, "max_features": {"auto": 1.0}},
    "SGDClassifier": {"loss": _LOSSES},
    "SGDRegressor": {"loss": _LOSSES},
}
# Linear models that are fitted by epochs.
_BY_EPOCHS = (
    *("PassiveAggressiveClassifier", "PassiveAggressiveRegressor"),
    *("Perceptron", "SGDClassifier", "SGDRegressor"),
)
_ONE_TO_REST = (
    "LogisticRegression(multi_class='ovr') is gone from today's scikit-learn: use"
    " sklearn.multiclass.OneVsRestClassifier(LogisticRegression(...))."
)


_GONE = {
    "neighbors": {"LSHForest": "Use sklearn.neighbors.NearestNeighbors, which is exact."},
}


def _mend(module: str) -> None:
    """Lets the classes of a module take arguments as in scikit-learn 0.19, from the user's code.

    The classes themselves are changed, so that they stay what a pickle and `isinstance` mean.
    """
    real = importlib.import_module(f"sklearn.{module}")
    for name, places in _PLACES.get(module, {}).items():
        kind = getattr(real, name)
        if not hasattr(kind.__init__, "__mox_places__"):
            kind.__init__ = _tolerant(kind.__init__, places, _RENAMED.get(name, {}))


def _tolerant(
    init: Callable[..., None], places: tuple[str, ...], renamed: dict[str, str | None]
) -> Callable[..., None]:
    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if users_only.is_users(sys._getframe(1)):
            if len(args) <= len(places) and not kwargs.keys() & places[: len(args)]:
                kwargs.update(zip(places, args, strict=False))
                args = ()
            for old in renamed.keys() & kwargs.keys():
                value, new = kwargs.pop(old), renamed[old]
                if new is not None:
                    kwargs[new] = value
            name = type(self).__name__
            for argument, values in _VALUES.get(name, {}).items():
                given = kwargs.get(argument)
                if isinstance(given, str) and given in values:
                    kwargs[argument] = values[given]
            if name in _BY_EPOCHS:
                _all_epochs(kwargs)
            if name == "LogisticRegression":
                _check_classes(kwargs.pop("multi_class", "auto"))
        init(self, *args, **kwargs)

    __init__.__mox_places__ = places  # type: ignore[attr-defined]
    return __init__


def _all_epochs(options: dict[str, Any]) -> None:
    """Changes options that ended no training early: `n_iter`, and tolerances below 0."""
    if "n_iter" in options:
        options.update(max_iter=options.pop("n_iter"), tol=None)
    if options.get("tol") is not None and options["tol"] < 0:
        options["tol"] = None


def _check_classes(how: str) -> None:
    """Raises ValueError for a value of `multi_class` that means what no solver does today."""
    if how not in ("auto", "multinomial"):
        raise ValueError(_ONE_TO_REST)


def _mended(module: str) -> Spec:
    return Spec(
        roots=(f"sklearn.{module}",),
        gone=_GONE.get(module, {}),
        arrive=lambda: _mend(module),
        library=True,
    )


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
                arrive=lambda: _mend("decomposition"),
                library=True,
            ),
            "ensemble": _mended("ensemble"),
            "externals": Spec(
                roots=("sklearn.externals",), names={"joblib": "joblib", "six": "six"}
            ),
            "feature_extraction": Spec(
                roots=("sklearn.feature_extraction",),
                names={"text": _mended("feature_extraction.text")},
                library=True,
            ),
            "grid_search": _mended("model_selection"),
            "lda": Spec(names={"LDA": "sklearn.discriminant_analysis:LinearDiscriminantAnalysis"}),
            "learning_curve": Spec(roots=("sklearn.model_selection",)),
            **{
                name: _mended(name)
                for name in ("linear_model", "model_selection", "neighbors", "svm", "tree")
            },
            "metrics": Spec(
                roots=("sklearn.metrics",),
                names={
                    **_by_place("metrics", _METRICS),
                    **dict.fromkeys(
                        ("classification", "ranking", "regression", "scorer"),
                        "face:sklearn.metrics",
                    ),
                    "calinski_harabaz_score": "sklearn.metrics:calinski_harabasz_score",
                    "jaccard_similarity_score": lambda: jaccard_similarity_score,
                },
                library=True,
            ),
            "manifold": Spec(
                roots=("sklearn.manifold",),
                names={"t_sne": "face:sklearn.manifold"},
                arrive=lambda: _mend("manifold"),
                library=True,
            ),
            "cluster": Spec(
                roots=("sklearn.cluster",),
                names={"k_means_": "face:sklearn.cluster"},
                arrive=lambda: _mend("cluster"),
                library=True,
            ),
            "mixture": Spec(
                roots=("sklearn.mixture",),
                gone={"GMM": "Use sklearn.mixture.GaussianMixture, whose score is a mean."},
                arrive=lambda: _mend("mixture"),
                library=True,
            ),
            "preprocessing": Spec(
                roots=("sklearn.preprocessing",),
                names={
                    "Imputer": lambda: _imputer(),
                    "data": "face:sklearn.preprocessing",
                    "label": "face:sklearn.preprocessing",
                },
                arrive=lambda: _mend("preprocessing"),
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


def jaccard_similarity_score(
    y_true: Any, y_pred: Any, normalize: bool = True, sample_weight: Any = None
) -> float:
    """`sklearn.metrics.jaccard_similarity_score`, which scikit-learn had until 0.22.

    It is the accuracy of one label for each sample, and the mean of the samples' Jaccard indices
    for several labels, where two empty sets agree.
    """
    import numpy as np
    from sklearn.metrics import accuracy_score
    from sklearn.utils.multiclass import type_of_target

    if not type_of_target(y_true).startswith("multilabel"):
        return accuracy_score(y_true, y_pred, normalize=normalize, sample_weight=sample_weight)
    true, predicted = (
        np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels) != 0
        for labels in (y_true, y_pred)
    )
    common, either = (true & predicted).sum(axis=1), (true | predicted).sum(axis=1)
    scores = np.where(either == 0, 1.0, common / np.maximum(either, 1))
    if normalize:
        return float(np.average(scores, weights=sample_weight))
    return float(scores.sum() if sample_weight is None else scores @ np.asarray(sample_weight))


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
