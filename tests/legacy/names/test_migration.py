"""Names that public programs of 2016-2020 use are there, or a sentence says what to do instead."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import pytest  # noqa: E402
from absl import flags as absl_flags  # noqa: E402

from moxing.errors import MoxError  # noqa: E402
from moxing.legacy.face import catalog  # noqa: E402
from moxing.legacy.face.faces import Faces  # noqa: E402
from moxing.legacy.flags.command_line import CommandLine  # noqa: E402

# Used where the list of programs is not at hand, too: the parts that end most of them.
IMPORTANT = """
    contrib.crf.crf_log_likelihood contrib.crf.viterbi_decode contrib.crf.crf_decode
    contrib.crf.python.ops.crf.crf_log_norm contrib.rnn.NASCell
    contrib.rnn.python.ops.core_rnn_cell._linear
    contrib.rnn.python.ops.rnn_cell.LayerNormBasicLSTMCell contrib.rnn.LSTMStateTuple
    contrib.rnn.python.ops.core_rnn_cell_impl.BasicLSTMCell contrib.rnn.LSTMBlockFusedCell
    contrib.legacy_seq2seq.sequence_loss_by_example contrib.legacy_seq2seq.model_with_buckets
    contrib.legacy_seq2seq.python.ops.seq2seq.embedding_attention_seq2seq
    nn.seq2seq.embedding_attention_seq2seq nn.rnn nn.bidirectional_rnn nn.deconv2d
    nn.rnn_cell.OutputProjectionWrapper models.rnn.rnn_cell.BasicLSTMCell models.rnn.seq2seq mul sub
    neg pack unpack select scalar_summary histogram_summary image_summary merge_summary
    merge_all_summaries train.SummaryWriter initialize_all_variables concat_v2 op_scope
    image.per_image_whitening python.framework.graph_util.convert_variables_to_constants
    python.framework.tensor_shape.scalar python.util.nest.is_sequence python.ops.constant_op
    python.ops.resource_variable_ops._from_proto_fn python.ops.rnn_cell_impl._linear
    python.training.training_ops python.ops.spectral_ops
    contrib.seq2seq.sequence_loss contrib.seq2seq.AttentionWrapper contrib.seq2seq.dynamic_decode
    contrib.seq2seq.python.ops.attention_wrapper._compute_attention
    contrib.seq2seq.python.ops.decoder._transpose_batch_time python.framework.ops.RegisterShape
    contrib.framework.python.framework.tensor_util.with_same_shape contrib.nccl.ops.gen_nccl_ops
    contrib.timeseries.ARRegressor contrib.timeseries.TrainEvalFeatures
    contrib.timeseries.python.timeseries.NumpyReader
    contrib.timeseries.python.timeseries.estimators.TimeSeriesRegressor
    contrib.timeseries.python.timeseries.model.SequentialTimeSeriesModel
    contrib.timeseries.python.timeseries.input_pipeline.CSVReader
    contrib.timeseries.saved_model_utils.predict_continuation
    contrib.metrics.python.ops.confusion_matrix_ops contrib.resampler.resampler
    contrib.image.python.ops.image_ops.bipartite_match contrib.tfprof.tfprof_logger.write_op_log
    python.pywrap_tensorflow.EventsWriter python.tools.freeze_graph.freeze_graph
    python.training.checkpointable.base python.training.tracking.tracking
"""

# The estimators' own tests look at these.
OTHER_ROOMS = (
    "tensorflow.contrib.learn.RunConfig",
    "tensorflow.contrib.tpu.",
    "tensorflow.estimator.",
    "tensorflow.python.estimator.",
)


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


def resolve(faces: Faces, name: str) -> Any:
    """What a program gets that imports or reads the dotted name."""
    parts = name.split(".")
    value: Any = faces.load(parts[0])
    for end, part in enumerate(parts[1:], 2):
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError):
            try:
                value = faces.load(".".join(parts[:end]))
            except (ImportError, AttributeError) as error:
                raise MissingError(str(error), isinstance(error, MoxError)) from error
    return value


class MissingError(Exception):
    """A name that is not there: what is said, and whether it is we who say it."""


def test_the_parts_that_end_most_programs_are_there(faces: Faces) -> None:
    for name in IMPORTANT.split():
        resolve(faces, f"tensorflow.{name}")


def test_names_that_several_public_programs_use_are_there_or_explained(faces: Faces) -> None:
    table = Path(os.environ.get("MOX_TEST_DATA", "")) / "migration" / "tf1-names.tsv"
    if not table.is_file():
        pytest.skip("needs migration/tf1-names.tsv in the folder MOX_TEST_DATA")
    wrong, gone = [], []
    for line in table.read_text().splitlines()[1:]:
        count, name, _ = line.split("\t")
        # A flag is there once the program has defined it.
        if int(count) < 2 or ".FLAGS." in name or name.startswith(OTHER_ROOMS):
            continue
        try:
            resolve(faces, name)
        except MissingError as error:
            gone.append(name)
            said, ours = error.args
            # A sentence on what to do follows the one that says what is missing.
            if not ours or said.count(". ") < 1:
                wrong.append(f"{name}: {said}")

    assert not wrong, "\n".join(wrong)
    # What no kernel is left for: TPUs.
    assert [name for name in gone if ".tpu" not in name.lower()] == []


def test_a_part_of_tensorboard_says_where_it_is(faces: Faces) -> None:
    if importlib.util.find_spec("tensorboard"):
        pytest.skip("needs an environment without TensorBoard")
    with pytest.raises(MissingError, match="Install it: pip install tensorboard"):
        resolve(faces, "tensorflow.python.summary.event_accumulator.EventAccumulator")
