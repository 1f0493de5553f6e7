"""Messages into which TensorFlow has put stacks keep the frames of the user's files alone."""

from __future__ import annotations

from moxing.framework import stack_texts

SESSION = """Graph execution error:

Detected at node 'x' defined at (most recent call last):
    File "/lib/mox", line 6, in <module>
    File "/user/train.py", line 5, in <module>
    File "/lib/ops.py", line 2726, in create
Node: 'x'
Received a label value of 5.
\t [[{{node x}}]]

Original stack trace for 'x':
  File "/lib/mox", line 6, in <module>
  File "/lib/ops.py", line 1221, in from_node_def
"""
CALLED = """KeyError: 'a'
Traceback (most recent call last):

  File "/lib/script_ops.py", line 269, in __call__
    ret = func(*args)
          ^^^^^^^^^^^

  File "/user/train.py", line 20, in g
    yield {}["a"]
          ~~^^^^^

KeyError: 'a'
"""


def _users(file: str) -> bool:
    return file.startswith("/user/")


def test_a_stack_of_an_operation() -> None:
    text, removed = stack_texts.without_frames(SESSION, _users)

    assert text == (
        "Detected at node 'x' defined at (most recent call last):\n"
        '    File "/user/train.py", line 5, in <module>\n'
        "Received a label value of 5.\n\t [[{{node x}}]]"
    )
    assert removed == 4
    assert stack_texts.without_frames(SESSION, lambda file: False) == (
        "Received a label value of 5.\n\t [[{{node x}}]]",
        5,
    )


def test_the_source_of_a_frame_goes_with_it() -> None:
    text, removed = stack_texts.without_frames(CALLED, _users)

    assert removed == 1
    assert "script_ops" not in text
    assert "ret = func" not in text
    assert 'File "/user/train.py", line 20, in g\n    yield {}["a"]\n' in text
    assert text.endswith("KeyError: 'a'")


def test_other_messages_stay() -> None:
    for text in ("", "one\n\n\nNode: 'x'\nTraceback (most recent call last):", 'File "a.py"'):
        assert stack_texts.without_frames(text, _users) == (text, 0)
