"""Malformed images, records, labels, checkpoints and arrays, for what reads them by TensorFlow."""

from __future__ import annotations

import gzip
import importlib
import io
import itertools
import json
import logging
import os
import pickle
import random
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # As openmox does before it imports TensorFlow.
import of_models
import tensorflow.compat.v1 as tf
from attempt import Input
from of_words import ESCAPES, OF_THE_MACHINE, WORDS

import moxing.tensorflow  # noqa: F401
from moxing.engine.checkpoint.saving.saver import Saver
from moxing.errors import MoxError, MoxValueError
from moxing.flow.saving import snapshot
from moxing.runs.checkpoints import average, difference, moving  # noqa: F401

# What the commands import, so that a fork need not.
_IMPORTED = (
    "moxing.cli.convert_checkpoint",
    "moxing.cli.convert_records",
    "moxing.estimator.predictor",
    "moxing.flow.data.convert",
    "moxing.flow.saving.storage",
    "moxing.legacy.keras.old_files",
    "moxing.runs.checkpoints.target",
    "moxing.tensorflow.datasets.folders.convert",
    "tf_keras",
)
_SAVED = Path(tempfile.mkdtemp(prefix="mox-attack-"))


def warm() -> None:
    """Makes whole files, which inputs are damaged copies of."""
    logging.getLogger("tensorflow").setLevel(logging.WARNING)
    for module in _IMPORTED:
        importlib.import_module(module)
    folder = _SAVED / "r"
    folder.mkdir()
    # In another process, since a fork of one that has run a session has no threads for its own.
    child = os.fork()
    if child == 0:
        with tf.Graph().as_default(), tf.Session() as session:
            values = {"w": np.ones((20, 30), np.float32), "global_step": np.int64(7)}
            variables = [tf.get_variable(k, initializer=tf.constant(v)) for k, v in values.items()]
            session.run(tf.global_variables_initializer())
            Saver(folder, variables, keep=None).save(session, 7)
        snapshot.write(str(_SAVED / "flow"), [("w", np.ones((4, 5), np.float32))])
        (_SAVED / "models").mkdir()
        of_models.warm(_SAVED / "models")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def of_words() -> Iterator[Input]:
    commands: dict[str, list[str]] = {
        "convert": ["convert", "{}", "out", "--to=tfrecord"],
        "convert to": ["convert", ".", "{}", "--to=ofrecord"],
        "convert checkpoint": ["convert", "checkpoint", "{}", "x"],
        "checkpoints diff": ["checkpoints", "diff", "{}", "{}"],
        "checkpoints remove": ["checkpoints", "remove", "{}"],
        "checkpoints copy": ["checkpoints", "copy", "{}", "to"],
        "checkpoints average": ["checkpoints", "average", "{}", "{}", "--to=x"],
    }
    for (command, words), (name, word) in itertools.product(commands.items(), WORDS.items()):
        given = [word if part == "{}" else part for part in words]
        writes = command in ("convert to", "checkpoints remove")
        if writes and name in OF_THE_MACHINE:
            continue
        yield Input(f"{command} {name}", given, fails=True)


