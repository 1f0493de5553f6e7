"""The memory that is free is the least of the machine's and the container's."""

from __future__ import annotations

from pathlib import Path

from moxing.framework.free_memory import free_memory


def test_the_least_of_machine_and_container(tmp_path: Path) -> None:
    assert free_memory(tmp_path / "none", tmp_path) is None
    machine = tmp_path / "meminfo"
    machine.write_text("MemTotal:  4000 kB\nMemAvailable:   3000 kB\n")
    assert free_memory(machine, tmp_path) == 3000 << 10
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5000\n")
    assert free_memory(machine, tmp_path) == 3000 << 10
    (tmp_path / "memory.max").write_text("9000\n")
    (tmp_path / "memory.stat").write_text("active_file 7\ninactive_file 1000\n")
    assert free_memory(machine, tmp_path) == 5000


def test_of_this_machine() -> None:
    found = free_memory()
    assert found is not None
    assert found > 0
