"""`flow.deprecated.get_cur_job_dlnet_builder()`: operators of before the functions of `flow`."""

from __future__ import annotations

from typing import NoReturn

from moxing.errors import MoxNotSupportedError
from moxing.flow.trace import context

_WRAPPED = "flow.deprecated.get_cur_job_dlnet_builder"
# The operators that programs used, and what does the same.
_INSTEAD = {
    "Accuracy": "flow.math.argmax in the job, and a comparison in your program",
    "Add": "a + b",
    "AveragePooling2D": "flow.nn.avg_pool2d",
    "BatchGather": "flow.gather(x, indices, batch_dims=...)",
    "BiasAdd": "flow.nn.bias_add",
    "BroadcastAdd": "a + b",
    "BroadcastDiv": "a / b",
    "BroadcastMul": "a * b",
    "BroadcastSub": "a - b",
    "Concat": "flow.concat",
    "Constant": "flow.constant",
    "ConstantFill": "flow.constant",
    "ConstantScalar": "flow.constant_scalar",
    "Conv2D": "flow.layers.conv2d",
    "Conv2DWithBN": "flow.layers.conv2d and flow.layers.batch_normalization",
    "DecodeOFRecord": "flow.data.decode_ofrecord",
    "DecodeRandom": "flow.data.decode_random",
    "Dropout": "flow.nn.dropout",
    "FullyConnected": "flow.layers.dense",
    "Gather": "flow.gather",
    "IdentityLoss": "flow.losses.add_loss",
    "Matmul": "flow.matmul",
    "MaxPooling2D": "flow.nn.max_pool2d",
    "OneHot": "flow.one_hot",
    "Print": "flow.watch",
    "ReduceMean": "flow.math.reduce_mean",
    "ReduceSum": "flow.math.reduce_sum",
    "Relu": "flow.keras.activations.relu",
    "Reshape": "flow.reshape",
    "ScalarAdd": "x + number",
    "ScalarMul": "x * number",
    "Softmax": "flow.nn.softmax",
    "SparseCrossEntropy": "flow.nn.sparse_cross_entropy",
    "SparseSoftmaxCrossEntropyLoss": "flow.nn.sparse_softmax_cross_entropy_with_logits",
    "Transpose": "flow.transpose",
    "Variable": "flow.get_variable",
    "VariableScope": "flow.deprecated.variable_scope",
}


class DLNet:
    """Stands for the builder, so that programs that don't use it run; names the functions to use.

    Raises:
        MoxNotSupportedError: when an operator is asked for.
    """

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        instead = _INSTEAD.get(name, "the functions of flow, flow.math, flow.nn and flow.layers")
        raise MoxNotSupportedError(
            f"{_WRAPPED}().{name} is not offered: an operator of this builder names its inputs by"
            f" texts. Use {instead}."
        )


def get_cur_job_dlnet_builder() -> DLNet:
    """Returns the builder of the job that is being traced.

    Raises:
        MoxRuntimeError: no job is being traced.
    """
    context.required(_WRAPPED)
    return DLNet()
