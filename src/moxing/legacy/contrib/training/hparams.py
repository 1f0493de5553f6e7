"""`tf.contrib.training.HParams`: named values that can be parsed from a string."""

from __future__ import annotations

import json
import re
from typing import Any

from moxing.errors import MoxKeyError, MoxValueError, near_matches

# name=value, name[index]=value or name=[value,value], then a comma or the end.
_ASSIGNMENT = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w*)\s*(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(\[(?P<items>[^\]]*)\]|(?P<value>[^,\[]*))\s*(,|$)"
)
_TRUE, _FALSE = ("true", "1"), ("false", "0")


class HParams:
    """Hyperparameters as attributes; each keeps the type of its first value."""

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise MoxValueError("HParams(hparam_def=...) is not supported; pass names and values.")
        self._names: list[str] = []
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a value.

        Raises:
            MoxValueError: the name is taken, or the value is an empty list, whose type is unknown.
        """
        if hasattr(self, name):
            raise MoxValueError(f"hyperparameter {name!r} is there already, or a method's name.")
        if isinstance(value, (list, tuple)):
            if not value:
                raise MoxValueError(f"hyperparameter {name!r} must not be an empty list.")
            value = list(value)
        self._names.append(name)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Replaces a value by one of the same type."""
        old = getattr(self, self._known(name))
        if isinstance(old, list) != isinstance(value, (list, tuple)):
            wanted = "a list" if isinstance(old, list) else "one value"
            raise MoxValueError(f"hyperparameter {name!r} takes {wanted}, not {value!r}.")
        if isinstance(old, list):
            value = [_cast(name, old[0], item) for item in value]
        else:
            value = _cast(name, old, value)
        setattr(self, name, value)

    def del_hparam(self, name: str) -> None:
        """Removes a value, if there is one."""
        if name in self._names:
            self._names.remove(name)
            delattr(self, name)

    def parse(self, values: str) -> HParams:
        """Sets values from a string such as `"rate=0.1,units=[64,32],units[1]=16"`."""
        position = 0
        while position < len(values.rstrip()):
            found = _ASSIGNMENT.match(values, position)
            if found is None:
                raise MoxValueError(
                    f"cannot read {values[position:]!r} of the hyperparameters {values!r}: expected"
                    " name=value, name=[value,value] or name[index]=value, separated by commas."
                )
            self._assign(found["name"], found["index"], found["items"], found["value"])
            position = found.end()
        return self

    def _assign(self, name: str, index: str | None, items: str | None, value: str) -> None:
        if items is not None:
            self.set_hparam(name, [item.strip() for item in items.split(",") if item.strip()])
        elif index is None:
            self.set_hparam(name, value.strip())
        else:
            changed = list(getattr(self, self._known(name)))
            if int(index) >= len(changed):
                raise MoxValueError(f"hyperparameter {name!r} has no item {index}: {changed}.")
            changed[int(index)] = value.strip()
            self.set_hparam(name, changed)

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Sets the values that a dict names."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """The name that TensorFlow 1.4 gave to `override_from_dict`."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keeps an object that stands for the structure of a model."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Returns the object that was given to `set_model_structure` or to the constructor."""
        return self._model_structure

    def values(self) -> dict[str, Any]:
        """Returns all values by name."""
        return {name: getattr(self, name) for name in self._names}

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a name, or `default` if there is none."""
        return getattr(self, key) if key in self._names else default

    def to_json(self, indent: int | None = None, sort_keys: bool = False) -> str:
        """Returns the values as a JSON object."""
        return json.dumps(self.values(), indent=indent, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Sets values from a JSON object."""
        return self.override_from_dict(json.loads(values_json))

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __repr__(self) -> str:
        return f"HParams({sorted(self.values().items())})"

    def _known(self, name: str) -> str:
        if name not in self._names:
            raise MoxKeyError(f"no hyperparameter {name!r}.{near_matches(name, self._names)}")
        return name


def _cast(name: str, old: Any, value: Any) -> Any:
    """Converts `value` to the type of `old`; strings are parsed, other values must match."""
    if old is None or isinstance(value, type(old)):
        return value
    try:
        if isinstance(old, bool):
            return _truth(value)
        if isinstance(old, int) and isinstance(value, float) and value != int(value):
            raise ValueError(value)
        return type(old)(value)
    except (TypeError, ValueError) as error:
        kind = type(old).__name__
        raise MoxValueError(f"hyperparameter {name!r} takes {kind}, not {value!r}.") from error


def _truth(value: Any) -> bool:
    text = str(value).lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError(value)
