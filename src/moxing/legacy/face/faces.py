"""Module objects that stand in front of real modules: a face shows them with names added.

A face lives in a table of its own, never in `sys.modules`, so only a module that asks this table
for `tensorflow` gets the face. A `Spec`, which is plain data, describes the names of a face. The
modules behind a face are imported when one of their names is first read.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from moxing.errors import MoxAttributeError, MoxImportError, near_matches
from moxing.legacy.face import gone, pickled

_FACE = "face:"


@dataclass(frozen=True)
class Spec:
    """The description of a face.

    Attributes:
        roots: real modules; a name is read from the first module that has the name, and a submodule
            of the face shows the submodules of that name of all roots.
        names: names added or replaced. A text is `"module"`, `"module:attribute"` or
            `"face:name.of.face"`; a `Spec` is a further face; a function is called for the value
            when it is first read.
        fallback: real modules that are searched for names that no root has.
        deep: whether submodules of the roots are shown as faces with the same `fallback`.
        gone: names without a replacement, each with a sentence that says what to do.
        otherwise: a sentence for every other unknown name.
        arrive: called when the face is first loaded.
        library: whether the face shows one library as it was: the library is imported with the
            face, and an attribute that the program sets on the face is set on the library.
        live: whether names of the roots are read again each time, because other code may change
            them.
        old_prefix: what names of the roots may once have begun with; a name that begins so and
            that no module has is read without the prefix.
    """

    roots: tuple[str, ...] = ()
    names: Mapping[str, str | Spec | Callable[[], Any]] = field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    deep: bool = False
    gone: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""
    arrive: Callable[[], None] | None = None
    library: bool = False
    live: bool = False
    old_prefix: str = ""


class Face(types.ModuleType):
    """A module that stands in front of real modules."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled.module, (self.__name__,)

    def all_names(self) -> dict[str, Any]:
        """Returns all names with their values; `__dict__` has only those that were read.

        It is `__dict__` itself, unless values of the face are read again each time.
        """
        found: dict[str, Any] = {}
        for name in dir(self):
            # A name that is not available raises the sentence about it when the program reads the
            # name.
            with contextlib.suppress(Exception):
                found[name] = getattr(self, name)
        kept = self.__dict__
        return kept if found.keys() <= kept.keys() else {**found, **kept}


