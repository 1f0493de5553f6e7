"""Exports: the signatures that clients see, fed raw or with examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as tf2

import moxing.estimator as tfe
from moxing.errors import MoxNotSupportedError, MoxTypeError, MoxValueError
from moxing.estimator.serving import publishing

Read = Callable[..., Any]


def raw() -> tfe.export.ServingInputReceiver:
    x = tf.placeholder(tf.float32, [None, 5], "points")
    return tfe.export.ServingInputReceiver({"x": x}, {"points": x})


@pytest.fixture
def trained(estimator: tfe.Estimator, read: Read) -> tfe.Estimator:
    return estimator.train(read(), steps=3)


def loaded(path: bytes) -> Any:
    return tf2.saved_model.load(path.decode()).signatures


def test_fed_raw(trained: tfe.Estimator, tmp_path: Path, problem: SimpleNamespace) -> None:
    extra = tmp_path / "note.txt"
    extra.write_text("hello")
    path = trained.export_saved_model(tmp_path / "e", raw, assets_extra={"a/b.txt": str(extra)})

    assert Path(path.decode()).parent == tmp_path / "e"
    assert Path(path.decode()).name.isdigit()
    assert Path(path.decode(), "assets.extra/a/b.txt").read_text() == "hello"
    made = loaded(path)["serving_default"](points=tf2.constant(problem.x[:6]))
    np.testing.assert_allclose(
        made["logits"], problem.x[:6] @ trained.get_variable_value("w"), atol=1e-5
    )


def test_each_export_has_a_directory(trained: tfe.Estimator, tmp_path: Path) -> None:
    paths = {trained.export_saved_model(tmp_path / "e", raw) for _ in range(3)}
    assert len(paths) == 3
    assert len(list((tmp_path / "e").iterdir())) == 3


def test_fed_with_examples(
    trained: tfe.Estimator, tmp_path: Path, problem: SimpleNamespace
) -> None:
    receiver = tfe.export.build_parsing_serving_input_receiver_fn(
        {"x": tf.FixedLenFeature([5], tf.float32)}
    )
    served = loaded(trained.export_savedmodel(tmp_path / "e", receiver))["serving_default"]

    def example(row: Any) -> bytes:
        value = tf.train.Feature(float_list=tf.train.FloatList(value=row))
        features = tf.train.Features(feature={"x": value})
        return tf.train.Example(features=features).SerializeToString()

    made = served(examples=tf2.constant([example(row) for row in problem.x[:4]]))
    np.testing.assert_allclose(
        made["logits"], problem.x[:4] @ trained.get_variable_value("w"), atol=1e-5
    )


def test_raw_receivers_of_tensors() -> None:
    with tf.Graph().as_default():
        build = tfe.export.build_raw_serving_input_receiver_fn
        single = build(tf.zeros([3, 5]), default_batch_size=7)()
        several = build({"a": tf.zeros([3, 5]), "b": tf.zeros([], tf.int64)})()

    assert single.features.shape.as_list() == [7, 5]
    assert single.receiver_tensors == {"feature": single.features}
    assert several.features["a"].shape.as_list() == [None, 5]
    assert several.features["b"].shape.as_list() == []


def test_signatures_of_each_kind(tmp_path: Path, model_fn: Read, read: Read) -> None:
    def build(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        spec = model_fn(features, labels, mode, params)
        if mode != tfe.ModeKeys.PREDICT:
            return spec
        scores = tf.nn.softmax(spec.predictions["logits"])
        names = tf.as_string(spec.predictions["class"])[:, None]
        return spec._replace(
            export_outputs={
                "serving_default": tfe.export.ClassificationOutput(scores, names),
                "score": tfe.export.RegressionOutput(scores[:, 0]),
                "all": tfe.export.PredictOutput(spec.predictions),
            }
        )

    def receiver() -> tfe.export.ServingInputReceiver:
        text = tf.placeholder(tf.string, [None])
        points = tf.io.decode_raw(text, tf.float32)
        x = tf.reshape(points, [-1, 5])
        return tfe.export.ServingInputReceiver({"x": x}, {"text": text}, {"points": {"p": x}})

    estimator = tfe.Estimator(build, tmp_path / "m").train(read(), steps=1)
    path = estimator.export_saved_model(tmp_path / "e", receiver).decode()
    with tf.Session(graph=tf.Graph()) as session:
        found = tf.saved_model.load(session, ["serve"], path).signature_def

    methods = {name: one.method_name.rpartition("/")[2] for name, one in found.items()}
    assert methods == {
        "serving_default": "classify",
        "score": "regress",
        "all": "predict",
        "points:serving_default": "predict",
        "points:score": "predict",
        "points:all": "predict",
    }
    assert set(found["serving_default"].inputs) == {"inputs"}
    assert set(found["serving_default"].outputs) == {"scores", "classes"}
    assert set(found["all"].inputs) == {"text"}


@pytest.mark.parametrize(
    ("receiver", "kind", "message"),
    [
        (
            3,
            MoxTypeError,
            "export_saved_model has serving_input_receiver_fn=3, which is no function.",
        ),
        (
            lambda: 4,
            MoxTypeError,
            "serving_input_receiver_fn returned 4; it must return a"
            " tf.estimator.export.ServingInputReceiver.",
        ),
        (
            lambda: tfe.export.ServingInputReceiver({}, {}),
            MoxValueError,
            "features is empty; give a tensor or a dict of tensors.",
        ),
        (
            lambda: tfe.export.ServingInputReceiver({"x": 3}, {}),
            MoxTypeError,
            "features: x is 3; it must be a tensor.",
        ),
    ],
)
def test_mistakes(
    receiver: Any, kind: type[Exception], message: str, trained: tfe.Estimator, tmp_path: Path
) -> None:
    with pytest.raises(kind) as caught:
        trained.export_saved_model(tmp_path / "e", receiver)
    assert str(caught.value) == message
    assert not (tmp_path / "e").exists()


def test_what_is_not_exported(trained: tfe.Estimator, tmp_path: Path) -> None:
    with pytest.raises(MoxNotSupportedError) as caught:
        trained.export_saved_model(tmp_path, raw, experimental_mode="train")
    assert str(caught.value) == (
        "export_saved_model exports the graph of predictions, for serving. Leave experimental_mode"
        " out."
    )
    with pytest.raises(MoxValueError) as value:
        tfe.export.ClassificationOutput()
    assert str(value.value) == "ClassificationOutput needs scores, classes or both."


def test_where_nothing_can_be_exported_is_said_before_any_work(
    trained: tfe.Estimator, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    refusal = f"can't be a directory: {tmp_path}/file is a file. Choose another export_dir_base."
    for base in ("file", "file/below"):
        with pytest.raises(MoxValueError) as caught:
            trained.export_saved_model(tmp_path / base, lambda: pytest.fail("called"))
        assert str(caught.value) == f"export_dir_base '{tmp_path}/{base}' {refusal}"
    assert (tmp_path / "file").read_text() == "mine"

    for name, path, words in (
        ("../a", tmp_path / "file", "has the name '../a', which leads out of assets.extra"),
        ("a", tmp_path / "gone", f"['a'] is '{tmp_path}/gone', which is no file"),
    ):
        with pytest.raises(MoxValueError) as asset:
            trained.export_saved_model(tmp_path / "e", raw, assets_extra={name: str(path)})
        assert words in str(asset.value)
    assert not (tmp_path / "e").exists()


def test_an_exporter_without_a_place_is_refused_before_training(
    estimator: tfe.Estimator, read: Read
) -> None:
    Path(estimator.model_dir).mkdir()
    Path(estimator.model_dir, "export").write_text("")
    spec = tfe.EvalSpec(read(epochs=1), exporters=tfe.FinalExporter("served", raw))
    with pytest.raises(MoxValueError) as caught:
        tfe.train_and_evaluate(estimator, tfe.TrainSpec(read(), 3), spec)
    assert str(caught.value) == (
        f"export_dir_base '{estimator.model_dir}/export/served' can't be a directory:"
        f" {estimator.model_dir}/export is a file. Choose another export_dir_base."
    )
    assert estimator.latest_checkpoint() is None


def test_an_export_that_another_process_is_faster_with_gets_the_next_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "model"
    made.mkdir()
    (made / "saved_model.pb").write_text("mine")
    monkeypatch.setattr(publishing.time, "time", lambda: 100.5)
    real = publishing.file.exists

    def exists(path: Any) -> bool:
        """Sees nothing of what another process made at the same moment."""
        return False if str(path).endswith("/100") else real(path)

    monkeypatch.setattr(publishing.file, "exists", exists)
    other = tmp_path / "e" / "100"
    other.mkdir(parents=True)
    (other / "saved_model.pb").write_text("theirs")
    assert publishing.publish(str(made), str(tmp_path / "e")) == str(tmp_path / "e" / "101")
    assert (other / "saved_model.pb").read_text() == "theirs"
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == ["100", "101"]
