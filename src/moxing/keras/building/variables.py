"""Makes graph variables for the variables of a Keras model, its optimizer and its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.engine.graph.copy_names import PREFIX
from moxing.keras.building import families, names, optimizers
from moxing.keras.building.families import Family

WEIGHT: Final = "weight"
SLOT: Final = "slot"
METRIC: Final = "metric"


@dataclass
class Held:
    """An eager variable and the graph variables that stand for it.

    Attributes:
        eager: the eager TensorFlow variable.
        name: the name of the graph variable.
        kind: WEIGHT, SLOT (of the optimizer) or METRIC.
        trained: whether the variable is a trainable weight.
        graph: the graph variables: one, or for a metric one per device.
        home: the CPU device of this process.
    """

    eager: Any
    name: str
    kind: str
    trained: bool = False
    graph: list[tf.Variable] = field(default_factory=list)
    home: str = "/cpu:0"

    def make(self) -> tf.Variable:
        """Makes a graph variable whose initial value is the eager variable's value."""
        variable = self._made(self.name)
        if all(variable is not known for known in self.graph):
            self.graph.append(variable)
        return variable

    def make_copy(self, name: str) -> tf.Variable:
        """Makes another graph variable under a name, for a device that has copies."""
        return self._made(name)

    def _made(self, name: str) -> tf.Variable:
        eager = self.eager
        # A constant would be stored in the graph's definition, which is limited to 2 GB.
        with tf.control_dependencies(None):
            # Only this process has the value, wherever the variable is placed.
            with tf.device(None), tf.device(self.home):
                value = tf.py_func(
                    lambda: families.read([eager])[0], [], eager.dtype.base_dtype, name="given"
                )
            value.set_shape(eager.shape)
            local = [tf.GraphKeys.LOCAL_VARIABLES]
            return tf.Variable(
                value,
                trainable=self.trained,
                collections=local if self.kind == METRIC else None,
                name=name,
                use_resource=True,
            )

    def copies(self) -> list[tf.Variable]:
        """Returns the copies that other devices have of the first graph variable."""
        wanted = f"/{self.graph[0].op.name}"
        return [
            variable
            for variable in self.graph[0].graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
            if variable.op.name.startswith(PREFIX) and variable.op.name.endswith(wanted)
        ]


class Variables:
    """All variables of a model, its optimizers and its metrics.

    Args:
        family: the Keras family of the model.
        model: the compiled model, with all its variables built.
        applied: whether the model is applied, not trained: its optimizers have no part here.
    """

    def __init__(self, family: Family, model: Any, applied: bool = False) -> None:
        here = tf.DeviceSpec.from_string(tf.no_op().device)
        self._home = here.replace(device_type="CPU", device_index=0).to_string()
        weights = families.weights(family, model)
        trained = {id(family.plain(v)) for v in model.trainable_variables}
        paths = [family.path(v) for v in weights]
        used = [] if applied else optimizers.of_model(model)
        layers = names.renumbered([model, *families.layers_of(model), *used], paths)
        weight_names = [names.of_weight(path, layers) for path in paths]
        known = dict(zip(paths, weight_names, strict=True))
        slots = [v for one in used for v in family.optimizer_variables(one)]
        slot_names = [names.of_slot(family.path(v), known, layers) for v in slots]
        metrics = [v for metric in model.metrics for v in metric.variables]
        found = [
            *((WEIGHT, v, name) for v, name in zip(weights, weight_names, strict=True)),
            *((SLOT, v, name) for v, name in zip(slots, slot_names, strict=True)),
            *((METRIC, v, f"openmox/metrics/{family.path(v).split(':')[0]}") for v in metrics),
        ]
        self.held: dict[int, Held] = {}
        for (kind, v, _), name in zip(found, names.unique(n for _, _, n in found), strict=True):
            eager = family.plain(v)
            trains = kind == WEIGHT and id(eager) in trained
            held = Held(eager, name, kind, trains, home=self._home)
            self.held.setdefault(id(eager), held)

    @property
    def eager(self) -> list[Any]:
        """All eager variables."""
        return [held.eager for held in self.held.values()]

    def of_kind(self, *kinds: str) -> list[Held]:
        """Returns the variables of these kinds that are in the graph."""
        return [held for held in self.held.values() if held.kind in kinds and held.graph]

    def get(self, eager: Any, kind: str = WEIGHT) -> Held:
        """Returns the entry of an eager variable; adds one for a variable Keras does not list."""
        if id(eager) not in self.held:
            name = names.unique([*(h.name for h in self.held.values()), eager.name.split(":")[0]])
            self.held[id(eager)] = Held(eager, name[-1], kind, home=self._home)
        return self.held[id(eager)]


def to_keras(session: tf.Session, held: Sequence[Held]) -> None:
    """Assigns the values of the graph variables to the eager variables."""
    values = session.run([one.graph[0] for one in held])
    families.write([one.eager for one in held], values)


def to_graph(session: tf.Session, held: Sequence[Held], before: Sequence[np.ndarray]) -> None:
    """Assigns the eager variables' values to the graph variables where they have changed."""
    for one, old, new in zip(held, before, families.read([h.eager for h in held]), strict=True):
        if not np.array_equal(old, new):
            for variable in (one.graph[0], *one.copies()):
                variable.load(new, session)
