"""`flow.user_op_builder`: operations by the names of the original's builders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError, near_matches, shown
from moxing.flow import math, nn
from moxing.flow.operations import accumulation, arrays, indexing
from moxing.flow.trace.blobs import Blob

_Inputs = dict[str, list[Blob]]
_Attributes = dict[str, Any]
_Made = Blob | tuple[Blob, ...] | None


def _unary(function: Callable[..., Blob], source: str = "x") -> Callable[..., _Made]:
    return lambda inputs, attributes, name: function(inputs[source][0], name=name)


def _binary(function: Callable[..., Blob]) -> Callable[..., _Made]:
    return lambda i, attributes, name: function(i["x"][0], i["y"][0], name=name)


def _slices(i: _Inputs, a: _Attributes, name: str) -> Blob:
    flags = [a.get(f"has_{word}", [1] * len(a["begin"])) for word in ("begin", "end")]
    rows = zip(a["begin"], a["end"], a["stride"], *flags, strict=True)
    triples = [(b if has_b else None, e if has_e else None, s) for b, e, s, has_b, has_e in rows]
    return indexing.slice_v2(i["x"][0], triples, name=name)


def _entropy(i: _Inputs, a: _Attributes, name: str) -> tuple[Blob, Blob]:
    del a
    x, labels = i["prediction"][0], i["label"][0]
    return nn.softmax(x), nn.softmax_cross_entropy_with_logits(labels, x, name=name)


def _sparse(i: _Inputs, a: _Attributes, name: str) -> tuple[Blob, Blob]:
    del a
    x, labels = i["prediction"][0], i["label"][0]
    return nn.softmax(x), nn.sparse_softmax_cross_entropy_with_logits(labels, x, name=name)


def _normalized(i: _Inputs, a: _Attributes, name: str) -> tuple[Blob, Blob]:
    x, axis = i["x"][0], a["axis"]
    y = math.l2_normalize(x, axis, a.get("epsilon", 1e-12), name=name)
    return y, math.reduce_sum(math.square(x), axis, keepdims=True)


def _prelu(i: _Inputs, a: _Attributes, name: str) -> Blob:
    del a
    x, alpha = i["x"][0], i["alpha"][0]
    rest = math.minimum(x, 0.0) * arrays.expand_dims(alpha, 0)
    return math.add(math.maximum(x, 0.0), rest, name=name)


OPERATIONS: dict[str, Callable[[_Inputs, _Attributes, str], _Made]] = {
    **{what: _unary(getattr(math, what)) for what in ("relu", "sigmoid", "tanh", "gelu", "square")},
    **{
        what: _unary(getattr(math, what)) for what in ("sqrt", "rsqrt", "exp", "log", "abs", "sign")
    },
    "ccrelu": _unary(math.relu, "in"),
    "identity": _unary(arrays.identity, "in"),
    "add": _binary(math.add),
    "sub": _binary(math.subtract),
    "multiply": _binary(math.multiply),
    "div": _binary(math.divide),
    "leaky_relu": lambda i, a, n: nn.leaky_relu(i["x"][0], a.get("alpha", 0.2), name=n),
    "prelu": _prelu,
    "where": lambda i, a, n: indexing.where(i["condition"][0], i["x"][0], i["y"][0], name=n),
    "slice_v2": _slices,
    "sort": lambda i, a, n: indexing.sort(i["in"][0], a.get("direction", "ASCENDING"), name=n),
    "arg_sort": lambda i, a, n: indexing.argsort(
        i["in"][0], a.get("direction", "ASCENDING"), name=n
    ),
    "argmax": _unary(math.argmax, "in"),
    "top_k": lambda i, a, n: math.top_k(i["in"][0], a["k"], a.get("sorted", True), name=n),
    "smooth_l1_loss": lambda i, a, n: arrays.smooth_l1_loss(
        i["prediction"][0], i["label"][0], a.get("beta", 1.0), name=n
    ),
    "softmax": _unary(nn.softmax, "in"),
    "softmax_cross_entropy": _entropy,
    "sparse_softmax_cross_entropy": _sparse,
    "l2_normalize": _normalized,
    "cast": lambda i, a, n: arrays.cast(i["in"][0], a["dtype"], name=n),
    "reshape": lambda i, a, n: arrays.reshape(i["in"][0], a["shape"], name=n),
    "transpose": lambda i, a, n: arrays.transpose(i["input"][0], a["perm"], name=n),
    "expand_dims": lambda i, a, n: arrays.expand_dims(i["in"][0], a["axis"], name=n),
    "squeeze": lambda i, a, n: arrays.squeeze(i["in"][0], a["axes"], name=n),
    "gather_nd": lambda i, a, n: indexing.gather_nd(i["params"][0], i["indices"][0], name=n),
    "bias_add": lambda i, a, n: nn.bias_add(i["a"][0], i["b"][0], name=n),
    "matmul": lambda i, a, n: arrays.matmul(
        i["a"][0], i["b"][0], a.get("transpose_a", False), a.get("transpose_b", False), name=n
    ),
    "assign": lambda i, a, n: accumulation.assign(i["ref"][0], i["value"][0], name=n),
}


class UserOp:
    """An operation that a builder described.

    Args:
        kind: the kind of the operation.
        outputs: names of its outputs, in order.
        make: makes the operation.
    """

    def __init__(self, kind: str, outputs: Sequence[str], make: Callable[[], _Made]) -> None:
        self._kind, self._outputs, self._make = kind, tuple(outputs), make
        self._made: tuple[Blob, ...] | None = None

    def InferAndTryRun(self) -> UserOp:  # noqa: N802
        """Makes the operation, once."""
        if self._made is None:
            made = self._make()
            self._made = () if made is None else made if isinstance(made, tuple) else (made,)
        return self

    def RemoteBlobList(self) -> tuple[Blob, ...]:  # noqa: N802
        """The outputs in the order of their names.

        Raises:
            MoxValueError: the builder named more outputs than the operation has.
        """
        self.InferAndTryRun()
        assert self._made is not None
        if len(self._outputs) > len(self._made):
            raise MoxValueError(
                f"user operation {self._kind!r} has {len(self._made)} outputs, not"
                f" {', '.join(self._outputs)}."
            )
        return self._made

    def SoleOutputBlob(self) -> Blob:  # noqa: N802
        """The only output.

        Raises:
            MoxValueError: the operation has several outputs, or none.
        """
        found = self.RemoteBlobList()
        if len(found) != 1:
            raise MoxValueError(f"user operation {self._kind!r} has {len(found)} outputs, not one.")
        return found[0]


class Builder:
    """Describes an operation, step by step; see `user_op_builder`."""

    def __init__(self, name: str) -> None:
        """Args: name: of the operation."""
        self._name, self._kind = name, ""
        self._inputs: _Inputs = {}
        self._outputs: list[str] = []
        self._attributes: _Attributes = {}

    def Op(self, op_type_name: str) -> Builder:  # noqa: N802
        """The kind of the operation.

        Raises:
            MoxNotSupportedError: there is no such kind.
        """
        if op_type_name not in OPERATIONS:
            raise MoxNotSupportedError(
                f"flow.user_op_builder has no operation {shown(op_type_name)}."
                f"{near_matches(str(op_type_name), OPERATIONS)} Make it of the operations of flow,"
                " flow.math and flow.nn."
            )
        self._kind = op_type_name
        return self

    def Input(self, input_name: str, input_blob_list: Sequence[Blob]) -> Builder:  # noqa: N802
        """The blobs of an input.

        Raises:
            MoxTypeError: the value is no list of blobs.
        """
        blobs = list(input_blob_list) if isinstance(input_blob_list, list | tuple) else []
        if not blobs or not all(isinstance(blob, Blob) for blob in blobs):
            raise MoxTypeError(
                f"user operation {self._name!r}: input {input_name!r} takes a list of blobs, not"
                f" {shown(input_blob_list)}."
            )
        self._inputs[input_name] = blobs
        return self

    def Output(self, output_name: str, num: int = 1) -> Builder:  # noqa: N802
        """The name of an output."""
        self._outputs += [output_name] * num
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type: str = "") -> Builder:  # noqa: N802
        """An attribute of the operation."""
        del attr_type
        self._attributes[attr_name] = attr_value
        return self

    SetAttr = Attr

    def SetRandomSeed(self, seed: int | None = None) -> Builder:  # noqa: N802
        """The seed of an operation that draws."""
        self._attributes["seed"] = seed
        return self

    def Build(self) -> UserOp:  # noqa: N802
        """The operation.

        Raises:
            MoxValueError: the kind, an input or an attribute is missing.
        """
        if not self._kind:
            raise MoxValueError(f"user operation {self._name!r}: call .Op(kind) before .Build().")
        return UserOp(self._kind, self._outputs, self._make)

    def _make(self) -> _Made:
        try:
            return OPERATIONS[self._kind](self._inputs, self._attributes, self._name)
        except KeyError as error:
            raise MoxValueError(
                f"user operation {self._name!r} of kind {self._kind!r} needs {error}: give it with"
                " .Input or .Attr."
            ) from None


def user_op_builder(op_name: str) -> Builder:
    """Describes an operation by its kind, inputs, outputs and attributes.

    For example: `flow.user_op_builder("a").Op("leaky_relu").Input("x", [x]).Output("y")
    .Attr("alpha", 0.1, "AttrTypeFloat").Build().InferAndTryRun().RemoteBlobList()[0]`.
    """
    return Builder(op_name)


consistent_user_op_builder = user_op_builder
