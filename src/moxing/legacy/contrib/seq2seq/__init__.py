"""`tf.contrib.seq2seq`: decoders, their helpers, attention and beam search."""

from __future__ import annotations

from moxing.legacy.contrib.seq2seq.attention import (
    AttentionMechanism,
    BahdanauAttention,
    LuongAttention,
    hardmax,
)
from moxing.legacy.contrib.seq2seq.attention import (
    BaseAttentionMechanism as _BaseAttentionMechanism,
)
from moxing.legacy.contrib.seq2seq.beam import (
    BeamSearchDecoder,
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput,
    tile_batch,
)
from moxing.legacy.contrib.seq2seq.decoder_functions import (
    attention_decoder_fn_inference,
    attention_decoder_fn_train,
    dynamic_rnn_decoder,
    prepare_attention,
    simple_decoder_fn_inference,
    simple_decoder_fn_train,
)
from moxing.legacy.contrib.seq2seq.decoding import (
    BasicDecoder,
    BasicDecoderOutput,
    Decoder,
    dynamic_decode,
)
from moxing.legacy.contrib.seq2seq.helpers import (
    CustomHelper,
    GreedyEmbeddingHelper,
    Helper,
    InferenceHelper,
    SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper,
    TrainingHelper,
)
from moxing.legacy.contrib.seq2seq.losses import sequence_loss
from moxing.legacy.contrib.seq2seq.monotonic import (
    BahdanauMonotonicAttention,
    LuongMonotonicAttention,
    monotonic_attention,
    safe_cumprod,
)
from moxing.legacy.contrib.seq2seq.monotonic import (
    MonotonicAttentionMechanism as _BaseMonotonicAttentionMechanism,
)
from moxing.legacy.contrib.seq2seq.private_attention import (
    _bahdanau_score,
    _luong_score,
    _maybe_mask_score,
    _monotonic_probability_fn,
    _prepare_memory,
)
from moxing.legacy.contrib.seq2seq.trees import gather_tree, gather_tree_from_array
from moxing.legacy.contrib.seq2seq.wrapper import (
    AttentionWrapper,
    AttentionWrapperState,
)
from moxing.legacy.contrib.seq2seq.wrapper import compute_attention as _compute_attention

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
    "BahdanauAttention",
    "BahdanauMonotonicAttention",
    "BasicDecoder",
    "BasicDecoderOutput",
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "CustomHelper",
    "Decoder",
    "FinalBeamSearchDecoderOutput",
    "GreedyEmbeddingHelper",
    "Helper",
    "InferenceHelper",
    "LuongAttention",
    "LuongMonotonicAttention",
    "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "TrainingHelper",
    "_BaseAttentionMechanism",
    "_BaseMonotonicAttentionMechanism",
    "_bahdanau_score",
    "_compute_attention",
    "_luong_score",
    "_maybe_mask_score",
    "_monotonic_probability_fn",
    "_prepare_memory",
    "attention_decoder_fn_inference",
    "attention_decoder_fn_train",
    "dynamic_decode",
    "dynamic_rnn_decoder",
    "gather_tree",
    "gather_tree_from_array",
    "hardmax",
    "monotonic_attention",
    "prepare_attention",
    "safe_cumprod",
    "sequence_loss",
    "simple_decoder_fn_inference",
    "simple_decoder_fn_train",
    "tile_batch",
]
