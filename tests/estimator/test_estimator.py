"""What an Estimator does: train, evaluate, predict, resume."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import moxing.estimator as tfe
from moxing import flags
from moxing.errors import CheckpointError, MoxNotSupportedError, MoxTypeError, MoxValueError

Read = Callable[..., Any]


def plain_descent(x: Any, y: Any, steps: int, rate: float = 0.1) -> Any:
    """The weights of softmax regression after full-batch gradient descent, by NumPy."""
    weights = np.zeros((5, 2))
    for _ in range(steps):
        scores = np.exp(x @ weights)
        scores /= scores.sum(1, keepdims=True)
        weights -= rate * x.T @ (scores - np.eye(2)[y]) / len(x)
    return weights


def test_training_makes_the_updates_of_the_optimizer(
    estimator: tfe.Estimator, read: Read, problem: SimpleNamespace
) -> None:
    assert estimator.train(read(600), steps=7) is estimator

    assert estimator.get_variable_value("global_step") == 7
    np.testing.assert_allclose(
        estimator.get_variable_value("w"), plain_descent(problem.x, problem.y, 7), atol=1e-5
    )


def test_steps_count_from_the_checkpoint_and_max_steps_do_not(
    estimator: tfe.Estimator, read: Read, problem: SimpleNamespace
) -> None:
    estimator.train(read(600), steps=3)
    estimator.train(read(600), steps=4)
    assert estimator.latest_checkpoint() == f"{estimator.model_dir}/model.ckpt-7"
    estimator.train(read(600), max_steps=7)
    assert estimator.get_variable_value("global_step") == 7
    estimator.train(read(600), max_steps=9)

    np.testing.assert_allclose(
        estimator.get_variable_value("w"), plain_descent(problem.x, problem.y, 9), atol=1e-5
    )


def test_each_call_goes_through_the_data_again(estimator: tfe.Estimator, read: Read) -> None:
    for _ in range(3):
        estimator.train(read(100, epochs=2))
    assert estimator.get_variable_value("global_step") == 36
    for _ in range(2):  # Also below the same limit.
        estimator.train(read(100, epochs=1), max_steps=100)
    assert estimator.get_variable_value("global_step") == 48


def test_evaluation(estimator: tfe.Estimator, read: Read, problem: SimpleNamespace) -> None:
    estimator.train(read(600), steps=20)
    result = estimator.evaluate(read(64, epochs=1, shuffle=False))

    weights = estimator.get_variable_value("w")
    scores = problem.x @ weights
    chances = np.exp(scores)[range(600), problem.y] / np.exp(scores).sum(1)
    assert result["global_step"] == 20
    assert result["accuracy"] == pytest.approx((scores.argmax(1) == problem.y).mean())
    assert result["loss"] == pytest.approx(-np.log(chances).mean(), rel=1e-5)
    assert result.keys() == {"global_step", "accuracy", "loss"}

    first = estimator.evaluate(read(64, epochs=1, shuffle=False), steps=1)
    assert first["accuracy"] == pytest.approx((scores[:64].argmax(1) == problem.y[:64]).mean())


def test_evaluations_are_in_tensorboard_by_name(estimator: tfe.Estimator, read: Read) -> None:
    estimator.train(read(), steps=5)
    estimator.evaluate(read(epochs=1))
    estimator.evaluate(read(epochs=1), name="other")

    for folder in ("eval", "eval_other"):
        (path,) = (Path(estimator.model_dir) / folder).glob("events*")
        tags = {
            (value.tag, event.step)
            for event in tf.train.summary_iterator(str(path))
            for value in event.summary.value
        }
        assert tags == {("loss", 5), ("accuracy", 5)}


def test_a_checkpoint_of_before_can_be_evaluated(estimator: tfe.Estimator, read: Read) -> None:
    estimator.train(read(), steps=5)
    old = estimator.latest_checkpoint()
    estimator.train(read(), steps=5)

    assert estimator.evaluate(read(epochs=1), checkpoint_path=old)["global_step"] == 5
    assert estimator.evaluate(read(epochs=1))["global_step"] == 10


def test_predictions_come_one_by_one(
    estimator: tfe.Estimator, read: Read, problem: SimpleNamespace, said: Any
) -> None:
    estimator.train(read(), steps=10)
    before = len(said())
    made = list(estimator.predict(read(64, epochs=1, shuffle=False)))

    assert len(made) == 600
    restoring, summary = said()[before:]
    assert restoring.startswith("Restoring parameters from")
    assert summary.startswith("Predicted 600 samples in 10 batches at global step 10 in ")
    expected = problem.x @ estimator.get_variable_value("w")
    np.testing.assert_allclose([one["logits"] for one in made], expected, atol=1e-5)
    assert [one["class"] for one in made] == expected.argmax(1).tolist()


def test_predictions_of_endless_data_are_made_as_asked_for(
    estimator: tfe.Estimator, read: Read
) -> None:
    estimator.train(read(), steps=1)
    graph = tf.get_default_graph()
    made = estimator.predict(read(64, shuffle=False), predict_keys="class")

    assert [set(one) for one in itertools.islice(made, 70)] == [{"class"}] * 70
    assert tf.get_default_graph() is graph
    made.close()  # type: ignore[attr-defined]

    (batch,) = itertools.islice(
        estimator.predict(read(64, shuffle=False), yield_single_examples=False), 1
    )
    assert batch["logits"].shape == (64, 2)


def test_predictions_of_one_tensor(tmp_path: Path, read: Read, model_fn: Read) -> None:
    def single(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        spec = model_fn(features, labels, mode, params)
        if mode == tfe.ModeKeys.PREDICT:
            return spec._replace(predictions=spec.predictions["class"])
        return spec

    estimator = tfe.Estimator(single, tmp_path).train(read(), steps=1)
    made = list(estimator.predict(read(50, epochs=1)))
    assert np.shape(made) == (600,)
    with pytest.raises(MoxValueError, match="predictions are one tensor, not a dict"):
        next(estimator.predict(read(), predict_keys=["a"]))


def test_predictions_that_are_no_examples(tmp_path: Path, read: Read, model_fn: Read) -> None:
    def build(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        spec = model_fn(features, labels, mode, params)
        if mode == tfe.ModeKeys.PREDICT:
            mean = tf.reduce_mean(spec.predictions["logits"])
            return spec._replace(predictions={"mean": mean, **spec.predictions})
        return spec

    estimator = tfe.Estimator(build, tmp_path).train(read(), steps=1)
    with pytest.raises(MoxValueError) as caught:
        next(estimator.predict(read(5, epochs=1)))
    assert str(caught.value) == (
        "The predictions can't be divided into examples, for their first dimensions differ (mean:"
        " [], class: [5], logits: [5, 2]). Pass yield_single_examples=False."
    )
    with pytest.raises(MoxValueError) as caught:
        next(estimator.predict(read(5, epochs=1), predict_keys=["clas"]))
    assert str(caught.value) == (
        "predict_keys has 'clas', which is not among the predictions: mean, class, logits."
    )


def test_what_the_functions_are_given(tmp_path: Path, problem: SimpleNamespace) -> None:
    seen: list[Any] = []

    def input_fn(params: Any, mode: str, config: Any, input_context: Any) -> Any:
        seen.append((params["size"], mode, config.model_dir, input_context.num_input_pipelines))
        data = tf.data.Dataset.from_tensor_slices((problem.x, problem.y))
        return data.batch(params["size"])

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> tfe.EstimatorSpec:
        seen.append((features.shape.as_list(), labels.dtype, mode, config.save_summary_steps))
        weight = tf.get_variable("w", [5])
        loss = tf.reduce_mean(features * weight)
        train_op = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
        return tfe.EstimatorSpec(mode, loss=loss, train_op=train_op)

    config = tfe.RunConfig(model_dir=str(tmp_path), save_summary_steps=7)
    estimator = tfe.Estimator(model_fn, config=config, params={"size": 30})
    estimator.train(input_fn)

    assert estimator.get_variable_value("global_step") == 20
    assert seen == [(30, "train", str(tmp_path), 1), ([None, 5], tf.int64, "train", 7)]


def test_tensors_instead_of_a_dataset(estimator: tfe.Estimator, problem: SimpleNamespace) -> None:
    def input_fn() -> Any:
        data = tf.data.Dataset.from_tensor_slices((problem.x, problem.y)).batch(300).repeat()
        x, y = tf.data.make_one_shot_iterator(data).get_next()
        return {"x": x}, y

    def features_only() -> Any:
        return {"x": tf.constant(problem.x[:3])}, None

    estimator.train(input_fn, steps=3)
    assert estimator.get_variable_value("global_step") == 3
    assert len(list(itertools.islice(estimator.predict(features_only), 7))) == 7


def test_hooks_and_listeners(tmp_path: Path, model_fn: Read, read: Read) -> None:
    calls: list[Any] = []

    class Hook(tf.train.SessionRunHook):
        def __init__(self, name: str) -> None:
            self.name = name

        def begin(self) -> None:
            calls.append((self.name, "begin"))

        def before_run(self, run_context: Any) -> Any:
            del run_context
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if run_values.results >= 3:
                run_context.request_stop()

        def end(self, session: Any) -> None:
            calls.append((self.name, "end", session.run(tf.train.get_global_step())))

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self) -> None:
            calls.append("begin")

        def before_save(self, session: Any, global_step_value: int) -> None:
            calls.append(("before", session.run(tf.train.get_global_step())))

        def after_save(self, session: Any, global_step_value: int) -> None:
            calls.append(("after", global_step_value))

        def end(self, session: Any, global_step_value: int) -> None:
            calls.append(("end", global_step_value))

    def build(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        spec = model_fn(features, labels, mode, params)
        hook = Hook(mode)
        return spec._replace(training_hooks=[hook], evaluation_hooks=[Hook("own")])

    estimator = tfe.Estimator(build, tmp_path)
    estimator.train(read(), hooks=[Hook("given")], max_steps=90, saving_listeners=[Listener()])
    reached = estimator.get_variable_value("global_step")
    assert reached in (3, 4)
    assert calls == [
        *(("given", "begin"), ("train", "begin"), "begin"),
        *(("before", 0), ("after", 0), ("before", reached), ("after", reached), ("end", reached)),
        *(("given", "end", reached), ("train", "end", reached)),
    ]
    calls.clear()
    estimator.evaluate(read(epochs=1), hooks=[Hook("given")])
    assert [call[0] for call in calls] == ["given", "own", "given", "own"]


def test_the_schedule_of_the_config(tmp_path: Path, model_fn: Read, read: Read, said: Any) -> None:
    config = tfe.RunConfig(save_checkpoints_steps=10, keep_checkpoint_max=2, tf_random_seed=3)
    tfe.Estimator(model_fn, tmp_path, config).train(read(), max_steps=40)

    kept = {path.name for path in tmp_path.glob("*.index")}
    assert kept == {"model.ckpt-30.index", "model.ckpt-40.index"}
    assert [line.split()[3] for line in said("Saving checkpoints")] == ["0", "10", "20", "30", "40"]
    assert len(said("step: 0(")) == 1
    assert not said("step: 1")


@pytest.mark.parametrize(("hours", "kept"), [(1e-9, {0, 10, 20}), (None, {20})])
def test_the_hours_of_the_config(
    tmp_path: Path, model_fn: Read, read: Read, hours: float | None, kept: set[int]
) -> None:
    config = tfe.RunConfig(
        save_checkpoints_steps=10, keep_checkpoint_max=1, keep_checkpoint_every_n_hours=hours
    )
    tfe.Estimator(model_fn, tmp_path, config).train(read(), max_steps=20)

    assert {int(path.stem.split("-")[1]) for path in tmp_path.glob("*.index")} == kept


def test_a_saver_hook_says_when_to_save(
    tmp_path: Path, model_fn: Read, read: Read, said: Any
) -> None:
    seen: list[int] = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> None:
            seen.append(global_step_value)

    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=15, listeners=[Listener()])
    tfe.Estimator(model_fn, tmp_path).train(read(), [hook], max_steps=40)

    assert seen == [0, 15, 30, 40]
    assert {path.name for path in tmp_path.glob("*.manifest.json")} == {
        f"model.ckpt-{step}.manifest.json" for step in seen
    }


def test_a_saver_hook_of_the_model(tmp_path: Path, model_fn: Read, read: Read) -> None:
    def build(features: Any, labels: Any, mode: str, params: Any) -> tfe.EstimatorSpec:
        spec = model_fn(features, labels, mode, params)
        hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=15)
        return spec._replace(training_hooks=[hook])

    with pytest.raises(MoxNotSupportedError) as caught:
        tfe.Estimator(build, tmp_path).train(read(), steps=1)
    assert str(caught.value) == (
        "EstimatorSpec has a CheckpointSaverHook: the run saves by itself. Say when with"
        " tf.estimator.RunConfig(save_checkpoints_steps=...), or give the hook to"
        " Estimator.train(hooks=[...])."
    )


def test_it_starts_from_another_model(tmp_path: Path, model_fn: Read, read: Read) -> None:
    first = tfe.Estimator(model_fn, tmp_path / "a").train(read(600), steps=5)
    second = tfe.Estimator(model_fn, tmp_path / "b", warm_start_from=first.model_dir)

    assert second.evaluate(read(600, epochs=1))["loss"] == pytest.approx(
        first.evaluate(read(600, epochs=1))["loss"]
    )
    second.train(read(), max_steps=6)
    assert second.latest_checkpoint() == f"{tmp_path}/b/model.ckpt-6"


def test_no_checkpoint(estimator: tfe.Estimator, read: Read) -> None:
    expected = (
        f"Could not find a trained model in model_dir {estimator.model_dir!r}: it has no"
        " checkpoint. Train first, or pass checkpoint_path."
    )
    for call in (
        lambda: estimator.evaluate(read(epochs=1)),
        lambda: next(estimator.predict(read())),
        estimator.get_variable_names,
    ):
        with pytest.raises(CheckpointError) as caught:
            call()
        assert str(caught.value) == expected
    assert estimator.latest_checkpoint() is None


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda fn: tfe.Estimator(3),  # type: ignore[arg-type]
            MoxTypeError,
            "Estimator has model_fn=3, which is no function.",
        ),
        (
            lambda fn: tfe.Estimator(fn, config={"a": 1}),  # type: ignore[arg-type]
            MoxTypeError,
            "Estimator has config={'a': 1}; it must be a tf.estimator.RunConfig.",
        ),
        (
            lambda fn: tfe.Estimator(fn, "a", tfe.RunConfig("b")),
            MoxValueError,
            "Estimator has model_dir='a', and its RunConfig model_dir='b'; give one of them.",
        ),
        (
            lambda fn: tfe.Estimator(fn, "a").train(fn, steps=0),
            MoxValueError,
            "Estimator.train has steps=0; it must be a number above 0, or None.",
        ),
        (
            lambda fn: tfe.Estimator(fn, "a").train(fn, steps=1, max_steps=2),
            MoxValueError,
            "Estimator.train has steps=1 and max_steps=2; give one of them.",
        ),
        (
            lambda fn: tfe.Estimator(fn, "a").train(fn, hooks=[3]),
            MoxTypeError,
            "Estimator.train has the hook 3, which is no tf.train.SessionRunHook.",
        ),
        (
            lambda fn: tfe.Estimator(fn, "a", warm_start_from={}),
            MoxTypeError,
            "Estimator has warm_start_from={}; it must be the path of a checkpoint or a"
            " tf.estimator.WarmStartSettings.",
        ),
    ],
)
def test_mistakes(make: Any, kind: type[Exception], message: str, model_fn: Any) -> None:
    with pytest.raises(kind) as caught:
        make(model_fn)
    assert str(caught.value) == message


def test_listeners_that_are_none(estimator: tfe.Estimator, read: Read) -> None:
    listener = tf.train.CheckpointSaverListener()
    with pytest.raises(MoxTypeError, match=r"give a list: saving_listeners=\[it\]\."):
        estimator.train(read(), steps=1, saving_listeners=listener)  # type: ignore[arg-type]
    with pytest.raises(MoxTypeError, match="has the saving listener 3, which is no"):
        tfe.TrainSpec(read(), max_steps=1, saving_listeners=[3])  # type: ignore[list-item]


def test_a_variable_that_is_not_there(estimator: tfe.Estimator, read: Read) -> None:
    estimator.train(read(), steps=1)
    with pytest.raises(MoxValueError, match="no variable 'global_stop'. Did you mean"):
        estimator.get_variable_value("global_stop")


def test_accumulated_batches_equal_a_large_one(model_fn: Any, read: Any, tmp_path: Path) -> None:
    def trained(name: str, batch: int, **given: Any) -> Any:
        estimator = tfe.Estimator(model_fn, tmp_path / name)
        with flags.overridden(**given):
            estimator.train(read(batch, shuffle=False), max_steps=5)
        assert estimator.get_variable_value("global_step") == 5
        return estimator.get_variable_value("w")

    large = trained("large", 60, gradient_clip_norm=0.1)
    parts = trained("parts", 20, gradient_clip_norm=0.1, accumulate_steps=3)
    np.testing.assert_allclose(parts, large, rtol=1e-5, atol=1e-6)
    assert np.abs(large).max() <= 5 * 0.1 * 0.1


def test_averages_are_evaluated_on_request(model_fn: Any, read: Any, tmp_path: Path) -> None:
    estimator = tfe.Estimator(model_fn, tmp_path / "m", params={"rate": 1.0})
    with flags.overridden(ema_decay=0.9):
        estimator.train(read(shuffle=False), max_steps=20)
    assert "w/ExponentialMovingAverage" in estimator.get_variable_names()
    weights = estimator.evaluate(read(epochs=1))["loss"]
    with flags.overridden(use_ema=True):
        averages = estimator.evaluate(read(epochs=1))["loss"]
    assert averages > weights > 0