class _Library(Face):
    """A face of one library; an assignment to the face is an assignment to the library."""

    def __init__(self, name: str, real: types.ModuleType) -> None:
        super().__init__(name, real.__doc__)
        self.__dict__["__real__"] = real

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        setattr(self.__dict__["__real__"], name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__.pop(name, None)
        real = self.__dict__["__real__"]
        if hasattr(real, name):
            delattr(real, name)


class Faces:
    """The table of faces: `load("tensorflow.contrib.slim")` also makes the parent modules."""

    def __init__(self, roots: Mapping[str, Spec]) -> None:
        self._roots = dict(roots)
        self._modules: dict[str, types.ModuleType] = {}
        self._specs: dict[str, Spec] = {}

    def covers(self, name: str) -> bool:
        """Whether the dotted module name `name` starts at one of the table's roots."""
        return name.partition(".")[0] in self._roots

    def load(self, name: str) -> types.ModuleType:
        """Returns the module to show for a dotted name.

        Raises:
            ImportError: there is neither a face nor a real module of that name.
        """
        known = self._modules.get(name)
        if known is not None:
            return known
        parent_name, _, leaf = name.rpartition(".")
        if not parent_name:
            return self._make(name, self._roots[name])
        parent = self.load(parent_name)
        # A face may have several names; its submodules are made under the face's own name.
        own = parent.__name__
        if own in self._specs and self._modules[own] is parent:
            module = self._child(own, leaf)
            # A function may have its module's name, as in packages that import with *.
            named = self._specs[own].names
            if leaf not in named or isinstance(getattr(parent, leaf), types.ModuleType):
                parent.__dict__[leaf] = module
        else:
            module = _real_child(parent, leaf)
        return self._modules.setdefault(name, module)

    def of_loaded(self) -> dict[str, types.ModuleType]:
        """Returns the faces of the libraries that are imported, by name."""
        loaded = [name for name, spec in self._roots.items() if spec.library]
        return {name: self.load(name) for name in loaded if name in sys.modules}

    def import_module(self, name: str, package: str | None = None) -> types.ModuleType:
        """`importlib.import_module` as the user's modules see it."""
        return self.load(name) if self.covers(name) else importlib.import_module(name, package)

    def stand_in(self, name: str) -> types.ModuleType | None:
        """Returns the module for an import of a part that is gone; None for any other name.

        It has none of the part's names: reading one raises the sentence about the part.
        """
        with contextlib.suppress(ImportError):
            return self.load(name)
        parent_name, _, leaf = name.rpartition(".")
        parent = self.stand_in(parent_name) if parent_name else None
        if parent is None:
            return None
        known = parent.__dict__.get(leaf)
        if isinstance(known, gone.StandIn):
            return known
        spec = self._specs.get(parent.__name__)
        if isinstance(parent, gone.StandIn):
            sentence = str(parent.__doc__)
        elif spec is not None and leaf in spec.gone:
            sentence = self.missing(parent.__name__, leaf)
        else:
            return None
        module = parent.__dict__[leaf] = gone.StandIn(name, sentence)
        return module

    def _make(self, name: str, spec: Spec) -> types.ModuleType:
        if spec.arrive is not None:
            spec.arrive()
        module = _Library(name, _real(spec.roots[0])) if spec.library else Face(name)
        module.__dict__["__package__"] = name
        module.__dict__["__getattr__"] = lambda attribute: self._read(name, attribute)
        module.__dict__["__dir__"] = lambda: self._list(name)
        self._specs[name] = spec
        return self._modules.setdefault(name, module)

    def _read(self, name: str, attribute: str) -> Any:
        """Returns the value of an attribute that the face does not hold yet, and stores it."""
        spec = self._specs[name]
        if attribute == "__all__":
            return [item for item in self._list(name) if not item.startswith("_")]
        if attribute in spec.names:
            value = self._value(f"{name}.{attribute}", spec.names[attribute])
        else:
            value = self._look_up(name, spec, attribute)
            if spec.live:
                return value
        self._modules[name].__dict__[attribute] = value
        return value

    def _value(self, name: str, target: str | Spec | Callable[[], Any]) -> Any:
        if isinstance(target, Spec):
            return self._modules.get(name) or self._make(name, target)
        if isinstance(target, str) and target.startswith(_FACE):
            return self.load(target.removeprefix(_FACE))
        if isinstance(target, str):
            return resolve(target)
        return target()

    def _look_up(self, name: str, spec: Spec, attribute: str) -> Any:
        for source in _present(spec.roots):
            try:
                value = getattr(source, attribute)
            except AttributeError:
                continue
            if spec.deep and isinstance(value, types.ModuleType) and _is_child(source, value):
                return self.load(f"{name}.{attribute}")
            return value
        if not attribute.startswith("__"):
            for source in _present(spec.fallback):
                if hasattr(source, attribute):
                    return getattr(source, attribute)
            if spec.old_prefix and attribute.startswith(spec.old_prefix):
                now = attribute.removeprefix(spec.old_prefix)
                if any(hasattr(source, now) for source in _present(spec.roots)):
                    return self._look_up(name, spec, now)
        raise MoxAttributeError(self.missing(name, attribute), name=attribute)

    def _child(self, parent_name: str, leaf: str) -> types.ModuleType:
        spec = self._specs[parent_name]
        name = f"{parent_name}.{leaf}"
        if leaf in spec.names:
            value = self._value(name, spec.names[leaf])
            if isinstance(value, types.ModuleType):
                return value
        roots = tuple(f"{root}.{leaf}" for root in spec.roots if _exists(f"{root}.{leaf}"))
        if roots and spec.deep:
            return self._make(name, Spec(roots=roots, fallback=spec.fallback, deep=True))
        if roots:
            return importlib.import_module(roots[0])
        for source in _present(spec.roots):
            value = getattr(source, leaf, None)
            if isinstance(value, types.ModuleType):
                return value
        if leaf in spec.names:
            raise MoxImportError(f"{name} is not a module.", name=name)
        raise MoxImportError(self.missing(parent_name, leaf), name=name)

    def _list(self, name: str) -> list[str]:
        spec = self._specs[name]
        found = {item for source in _present(spec.roots) for item in dir(source)}
        found |= {*spec.names, *self._modules[name].__dict__} - {"__getattr__", "__dir__"}
        return sorted(found)

    def missing(self, name: str, attribute: str) -> str:
        """Returns the sentence for a name that the face of `name` cannot show."""
        spec = self._specs[name]
        if attribute in spec.gone:
            top = name.partition(".")[0]
            now = f"today's {top}" if self._roots[top].library else "TensorFlow 2.x"
            return f"{name}.{attribute} is gone from {now}. {spec.gone[attribute]}"
        own = _own_words(spec.roots, attribute)
        if own:
            return own
        sentence = f"module '{name}' has no attribute '{attribute}'."
        known = [item for item in self._list(name) if not item.startswith("_")]
        return sentence + near_matches(attribute, known) + spec.otherwise


def resolve(target: str) -> Any:
    """Returns the module, or the attribute of a module, named `"module:attribute.attribute"`."""
    module_name, _, path = target.partition(":")
    value: Any = _real(module_name)
    for part in path.split(".") if path else ():
        value = getattr(value, part)
    return value


def _present(names: tuple[str, ...]) -> Iterator[types.ModuleType]:
    for name in names:
        yield _real(name)


def _real(name: str) -> types.ModuleType:
    """Imports a module; `sys.modules` may hold its face, as `compiled` tells."""
    module = importlib.import_module(name)
    return module.__dict__["__real__"] if isinstance(module, _Library) else module


def _own_words(roots: tuple[str, ...], attribute: str) -> str:
    """Returns the error text of openmox's module for a missing name; it may name an alternative."""
    for source in _present(roots):
        try:
            getattr(source, attribute)
        except MoxAttributeError as error:
            return str(error)
        except AttributeError:
            continue
    return ""


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        # A parent is no package, or is in sys.modules without a spec.
        return False


def _is_child(parent: types.ModuleType, module: types.ModuleType) -> bool:
    return module.__name__.rpartition(".")[0] == parent.__name__


def _real_child(parent: types.ModuleType, leaf: str) -> types.ModuleType:
    """Returns the submodule `leaf` of a real module, or the attribute of that name."""
    name = f"{parent.__name__}.{leaf}"
    value = getattr(parent, leaf, None)
    if isinstance(value, types.ModuleType):
        return value
    return importlib.import_module(name)