def png(columns: int, rows: int, depth: int = 8, kind: int = 2, data: bytes = b"") -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + name
            + content
            + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", columns, rows, depth, kind, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", data), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def images() -> Iterator[tuple[str, bytes]]:
    from PIL import Image

    picture = Image.fromarray(np.arange(48 * 48 * 3, dtype=np.uint8).reshape(48, 48, 3))
    zeros = zlib.compress(bytes(1 << 26), 9)
    for columns, rows in ((1 << 31, 1 << 31), (65_535, 65_535), (0, 0), (20_000, 20_000)):
        yield f"png {columns}x{rows}", png(columns, rows, data=zeros)
    yield "png of 16 bits", png(17_000, 17_000, 16, 6, zeros)
    yield "png without data", png(100, 100)
    yield "gif", b"GIF89a" + struct.pack("<HHBBB", 65_535, 65_535, 0, 0, 0) + b"\xff" * 40
    yield (
        "bmp",
        b"BM" + struct.pack("<IHHIIiiHHIIiiII", 0, 0, 0, 54, 40, 1 << 30, 1, 1, 24, *[0] * 6),
    )
    yield (
        "bmp upside down",
        b"BM" + struct.pack("<IHHIIiiHHIIiiII", 0, 0, 0, 54, 40, 9, -(1 << 31), 1, 24, *[0] * 6),
    )
    yield from (("empty", b""), ("text", b"no picture"), ("nul", bytes(5000)))
    noise = random.Random(20)
    for form in ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"):
        stream = io.BytesIO()
        picture.save(stream, form)
        whole = stream.getvalue()
        for length in (1, 4, 12, 30, len(whole) // 2):
            yield f"{form} of {length} bytes", whole[:length]
        for attempt in range(6):
            damaged = bytearray(whole)
            for _ in range(40):
                damaged[noise.randrange(4, len(damaged))] = noise.randrange(256)
            yield f"{form} damaged {attempt}", bytes(damaged[: noise.randrange(60, len(whole))])


def of_images() -> Iterator[Input]:
    for name, content in images():

        def make(content: bytes = content) -> None:
            for index in range(2):
                os.makedirs(f"src/c{index}")
                Path(f"src/c{index}/x.jpg").write_bytes(content)

        # Some are read, though damaged; but none is read of those that are cut short.
        fails = "damaged" not in name
        yield Input(f"image: {name}", ["convert", "src", "out", "--to=tfrecord"], fails, make)

    def named() -> None:
        for name in ("a\nb", ESCAPES.replace("/", ""), "x" * 200):
            os.makedirs(f"src/{name}")
            Path(f"src/{name}/{name}.jpg").write_bytes(b"no picture")

    yield Input("image: names", ["convert", "src", "out", "--to=tfrecord"], True, named)
    yield Input(
        "image: names skipped",
        ["convert", "src", "out", "--to=tfrecord", "--skip-bad"],
        True,
        named,
    )


def masked(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes, length: int | None = None) -> bytes:
    head = struct.pack("<Q", len(data) if length is None else length)
    return head + struct.pack("<I", masked(head)) + data + struct.pack("<I", masked(data))


def example(**features: Any) -> bytes:
    made = tf.train.Example()
    for name, value in features.items():
        kind = made.features.feature[name.replace("__", "/")]
        for one in value:
            if isinstance(one, bytes):
                kind.bytes_list.value.append(one)
            elif isinstance(one, int):
                kind.int64_list.value.append(one)
            else:
                kind.float_list.value.append(one)
    return made.SerializeToString()


def records() -> Iterator[tuple[str, bytes]]:
    whole = record(
        example(image__encoded=[b"no"], image__format=[b"jpeg"], image__class__label=[1])
    )
    yield from (("empty", b""), ("text", b"no record at all"), ("nul", bytes(5000)))
    for length in (1, 8, 12, 20, len(whole) - 1):
        yield f"cut {length}", whole[:length]
    for length in (0, 1 << 62, (1 << 64) - 1, 1 << 40, 5):
        yield f"length {length}", record(b"abc", length)
    for at in (0, 8, 14, len(whole) - 2):
        yield f"flipped {at}", whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]
    yield "no example", record(b"\xff" * 40)
    yield "deep example", record(b"\x0a\x80\x80\x80\x80\x08" * 9)
    for name, features in {
        "nothing": {},
        "text label": {"image__encoded": [b"x"], "image__class__label": [b"1"]},
        "float image": {"image__encoded": [1.5], "image__class__label": [1]},
        "two images": {"image__encoded": [b"x", b"y"], "image__class__label": [1]},
        "no image": {"image__encoded": [b""], "image__class__label": [1]},
        "huge label": {"image__encoded": [png(2, 2)], "image__class__label": [1 << 62]},
        "negative label": {"image__encoded": [png(2, 2)], "image__class__label": [-5]},
        "bomb": {"image__encoded": [png(65_535, 65_535)], "image__class__label": [1]},
        "names": {"image__encoded": [b"x"], "image__class__label": [1], ESCAPES: [b"x"]},
    }.items():
        yield name, record(example(**features))
    yield "compressed bomb", gzip.compress(record(b"", 1 << 40)[:12] + bytes(1 << 27))
    yield "compressed and cut", gzip.compress(whole * 100)[:-20]


