"""Arguments and small names of SciPy, scikit-learn, Pillow, librosa and Python of 2018."""

from __future__ import annotations

import random
import sys
import types
from typing import Any

import numpy as np
import pytest

from moxing.legacy.libraries import librosa_face

from .conftest import Program


def test_scipy(program: Program) -> None:
    values = program(
        """
        import numpy as np, scipy
        from scipy import linalg, signal, sparse, stats
        import scipy.sparse.linalg as solvers
        m = sparse.csr_matrix([[0, 1j], [2, 0]])
        dense, adjoint = m.A.tolist(), m.H.A.tolist()
        most = stats.mode([1, 1, 2])[0][0], stats.mode(np.array([[1, 2], [1, 3]]))[1].tolist()
        tail = stats.chisqprob(3.84, 1)
        lower = linalg.tril([[1, 2], [3, 4]]).tolist()
        largest = linalg.eigh(np.diag([1., 2., 3.]), eigvals=(2, 2), turbo=True)[0].tolist()
        window = signal.hanning(3).tolist()
        solved = solvers.cg(np.diag([1., 2.]), np.ones(2), tol=1e-8)[0].tolist()
        back = scipy.ifft([1., 0.]).tolist()
        """
    )

    assert values["dense"] == [[0, 1j], [2, 0]]
    assert values["adjoint"] == [[0, 2], [-1j, 0]]
    assert values["most"] == (1, [[2, 1]])
    assert values["tail"] == pytest.approx(0.05, abs=1e-3)
    assert values["lower"] == [[1, 0], [3, 4]]
    assert values["largest"] == pytest.approx([3])
    assert values["window"] == [0, 1, 0]
    assert values["solved"] == pytest.approx([1, 0.5])
    assert values["back"] == [0.5, 0.5]


def test_scikit_learn_classes_by_place(program: Program) -> None:
    values = program(
        """
        import pickle
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import KFold
        from sklearn.neighbors import NearestNeighbors
        from sklearn import svm, preprocessing
        fold, near, support = KFold(2, True, 7), NearestNeighbors(3, 0.5), svm.SVC(2., 'linear')
        scaled = pickle.loads(pickle.dumps(preprocessing.StandardScaler(False).fit([[1.], [3.]])))
        model = LogisticRegression('l2', False, 1e-3, 10., multi_class='multinomial').fit(
            [[0.], [1.], [2.]], [0, 1, 2])
        try:
            LogisticRegression(multi_class='ovr')
        except ValueError as error:
            wrong = str(error)
        """
    )

    fold, near = values["fold"], values["near"]
    assert (fold.n_splits, fold.shuffle, fold.random_state) == (2, True, 7)
    assert (near.n_neighbors, near.radius) == (3, 0.5)
    assert (values["support"].C, values["support"].kernel) == (2.0, "linear")
    assert values["scaled"].get_params() == {"copy": False, "with_mean": True, "with_std": True}
    assert (values["model"].tol, values["model"].C) == (1e-3, 10)
    assert "OneVsRestClassifier" in values["wrong"]
    with pytest.raises(TypeError, match="positional"):
        type(near)(3)


def test_scikit_learn(program: Program) -> None:
    values = program(
        """
        import numpy as np
        from sklearn import metrics
        from sklearn.cluster import KMeans
        from sklearn.datasets import make_moons
        from sklearn.manifold import TSNE
        from sklearn.preprocessing import OneHotEncoder
        from sklearn.preprocessing.data import StandardScaler
        from sklearn.utils.class_weight import compute_class_weight
        from sklearn.utils.linear_assignment_ import linear_assignment
        table = metrics.confusion_matrix([0, 1, 1], [0, 1, 0], [1, 0]).tolist()
        share = metrics.f1_score([0, 1, 1], [0, 1, 0], None, 1, 'macro')
        root = metrics.mean_squared_error([0, 0], [3, 3], squared=False)
        shown = TSNE(n_components=2, n_iter=300).max_iter
        means = KMeans(2, n_jobs=2, n_init=1).fit([[0.], [0.], [9.], [9.]]).inertia_
        codes = OneHotEncoder(sparse=False).fit_transform([[1], [2]]).tolist()
        moons = make_moons(10, True, 0.1)[0].shape
        weights = compute_class_weight('balanced', np.array([0, 1]), [0, 1, 1, 1]).tolist()
        pairs = linear_assignment(np.array([[9, 1], [1, 9], [5, 5]])).tolist()
        """
    )

    assert values["table"] == [[1, 1], [0, 1]]
    assert values["share"] == pytest.approx(2 / 3)
    assert (values["root"], values["shown"], values["means"]) == (3, 300, 0)
    assert values["codes"] == [[1, 0], [0, 1]]
    assert values["moons"] == (10, 2)
    assert values["weights"] == pytest.approx([2, 2 / 3])
    assert values["pairs"] == [[0, 1], [1, 0]]


