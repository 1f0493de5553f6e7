"""Functions that `tensorflow.python` lost work by the paths that programs import."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags
from tensorflow.core.framework import op_def_pb2

from moxing.legacy.face import catalog
from moxing.legacy.face.faces import Faces
from moxing.legacy.flags.command_line import CommandLine


@pytest.fixture(scope="module")
def faces() -> Faces:
    return catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())


class _LikeACell:
    """An object that was written for recurrent networks without deriving from a cell."""

    output_size = state_size = 3

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        raise NotImplementedError

    def __call__(self, inputs: Any, state: Any) -> Any:
        raise NotImplementedError


def test_what_is_like_a_cell_is_known_by_what_it_has(faces: Faces) -> None:
    like = faces.load("tensorflow.python.ops.rnn_cell_impl")._like_rnncell
    assert like(tf.nn.rnn_cell.GRUCell(3))
    assert like(_LikeACell())
    assert not like(tf.nn.dynamic_rnn)
    assert not like(object())


def test_graph_mode_is_where_operations_are_not_run_at_once(faces: Faces) -> None:
    in_graph_mode = faces.load("tensorflow.python.eager.context").in_graph_mode
    assert in_graph_mode() != tf.executing_eagerly()
    with tf.Graph().as_default():
        assert in_graph_mode()


def test_a_variable_takes_its_arguments_in_their_own_order(faces: Faces) -> None:
    variable = faces.load("tensorflow.python.ops.variable_scope").variable
    with tf.Graph().as_default(), tf.Session() as session:
        made = variable(2, False, ["mine"], True, None, "power", tf.float64)
        assert (made.name, made.dtype.base_dtype, made.trainable) == ("power:0", tf.float64, False)
        assert tf.get_collection("mine") == [made]
        assert tf.global_variables() == []
        session.run(made.initializer)
        assert session.run(made) == 2.0


def test_a_variable_of_a_metric_is_read_per_replica_and_not_trained(faces: Faces) -> None:
    scope = faces.load("tensorflow.python.ops.variable_scope")
    with tf.Graph().as_default():
        made = scope.variable(
            lambda: tf.zeros([2]),
            collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
            synchronization=scope.VariableSynchronization.ON_READ,
            aggregation=scope.VariableAggregation.SUM,
        )
        assert not made.trainable
        assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == [made]
        assert scope.variable(1.0).trainable


def test_shape_functions_give_a_shape_for_each_output(faces: Faces) -> None:
    shapes = faces.load("tensorflow.python.framework.common_shapes")
    with tf.Graph().as_default():
        parts = tf.split(tf.zeros([4]), 2)[0].op
    assert [shape.rank for shape in shapes.unknown_shape(parts)] == [None, None]
    assert [shape.rank for shape in shapes.scalar_shape(parts)] == [0, 0]


def test_operations_are_one_dict_to_which_programs_add(faces: Faces) -> None:
    registry = faces.load("tensorflow.python.framework.op_def_registry")
    found = registry.get_registered_ops()
    assert [argument.name for argument in found["MatMul"].input_arg] == ["a", "b"]
    assert registry.get("MatMul") == found["MatMul"]
    own = op_def_pb2.OpDef(name="OfAProgram")
    registry.register_op_list(op_def_pb2.OpList(op=[own]))
    assert registry.get_registered_ops().pop("OfAProgram") == own


def test_functions_name_their_parameters_by_the_path_of_estimators(faces: Faces) -> None:
    fn_args = faces.load("tensorflow.python.estimator.util").fn_args

    def model_fn(features: Any, labels: Any, mode: Any) -> None: ...

    assert fn_args(model_fn) == ("features", "labels", "mode")


def test_the_profiler_logs_under_its_first_names(faces: Faces) -> None:
    log = faces.load("tensorflow.tools.tfprof.tfprof_log_pb2").OpLog()
    below = "tensorflow.contrib.tfprof.python.tools.tfprof.tfprof_logger"
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.zeros([2, 3]), tf.zeros([3, 4]), name="product")
        logged = faces.load(below)._get_logged_ops(graph)
    log.log_entries.extend(logged.values())
    assert {entry.name: entry.float_ops for entry in log.log_entries}["product"] == 2 * 2 * 3 * 4


def test_columns_are_of_the_classes_that_programs_ask_for(faces: Faces) -> None:
    module = faces.load("tensorflow.python.feature_column.feature_column")
    make = faces.load("tensorflow").feature_column
    number = make.numeric_column("n")
    word = make.categorical_column_with_vocabulary_list("w", ["a", "b"])
    other = make.categorical_column_with_vocabulary_list("o", ["a", "b"])
    bucket = make.categorical_column_with_hash_bucket("h", 4)
    of = {
        "_NumericColumn": number,
        "_BucketizedColumn": make.bucketized_column(number, [0.5]),
        "_VocabularyListCategoricalColumn": word,
        "_VocabularyFileCategoricalColumn": make.categorical_column_with_vocabulary_file(
            "f", "f", 2
        ),
        "_HashedCategoricalColumn": bucket,
        "_IdentityCategoricalColumn": make.categorical_column_with_identity("i", 3),
        "_WeightedCategoricalColumn": make.weighted_categorical_column(word, "by"),
        "_CrossedColumn": make.crossed_column(["w", "h"], 5),
        "_IndicatorColumn": make.indicator_column(word),
        "_EmbeddingColumn": make.embedding_column(bucket, 2),
    }
    for name, column in of.items():
        known = {other for other in of if isinstance(column, getattr(module, other))}
        assert known == {name}
    with tf.Graph().as_default():
        shared = make.shared_embedding_columns([word, other], 2)
    assert isinstance(shared[0], module._SharedEmbeddingColumn)
    assert isinstance(number, module._DenseColumn)
    assert isinstance(word, module._CategoricalColumn)


def test_graph_definitions_are_compared_by_the_private_module(faces: Faces) -> None:
    compare = faces.load("tensorflow.python.pywrap_tensorflow").EqualGraphDefWrapper
    texts = []
    for value in (1, 1, 2):
        with tf.Graph().as_default() as graph:
            tf.constant(value, name="number")
        texts.append(graph.as_graph_def().SerializeToString())
    assert compare(texts[0], texts[1]) == ""
    assert "number" in compare(texts[0], texts[2])


def test_the_parts_of_tests_and_of_tracking_are_found_by_their_paths(faces: Faces) -> None:
    assert issubclass(faces.load("tensorflow").test.test_util.TensorFlowTestCase, tf.test.TestCase)
    tracking = faces.load("tensorflow.python.training.tracking")
    assert tracking.graph_view.ObjectGraphView
    assert tracking.util.Checkpoint
