"""Each mistake that a program can make: the message, and the line of the program that it names."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import warm

import moxing.flow as flow
from moxing.errors import MoxError
from moxing.flow.core.record.record_pb2 import OFRecord
from moxing.flow.data import files
from moxing.legacy.program import tracebacks

JOB = """\
@flow.function
def train():
    flow.config.train.primary_lr(0.1)
    flow.config.train.model_update_conf({"naive_conf": {}})
    w = flow.get_variable("w", (2,), initializer=flow.ones_initializer())
    flow.losses.add_loss(w * 1.0)
    return w

"""
READ = """\
conf = flow.data.BlobConf("x", SHAPE, flow.float, flow.data.RawCodec())

@flow.function
def read():
    return flow.data.decode_ofrecord("DIR", (conf,), batch_size=BATCH, data_part_num=PARTS)

read().get()  # here
"""


def _read(shape: str = "(3,)", batch: int = 2, parts: int = 1, key: str = "x") -> str:
    text = READ.replace("SHAPE", shape).replace("BATCH", str(batch)).replace("PARTS", str(parts))
    return text.replace('BlobConf("x"', f'BlobConf("{key}"')


# What the program is, and what its error says; the comment `here` marks the line that it names.
PROGRAMS: dict[str, tuple[str, str]] = {
    "an operation outside a job": (
        "x = flow.constant(1.0, flow.float)  # here\n",
        "constant was called outside a job. Call it in a function with @flow.function, which runs"
        " when the session starts.",
    ),
    "a loss that depends on no variable": (
        JOB.replace(
            "    flow.losses.add_loss(w * 1.0)\n",
            "    one = flow.constant(1.0, flow.float)\n    flow.losses.add_loss(one)\n",
        )
        + "flow.train.CheckPoint().init()  # here\n",
        "the loss of job train, 'train/constant_0' (program.py:8), depends on no variable that the"
        " job trains. Pass add_loss a blob that is computed from the model's output.",
    ),
    "a train job without a loss": (
        JOB.replace("    flow.losses.add_loss(w * 1.0)\n", "")
        + "flow.train.CheckPoint().init()  # here\n",
        "train job train has no loss: call flow.losses.add_loss(blob).",
    ),
    "a job that is defined late": (
        JOB + "flow.train.CheckPoint().init()\n\n@flow.function  # here\ndef late():\n    pass\n",
        "job late (program.py:13) was defined after the session started. Define all jobs before the"
        " first CheckPoint call and the first job call, or call flow.clear_default_session() to"
        " begin another session.",
    ),
    "configuration behind the start": (
        JOB + "flow.train.CheckPoint().init()\nflow.config.gpu_device_num(2)  # here\n",
        "flow.config.gpu_device_num was called after the session started; call it before the first"
        " CheckPoint call and the first job call. To change it, call flow.clear_default_session(),"
        " and define the jobs again.",
    ),
    "machines behind the start": (
        JOB + 'flow.train.CheckPoint().init()\nflow.config.machine("127.0.0.1")  # here\n',
        "flow.config.machine was called after the session started; call it before the first"
        " CheckPoint call and the first job call. To change it, call flow.clear_default_session(),"
        " and define the jobs again.",
    ),
    "configuration behind an operation": (
        JOB.replace(
            "    return w",
            "    flow.config.train.weight_l2(0.1)  # here\n    return w",
        )
        + "flow.train.CheckPoint().init()\n",
        "flow.config.train.weight_l2 was called behind the first operation of job train. Move it to"
        " the beginning of the job's body.",
    ),
    "a call without init or load": (
        JOB + "train()  # here\n",
        "job train was called before its variables have values. Call"
        " flow.train.CheckPoint().init() or .load(path) first.",
    ),
    "a truncated part": (
        _read(),
        "DIR/part-0, record 1 (at byte 31) is cut short: it should have 23 bytes, and the file ends"
        " after 18. Write or copy the file again.",
    ),
    "a wrong length": (
        _read().replace('"DIR"', '"DIR/long"'),
        "DIR/long/part-0, record 0 (at byte 0) has the length 72057594037927936, which is not"
        " between 0 and 67108864: the file is damaged or no OFRecord file. Write or copy the file"
        " again.",
    ),
    "a missing feature": (
        _read(batch=1, key="y"),
        "DIR/part-0, record 0 (at byte 0): it has no feature 'y'. It has 'x'.",
    ),
    "a wrong shape": (
        _read("(2, 2)", batch=1),
        "DIR/part-0, record 0 (at byte 0): feature 'x' has 3 elements (float_list); shape (2, 2)"
        " has 4. Correct the shape in its BlobConf, or fill up with zeros:"
        " RawCodec(auto_zero_padding=True).",
    ),
    "a missing part": (
        _read(parts=2).replace("return", "return  \\\n        ").replace("# here", ""),
        "there is no part DIR/part-1: data_part_num=2 names DIR/part-0 to DIR/part-1. The folder"
        " has 1 of them: correct data_part_num, or write the others.",
    ),
    "more readers than parts": (
        "flow.config.gpu_device_num(2)\n" + _read(),
        "decode_ofrecord: 2 devices read, and data_part_num=1: each needs a part of its own at"
        " least. Write more parts, or use fewer devices.",
    ),
    "a batch that devices can't share": (
        "flow.config.gpu_device_num(2)\n" + _read(batch=3),
        "decode_ofrecord: a batch of 3 can't be shared evenly by 2 devices (gpu_device_num). Use a"
        " multiple of 2, or another number of devices.",
    ),
}  # fmt: skip


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Two records of three numbers, the second cut short; and a file that is none."""
    record = OFRecord()
    record.feature["x"].float_list.value.extend([1, 2, 3])
    folder = tmp_path / "records"
    (folder / "long").mkdir(parents=True)
    files.write(str(folder / "part-0"), [record] * 2)
    content = (folder / "part-0").read_bytes()
    (folder / "part-0").write_bytes(content[:-5])
    (folder / "long" / "part-0").write_bytes(bytes(7) + b"\x01" + bytes(20))
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mistake_is_told_with_its_line(name: str, records: Path, tmp_path: Path) -> None:
    text, wanted = PROGRAMS[name]
    source = "import moxing.flow as flow\n\n" + text.replace("DIR", str(records))
    program = tmp_path / "program.py"
    program.write_text(source)

    with pytest.raises(MoxError) as caught:
        exec(compile(source, str(program), "exec"), {"__name__": "__main__"})

    assert str(caught.value).replace(str(records), "DIR") == wanted
    line = tracebacks.innermost(caught.value, lambda file: file == str(program))
    assert line is not None
    lines = source.splitlines()
    marked = [number for number, content in enumerate(lines, 1) if content.endswith("# here")]
    # What is wrong with the data of a job is found while the job is traced: in its own line.
    inside = [number for number, content in enumerate(lines, 1) if "decode_ofrecord(" in content]
    assert line.number in (marked or inside) or line.number in inside


