"""Shows the modules of a program the TensorFlow and libraries that it was written for."""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Collection, Iterator

from moxing import logs, native_noise, notices
from moxing.legacy.face import importer
from moxing.legacy.flags import argparse_face
from moxing.legacy.flags.command_line import CommandLine
from moxing.legacy.plain.dialect import Dialect
from moxing.legacy.program import children, truth
from moxing.legacy.sessions import current_scope, dimensions, nested_datasets, private_names, quiet

V1_PROGRAM = Dialect()


def show_v1_face(
    command_line: CommandLine, found: Dialect = V1_PROGRAM, named: Collection[str] = ()
) -> importer.UserCode:
    """Changes this process so that the user's modules see the TensorFlow they were written for.

    Args:
        command_line: the program's command line.
        found: the TensorFlow and Keras that the program is written for.
        named: installed packages that also see the face.

    Returns:
        The description of the program's own code.
    """
    with native_noise.dropped():
        import tensorflow.compat.v1 as tf

        from moxing.engine.graph.rewrites import convolution_gradients, fused_sums
        from moxing.legacy.face import catalog, marks
        from moxing.legacy.python2 import unconverted
        from moxing.legacy.sessions import (
            closing,
            first,
            layouts,
            lenient,
            old_graphs,
            seeds,
            slots,
        )

    marks.leave_out()
    quiet.install()
    old_graphs.install()
    convolution_gradients.install()
    fused_sums.install()
    with quiet_about_version():
        if not found.eager:
            tf.disable_v2_behavior()
            truth.install()
            current_scope.install()
            dimensions.install()
            private_names.install()
            lenient.install()
            closing.install()
            nested_datasets.install()
            layouts.install()
            seeds.install()
            slots.install()
            unconverted.install()
            first.install()
    # This import warns when the program passes a URL to Python's own functions.
    importlib.import_module("moxing.framework.file")
    if found.eager:
        from moxing.estimator import strategies
        from moxing.legacy.distribute import strategies as of_2_4

        strategies.rename_master()
        of_2_4.install(found.preempted)
    else:
        logs.take_over()
    users = importer.install(catalog.make_faces(command_line, dialect=found), named)
    argparse_face.install(command_line, users.is_user_frame)
    children.install(users.owns, named)
    notices.before_first_run(command_line.check_unknown)
    # From Python 2: many programs use it for "as many steps as there is data".
    sys.maxint = sys.maxsize  # type: ignore[attr-defined]
    return users


@contextlib.contextmanager
def quiet_about_version() -> Iterator[None]:
    """In the block, drops deprecation warnings of TensorFlow 1.x, on which programs can't act."""
    from tensorflow.python.util import deprecation

    with deprecation.silence(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is deprecated and will be removed", UserWarning)
        warnings.filterwarnings("ignore", ".*This property should not be used in", UserWarning)
        yield
