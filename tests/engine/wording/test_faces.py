"""Messages of the engine name options as the face that was called knows them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import moxing.engine
from moxing.cluster.cluster import Cluster
from moxing.engine.process.team import check_servers
from moxing.engine.wording import option_names
from moxing.errors import MoxValueError
from moxing.keras import arguments

ENGINE = Path(moxing.engine.__file__).parent
# Flags, and what only programs of mox.run write.
FOREIGN = re.compile(
    r"--[a-z][a-z_]+|\bmox\.[A-Za-z]|\blog_dir\b|auto_batch|ModelSpec|export_spec"
    r"|\boptimizer_fn (is|returned)"
)
# Literals that only users of mox.run, or of a flag that they name, can meet; and why.
OF_ONE_FACE = {
    ("data/inputs.py", "auto_batch"): "only mox.run lets the engine batch single samples",
    ("model/program.py", "auto_batch"): "only mox.run lets the engine batch single samples",
    ("model/program.py", "ModelSpec"): "the other faces make the functions of their optimizers",
    ("model/program.py", "optimizer_fn is"): "likewise",
    ("model/train_op.py", "optimizer_fn returned"): "likewise",
    ("model/train_op.py", "mox.g"): "likewise",
    ("model/program.py", "export_spec"): "only mox.run exports in the engine",
    ("model/learning_rate.py", "mox.g"): "only hooks of mox take the learning rate",
    ("wording/report.py", "--variable_update"): "only that flag asks for a trial",
    ("run/trial.py", "--sync_replicas"): "part of a line about --variable_update=auto",
    ("run/trial.py", "--ps_hosts"): "part of a line about --variable_update=auto",
    (
        "checkpoint/restoring/filters.py",
        "--checkpoint_exclude_patterns",
    ): "left out where no flag is known",
    ("remote/log_dir.py", "mox.f"): "the tool that copies what is kept, in every face",
    ("export/to_onnx.py", "--tag"): "an argument of another program",
    ("export/to_onnx.py", "--output"): "an argument of another program",
    ("export/to_onnx.py", "--saved"): "an argument of another program",
    ("export/to_onnx.py", "--signature_def"): "an argument of another program",
    ("model/program.py", "--use_ema"): "moxing.keras.fit keeps no averages",
    ("model/program.py", "--ema_decay"): "likewise",
    ("model/program.py", "--sync_replicas"): "likewise, in a line about --use_ema",
    ("graph/copy_names.py", "--use_ema"): "likewise",
    ("graph/copy_names.py", "--ema_decay"): "likewise",
    ("graph/exhausted.py", "--recompute"): "a flag of the command line, for every face",
    ("wording/report.py", "--tf_xla_auto_jit"): "an option of TensorFlow's, in TF_XLA_FLAGS",
    ("loop/profile.py", "--logdir"): "an argument of TensorBoard",
    ("reporting/trackers/opening.py", "--loggers"): "an option of mox run, for every face",
    ("run/rehearsed.py", "--dry_run"): "a flag of the command line, for every face",
    ("run/rehearsed.py", "--worker_hosts"): "likewise",
    ("run/rehearsed.py", "--ps_hosts"): "likewise",
}
FILES = re.compile(r"\.mox\.|openmox\.")


def literals(path: Path) -> Iterator[str]:
    """Every text of a module that can be shown: all but docstrings."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in docstrings and not FILES.search(node.value):
            yield node.value


def test_no_message_names_an_option_of_another_face() -> None:
    """A flag that `option` words stands alone, as its argument, and in no sentence."""
    known = {name for name in option_names._ENGINES if name.startswith("--") or name == "log_dir"}
    foreign = {
        (path.relative_to(ENGINE).as_posix(), found.group())
        for path in ENGINE.rglob("*.py")
        if path.name != "option_names.py"
        for text in literals(path)
        for found in FOREIGN.finditer(text)
        if text not in known
    }
    assert foreign == set(OF_ONE_FACE)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            {},
            "Training on parameter servers (--variable_update=parameter_server or"
            " --sync_replicas=false) needs some: --ps_hosts=host:port,...",
        ),
        (
            arguments.option_names(1, None),
            "Training on parameter servers (parameter_server=True) needs some: ps processes in"
            " TF_CONFIG's cluster",
        ),
    ],
)
def test_a_cluster_without_servers(names: dict[str, str], sentence: str) -> None:
    with option_names.spoken(names), pytest.raises(MoxValueError) as caught:
        check_servers(Cluster(("a:1", "b:1")))
    assert str(caught.value) == sentence