def test_estimators_of_scikit_learn(program: Program) -> None:
    values = program(
        """
        import numpy as np
        from sklearn.ensemble import (AdaBoostClassifier, BaggingClassifier,
                                      GradientBoostingClassifier, RandomForestRegressor)
        from sklearn.linear_model import Perceptron, SGDClassifier
        from sklearn.model_selection import GridSearchCV
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
        X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
        epochs = [
            Perceptron(tol=-np.inf, max_iter=7, random_state=1).fit(X, y).n_iter_,
            SGDClassifier(loss='log', n_iter=9, random_state=1).fit(X, y).n_iter_,
        ]
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2,
                           algorithm='SAMME').fit(X, y)
        BaggingClassifier(base_estimator=DecisionTreeClassifier(), n_estimators=2).fit(X, y)
        GradientBoostingClassifier(loss='deviance', n_estimators=2).fit(X, y)
        RandomForestRegressor(2, criterion='mse', max_features='auto').fit(X, y)
        tree = DecisionTreeRegressor('mse', presort=True).fit(X, y).criterion
        search = GridSearchCV(DecisionTreeClassifier(), {'max_depth': [1, 2]}, cv=2, iid=False)
        best = search.fit(X, y).best_params_
        """
    )

    assert values["epochs"] == [7, 9]
    assert values["tree"] == "squared_error"
    assert values["best"]["max_depth"] in (1, 2)


def test_pillow(program: Program) -> None:
    values = program(
        """
        from PIL import Image, ImageDraw
        image = Image.fromstring('L', (2, 2), b'abcd')
        raw = image.tostring()
        draw = ImageDraw.Draw(image)
        draw.rectangle([1, 1, 0, 0], fill=7)
        draw.rectangle([(1, 1), (0, 0)], fill=7)
        filled = image.tostring()
        lines = draw.multiline_textsize('a\\nb')[1] > draw.textsize('a')[1]
        """
    )

    assert (values["raw"], values["filled"]) == (b"abcd", b"\x07" * 4)
    assert values["lines"]


def test_python(program: Program) -> None:
    values = program(
        """
        import json, random
        import numpy as np
        from html.parser import HTMLParser
        random.seed(np.int64(3)); first = random.random()
        random.seed((1, 2)); second = random.random()
        items = [1, 2, 3]
        random.shuffle(items, lambda: 0.0)
        text = json.dumps({'a': 1}, encoding='utf-8')
        plain = HTMLParser().unescape('&lt;a&gt;')
        """
    )

    random.seed(3)
    assert values["first"] == random.random()
    random.seed(hash((1, 2)))
    assert values["second"] == random.random()
    assert values["items"] == [2, 3, 1]
    assert (values["text"], values["plain"]) == ('{"a": 1}', "<a>")


def test_librosa(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A module of the same signatures stands for librosa, which is not installed here."""
    seen = []

    def mel(*, sr: int, n_fft: int, n_mels: int = 128, norm: Any = "slaney") -> None:
        seen.append((sr, n_fft, n_mels, norm))

    def rms(*, y: Any = None, S: Any = None, frame_length: int = 9, pad_mode: str = "c") -> None:
        seen.append((y, frame_length, pad_mode))

    for name, functions in (("filters", {"mel": mel}), ("feature", {"rms": rms})):
        module = types.ModuleType(f"librosa.{name}")
        module.__dict__.update(functions)
        monkeypatch.setitem(sys.modules, f"librosa.{name}", module)

    librosa_face._by_place("filters", "mel")(16000, 512, 80, norm=1)
    librosa_face._by_place("feature", "rms")("y", frame_length=4)
    librosa_face.write_wav(tmp_path / "x.wav", np.array([0.25, -0.5], np.float32), 8000, norm=True)

    assert seen == [(16000, 512, 80, "slaney"), ("y", 4, "reflect")]
    from scipy.io import wavfile

    rate, samples = wavfile.read(tmp_path / "x.wav")
    assert (rate, samples.tolist(), samples.dtype) == (8000, [0.5, -1.0], np.float32)
