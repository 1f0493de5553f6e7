"""Compiled code is kept in a folder that nobody else writes to, a folder for each kind of GPU."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moxing.framework import compiled_code

MODELS = ["NVIDIA H100 80GB HBM3"] * 2


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    """A driver's description of two GPUs."""
    folder = tmp_path / "driver"
    for number, model in enumerate(MODELS):
        gpu = folder / "gpus" / f"0000:{number}:00.0"
        gpu.mkdir(parents=True)
        (gpu / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 10{number}\n")
    (folder / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54\nGCC\n")
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TF_XLA_FLAGS", "XLA_FLAGS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOX_XLA_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def kept(driver: Path, version: str = "2.21.0") -> str | None:
    """The folder that TensorFlow is given."""
    os.environ.pop("TF_XLA_FLAGS", None)
    compiled_code.keep(version, str(driver))
    return compiled_code.kept_in()


def test_the_folder_is_this_users_alone(driver: Path, place: Path) -> None:
    folder = kept(driver)
    assert folder is not None
    own = place / f"moxing-xla-{os.geteuid()}"
    assert Path(folder).parent == own
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert "--tf_xla_persistent_cache_device_types=GPU,XLA_GPU_JIT" in os.environ["TF_XLA_FLAGS"]


def test_each_kind_of_gpu_and_each_version_has_its_own(
    driver: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [kept(driver), kept(driver, "2.22.0")]
    assert kept(driver) == found[0]
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=0")
    found.append(kept(driver))
    monkeypatch.delenv("XLA_FLAGS")
    (driver / "version").write_text("NVRM version: 560.1\n")
    found.append(kept(driver))
    (driver / "gpus" / "0000:1:00.0" / "information").write_text("Model: NVIDIA A100\n")
    found.append(kept(driver))
    assert None not in found
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MOX_XLA_CACHE_DIR", ""),
        ("CUDA_VISIBLE_DEVICES", "-1"),
        ("CUDA_VISIBLE_DEVICES", ""),
        ("TF_XLA_FLAGS", "--tf_xla_auto_jit=-1"),
        ("TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=/own"),
    ],
)
def test_the_users_own_wishes_count(
    name: str, value: str, driver: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    before = os.environ.get("TF_XLA_FLAGS")
    compiled_code.keep("2.21.0", str(driver))
    assert os.environ.get("TF_XLA_FLAGS") == before
    assert not place.exists()


def test_other_settings_stay(driver: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_min_cluster_size=8")
    compiled_code.keep("2.21.0", str(driver))
    assert os.environ["TF_XLA_FLAGS"].startswith("--tf_xla_min_cluster_size=8 --tf_xla_persistent")
    assert not compiled_code.chosen_by_user()
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=fusible")
    assert compiled_code.chosen_by_user()


def test_without_a_gpu_nothing_is_made(place: Path, tmp_path: Path) -> None:
    assert kept(tmp_path / "nothing") is None
    assert not place.exists()


@pytest.mark.parametrize("kind", ["another's", "a file"])
def test_a_folder_that_can_not_be_trusted_is_told_of(
    kind: str, driver: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = place / f"moxing-xla-{os.geteuid()}"
    if kind == "a file":
        place.touch()
    else:
        own.mkdir(parents=True)
        own.chmod(0o777)
    assert kept(driver) is None
    (said,) = caplog.messages
    assert said.startswith("Code that XLA compiles is not kept: ")
    assert "MOX_XLA_CACHE_DIR" in said or str(place) in said


def test_a_disk_that_is_almost_full_is_left_alone(
    driver: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_code, "_ROOM", 1 << 60)
    assert kept(driver) is None


def entry(path: Path, code: bytes, cut: int = 0) -> Path:
    """A file as TensorFlow writes it: three fields with lengths, of which the last is the code."""
    text = b""
    for number, content in ((1, b"key"), (2, b"p" * 300), (3, code)):
        length, digits = len(content), b""
        while length > 0x7F:
            digits, length = digits + bytes([length & 0x7F | 0x80]), length >> 7
        text += bytes([number << 3 | 2]) + digits + bytes([length]) + content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text[: len(text) - cut])
    return path


def test_what_a_crash_has_cut_off_is_removed(tmp_path: Path) -> None:
    whole = entry(tmp_path / "k" / "a.pb", b"c" * 1000)
    broken = [
        *(entry(tmp_path / "k" / f"cut{cut}.pb", b"c" * 1000, cut) for cut in (1, 999, 1003, 1300)),
        entry(tmp_path / "k" / "empty.pb", b"", 10_000),
    ]
    zeros = tmp_path / "k" / "zeros.pb"
    zeros.write_bytes(bytes(1311))
    being_written, abandoned = tmp_path / "k" / "b.pb1.tmp", tmp_path / "k" / "c.pb2.tmp"
    for path in (being_written, abandoned):
        path.write_bytes(b"x")
    before = time.time() - 90_000
    os.utime(abandoned, (before, before))
    compiled_code.tidy(str(tmp_path))
    assert whole.exists()
    assert being_written.exists()
    assert not any(path.exists() for path in (*broken, zeros, abandoned))


def test_the_files_that_were_not_used_for_longest_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [entry(tmp_path / f"{number}.pb", b"c" * 1000) for number in range(4)]
    for age, path in enumerate(files):
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    monkeypatch.setattr(compiled_code, "_MOST", 3000)
    compiled_code.tidy(str(tmp_path))
    assert [path.exists() for path in files] == [True, True, False, False]


_STEP = """
import sys, tensorflow.compat.v1 as tf
from moxing.framework import compiled_code
tf.disable_eager_execution()
x = tf.placeholder_with_default(tf.ones([8, 8]), [8, 8])
for number in range(6):
    x = tf.tanh(tf.matmul(x, x) + tf.exp(x * 0.1) * 0.25)
config = tf.ConfigProto()
config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
config.graph_options.optimizer_options.cpu_global_jit = True
import os
os.environ["TF_XLA_FLAGS"] = compiled_code.flags("", sys.argv[1], "CPU,XLA_CPU_JIT")
with tf.Session(config=config) as session:
    for _ in range(4):
        print("SUM", float(session.run(tf.reduce_sum(x))))
"""


@pytest.mark.slow
def test_tensorflow_writes_the_files_and_reads_them(tmp_path: Path) -> None:
    """On a CPU, whose code it keeps in the same way."""

    def stepped() -> str:
        command = [sys.executable, "-c", _STEP, str(tmp_path / "kept")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    first = stepped()
    files = sorted((tmp_path / "kept").iterdir())
    assert files
    assert all(path.suffix == ".pb" and compiled_code.is_whole(str(path)) for path in files)
    times = [path.stat().st_mtime_ns for path in files]
    assert stepped() == first
    assert sorted((tmp_path / "kept").iterdir()) == files
    assert [path.stat().st_mtime_ns for path in files] == times  # They were not written again.
    # A file of other code shows that the file is read.
    files[0].write_bytes(b"\x1a\x01x")
    command = [sys.executable, "-c", _STEP, str(tmp_path / "kept")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode
    assert "Serialized" in done.stderr