def of_records() -> Iterator[Input]:
    for (name, content), (form, target) in itertools.product(
        records(), (("tfrecord", "folders"), ("tfrecord", "ofrecord"), ("ofrecord", "tfrecord"))
    ):

        def make(content: bytes = content, form: str = form) -> None:
            os.mkdir("src")
            file = "src/part-0" if form == "ofrecord" else "src/x-00000-of-00001.tfrecord"
            if form == "ofrecord" and content[:8] and len(content) > 16:
                content = content[:8] + content[12:-4]  # Its records have no sums.
            Path(file).write_bytes(content)
            Path("src/labels.txt").write_text("0:a\n1:b\n")

        words = ["convert", "src", "out", f"--to={target}"]
        yield Input(f"record: {name} of {form} to {target}", words, True, make)
    labels = {
        "words": "no label",
        "huge": "9" * 5000 + ":a",
        "escapes": f"0:{ESCAPES}",
        "nul": "\0",
    }
    labels |= {"twice": "0:a\n0:b", "gap": "0:a\n9999999999:b", "long": "0:" + "a" * 200_000}
    labels |= {"bytes": "\udcff\udcfe", "path": "0:../../others\n1:../x", "dots": "0:..\n1:."}
    good = record(example(image__encoded=[png(2, 2)], image__class__label=[0]))
    for name, text in labels.items():

        def make_labels(text: str = text) -> None:
            os.mkdir("src")
            Path("src/x-00000-of-00001.tfrecord").write_bytes(good)
            Path("src/labels.txt").write_bytes(text.encode(errors="surrogateescape"))

        words = ["convert", "src", "out", "--to=folders"]
        yield Input(f"labels: {name}", words, True, make_labels)


CHECKPOINTS = {
    "list": ["checkpoints", "r"],
    "verify": ["checkpoints", "r", "--verify"],
    "diff": ["checkpoints", "diff", "r", "r"],
    "copy": ["checkpoints", "copy", "r", "to"],
    "convert": ["convert", "checkpoint", "r/model.ckpt-7", "x.npz"],
}


