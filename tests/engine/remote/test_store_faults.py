"""A store that fails, or is away, costs a run nothing but time."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import runs
import tensorflow.compat.v1 as tf

from moxing.engine.checkpoint import manifest, pointer
from moxing.engine.checkpoint.restoring import verify
from moxing.engine.checkpoint.restoring.newest import newest
from moxing.engine.checkpoint.saving.saver import Saver
from moxing.engine.job.job import EVAL
from moxing.engine.remote import log_dir, uploader
from moxing.engine.remote.mirror import Mirror
from moxing.engine.remote.uploader import Uploader
from moxing.errors import MoxRuntimeError
from moxing.framework import file


def slowly(steps: int, seconds: float) -> Any:
    def generator() -> Any:
        for _ in range(steps):
            time.sleep(seconds)
            yield 1.0

    return runs.generated(generator)


def test_one_request_in_five_fails(proxy: Any, bucket: str, tmp_path: Path) -> None:
    proxy.every = 5
    data = slowly(30, 0.1)
    result = runs.execute(log_dir=f"{bucket}/out", input_fn=data, max_steps=30, save_steps=3)
    again = runs.execute(
        log_dir=f"{bucket}/out", max_steps=33, model_fn=runs.exporting, export=True
    )
    assert (result.global_step, again.steps) == (30, 3)
    assert proxy.failed > 10, proxy.seen
    proxy.every = 0
    through = runs.execute(log_dir=tmp_path / "through", max_steps=33)
    file.copy_parallel(f"{bucket}/out", tmp_path / "out")
    assert runs.same(
        runs.values(str(tmp_path / "out" / "model.ckpt-33")), runs.values(through.checkpoint)
    )
    assert file.is_file(f"{bucket}/out/1/saved_model.pb")


@pytest.mark.slow
def test_a_store_that_goes_away_while_training(
    proxy: Any, bucket: str, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_RETRY", "2")

    def come_back() -> None:
        while not any("can't be written now (" in line for line in runs.messages(log)):
            time.sleep(0.1)
        time.sleep(1.0)  # The run has nothing more to do, and does not end.
        proxy.away = False

    back = threading.Thread(target=come_back, daemon=True)

    def generator() -> Any:
        for step in range(60):
            proxy.away = step >= 15
            if step == 59:
                back.start()  # So that no step but the last few can have waited for the store.
            time.sleep(0.1)
            yield 1.0

    runs.execute(
        log_dir=f"{bucket}/out", input_fn=runs.generated(generator), max_steps=60, save_steps=5
    )
    assert not proxy.away  # The run had waited for the store.
    assert runs.execute(log_dir=f"{bucket}/out", mode=EVAL, max_steps=1).global_step == 60
    lines = runs.messages(log)
    assert [ln for ln in lines if ln.startswith(f"{bucket}/out can't be written now (")]
    assert [ln for ln in lines if "on the local disk until it can; the run goes on." in ln]


def test_what_never_arrives_is_kept_and_told(
    proxy: Any, bucket: str, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOX_FILE_RETRY", "2")
    monkeypatch.setattr(log_dir, "Uploader", lambda mirror: Uploader(mirror, limit=2.0))

    def model_fn(inputs: Any, mode: str) -> Any:
        proxy.away = True
        return runs.model_fn(inputs, mode)

    with pytest.raises(MoxRuntimeError) as caught:
        runs.execute(log_dir=f"{bucket}/out", model_fn=model_fn)
    text = str(caught.value)
    kept = next(cache_dir.glob("moxing-kept-*"))
    assert f"not uploaded to {bucket}/out: no upload has succeeded for 2 s (" in text
    assert text.endswith(
        f"What the run made is kept in {kept}: copy it with mox.file.copy_parallel when the store"
        " can be written again."
    )
    found = newest(kept)
    assert found is not None
    assert found.step == 5


class _Slow(Mirror):
    """Takes its time."""

    def round(self, final: bool) -> Any:
        time.sleep(0.6 if final else 0.0)
        return super().round(final)


def test_the_wait_at_the_end_shows_progress(
    folder_bucket: str, tmp_path: Path, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploader, "_PROGRESS_SECONDS", 0.2)
    (tmp_path / "a.txt").write_text("text")
    waits = Uploader(_Slow(str(tmp_path), f"{folder_bucket}/out", {}, lambda: True))
    (tmp_path / "b.txt").write_text("more")
    waits.start()
    waits.finish()
    assert file.read(f"{folder_bucket}/out/b.txt") == "more"
    assert runs.messages(log)[0] == (
        f"Waiting for the upload to {folder_bucket}/out: The rest is under way. The run ends when"
        " it is there, or when nothing has been uploaded for 600 s."
    )
    assert runs.messages(log)[-1] == f"The whole run is in {folder_bucket}/out."


def test_the_store_never_holds_a_manifest_without_its_files(
    folder_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(os.environ["MOX_FILE_S3_ROOT"]) / "bucket" / "out"
    real, seen = file.copy_files, []

    def watched(pairs: Any, threads: int = 16) -> None:
        real(pairs, threads)
        seen.extend(os.path.basename(target) for _, target in pairs)
        if root.is_dir():
            for prefix, _ in manifest.manifests(str(root)):
                assert verify.fault(prefix) is None

    monkeypatch.setattr(file, "copy_files", watched)
    runs.execute(
        log_dir=f"{folder_bucket}/out",
        input_fn=slowly(12, 0.3),
        max_steps=12,
        save_steps=3,
        model_fn=runs.exporting,
        export=True,
    )
    for step in (0, 12):
        order = [n for n in seen if n.startswith(f"model.ckpt-{step}.") or n == "checkpoint"]
        at = order.index(f"model.ckpt-{step}.manifest.json")
        assert at > order.index(f"model.ckpt-{step}.index")
        assert "checkpoint" in order[at:]
    model = [n for n in seen if n == "saved_model.pb" or n.startswith("variables.")]
    assert model[-1] == "saved_model.pb"
    assert len(model) == 3


def test_saves_that_outpace_uploads_lose_nothing(
    folder_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the run is killed, the store has a whole checkpoint, and names it."""
    root, local = Path(os.environ["MOX_FILE_S3_ROOT"]) / "bucket" / "out", tmp_path / "run"
    local.mkdir()
    real = {name: getattr(file, name) for name in ("copy_files", "remove")}
    step, best = 0, 0

    def look() -> None:
        nonlocal best
        found = manifest.manifests(str(root)) if root.is_dir() else []
        whole = [record.step for prefix, record in found if not verify.fault(prefix)]
        assert max(whole, default=0) >= best
        best = max(whole, default=0)
        target = pointer.read(str(root)) if root.is_dir() else None
        if target is not None:
            assert verify.fault(target.newest) is None

    with tf.Graph().as_default(), tf.Session() as session:
        saver = Saver(local, [tf.get_variable("w", [2])], keep=2)
        session.run(tf.global_variables_initializer())

        def save(times: int) -> None:
            nonlocal step
            for _ in range(times):
                step += 1
                saver.save(session, step)

        def watched(name: str) -> Any:
            def call(*arguments: Any) -> None:
                real[name](*arguments)
                look()
                # Two requests take as long as the run needs for all the checkpoints it keeps.
                save(1)

            return call

        save(2)
        mirror = Mirror(str(local), f"{folder_bucket}/out", {}, lambda: True)
        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(file, name, watched(name))
            for _ in range(3):
                mirror.round(final=False)
        assert best > 2
        mirror.round(final=True)
    found = manifest.manifests(str(root))
    assert [record.step for _, record in found] == [step, step - 1]
    target = pointer.read(str(root))
    assert target is not None
    assert os.path.basename(target.newest) == f"model.ckpt-{step}"
