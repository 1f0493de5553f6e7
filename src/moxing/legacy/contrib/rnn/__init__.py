"""`tf.contrib.rnn`: the names that `tf.nn.rnn_cell` and `tf.nn` do not have."""

from __future__ import annotations

from tensorflow.python.ops.rnn import (
    _best_effort_input_batch_size as best_effort_input_batch_size,
)
from tensorflow.python.ops.rnn import _transpose_batch_time as transpose_batch_time
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

from moxing.legacy.contrib.rnn.block import (
    GRUBlockCell,
    GRUBlockCellV2,
    LSTMBlockCell,
    LSTMBlockFusedCell,
    LSTMBlockWrapper,
)
from moxing.legacy.contrib.rnn.conv import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
)
from moxing.legacy.contrib.rnn.fused import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    TimeReversedFusedRNN,
)
from moxing.legacy.contrib.rnn.gated import IntersectionRNNCell, NASCell, SRUCell, UGRNNCell
from moxing.legacy.contrib.rnn.independent import IndRNNCell, IndyGRUCell, IndyLSTMCell
from moxing.legacy.contrib.rnn.linear import Linear as _Linear
from moxing.legacy.contrib.rnn.linear import linear as _linear
from moxing.legacy.contrib.rnn.lstm import (
    CoupledInputForgetGateLSTMCell,
    GLSTMCell,
    PhasedLSTMCell,
)
from moxing.legacy.contrib.rnn.normed import (
    LayerNormBasicLSTMCell,
    LayerNormLSTMCell,
    WeightNormLSTMCell,
)
from moxing.legacy.contrib.rnn.repeated import MultiRNNCell
from moxing.legacy.contrib.rnn.stacks import (
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
)
from moxing.legacy.contrib.rnn.wrappers import (
    AttentionCellWrapper,
    CompiledWrapper,
    EmbeddingWrapper,
    HighwayWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
)

__all__ = [
    "AttentionCellWrapper",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "EmbeddingWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "LayerNormBasicLSTMCell",
    "LayerNormLSTMCell",
    "LayerRNNCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "SRUCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "WeightNormLSTMCell",
    "_Linear",
    "_linear",
    "best_effort_input_batch_size",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "transpose_batch_time",
]