def test_parts_with_padded_numbers_are_recognized(tmp_path: Path) -> None:
    for number in range(2):
        files.write(str(tmp_path / f"part-{number:05d}"), [])

    def read(folder: str) -> str:
        @flow.function
        def job() -> Any:
            conf = flow.data.BlobConf("x", (), flow.float, flow.data.RawCodec())
            return flow.data.decode_ofrecord(folder, (conf,), 1, 2)

        with pytest.raises(MoxError) as caught:
            job()
        flow.clear_default_session()
        return str(caught.value).replace(str(tmp_path), "DIR").partition(". ")[2]

    assert read(str(tmp_path)) == "Its numbers have 5 digits: give part_name_suffix_length=5."
    assert read(str(tmp_path / "no")) == "There is no folder DIR/no."
    (tmp_path / "empty").mkdir()
    assert read(str(tmp_path / "empty")) == (
        "The folder has no file part-...: correct ofrecord_dir or part_name_prefix."
    )


def test_files_without_a_record_are_named(tmp_path: Path) -> None:
    files.write(str(tmp_path / "part-0"), [])

    @flow.function
    def job() -> Any:
        conf = flow.data.BlobConf("x", (), flow.float, flow.data.RawCodec())
        return flow.data.decode_ofrecord(str(tmp_path), (conf,), 1, 1)

    with pytest.raises(MoxError) as caught:
        job().get()
    assert str(caught.value) == (
        f"there is no record in {tmp_path}/part-0. Write or copy the file again."
    )


def test_the_error_of_a_step_that_nobody_waits_for_is_raised_later(records: Path) -> None:
    @flow.function
    def job() -> None:
        conf = flow.data.BlobConf("y", (3,), flow.float, flow.data.RawCodec())
        (x,) = flow.data.decode_ofrecord(str(records), (conf,), 1, 1)
        flow.watch(x, lambda value: None)

    def call_until_it_raises() -> None:
        for _ in range(100):
            job()
            flow.train.CheckPoint().init()

    with pytest.raises(MoxError, match="it has no feature 'y'"):
        call_until_it_raises()
    with suppress(MoxError):  # A second call may have been queued behind the first.
        flow.clear_default_session()


LAST = """\
import oneflow as flow

conf = flow.data.BlobConf("y", (3,), flow.float, flow.data.RawCodec())


@flow.function
def read():
    return flow.data.decode_ofrecord("records", (conf,), 1, 1)


read().async_get(print)
print("the end")
"""


@pytest.mark.slow
def test_an_error_of_the_last_steps_is_told_at_the_end_with_exit_code_1(
    records: Path, tmp_path: Path
) -> None:
    assert records.exists()
    (tmp_path / "last.py").write_text(LAST)
    done = warm.run(
        [sys.executable, "-m", "moxing", "run", "last.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip

    assert done.stdout == "the end\n"
    assert done.stderr.splitlines()[-1] == (
        "mox: error: records/part-0, record 0 (at byte 0): it has no feature 'y'. It has 'x'."
    )
    assert done.returncode == 1
