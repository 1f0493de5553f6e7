"""Names the line of the program that an error of one of its own sessions is about."""

from __future__ import annotations

from moxing.framework import stack_texts

_NOTED = "openmox: raised"  # How a note begins that a run of openmox has added.


def note(error: BaseException) -> str:
    """Returns what is known of an error of a session that the program ran itself.

    Returns:
        A note with the operation, its inputs, and the line of the program that made it, or about
        the memory that was full; empty for other errors, and if nothing is known.
    """
    if not stack_texts.is_of_tensorflow(error) or any(
        text.startswith(_NOTED) for text in getattr(error, "__notes__", ())
    ):
        return ""
    import tensorflow.compat.v1 as tf

    from moxing.engine.graph import blame

    assert isinstance(error, tf.errors.OpError)
    graph = tf.get_default_graph() if error.op is None else error.op.graph
    said = blame.about(error, graph, "in a session", own_session=True)
    return "" if said == f"{_NOTED} in a session." else said
