"""Pillow, pandas, scikit-learn and PyYAML as programs of 2018 know them."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont
import pytest
import sklearn.model_selection


def test_pillow(program: Any) -> None:
    values = program(
        """
        import PIL
        from PIL import Image, ImageDraw, ImageFont
        import PIL.Image as again
        names = Image.ANTIALIAS, Image.CUBIC, Image.LINEAR, Image.NEAREST
        small = Image.new('L', (8, 8)).resize((2, 2), Image.ANTIALIAS)
        font = ImageFont.load_default(20)
        draw = ImageDraw.Draw(Image.new('L', (99, 99)))
        line, lines = font.getsize('Ag'), draw.textsize('Ag\\nA', font=font)
        is_image = isinstance(small, again.Image) and Image.isImageType(small)
        version = PIL.PILLOW_VERSION
        """
    )

    kinds = PIL.Image.Resampling
    assert values["names"] == (kinds.LANCZOS, kinds.BICUBIC, kinds.BILINEAR, kinds.NEAREST)
    assert values["small"].size == (2, 2)
    assert values["is_image"]
    assert values["version"] == PIL.__version__
    font = values["font"]
    left, top, right, bottom = font.getbbox("Ag")
    assert values["line"] == (right - left, bottom)
    assert top > 0
    assert values["lines"] == (right - left, 2 * (font.getbbox("A")[3] + 4) - 4)
    # For everybody else they are as they were.
    assert not hasattr(PIL.Image, "ANTIALIAS")
    assert not hasattr(font, "getsize")
    assert not hasattr(PIL.ImageDraw.ImageDraw, "textsize")


def test_pandas(program: Any) -> None:
    values = program(
        """
        import pandas as pd, numpy as np
        df = pd.DataFrame({'a': [1, 2], 'b': [3., 4.]}, index=['x', 'y'])
        longer = df.append(pd.DataFrame({'a': [9], 'b': [8.]}), ignore_index=True)
        row = df.append({'a': 5, 'b': 6.}, ignore_index=True)
        named = df.append(pd.Series({'a': 7, 'b': 7.}, name='z'))
        several = df.append([df, df])
        series = df['a'].append(df['a'], ignore_index=True)
        ix = [df.ix['x', 'a'], df.ix[1, 'b'], df.ix['y', 0], df.ix[0:1, 'a'].tolist(),
              df.ix[:, [1, 0]].columns.tolist(), df['a'].ix['y'], len(df.ix['x':'y'])]
        df.ix['y', 'b'] = 40.
        counted = pd.DataFrame({'a': [5, 6, 7]}, index=[2, 1, 0])
        by_label = [counted.ix[2, 'a'], counted.ix[2:1, 'a'].tolist()]
        matrix = df.as_matrix(); one = df.as_matrix(['b'])
        one[0] = 0
        value = df.get_value('x', 'a'), df.set_value('x', 'a', 10).get_value(0, 0, takeable=True)
        pairs = [name for name, _ in df.iteritems()]
        ordered = df.sort('b', ascending=False).index.tolist(), df['a'].order().tolist()
        now = pd.datetime(2018, 1, 2).year
        counts = pd.value_counts([1, 1, 2]).to_dict()
        """
    )

    assert values["longer"].to_dict("list") == {"a": [1, 2, 9], "b": [3.0, 4.0, 8.0]}
    assert values["row"]["a"].tolist() == [1, 2, 5]
    assert values["named"].index.tolist() == ["x", "y", "z"]
    assert len(values["several"]) == 6
    assert values["series"].tolist() == [1, 2, 1, 2]
    assert values["ix"] == [1, 4.0, 2, [1], ["b", "a"], 2, 2]
    assert values["by_label"] == [5, [5, 6]]
    assert values["matrix"].tolist() == [[1.0, 3.0], [2.0, 40.0]]
    assert values["df"].loc["x", "b"] == 3.0
    assert values["value"] == (1, 10)
    assert values["pairs"] == ["a", "b"]
    assert values["ordered"] == (["y", "x"], [2, 10])
    assert (values["now"], values["counts"]) == (2018, {1: 2, 2: 1})
    for name in ("append", "ix", "as_matrix", "sort"):
        assert not hasattr(pd.DataFrame, name)
        assert not hasattr(pd.DataFrame({"a": [1]}), name)


def test_patterns_of_pandas_texts_are_regular_expressions(program: Any) -> None:
    values = program(
        """
        import pandas as pd
        paths = pd.Series(['ab', '/c', 'a.b'])
        called = paths.str.replace(r'(^[^/])', lambda m: 'in/' + m.group(1)).tolist()
        pattern, point = paths.str.replace('a.', '_').tolist(), paths.str.replace('.', '_').tolist()
        literal = paths.str.replace('a.', '_', regex=False).tolist()
        """
    )

    assert values["called"] == ["in/ab", "/c", "in/a.b"]
    assert values["pattern"] == ["_", "/c", "_b"]
    assert values["point"] == ["ab", "/c", "a_b"]
    assert values["literal"] == ["ab", "/c", "_b"]
    # Other modules get today's default.
    assert pd.Series(["ab"]).str.replace("a.", "_").tolist() == ["ab"]


def test_pandas_reads_text_that_is_given(program: Any, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('[{"a": 5}]')
    found = program(
        f"""
        import pandas as pd
        text = '[{{"a": 1, "b": "x"}}, {{"a": 2, "b": "y"}}]'
        lines = '{{"a": 1}}\\n{{"a": 2}}'
        frames = [
            pd.read_json(text),
            pd.read_json(text.encode()),
            pd.read_json(lines, lines=True),
            pd.read_json({str(tmp_path / "f.json")!r}),
        ]
        sums = [int(frame.a.sum()) for frame in frames]
        """
    )
    assert found["sums"] == [3, 3, 3, 5]


def test_pandas_says_what_is_gone(program: Any) -> None:
    with pytest.raises(AttributeError, match=r"pandas\.Panel is gone from today's pandas\. Use a"):
        program("import pandas as pd\npd.Panel")
    with pytest.raises(TypeError, match="ignore_index=True"):
        program("import pandas as pd\npd.DataFrame({'a': [1]}).append({'a': 2})")


def test_scikit_learn(program: Any) -> None:
    values = program(
        """
        import numpy as np
        from sklearn import cross_validation, preprocessing
        from sklearn.cross_validation import train_test_split, KFold, StratifiedKFold
        from sklearn.externals import joblib
        from sklearn.grid_search import GridSearchCV
        from sklearn.datasets.samples_generator import make_blobs
        folds = [(train.tolist(), test.tolist()) for train, test in KFold(6, n_folds=3)]
        sizes = len(KFold(6, n_folds=3)), len(StratifiedKFold([0, 1] * 6, 3))
        shares = [sum(test % 2) for _, test in StratifiedKFold([0, 1] * 6, 3)]
        alone = [test.tolist() for _, test in cross_validation.LeaveOneOut(3)]
        parts = train_test_split(np.arange(10), test_size=0.2, random_state=0)
        filled = preprocessing.Imputer(strategy='mean').fit_transform([[1.], [np.nan], [3.]])
        dump = joblib.dump
        """
    )

    assert values["folds"][0] == ([2, 3, 4, 5], [0, 1])
    assert values["sizes"] == (3, 3)
    assert values["shares"] == [2, 2, 2]
    assert values["alone"] == [[0], [1], [2]]
    expected = sklearn.model_selection.train_test_split(
        np.arange(10), test_size=0.2, random_state=0
    )
    assert [part.tolist() for part in values["parts"]] == [part.tolist() for part in expected]
    assert values["filled"].tolist() == [[1.0], [2.0], [3.0]]
    with pytest.raises(NotImplementedError, match=r"LSHForest is gone from .*NearestNeighbors"):
        program("from sklearn.neighbors import LSHForest\nLSHForest()")
    program("from sklearn.datasets import fetch_mldata")
    with pytest.raises(NotImplementedError, match="fetch_openml"):
        program("from sklearn.datasets import fetch_mldata\nfetch_mldata(0)")


def test_yaml(program: Any) -> None:
    values = program(
        """
        import yaml
        one = yaml.load('a: [1, 2.5]')
        several = list(yaml.load_all('a\\n---\\nb'))
        explicit = yaml.load('x: 1', Loader=yaml.FullLoader)
        """
    )

    assert values["one"] == {"a": [1, 2.5]}
    assert values["several"] == ["a", "b"]
    assert values["explicit"] == {"x": 1}
    with pytest.raises(Exception, match="could not determine a constructor"):
        program("import yaml\nyaml.load('!!python/object/apply:os.getcwd []')")


def test_windows_of_pandas(program: Any) -> None:
    values = program(
        """
        import pandas as pd, numpy as np
        array = np.array([1., 2., 4., 8.])
        mean, least = pd.rolling_mean(array, 2), pd.rolling_mean(array, 2, min_periods=1)
        series = pd.rolling_std(pd.Series(array, index=list('abcd')), window=2)
        frame = pd.rolling_max(pd.DataFrame({'a': array}), 2, center=True)
        count, total = pd.rolling_count(array, 3), pd.expanding_sum(array)
        weighted, spread = pd.ewma(array, span=3), pd.ewmstd(pd.Series(array), com=1, bias=True)
        try:
            pd.rolling_sum(array, 2, freq='D')
        except TypeError as error:
            message = str(error)
        """
    )

    array = np.array([1.0, 2.0, 4.0, 8.0])
    assert isinstance(values["mean"], np.ndarray)
    assert np.allclose(values["mean"], [np.nan, 1.5, 3.0, 6.0], equal_nan=True)
    assert values["least"].tolist() == [1.0, 1.5, 3.0, 6.0]
    expected = pd.Series(array, index=list("abcd")).rolling(2).std()
    assert values["series"].index.tolist() == list("abcd")
    assert np.allclose(values["series"], np.asarray(expected), equal_nan=True)
    assert values["frame"]["a"].tolist()[1:] == [2.0, 4.0, 8.0]
    assert values["count"].tolist() == [1, 2, 3, 3]
    assert values["total"].tolist() == [1, 3, 7, 15]
    # Weights of span 3 halve with each step into the past.
    weights = np.array([0.125, 0.25, 0.5, 1.0])
    assert np.isclose(values["weighted"][-1], (weights * array).sum() / weights.sum())
    mean = (weights * array).sum() / weights.sum()
    spread = np.sqrt((weights * (array - mean) ** 2).sum() / weights.sum())
    assert np.isclose(values["spread"].iloc[-1], spread)
    assert "resample('D').mean() before rolling_sum" in values["message"]
    assert not hasattr(pd, "rolling_mean")


def test_jaccard_similarity_score(program: Any) -> None:
    values = program(
        """
        import numpy as np
        from sklearn.metrics import jaccard_similarity_score as score
        one = score([0, 2, 1, 3], [0, 1, 2, 3]), score([0, 2, 1, 3], [0, 1, 2, 3], normalize=False)
        true, predicted = np.array([[0, 1], [1, 1], [0, 0]]), np.array([[1, 1], [1, 1], [0, 0]])
        several = score(true, predicted), score(true, predicted, normalize=False)
        weighted = score(true, predicted, sample_weight=[1, 0, 0])
        """
    )

    assert values["one"] == (0.5, 2)
    assert np.allclose(values["several"], [2.5 / 3, 2.5])
    assert values["weighted"] == 0.5


def test_ruamel(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class with the parts of ruamel.yaml that are used stands for it; it is not installed."""
    made: list[Any] = []

    class YAML:
        """Writes the settings and the data that it gets, and reads back what kind it is."""

        def __init__(self, typ: str, pure: bool) -> None:
            self.typ = typ
            made.append(self)

        def dump(self, data: Any, stream: Any) -> None:
            stream.write(f"{self.typ} {data}")

        def load(self, stream: Any) -> Any:
            return self.typ, stream

    class RoundTripDumper:
        """Only its name counts."""

    module = types.ModuleType("ruamel.yaml")
    module.__dict__.update(
        YAML=YAML, RoundTripDumper=RoundTripDumper, Loader=type("Loader", (), {})
    )
    package = types.ModuleType("ruamel")
    package.__dict__.update(yaml=module, __path__=[])
    monkeypatch.setitem(sys.modules, "ruamel", package)
    monkeypatch.setitem(sys.modules, "ruamel.yaml", module)

    values = program(
        """
        import io
        import ruamel.yaml as yaml
        from ruamel import yaml as again
        stream = io.StringIO()
        nothing = yaml.dump({'a': 1}, stream, default_flow_style=False)
        written, text = stream.getvalue(), again.dump(2, Dumper=yaml.RoundTripDumper, indent=4)
        loaded = yaml.load('x'), yaml.load('x', Loader=yaml.Loader), yaml.round_trip_load('x')
        safe = yaml.safe_load('x'), yaml.safe_dump(3)
        """
    )

    assert values["nothing"] is None
    assert (values["written"], values["text"]) == ("unsafe {'a': 1}", "rt 2")
    assert made[0].default_flow_style is False
    assert made[1].indent == 4
    assert values["loaded"] == (("safe", "x"), ("unsafe", "x"), ("rt", "x"))
    assert values["safe"] == (("safe", "x"), "safe 3")
