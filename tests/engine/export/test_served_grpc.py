"""The gRPC client of docs/how-to/serve.md gets its answer.

A service of this file stands for TensorFlow Serving: its messages are those of the client package,
and it loads the export with TensorFlow's own loader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from moxing.engine import export
from moxing.engine.export import ExportSignature

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve.md"
Answer = predict_pb2.PredictResponse


class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers `Predict` from an export, loaded once."""

    def __init__(self, folder: Path) -> None:
        self.model = tf2.saved_model.load(str(folder))

    def Predict(self, request: Any, context: Any) -> Any:  # noqa: N802, the service's own name
        name = request.model_spec.signature_name or "serving_default"
        served = self.model.signatures[name]
        wanted = served.structured_input_signature[1]
        given = {key: tf2.make_ndarray(value) for key, value in request.inputs.items()}
        if set(given) != set(wanted):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"inputs are {sorted(wanted)}")
        outputs = served(**{key: tf2.constant(value) for key, value in given.items()})
        answer = Answer()
        for key, value in outputs.items():
            answer.outputs[key].CopyFrom(tf2.make_tensor_proto(value.numpy()))
        return answer


def export_sum(folder: Path) -> None:
    """Exports `total`, the sum of each row of `x`."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("scale", initializer=1.0, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(folder / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        total = tf.reduce_sum(x, 1, keepdims=True) * tf.get_variable("scale", [], use_resource=True)
    export.write(graph, ExportSignature({"x": x}, {"total": total}), prefix, str(folder / "1"))


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    export_sum(tmp_path)
    server = grpc.server(ThreadPoolExecutor(2))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        Service(tmp_path / "1"), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait(10)


def test_the_client_of_the_page(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    client = found[1].replace("127.0.0.1:8500", address)
    exec(compile(client, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "[[6. ]\n [1.5]]\n"


@pytest.mark.parametrize("signature", ["serving_default", "predict_object"])
def test_both_signatures_by_their_published_messages(signature: str, address: str) -> None:
    request = predict_pb2.PredictRequest()
    request.model_spec.signature_name = signature
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.ones((5, 3), np.float32)))
    with grpc.insecure_channel(address) as channel:
        service = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        outputs = service.Predict(request, timeout=30.0).outputs
        np.testing.assert_array_equal(tf.make_ndarray(outputs["total"]), np.full((5, 1), 3.0))
        with pytest.raises(grpc.RpcError, match=r"inputs are \['x'\]"):
            service.Predict(predict_pb2.PredictRequest(), timeout=30.0)
