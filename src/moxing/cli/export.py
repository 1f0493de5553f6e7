"""`mox export SCRIPT [options] [-- flags]`: exports a checkpoint of a program's model."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence

from moxing.cli.options import Parser
from moxing.errors import MoxError

_DESCRIPTION = """\
Runs SCRIPT.py up to its first mox.run, which then neither trains nor evaluates: it calls input_fn
for the shapes of the inputs and model_fn in mode EXPORT, exports the model with the values of a
checkpoint, and ends the program. Other flags are the program's own, as behind mox run SCRIPT.py;
those that stand after -- are always."""
_OPTIONS = ("--checkpoint", "--kind", "--to", "--input")
_KINDS = {
    "tf_serving": "TF_SERVING",
    "frozen": "FROZEN_GRAPH",
    "tflite": "TFLITE",
    "onnx": "ONNX",
}


def main(arguments: Sequence[str]) -> int:
    """Exports; returns the exit code."""
    given, flags = _parse(list(arguments))
    from moxing.legacy.program import complaints, launcher, reading

    try:
        # The program is read first, because TensorFlow takes seconds to import.
        reading.read_program(given.script)
        from moxing.tensorflow.executor import export_only

        kinds = [_KINDS[kind] for kind in given.kind or ["tf_serving"]]
        request = export_only.make_request(kinds, given.checkpoint, given.to, given.input)
    except SyntaxError as error:
        complaints.say(f"error: {complaints.about_syntax(error)}")
        return complaints.FAILED
    except MoxError as error:
        complaints.say(f"error: {error}")
        return launcher.USAGE
    try:
        with export_only.instead_of_running(request):
            code = launcher.run(given.script, flags)
    except export_only.Exported:
        return 0
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
        code = 0
    if code == 0:
        complaints.say(
            f"error: {given.script} ended without calling mox.run: nothing was exported. Give it"
            f" flags with which it trains, as in mox export {given.script} --train=True"
        )
        return complaints.FAILED
    return code


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Returns the options of the command, and the program's own flags."""
    own, flags = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, flags = arguments[:at], arguments[at + 1 :]
    parser = Parser(
        prog="mox export",
        usage="mox export SCRIPT.py [options] [the program's flags]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("script", metavar="SCRIPT.py", help="the program")
    parser.add_argument(
        "--checkpoint",
        metavar="PATH",
        help="a checkpoint, or a directory of some (its newest); default: the one that the program"
        " would evaluate, of its log_dir or else its checkpoint_path",
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="the model goes to DIR/VERSION, with the version of the program's ExportSpec;"
        " default: the program's log_dir",
    )
    parser.add_argument(
        "--kind",
        action="append",
        choices=tuple(_KINDS),
        help="what to write beside the SavedModel; may be given several times",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]TYPE:SIZES",
        help="an input of model_fn, such as float32:N,28,28,1 (N: any number of samples), once for"
        " each, so that input_fn is not called: the export needs no data",
    )
    known, unknown = parser.parse_known_args(own)
    for name in (word.partition("=")[0] for word in unknown if word.startswith("--")):
        if meant := _near_option(name):
            print(
                f"mox: error: mox export has no option {name}. Did you mean {meant!r}? A flag of"
                f" this name of the program's stands after --: mox export {known.script} -- {name}",
                file=sys.stderr,
            )
            raise SystemExit(2)
    return known, [*unknown, *flags]


def _near_option(name: str) -> str | None:
    """The option that a flag is a typo of; a longer name such as --checkpoint_dir is none."""
    near = difflib.get_close_matches(name, _OPTIONS, n=1, cutoff=0.8)
    return near[0] if near and not name.startswith(near[0] + "_") else None