def damages(whole: bytes) -> Iterator[tuple[str, bytes]]:
    yield from (("empty", b""), ("nul", bytes(len(whole))), ("text", b"{" * 60_000))
    yield from ((f"cut {part}", whole[: len(whole) * part // 4]) for part in (1, 3))
    noise = random.Random(20)
    for attempt in range(3):
        damaged = bytearray(whole)
        for _ in range(8):
            damaged[noise.randrange(len(damaged))] = noise.randrange(256)
        yield f"damaged {attempt}", bytes(damaged)


def of_checkpoints() -> Iterator[Input]:
    for file in sorted(path for path in (_SAVED / "r").rglob("*") if path.is_file()):
        at = file.relative_to(_SAVED)
        for (name, content), (command, words) in itertools.product(
            damages(file.read_bytes()), CHECKPOINTS.items()
        ):

            def make(at: Path = at, content: bytes = content) -> None:
                shutil.copytree(_SAVED / "r", "r")
                at.write_bytes(content)

            yield Input(f"checkpoint: {command} {at.name} {name}", words, make=make)
    pointers = {
        "escapes": ESCAPES,
        "up": "../../x",
        "root": "/proc/self/status",
        "store": "s3://x/y",
    }
    for (name, target), (command, words) in itertools.product(
        pointers.items(), CHECKPOINTS.items()
    ):

        def make_pointer(target: str = target) -> None:
            os.mkdir("r")
            Path("r/checkpoint").write_text(f"model_checkpoint_path: {json.dumps(target)}\n")

        yield Input(f"checkpoint: {command} pointer {name}", words, make=make_pointer)
    for file in sorted(path for path in (_SAVED / "flow").rglob("*") if path.is_file()):
        inside = file.relative_to(_SAVED)
        for name, content in damages(file.read_bytes() or b"x"):

            def make_flow(inside: Path = inside, content: bytes = content) -> None:
                shutil.copytree(_SAVED / "flow", "flow")
                inside.write_bytes(content)

            words = ["convert", "checkpoint", "flow", "x"]
            yield Input(f"flow checkpoint: {inside} {name}", words, make=make_flow)


def array(shape: Any, kind: str, data: bytes) -> bytes:
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


class _Harm:
    def __reduce__(self) -> Any:
        return os.system, ("echo INFO:tensorflow:forged",)


def arrays() -> Iterator[tuple[str, bytes]]:
    yield "huge", array((1 << 40,), "<f8", bytes(80))
    yield "product", array((1 << 32, 1 << 32, 16), "<f8", bytes(80))
    yield "negative", array((-5,), "<f8", bytes(80))
    yield "object", array((1,), "|O", pickle.dumps([_Harm()]))
    yield "kind", array((2,), "<Q9", bytes(80))
    yield "void", array((2,), "|V1000000000", bytes(80))
    yield "cut", array((20,), "<f8", bytes(8))
    yield "text", b"no array"
    yield "empty", b""
    yield "shape", array("x", "<f8", bytes(8))
    yield "deep", b"\x93NUMPY\x01\x00" + struct.pack("<H", 60_000) + b"(" * 60_000
    yield "pickle", pickle.dumps(_Harm())


def zipped(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def safetensors() -> Iterator[tuple[str, bytes]]:
    def made(header: Any, data: bytes = bytes(64), length: int | None = None) -> bytes:
        head = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(head) if length is None else length) + head + data

    good = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    yield "huge header", made(b"{}", length=1 << 62)
    yield "deep", made(b"[" * 60_000)
    yield "no json", made(b"{")
    for key, value in itertools.product(good, (None, -1, 1 << 62, "x", [], [-1], [1 << 62, 4], {})):
        yield f"{key} {value}", made({"w": {**good, key: value}})
    yield "escapes", made({ESCAPES: {**good, "shape": [9]}})
    yield "list", made([1])
    yield "empty", b""


def of_arrays() -> Iterator[Input]:
    files = {f"npz {name}": ("a.npz", zipped("w.npy", content)) for name, content in arrays()}
    files["npz bomb"] = "a.npz", zipped("w.npy", array((1 << 27,), "|u1", bytes(1 << 27)))
    files["npz names"] = "a.npz", zipped(ESCAPES + ".npy", array((2,), "<f8", bytes(16)))
    files["npz text"] = "a.npz", b"PK\x03\x04 no archive"
    files |= {f"safetensors {n}": ("a.safetensors", content) for n, content in safetensors()}
    commands = {
        "diff": ["checkpoints", "diff", "{}", "{}"],
        "convert": ["convert", "checkpoint", "{}", "out/model.ckpt-1"],
        "average": ["checkpoints", "average", "{}", "{}", "--to=c.npz"],
    }
    for (name, (file, content)), (command, words) in itertools.product(
        files.items(), commands.items()
    ):

        def make(file: str = file, content: bytes = content) -> None:
            Path(file).write_bytes(content)

        given = [file if word == "{}" else word for word in words]
        fails = "names" not in name and "bomb" not in name
        yield Input(f"array: {command} {name}", given, fails, make)
    for name, content in arrays():
        yield called(f"pickle: {name}", content, _plain_pickle)
        yield called(f"idx: {name}", content, _idx)
    for magic, size in itertools.product((2049, 2051, 7), (0, 1, (1 << 31) - 1)):
        head = struct.pack(">II", magic, size) + struct.pack(">II", size, size)
        yield called(f"idx: {magic} {size}", head + bytes(20), _idx)
        bomb = gzip.compress(head + bytes(1 << 28))
        yield called(f"idx: zipped {magic} {size}", bomb, _idx)


def called(name: str, content: bytes, do: Callable[[], Any]) -> Input:
    def make() -> None:
        Path("f").write_bytes(content)

    return Input(name, do, True, make)


def _plain_pickle() -> None:
    from moxing.framework import plain_pickles

    with open("f", "rb") as file:
        try:
            plain_pickles.load(file)
        except MoxError:
            raise
        except Exception as error:  # As of pickle.load, to the program that has called it.
            raise MoxValueError("a damaged pickle") from error


def _idx() -> None:
    from moxing.framework import idx

    idx.read("f", 2051)


def inputs() -> Iterator[Input]:
    for kind in (of_words, of_images, of_records, of_checkpoints, of_arrays):
        yield from kind()
    yield from of_models.inputs(_SAVED / "models", damages)
    shutil.rmtree(_SAVED)
