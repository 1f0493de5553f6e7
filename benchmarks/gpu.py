"""Training on the GPUs of this machine: openmox beside TensorFlow's bare graph and PyTorch.

    python benchmarks/gpu.py [--models resnet50,bert] [--types fp32,fp16] [--steps N] [--small]

Needs no network and no data: inputs are constants on the device's machine. For each model, type and
number of devices (1, 2, 4, ... all) one table row gives samples a second, each the best of two runs
in processes of their own, which take turns:

- openmox: `mox.run`, one batch a device, NCCL between devices;
- bare: the same model function and optimizer in a session with XLA, on one device;
- PyTorch: torchvision's `resnet50` with AMP and channels_last, where both are installed.

All of them compute fp32 as TF32 on GPUs that have it.

`linear` is openmox's speed over that of one device times the number of devices. Where a batch does
not fit into a GPU, all contestants of the row get half of it. A run that fails, or takes longer
than half an hour, leaves `failed` in its place and its last lines on standard error. A row is
printed as soon as it is known.

On a machine without a GPU the small form runs: small models for a few steps, whose numbers say
nothing but that all of it works.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MOX_SILENT_MODE", "1")

BATCH = {"resnet50": 256, "bert": 32}
TYPES = ("fp32", "fp16")
WARM, TURNS, LIMIT = 10, 2, 1800.0
# What TensorFlow, XLA and PyTorch say where memory is exhausted.
OUT_OF_MEMORY = ("ResourceExhaustedError", "RESOURCE_EXHAUSTED", "OutOfMemoryError")
SMALL = {"batch": 4, "size": 32, "width": 32, "layers": 2, "words": 16, "vocabulary": 100}
LARGE = {"size": 224, "width": 768, "layers": 12, "words": 128, "vocabulary": 30522}


def images(shape: dict[str, int], batch: int, half: bool) -> Any:
    """The loss of ResNet-50 on a constant batch; of 32 x 32 pixels in the small form."""
    import tensorflow.compat.v1 as tf

    import moxing.tensorflow as mox

    x = tf.random.stateless_uniform([batch, shape["size"], shape["size"], 3], [1, 2])
    x = tf.cast(x, tf.float16 if half else tf.float32)
    name = "resnet_v1_50" if shape is LARGE else "resnet_v1_20"
    logits = mox.get_model_fn(name, mox.ModeKeys.TRAIN, 10)(x)[0]
    logits = tf.cast(tf.reshape(logits, [batch, 10]), tf.float32)
    labels = tf.range(batch) % 10
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def words(shape: dict[str, int], batch: int, half: bool) -> Any:
    """The loss of a Transformer encoder of BERT-base's size that predicts each word.

    With ReLU in the place of GELU, which costs the same in matrix products.
    """
    import tensorflow.compat.v1 as tf

    dtype, width = tf.float16 if half else tf.float32, shape["width"]
    count, heads = shape["words"], max(1, width // 64)
    ids = tf.random.stateless_uniform([batch, count], [1, 2], 0, shape["vocabulary"], tf.int32)

    def weight(name: str, *size: int) -> Any:
        start = tf.truncated_normal_initializer(stddev=0.02)
        return tf.get_variable(name, size, initializer=start)

    def dense(x: Any, units: int, name: str) -> Any:
        w, b = weight(f"{name}/w", x.shape[-1], units), weight(f"{name}/b", units)
        flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), tf.cast(w, dtype)) + tf.cast(b, dtype)
        return tf.reshape(flat, [batch, count, units])

    def norm(x: Any) -> Any:
        mean, variance = tf.nn.moments(tf.cast(x, tf.float32), [-1], keepdims=True)
        return tf.cast((tf.cast(x, tf.float32) - mean) * tf.rsqrt(variance + 1e-6), dtype)

    def split(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [batch, count, heads, width // heads]), [0, 2, 1, 3])

    table = weight("words", shape["vocabulary"], width)
    x = norm(tf.cast(tf.gather(table, ids) + weight("places", count, width), dtype))
    for layer in range(shape["layers"]):
        q, k, v = (split(dense(x, width, f"{layer}/{part}")) for part in "qkv")
        scores = tf.matmul(q, k, transpose_b=True) * tf.cast((width // heads) ** -0.5, dtype)
        seen = tf.matmul(tf.nn.softmax(scores), v)
        seen = tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [batch, count, width])
        x = norm(x + dense(seen, width, f"{layer}/out"))
        inner = tf.nn.relu(dense(x, 4 * width, f"{layer}/in"))
        x = norm(x + dense(inner, width, f"{layer}/up"))
    logits = tf.matmul(tf.reshape(x, [-1, width]), tf.cast(table, dtype), transpose_b=True)
    logits = tf.cast(logits, tf.float32)
    targets = tf.reshape(ids, [-1])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))


LOSSES = {"resnet50": images, "bert": words}


def optimizer() -> Any:
    import tensorflow.compat.v1 as tf

    return tf.train.MomentumOptimizer(0.001, 0.9)


def by_openmox(given: argparse.Namespace) -> float:
    import tensorflow.compat.v1 as tf

    import moxing.tensorflow as mox

    half, shape = given.type == "fp16", SMALL if given.small else LARGE
    times: list[float] = []

    class Clock(mox.AggregativeSessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            times.append(time.perf_counter())

    def model_fn(inputs: Any, mode: str, **_: Any) -> Any:
        loss = LOSSES[given.model](shape, given.batch, half) + 0.0 * tf.reduce_sum(inputs[0])
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[Clock()])

    mox.set_flag("num_gpus", given.devices)
    mox.set_flag("use_fp16", half)
    mox.set_flag("loss_scale", 128.0 if half else 1.0)
    mox.run(
        input_fn=lambda mode, **_: tf.constant([0.0]),
        model_fn=model_fn,
        optimizer_fn=optimizer,
        run_mode=mox.ModeKeys.TRAIN,
        max_number_of_steps=given.warm + given.steps,
    )
    return given.steps * given.batch * given.devices / (times[-1] - times[given.warm - 1])


def by_bare_graph(given: argparse.Namespace) -> float:
    import tensorflow.compat.v1 as tf

    from moxing.engine.graph import devices, hardware
    from moxing.engine.graph.rewrites.precision import stored_as
    from moxing.engine.graph.rewrites.resources import resource_variables

    half, shape = given.type == "fp16", SMALL if given.small else LARGE
    with resource_variables(), tf.Graph().as_default() as graph:
        with stored_as(tf.float32):
            loss = LOSSES[given.model](shape, given.batch, half)
        updates = graph.get_collection(tf.GraphKeys.UPDATE_OPS)
        made = optimizer()
        scale = 128.0 if half else 1.0
        pairs = [(g / scale, v) for g, v in made.compute_gradients(loss * scale) if g is not None]
        step = tf.group(made.apply_gradients(pairs), *updates)
        config = tf.ConfigProto(allow_soft_placement=True)
        hardware.configure(config, devices.machine(), 1, together=False)
        if devices.has_gpu():
            hardware.compile_with_xla(config)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            run = session.make_callable(step)
            for _ in range(given.warm):
                run()
            session.run(loss)
            started = time.perf_counter()
            for _ in range(given.steps):
                run()
            return given.steps * given.batch / (time.perf_counter() - started)


def by_torch(given: argparse.Namespace) -> float:
    import torch
    import torchvision

    half = given.type == "fp16"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    net = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    x = torch.rand(given.batch, 3, 224, 224, device="cuda")
    x = x.to(memory_format=torch.channels_last)
    labels = torch.arange(given.batch, device="cuda") % 10
    sgd, scaler = torch.optim.SGD(net.parameters(), 0.001, 0.9), torch.amp.GradScaler(enabled=half)

    def step() -> None:
        sgd.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16, enabled=half):
            loss = torch.nn.functional.cross_entropy(net(x), labels)
        scaler.scale(loss).backward()
        scaler.step(sgd)
        scaler.update()

    for _ in range(given.warm):
        step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(given.steps):
        step()
    torch.cuda.synchronize()
    return given.steps * given.batch / (time.perf_counter() - started)


CONTESTANTS = {"openmox": by_openmox, "bare": by_bare_graph, "PyTorch": by_torch}


def contestants(model: str, devices: int, small: bool) -> list[str]:
    """Who can take part: the bare graph and PyTorch train on one device."""
    found = ["openmox"]
    if devices == 1:
        found.append("bare")
        peers = all(importlib.util.find_spec(name) for name in ("torch", "torchvision"))
        if model == "resnet50" and not small and peers:
            found.append("PyTorch")
    return found


class TooLargeError(Exception):
    """A batch does not fit into the memory of a GPU."""


def measured(given: argparse.Namespace, name: str) -> float | None:
    """Samples a second of one run in a process of its own; None: it failed, and said why.

    Raises:
        TooLargeError: the batch does not fit into the memory.
    """
    command = [sys.executable, __file__, "--one", name, "--model", given.model]
    command += ["--type", given.type, "--devices", str(given.devices)]
    command += ["--batch", str(given.batch), "--steps", str(given.steps)]
    command += ["--warm", str(given.warm), *(["--small"] if given.small else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired as late:
        said = late.stderr or b""
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        print(f"{name} {given.model}: over {LIMIT:.0f} s. {text[-2000:]}", file=sys.stderr)
        return None
    if done.returncode == 0:
        return float(json.loads(done.stdout.splitlines()[-1])["rate"])
    if any(text in done.stderr for text in OUT_OF_MEMORY):
        raise TooLargeError
    print(f"{name} {given.model}: {done.stderr[-2000:]}", file=sys.stderr)
    return None


def counts(gpus: int) -> list[int]:
    """1, 2, 4 and so on, and all."""
    found = [1 << power for power in range(gpus.bit_length()) if 1 << power <= gpus]
    return sorted({*found, max(gpus, 1)})


def best_rates(case: argparse.Namespace) -> dict[str, float | None]:
    """The best rate of each contestant, in turns; None for those that failed. Halves the batch."""
    while True:
        best: dict[str, float | None] = {}
        try:
            for _ in range(1 if case.small else TURNS):
                for name in contestants(case.model, case.devices, case.small):
                    if best.get(name, 0.0) is not None:
                        rate = measured(case, name)
                        best[name] = None if rate is None else max(best.get(name) or 0.0, rate)
            return best
        except TooLargeError:
            if case.batch < 2:
                print(f"{case.model}: not even one sample fits.", file=sys.stderr)
                return dict.fromkeys(contestants(case.model, case.devices, case.small))
            case.batch //= 2


def row(case: argparse.Namespace, best: dict[str, float | None], alone: float | None) -> str:
    """A line of the table.

    Args:
        case: the model, the type, and the numbers of devices and samples.
        best: the rates of the contestants.
        alone: openmox's rate on one device.
    """
    shown = ["-" if n not in best else _rate(best[n]) for n in CONTESTANTS]
    ours = best["openmox"]
    linear = f"{ours / alone / case.devices:.2f}" if ours and alone else "-"
    numbers = f"{case.devices:8}{case.batch:7}" + "".join(f"{s:>12}" for s in shown)
    return f"{case.model:10}{case.type:6}{numbers}{linear:>8}"


def _rate(rate: float | None) -> str:
    return "failed" if rate is None else f"{rate:,.1f}"


def table(given: argparse.Namespace, gpus: int) -> bool:
    """Prints a row for each case; returns whether every run ended well."""
    small = given.small or not gpus
    numbers = counts(min(gpus, 2)) if small and gpus else [1, 2] if small else counts(gpus)
    _say(f"{gpus} GPUs, Python {platform.python_version()}" + (", small form" if small else ""))
    heads = "".join(f"{name:>12}" for name in CONTESTANTS)
    _say(f"{'model':10}{'type':6}{'devices':>8}{'batch':>7}{heads}{'linear':>8}")
    well = True
    for model in given.models.split(","):
        for kind in given.types.split(","):
            alone, batch = None, given.batch or (SMALL["batch"] if small else BATCH[model])
            for devices in numbers:
                case = argparse.Namespace(
                    model=model, type=kind, devices=devices, small=small, warm=2 if small else WARM,
                    steps=given.steps or (3 if small else 50), batch=batch,
                )  # fmt: skip
                best = best_rates(case)
                well = well and None not in best.values()
                if devices == 1:
                    alone = best["openmox"]
                elif case.batch != batch:
                    alone = None  # That was measured with larger batches.
                batch = case.batch
                _say(row(case, best, alone))
    return well


def _say(line: str) -> None:
    print(line, flush=True)


def versions() -> tuple[int, str]:
    """How many GPUs TensorFlow finds, and the versions of all that is measured."""
    code = (
        "import json, tensorflow as tf, moxing; from moxing.engine.graph import devices;"
        "gpus = devices.machine().gpus;"
        "built = tf.sysconfig.get_build_info();"
        "cuda = [k + ' ' + str(built[k + '_version']) for k in ('cuda', 'cudnn')"
        " if k + '_version' in built];"
        "found = tf.config.list_physical_devices('GPU');"
        "kinds = {tf.config.experimental.get_device_details(g).get('device_name', '?')"
        " for g in found};"
        "text = ['TensorFlow ' + tf.__version__, *cuda, 'openmox ' + moxing.__version__];"
        "print(json.dumps([gpus, ', '.join([*text, *sorted(kinds)])]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"TensorFlow or openmox can't be imported:\n{done.stderr[-3000:]}")
    gpus, text = json.loads(done.stdout.splitlines()[-1])
    names = [n for n in ("torch", "torchvision") if importlib.util.find_spec(n) is not None]
    peers = "".join(f", {name} {importlib.metadata.version(name)}" for name in names)
    return int(gpus), f"{text}{peers}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet50,bert")
    parser.add_argument("--types", default="fp32,fp16")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int)
    for name, kind in (
        ("one", str),
        ("model", str),
        ("type", str),
        ("devices", int),
        ("warm", int),
    ):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        sys.argv[1:] = []
        print(json.dumps({"rate": CONTESTANTS[given.one](given)}))
        return 0
    for name, known in (("models", BATCH), ("types", TYPES)):
        unknown = set(getattr(given, name).split(",")) - set(known)
        if unknown:
            parser.error(f"--{name}: {', '.join(sorted(unknown))} is none of {', '.join(known)}")
    gpus, text = versions()
    _say(text)
    return 0 if table(given, gpus) else 1


if __name__ == "__main__":
    sys.exit(main())
