"""Malformed command lines, variables of platforms, and files that no TensorFlow is needed for."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pkgutil
import random
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attempt import Input

from moxing.cli import main

ESCAPES = "\x1b[31;1m\r\nINFO:tensorflow:forged\u202e"
WORDS = {
    "empty": "",
    "space": " ",
    "escapes": ESCAPES,
    "newline": "a\n#SBATCH forged\nmox: forged\n[worker 0] forged",
    "negative": "-1",
    "huge": "9" * 25,
    "very huge": "9" * 5000,
    "float": "1e309",
    "nan": "nan",
    "long": "a" * 100_000,
    "many": ",".join(["a"] * 5000),
    "umlauts": "ü漢" * 200,
    "surrogate": "\udce9x",
    "parent": "../others/precious",
    "memory": "/proc/self/mem",
    "zero": "/dev/zero",
    "full": "/dev/full/x",
    "folder": "/proc/self",
    "store": "s3://",
    "bad store": "s3://\n/x",
    "line": "a\nb",
    "shell": "$(touch forged); `touch forged` && x",
    "quotes": "'\"\\'\"",
    "braces": "{{}} %s %(x)s {0}",
    "colons": ":::",
    "comma": ",,,",
    "equals": "=",
}
# Files of the machine itself, which commands may be asked to read, and never to change.
OF_THE_MACHINE = frozenset(["memory", "zero", "full", "folder"])
SCRIPT = "train.py"
OF_LAUNCH = """
workers ps num_gpus max_restarts grace logs hosts port emit image name namespace cpu memory gpu shm
service-account env secret volume node-selector toleration pull-secret
"""
OF_PODS = ["--emit=k8s", "--image=i", "--workers=2"]


def warm() -> None:
    """Imports what the commands import, so that a fork need not."""
    for command in main.COMMANDS.values():
        importlib.import_module(f"moxing.cli.{command.partition(':')[0]}")
    for room in ("launch", "cluster", "legacy.python2", "runs", "doctor", "flags.config_file"):
        found = importlib.import_module(f"moxing.{room}")
        for module in pkgutil.walk_packages(getattr(found, "__path__", []), f"{found.__name__}."):
            if not module.name.startswith("moxing.runs.checkpoints."):
                importlib.import_module(module.name)
    importlib.import_module("yaml")


def _write(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)


def script() -> None:
    Path(SCRIPT).write_text("print('ran')\n")


def of_commands() -> Iterator[Input]:
    for name, word in WORDS.items():
        for command in ("", "run", "export", "port", "runs", "compare", "checkpoints", "legacy"):
            words = [command, word] if command else [word]
            yield Input(f"{command or 'mox'} {name}", words, make=script)
        yield Input(f"runs --sort {name}", ["runs", f"--sort={word}"])
        yield Input(f"runs --show {name}", ["runs", f"--show={word}"])
        if name not in OF_THE_MACHINE:
            yield Input(f"compare --to {name}", ["compare", f"--to={word}", "."])
        yield Input(f"run --config {name}", ["run", f"--config={word}", SCRIPT], make=script)
        for option in OF_LAUNCH.split():
            pods = [] if option in ("hosts", "port", "emit") else OF_PODS
            hosts = ["--hosts=a,b"] if option == "port" else []
            words = ["launch", *pods, *hosts, f"--{option}={word}", SCRIPT]
            if option == "emit" or pods or hosts or option == "hosts":
                yield Input(f"launch --{option} {name}", words, make=script)
        yield Input(f"launch script {name}", ["launch", "--emit=slurm", "--workers=2", word])
        yield Input(
            f"launch argument {name}", ["launch", "--emit=slurm", SCRIPT, word], make=script
        )
        for option in (
            "nodes",
            "ps",
            "num_gpus",
            "max_restarts",
            "grace",
            "data",
            "output",
            "code",
        ):
            if option == "output" and name in OF_THE_MACHINE:
                continue
            given = {"data": ".", "output": "out", "code": "."} | {option: word}
            words = ["uai", "train", *(f"--{key}={value}" for key, value in given.items())]
            yield Input(f"uai --{option} {name}", [*words, "absent.py"], make=script)
        yield Input(f"uai {name}", ["uai", "train", "--data=.", "--output=out", word], fails=True)


def of_clusters() -> Iterator[Input]:
    """Descriptions of clusters by flags and by the variables of platforms."""
    for number, text in enumerate(tf_configs()):
        yield resolved(f"TF_CONFIG {number}", {}, {"TF_CONFIG": text})
    slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "a,b"}
    slurm |= {"SLURM_JOB_ID": "7", "SLURM_NODEID": "0", "SLURM_TASKS_PER_NODE": "1(x2)"}
    nodes = "a[ a] a[1 a[1- a[1-2]]] a[3-1] a[1-99999999] a[[[[ ,,, a[1-9][1-9][1-9][1-9][1-9][1-9]"
    each = ["1(x", "1(x)", "1(x99999999)", "99999999(x2)", "(x2)", "1(x-2)", "1,,2"]
    platforms = {
        "slurm": slurm,
        "dls": {"DLS_TASK_NUMBER": "2", "DLS_TASK_INDEX": "0", "BATCH_CUSTOM0_HOSTS": "a:1"},
        "vc": {"VC_WORKER_HOSTS": "a:1,b:1", "VC_TASK_INDEX": "0", "VC_WORKER_NUM": "2"},
        "secret": {"TF_CONFIG": TWO, "MOX_JOB_SECRET": "x"},
    }
    more = {
        "SLURM_JOB_NODELIST": [*nodes.split(), "a[1-2],b" * 9000],
        "SLURM_TASKS_PER_NODE": each,
        "SLURM_NTASKS": ["99999999", "0", "100001"],
        "DLS_TASK_NUMBER": ["99999999", "3"],
        "VC_WORKER_HOSTS": [",".join(f"h{i}:1" for i in range(99_000)), "a:1,a:1", "a:x,b:1"],
    }
    for platform, variables in platforms.items():
        for variable in variables:
            for name, word in WORDS.items():
                if "\0" not in word and variable != "TF_CONFIG":
                    changed = variables | {variable: word}
                    yield resolved(f"{platform} {variable} {name}", {}, changed)
            for number, word in enumerate(more.get(variable, [])):
                yield resolved(f"{platform} {variable} {number}", {}, variables | {variable: word})
    flags = {"job_name": "worker", "task_index": "0", "worker_hosts": "a:1,b:1", "ps_hosts": "c:1"}
    for flag, (name, word) in itertools.product(flags, WORDS.items()):
        yield resolved(f"flag {flag} {name}", flags | {flag: word}, {})
    for text in ("a:1,a:1", "a:1,:2", "a:99999,b:1", "[::1:1,b:1", "a:1;b:1", "h:1," * 100_001):
        yield resolved(f"flag worker_hosts {text[:12]}", flags | {"worker_hosts": text}, {})
    for size in (99_999, 100_001):
        hosts = ",".join(f"h{i}:1" for i in range(size))
        told = {**flags, "worker_hosts": hosts, "task_index": "100000"}
        yield resolved(f"flag worker_hosts of {size}", told, {}, fails=True)


TWO = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'


def tf_configs() -> Iterator[str]:
    yield from ("{", "[]", "7", '"x"', "null", "nul", "{}{}", "\ufeff{}", "'a'", "{'a': 1}")
    yield from ("[" * 60_000, '{"a":' * 60_000, "9" * 100_000, '{"cluster": ' + "9" * 5000 + "}")
    parts: list[Any] = [None, 7, -1, 1e308, True, "", "x", ESCAPES, [], {}, [[]], [7], ["a"]]
    parts += [["a:1"], ["a:1", "a:1"], ["a:99999"], [":1"], ["a:1"] * 100_001, "9" * 5000]
    whole = json.loads(TWO)
    for part in parts:
        yield json.dumps({**whole, "cluster": part})
        yield json.dumps({**whole, "task": part})
        yield json.dumps({**whole, "cluster": {"worker": part}})
        yield json.dumps({**whole, "cluster": {"chief": part, "worker": ["b:1"]}})
        yield json.dumps({**whole, "cluster": {"ps": part, **whole["cluster"]}})
        yield json.dumps({**whole, "cluster": {str(part)[:99]: ["a:1"], **whole["cluster"]}})
        yield json.dumps({**whole, "task": {"type": part, "index": 0}})
        yield json.dumps({**whole, "task": {"type": "worker", "index": part}})
    noise = random.Random(20)
    for _ in range(60):  # Characters taken out, put in, exchanged.
        text = list(TWO)
        for _ in range(noise.randint(1, 4)):
            at = noise.randrange(len(text))
            text[at : at + noise.randint(0, 3)] = noise.choice('{}[]",:09a\\\x1b\n')
        yield "".join(text)


def resolved(
    name: str, flags: dict[str, str], environ: dict[str, str], fails: bool = False
) -> Input:
    def do() -> None:
        from moxing.cluster.resolve import resolve

        cluster = resolve(flags, environ, "train.py")
        print("cluster of", cluster and len(cluster.tasks))

    return Input(f"cluster: {name}", do, fails)


def merged(depth: int) -> str:
    """YAML whose mappings have nine times as many entries a line, if they are all written down."""
    lines = ["a0: &a0 {k: 1}"]
    for i in range(1, depth):
        lines.append(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}")
    return "\n".join(lines)


def laughs(depth: int) -> str:
    lines = ["a0: &a0 [x]"]
    for i in range(1, depth):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]")
    return "\n".join(lines)


CONFIGS = {
    "merge bomb": merged(12),
    "laughs": laughs(30),
    "itself": "a: &a [*a]",
    "deep": "[" * 60_000,
    "deep maps": "{a: " * 3000,
    "long": "a: " + "x" * 2_000_000,
    "python": "a: !!python/object/apply:os.system ['touch forged']",
    "tags": "a: !!int x",
    "time": "a: !!timestamp 99-99",
    "binary": "a: !!binary '*'",
    "set": "a: !!set {x, y}",
    "number": "a: 1" + "0" * 5000,
    "sexagesimal": "a: " + ":".join(["59"] * 5000),
    "list": "[1, 2]",
    "two": "a: 1\n---\nb: 2",
    "tab": "a:\n\t- b",
    "unclosed": "a: [1, 2",
    "anchor": "a: *b",
    "escapes": json.dumps({ESCAPES: 1}),
    "program": "program: [1]",
    "program escapes": json.dumps({"program": ESCAPES}),
    "dates": "a: 2001-01-01",
    "nul": "a: \0",
    "bom": "\ufeffa: 1",
    "key": "? [1, 2]\n: 3",
    "bytes": "\udcff\udcfe",
}


def of_configurations() -> Iterator[Input]:
    for name, text in CONFIGS.items():
        for end in (".yaml", ".json"):
            path = f"c{end}"

            def make(path: str = path, text: str = text) -> None:
                script()
                Path(path).write_bytes(text.encode(errors="surrogateescape"))

            def do(path: str = path) -> None:
                from moxing.flags import config_file

                config_file.read(path)

            yield Input(f"config {name}{end}", do, make=make)
    facts = {"outcome": {"end": "finished"}, "job": {}, "program": {"script": SCRIPT}, "flags": {}}
    for key, value in itertools.product(["outcome", "job", "program", "flags"], values()):
        text = json.dumps({**facts, key: value[1]})
        yield of_config_file(f"config run.json {key} {value[0]}", "run.json", text)
    for key in ("script", "module", "arguments", "left_out"):
        for name, value in values():
            text = json.dumps({**facts, "program": {"script": SCRIPT, key: value}})
            yield of_config_file(f"config run.json program {key} {name}", "run.json", text)


def of_config_file(name: str, path: str, text: str) -> Input:
    def do() -> None:
        from moxing.flags import config_file

        config_file.read(path)

    return Input(name, do, make=lambda: _write(path, text.encode()))


def values() -> Iterator[tuple[str, Any]]:
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    found = {"null": None, "number": 7, "text": "x", "list": [1], "map": {"a": {}}, "deep": deep}
    found |= {"escapes": ESCAPES, "infinity": float("inf"), "nan": float("nan"), "true": True}
    found |= {"huge": 10**300, "long": "x" * 100_000, "escapes in it": {ESCAPES: [ESCAPES]}}
    yield from found.items()


def of_runs() -> Iterator[Input]:
    """Records of runs, for the commands that look at them."""
    line = {"time": 1.0, "step": 3, "mode": "train", "values": {"loss": 1.0}}
    names = ["outcome", "job", "flags", "started", "program", "versions", "devices"]
    commands = {"runs": ["runs", "."], "json": ["runs", ".", "--json"], "compare": ["compare", "r"]}
    for key, (name, value) in itertools.product(names, values()):
        for command, words in commands.items():
            facts = {"outcome": {"end": "finished", "ended": 2.0}, "job": {}, "flags": {}}
            files = {"run.json": json.dumps({**facts, key: value})}
            yield of_run(f"{command} run.json {key} {name}", words, files)
    for key, (name, value) in itertools.product(line, values()):
        for command, words in commands.items():
            files = {"metrics.jsonl": json.dumps({**line, key: value}) + "\n"}
            yield of_run(f"{command} metrics {key} {name}", words, files)
    for key in ("end", "error", "started", "ended", "last_step", "seconds"):
        for name, value in values():
            facts = {"outcome": {"end": "failed", "ended": 2.0, key: value}, "job": {}, "flags": {}}
            yield of_run(f"runs outcome {key} {name}", ["runs"], {"run.json": json.dumps(facts)})
    texts = {
        "empty": "",
        "nothing": "\n" * 1000,
        "cut off": '{"time": 1, "st',
        "nul": "\0" * 100_000,
        "deep": "[" * 60_000,
        "long line": '{"time": 1, "x": "' + "x" * 3_000_000 + '"}\n',
        "many": '{"time": 1, "step": 1, "values": {"%s": 1}}\n' * 20_000,
        "bytes": "\udcff" * 1000,
        "digits": "9" * 100_000,
        "list": "[]\n7\nnull\n",
    }
    for name, text in texts.items():
        for file, (command, words) in itertools.product(
            ("run.json", "metrics.jsonl", ".mox-lock", "checkpoint"), commands.items()
        ):
            yield of_run(f"{command} {file} {name}", words, {file: text})
        yield of_run(f"checkpoints {name}", ["checkpoints", "r"], {"checkpoint": text})


def of_run(name: str, words: list[str], files: dict[str, str]) -> Input:
    def make() -> None:
        os.mkdir("r")
        for file, text in files.items():
            Path("r", file).write_bytes(text.encode(errors="surrogateescape"))

    return Input(f"run: {name}", words, make=make)


def of_odd_files() -> Iterator[Input]:
    """Pipes, devices, links in circles and folders, where a file is expected."""

    def pipe(path: str) -> None:
        os.mkfifo(path)

    def circle(path: str) -> None:
        os.symlink(path, path)

    def zero(path: str) -> None:
        os.symlink("/dev/zero", path)

    def folder(path: str) -> None:
        os.mkdir(path)

    def closed(path: str) -> None:
        Path(path).write_text("x")
        os.chmod(path, 0)

    def gone(path: str) -> None:
        os.symlink("/nowhere/at/all", path)

    commands = {
        "port": ["port", "f"],
        "config": ["run", "--config=f", SCRIPT],
        "runs": ["runs", "r"],
        "compare": ["compare", "r"],
        "checkpoints": ["checkpoints", "r"],
        "launch": ["launch", "--emit=slurm", "f"],
        "compare to": ["compare", "--to=f", "r"],
    }
    for kind in (pipe, circle, zero, folder, closed, gone):
        for command, words in commands.items():

            def make(kind: Any = kind) -> None:
                script()
                kind("f")
                os.mkdir("r")
                for name in ("run.json", "metrics.jsonl", "checkpoint"):
                    kind(f"r/{name}")

            yield Input(f"odd: {command} of {kind.__name__}", words, make=make)


def of_secrets() -> Iterator[Input]:
    contents = {"empty": b"", "short": b"x", "long": b"x" * 5000, "spaces": b" " * 64, "nul": b"\0"}
    for (name, content), mode in itertools.product(contents.items(), (0o600, 0o644, 0o620)):

        def make(content: bytes = content, mode: int = mode) -> None:
            Path("secret").write_bytes(content)
            os.chmod("secret", mode)

        yield of_secret(f"{name} {mode:o}", make)
    yield of_secret("pipe", lambda: os.mkfifo("secret", 0o600))
    yield of_secret("folder", lambda: os.mkdir("secret"))
    yield of_secret("zero", lambda: os.symlink("/dev/zero", "secret"))
    yield of_secret("circle", lambda: os.symlink("secret", "secret"))
    yield of_secret("absent", lambda: None)
    yield of_secret("device", lambda: os.mknod("secret", 0o600 | stat.S_IFIFO))


def of_secret(name: str, make: Any) -> Input:
    def do() -> None:
        from moxing.cluster import secret

        secret.read({"MOX_JOB_SECRET_FILE": "secret"})

    return Input(f"secret: {name}", do, fails=True, make=make)


def of_programs() -> Iterator[Input]:
    """Files that `mox port` and `mox run` read as programs."""
    contents = {
        "nul": b"print 1\0",
        "bytes": bytes(range(256)) * 40,
        "deep": b"x = " + b"(" * 3000 + b")" * 3000,
        "deeper": b"print 1\nx = " + b"[" * 300 + b"]" * 300,
        "dashes": b"print 1\nx = " + b"-" * 50_000 + b"1",
        "encoding": b"# -*- coding: nonsense -*-\nprint 1\n",
        "cut off": b"print 1\ndef f(:\n",
        "quotes": b"print 1\nx = '''",
        "indent": b"print 1\n\tif x:\n  y\n\tz\n",
        "long line": b"print 1\nx = '" + b"a" * 3_000_000 + b"'",
        "utf16": "print 1".encode("utf-16"),
        "bom": b"\xef\xbb\xbfprint 1\n\xff",
        "carriage": b"print 1\rprint 2\r\x0c",
        "numbers": b"print 1\nx = " + b"9" * 6000,
        "escapes": f"print 1\ndef {ESCAPES}".encode(),
        "strings": b"print 1\nx = " + b"'a' " * 20_000,
    }
    for name, content in contents.items():
        yield Input(
            f"port program {name}",
            ["port", "p.py"],
            make=lambda content=content: _write("p.py", content),
            quotes=2 * len(content),  # It prints the lines as they were, and as they are.
        )
        yield Input(
            f"port --write program {name}",
            ["port", "--write", "p.py"],
            make=lambda content=content: _write("p.py", content),
        )


def inputs() -> Iterator[Input]:
    kinds = (of_commands, of_clusters, of_configurations, of_runs, of_odd_files, of_secrets)
    for kind in (*kinds, of_programs):
        yield from kind()
