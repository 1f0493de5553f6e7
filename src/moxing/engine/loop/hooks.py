"""Calls SessionRunHooks in the way that TensorFlow's MonitoredSession calls them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.engine.wording import user_calls
from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, shown

# Each set of fetches and feeds that hooks ask for is compiled once, up to this many sets. With more
# sets, as from a hook that fetches other tensors at every step, plain session calls are used.
_MOST_CALLABLES = 64


class HookChain:
    """The hooks of a run, in order.

    The calls are those of `tf.train.SessionRunHook`: begin, after_create_session, before_run and
    after_run around every step, and end after the last step.
    """

    def __init__(self, hooks: Sequence[tf.train.SessionRunHook]) -> None:
        self._hooks = tuple(hooks)
        self._callables: dict[Any, Callable[..., Any]] = {}
        self.stop_requested = False

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def begin(self) -> None:
        for hook in self._hooks:
            _call(hook, "begin")

    def after_create_session(self, session: tf.Session, coordinator: tf.train.Coordinator) -> None:
        for hook in self._hooks:
            _call_late(hook, "after_create_session", session, coordinator)

    def end(self, session: tf.Session) -> None:
        for hook in self._hooks:
            _call_late(hook, "end", session)

    def run(
        self,
        session: tf.Session,
        fetches: Any,
        earlier: Callable[[Mapping[Any, Any]], None] | None = None,
    ) -> Any:
        """Runs one step with the fetches and feeds that the hooks ask for.

        Args:
            session: the session.
            fetches: the engine's own fetches.
            earlier: runs the session calls of the step before the one that fetches, with the feeds
                of the hooks; None: there are none.

        Returns:
            The values of `fetches`.
        """
        context = tf.train.SessionRunContext(tf.train.SessionRunArgs(fetches), session)
        wanted, feeds, options = self._ask(context)
        if earlier is not None:
            earlier(feeds)
        metadata = None if options is None else tf.RunMetadata()
        run = functools.partial(self._run, session, [fetches, wanted], feeds)
        if options is not None:
            run = functools.partial(session.run, [fetches, wanted], feeds, options, metadata)
        values = self._noted(run)
        for hook in self._hooks:
            results = values[1].get(str(id(hook)))
            given = tf.train.SessionRunValues(results, options, metadata)
            _call_late(hook, "after_run", context, given)
        self.stop_requested |= context.stop_requested
        return values[0]

    def _ask(
        self, context: tf.train.SessionRunContext
    ) -> tuple[dict[str, Any], dict[Any, Any], tf.RunOptions | None]:
        """The fetches and feeds that the hooks ask for, and their options; None: there are none."""
        wanted: dict[str, Any] = {}
        feeds: dict[Any, Any] = {}
        options: tf.RunOptions | None = None
        for hook in self._hooks:
            arguments = _call_late(hook, "before_run", context)
            if arguments is None:
                continue
            _check_arguments(hook, arguments)
            if arguments.fetches is not None:
                wanted[str(id(hook))] = arguments.fetches
            if arguments.options is not None:
                options = _joined(options or tf.RunOptions(), arguments.options)
            for tensor, value in (arguments.feed_dict or {}).items():
                if tensor in feeds:
                    raise MoxValueError(
                        f"{type(hook).__name__} feeds {tensor}, which another hook feeds too. Let"
                        " one hook feed a tensor."
                    )
                feeds[tensor] = value
        return wanted, feeds, options

    def _noted(self, run: Callable[[], Any]) -> Any:
        """Runs a step; an error that fetches and feeds may have caused names the hooks."""
        try:
            return run()
        except (TypeError, ValueError, KeyError, RuntimeError) as error:
            names = ", ".join(dict.fromkeys(type(hook).__name__ for hook in self._hooks))
            error.add_note(
                f"openmox: raised by the fetches or feeds of this run's hooks ({names})."
            )
            raise

    def _run(self, session: tf.Session, fetches: Any, feeds: dict[Any, Any]) -> Any:
        flat = tuple(id(item) for item in tf.nest.flatten(fetches))
        key = (flat, tuple(id(tensor) for tensor in feeds))
        if key not in self._callables:
            if len(self._callables) >= _MOST_CALLABLES:
                return session.run(fetches, feed_dict=feeds)
            # _Held keeps the fetches and feeds alive, so that no other objects get their ids. With
            # a list of feeds, even an empty one, TensorFlow's callable is a plain session call.
            made = session.make_callable(fetches, feed_list=list(feeds) or None)
            self._callables[key] = _Held(made, fetches, tuple(feeds))
        return self._callables[key](*feeds.values())


def _joined(options: tf.RunOptions, more: tf.RunOptions) -> tf.RunOptions:
    """Returns the options under which two hooks both get what they ask for."""
    joined = tf.RunOptions()
    joined.CopyFrom(options)
    for name in ("trace_level", "timeout_in_ms", "inter_op_thread_pool"):
        setattr(joined, name, max(getattr(options, name), getattr(more, name)))
    joined.output_partition_graphs |= more.output_partition_graphs
    joined.debug_options.MergeFrom(more.debug_options)
    return joined


class _Held:
    """A callable that keeps alive the tensors it was made for."""

    def __init__(self, function: Callable[..., Any], *kept: Any) -> None:
        self._function = function
        self._kept = kept

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


def _call_late(hook: tf.train.SessionRunHook, method: str, *arguments: Any) -> Any:
    """Calls a method that must not build operations: the graph is final once a session runs it."""
    try:
        return _call(hook, method, *arguments)
    except RuntimeError as error:
        if "finalized" not in str(error):
            raise
        raise MoxRuntimeError(
            f"{type(hook).__name__}.{method}() builds operations, but the graph is final once"
            f" training runs. Build them in {type(hook).__name__}.begin()."
        ) from error


def _call(hook: tf.train.SessionRunHook, method: str, *arguments: Any) -> Any:
    role = f"the hook {type(hook).__name__}'s"
    return user_calls.call(role, getattr(hook, method), *arguments)


def _check_arguments(hook: tf.train.SessionRunHook, arguments: Any) -> None:
    """Raises if a hook's `before_run` returned a value of a wrong type."""
    name = f"{type(hook).__name__}.before_run()"
    if not isinstance(arguments, tf.train.SessionRunArgs):
        raise MoxTypeError(
            f"{name} returned {shown(arguments)}; it must return tf.train.SessionRunArgs(...) or"
            " None."
        )
    if not isinstance(arguments.feed_dict, Mapping | None):
        raise MoxTypeError(
            f"{name} returned the feed_dict {shown(arguments.feed_dict)}; it must be a dict of"
            " values by tensor."
        )
