"""Hooks see a run as TensorFlow's MonitoredSession shows it to them."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow.compat.v1 as tf

from moxing.engine.loop.hooks import HookChain
from moxing.errors import MoxRuntimeError, MoxValueError


class Recorder(tf.train.SessionRunHook):
    """Writes down every call."""

    def __init__(self, fetches: Any = None, feeds: Any = None) -> None:
        self.calls: list[str] = []
        self.results: list[Any] = []
        self.fetches, self.feeds = fetches, feeds

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.calls.append("after_create_session")

    def before_run(self, run_context: Any) -> Any:
        self.calls.append("before_run")
        if self.fetches is None and self.feeds is None:
            return None
        return tf.train.SessionRunArgs(self.fetches, self.feeds)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append("after_run")
        self.results.append(run_values.results)

    def end(self, session: Any) -> None:
        self.calls.append("end")


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


def test_order_of_calls(session: Any) -> None:
    hook = Recorder()
    chain = HookChain([hook])
    chain.begin()
    one = tf.constant(1)
    chain.after_create_session(session, tf.train.Coordinator())
    assert [chain.run(session, one) for _ in range(2)] == [1, 1]
    chain.end(session)
    calls = ["begin", "after_create_session", *["before_run", "after_run"] * 2, "end"]
    assert hook.calls == calls
    assert hook.results == [None, None]


@pytest.mark.parametrize("times", [1, 3])
def test_each_hook_gets_what_it_fetched_in_its_own_structure(session: Any, times: int) -> None:
    fed = tf.placeholder(tf.float32, [])
    first = Recorder(fetches={"twice": fed * 2, "list": [fed, fed + 1]}, feeds={fed: 3.0})
    second = Recorder(fetches=fed * 10)
    chain = HookChain([first, second])
    for _ in range(times):
        assert chain.run(session, {"own": fed}) == {"own": 3.0}
    assert first.results == [{"twice": 6.0, "list": [3.0, 4.0]}] * times
    assert second.results == [30.0] * times


def test_values_fed_may_change_every_step(session: Any) -> None:
    fed = tf.placeholder(tf.int32, [])

    class Counter(Recorder):
        count = 0

        def before_run(self, run_context: Any) -> Any:
            self.count += 1
            return tf.train.SessionRunArgs(None, {fed: self.count})

    chain = HookChain([Counter()])
    assert [chain.run(session, fed * 2) for _ in range(4)] == [2, 4, 6, 8]


def test_new_tensors_every_step_are_run_too(session: Any) -> None:
    class Builder(Recorder):
        count = 0

        def before_run(self, run_context: Any) -> Any:
            self.count += 1
            return tf.train.SessionRunArgs(tf.constant(self.count))

    hook = Builder()
    chain = HookChain([hook])
    base = tf.constant(0)
    for _ in range(70):
        chain.run(session, base)
    assert hook.results == list(range(1, 71))


def test_a_hook_can_stop_the_run(session: Any) -> None:
    class Stopper(Recorder):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            run_context.request_stop()

    chain = HookChain([Stopper()])
    assert not chain.stop_requested
    chain.run(session, tf.constant(1))
    assert chain.stop_requested


def test_operations_built_too_late_name_the_hook_and_begin(session: Any) -> None:
    class Late(Recorder):
        def before_run(self, run_context: Any) -> Any:
            tf.constant(2)

    chain = HookChain([Late()])
    fetch = tf.constant(1)
    session.graph.finalize()
    with pytest.raises(MoxRuntimeError) as caught:
        chain.run(session, fetch)
    assert str(caught.value) == (
        "Late.before_run() builds operations, but the graph is final once training runs. Build them"
        " in Late.begin()."
    )


def test_two_hooks_that_feed_one_tensor_are_refused(session: Any) -> None:
    fed = tf.placeholder(tf.int32, [], name="fed")
    chain = HookChain([Recorder(feeds={fed: 1}), Recorder(feeds={fed: 2})])
    with pytest.raises(MoxValueError, match="Recorder feeds Tensor.*which another hook feeds too"):
        chain.run(session, fed)


def test_no_hooks_are_false() -> None:
    assert not HookChain([])
    assert HookChain([Recorder()])


class Traced(tf.train.SessionRunHook):
    """Asks for options at its second step."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.values: list[Any] = []

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(None, options=self.options if self.values else None)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.values.append(run_values)


def test_hooks_get_the_traces_that_they_ask_for(session: Any) -> None:
    product = tf.matmul(tf.random.uniform([2, 2]), tf.ones([2, 2]))
    full = Traced(tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
    parts = Traced(tf.RunOptions(output_partition_graphs=True, timeout_in_ms=60_000))
    chain = HookChain([full, parts])

    assert [chain.run(session, product).shape for _ in range(2)] == [(2, 2), (2, 2)]
    assert [full.values[0].options, full.values[0].run_metadata] == [None, None]
    options, metadata = full.values[1].options, full.values[1].run_metadata
    assert options == parts.values[1].options
    assert (options.trace_level, options.timeout_in_ms) == (tf.RunOptions.FULL_TRACE, 60_000)
    names = {
        node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats
    }
    assert product.op.name in names
    assert metadata.partition_graphs


def test_steps_without_feeds_are_compiled(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tf.constant(1), tf.constant(2)
    chain, fetching = HookChain([Recorder()]), HookChain([Recorder(fetches={"two": two})])

    def slow(*_: Any, **__: Any) -> Any:
        raise AssertionError("a plain session call takes several times as long")

    monkeypatch.setattr(session, "run", slow)
    assert chain.run(session, one) == 1
    assert fetching.run(session, {"one": one}) == {"one": 1}
