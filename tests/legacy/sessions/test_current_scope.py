"""Libraries that enter a variable scope through the collection that held it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import tensorflow.compat.v1 as tf
from absl import flags as absl_flags

from moxing.legacy.face import catalog
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.sessions import current_scope


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    current_scope.install()
    current_scope.install()
    yield
    current_scope.uninstall()


def test_the_first_place_of_the_collection_is_the_open_scope() -> None:
    faces = catalog.make_faces(CommandLine([], {}, ()), absl_flags.FlagValues())
    key = faces.load("tensorflow.python.ops.variable_scope")._VARSCOPE_KEY
    with tf.Graph().as_default() as graph:
        assert tf.get_collection(key) == [tf.get_variable_scope()]
        with tf.variable_scope("outer") as outer:
            assert tf.get_collection_ref(key)[0] is outer
            assert graph.get_collection(key)[-1] is outer
        assert tf.get_collection_ref(key)[0].name == ""


def test_a_scope_written_there_names_variables_until_the_one_before_returns() -> None:
    with tf.Graph().as_default():
        held = tf.get_collection_ref(current_scope.KEY)
        before = held[0]
        held[0] = tf.VariableScope(False, name="entered", initializer=tf.ones_initializer())
        inside = tf.get_variable("w", [2])
        with tf.variable_scope("deeper"):
            deep = tf.get_variable("w", [2])
        held[0] = before
        outside = tf.get_variable("w", [2])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(inside).tolist() == [1.0, 1.0]

    names = [variable.op.name for variable in (inside, deep, outside)]
    assert names == ["entered/w", "entered/deeper/w", "w"]


def test_graphs_have_scopes_of_their_own() -> None:
    other = tf.Graph()
    with tf.Graph().as_default(), tf.variable_scope("mine"):
        other.get_collection_ref(current_scope.KEY)[0] = tf.VariableScope(False, name="theirs")
        assert tf.get_variable_scope().name == "mine"
    with other.as_default():
        assert tf.get_variable_scope().name == "theirs"


def test_threads_have_scopes_of_their_own() -> None:
    seen: list[str] = []
    with tf.Graph().as_default() as graph:
        held = tf.get_collection_ref(current_scope.KEY)
        held[0] = tf.VariableScope(False, name="mine")
        thread = threading.Thread(
            target=lambda: seen.append(graph.get_collection(current_scope.KEY)[0].name)
        )
        thread.start()
        thread.join(60)
        assert held[0].name == "mine"
    assert seen == [""]


def test_graphs_with_the_collection_are_exported_without_it() -> None:
    with tf.Graph().as_default():
        tf.get_variable("w", [2])
        tf.get_collection_ref(current_scope.KEY)
        keys = tf.train.export_meta_graph().collection_def.keys()
    assert sorted(keys) == ["trainable_variables", "variables"]


def test_it_is_gone_again_behind_the_program() -> None:
    current_scope.uninstall()
    with tf.Graph().as_default() as graph:
        assert graph.get_collection(current_scope.KEY) == []
