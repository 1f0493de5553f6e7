"""Runs programs one after another in this process, each as `mox run` runs one.

Called with a folder to work in and the paths of programs. The last line of a program's output says
how it ended: its name, `ended` or the error, and the seconds of a processor it took.
"""

from __future__ import annotations

import os
import sys
import time
import traceback


def main(work: str, scripts: list[str]) -> None:
    """Runs the programs, each in a folder of its own below `work`."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"

    import numpy as np
    import tensorflow.compat.v1 as tf

    from moxing.legacy.program import launcher

    folder = os.path.dirname(os.path.abspath(scripts[0]))
    users = launcher.show_v1_face(folder, launcher.take_runtime_flags([]))
    sys.path.insert(0, folder)
    for script in list(map(os.path.abspath, scripts)):
        name = os.path.splitext(os.path.basename(script))[0]
        os.makedirs(os.path.join(work, name))
        os.chdir(os.path.join(work, name))
        sys.argv = [script]
        tf.reset_default_graph()
        tf.set_random_seed(1)
        np.random.seed(0)
        start, ending = time.process_time(), "ended"
        try:
            with launcher._quiet():
                launcher._execute(launcher.read_program(script), users)
        except SystemExit as error:
            ending = f"exited with {error.code}" if error.code else ending
        except BaseException as error:
            traceback.print_exc()
            ending = f"{type(error).__name__}: {error}".partition("\n")[0]
        sys.stderr.flush()
        print(f"PROGRAM {name}: {ending} ({time.process_time() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
