"""A program for `mox run` that runs other programs one after another, each as it would run alone.

Called with a folder to work in and the paths of programs. The last line of a program's output says
how it ended: its name, `ended` or the error, and the seconds of a processor it took.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
import traceback

import numpy as np
import tensorflow as tf


def main(work: str, scripts: list[str]) -> None:
    """Runs the programs, each in a folder of its own below `work`."""
    for script in list(map(os.path.abspath, scripts)):
        name = os.path.splitext(os.path.basename(script))[0]
        os.makedirs(os.path.join(work, name))
        os.chdir(os.path.join(work, name))
        sys.argv[:] = [script]
        tf.reset_default_graph()
        tf.set_random_seed(1)
        np.random.seed(0)
        start, ending = time.process_time(), "ended"
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as error:
            ending = f"exited with {error.code}" if error.code else ending
        except BaseException as error:
            traceback.print_exc()
            ending = f"{type(error).__name__}: {error}".partition("\n")[0]
        sys.stderr.flush()
        print(f"PROGRAM {name}: {ending} ({time.process_time() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
