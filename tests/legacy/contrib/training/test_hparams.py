"""Hyperparameters as text, dict and JSON; each keeps its type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moxing.errors import MoxError, MoxKeyError, MoxValueError
from moxing.legacy.contrib.training.hparams import HParams


def _params() -> HParams:
    return HParams(rate=0.1, units=[64, 32], name="net", deep=True, steps=10, extra=None)


def test_values_are_attributes() -> None:
    params = _params()

    assert (params.rate, params.units, params.name) == (0.1, [64, 32], "net")
    assert "rate" in params
    assert "other" not in params
    assert params.get("rate") == 0.1
    assert params.get("other", 3) == 3
    assert list(params.values()) == ["rate", "units", "name", "deep", "steps", "extra"]
    params.del_hparam("rate")
    assert "rate" not in params.values()


def test_text_is_read_by_type() -> None:
    params = _params().parse("rate=1, units=[1, 2,3],units[1]=7,deep=false,name=a b ,extra=x")

    assert params.values() == {
        **{"rate": 1.0, "units": [1, 7, 3], "name": "a b", "deep": False, "steps": 10},
        "extra": "x",
    }
    assert isinstance(params.rate, float)
    assert _params().parse("").values() == _params().values()


def test_dicts_and_json() -> None:
    params = _params().override_from_dict({"steps": 3, "rate": 1})
    copy = _params().parse_json(params.to_json())

    assert copy.values() == params.values()
    assert (params.steps, params.rate) == (3, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rat=1", "no hyperparameter 'rat'. Did you mean 'rate'?"),
        ("rate", "cannot read 'rate' of the hyperparameters 'rate': expected name=value"),
        ("steps=1.5", "hyperparameter 'steps' takes int, not '1.5'."),
        ("deep=maybe", "hyperparameter 'deep' takes bool, not 'maybe'."),
        ("rate=[1,2]", "hyperparameter 'rate' takes one value, not ['1', '2']."),
        ("units=1", "hyperparameter 'units' takes a list, not '1'."),
        ("units[5]=1", "hyperparameter 'units' has no item 5: [64, 32]."),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(MoxError) as raised:
        _params().parse(text)

    assert str(raised.value).startswith(message)


def test_mistakes_in_definitions_are_named() -> None:
    with pytest.raises(MoxValueError, match="'rate' is there already"):
        _params().add_hparam("rate", 1)
    with pytest.raises(MoxValueError, match="'parse' is there already, or a method's name"):
        HParams(parse=1)
    with pytest.raises(MoxValueError, match="'x' must not be an empty list"):
        HParams(x=[])
    with pytest.raises(MoxValueError, match="takes int, not 1.5"):
        _params().override_from_dict({"steps": 1.5})
    with pytest.raises(MoxKeyError):
        _params().set_hparam("nothing", 1)


@given(st.text("ab=[],. 0123-", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    params, said = HParams(a=1, b=[1]), "hyperparameter"
    try:
        params.parse(text)
    except MoxError as error:
        said = str(error)
    assert "hyperparameter" in said
    assert isinstance(params.values()["a"], int)
    assert isinstance(params.values()["b"], list)
