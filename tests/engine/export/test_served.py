"""The requests of docs/how-to/serve.md get their answers, from a server that speaks that format.

There is no binary of TensorFlow Serving to be had here: a server of this file stands for it. It
loads the largest number below a folder and follows the specification of the REST API.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from moxing.engine import export
from moxing.engine.export import ExportSignature

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve.md"


def shown() -> tuple[Any, Any, Any]:
    """The JSON blocks of the page: a request, its answer, the same request by samples."""
    found = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    request, answer, rows = (json.loads(block) for block in found)
    return request, answer, rows


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value


def _plain(tensor: Any) -> Any:
    return tensor.numpy().tolist()


class _Server(ThreadingHTTPServer):
    """Models of one folder, as TensorFlow Serving's REST API shows them."""

    def __init__(self, name: str, base: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.name, self.base = name, base

    def load(self) -> tuple[str, Any]:
        numbers = [path.name for path in self.base.iterdir() if path.name.isdigit()]
        if not numbers:
            raise LookupError(f"No versions of servable {self.name} found under base path")
        newest = max(numbers, key=int)
        return newest, tf2.saved_model.load(str(self.base / newest))


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(lambda version, model: {"model_version_status": [{"version": version}]})

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(lambda version, model: self._predict(model, given))

    def _predict(self, model: Any, given: dict[str, Any]) -> dict[str, Any]:
        served = model.signatures[given.get("signature_name", "serving_default")]
        rows = given.get("instances")
        columns = given["inputs"] if rows is None else {n: [r[n] for r in rows] for n in rows[0]}
        types = served.structured_input_signature[1]
        fed = {name: tf2.constant(_decoded(columns[name]), types[name].dtype) for name in types}
        outputs = {name: _plain(tensor) for name, tensor in served(**fed).items()}
        alone = next(iter(outputs.values())) if len(outputs) == 1 else None
        if rows is None:
            return {"outputs": outputs if alone is None else alone}
        by_row = [{name: outputs[name][row] for name in outputs} for row in range(len(rows))]
        return {"predictions": by_row if alone is None else alone}

    def _answer(self, make: Any) -> None:
        try:
            assert self.path.startswith(f"/v1/models/{self.server.name}")
            code, body = 200, make(*self.server.load())
        except Exception as error:
            code, body = 400, {"error": str(error)}
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(name: str, base: Path) -> Iterator[str]:
    server = _Server(name, base)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/models/{name}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def ask(url: str, request: Any = None) -> tuple[int, Any]:
    data = None if request is None else json.dumps(request).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data), timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def _export_sum(log_dir: Path, scale: float, version: int | str) -> None:
    """Exports `total`: `scale` times the sum of `x`."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("scale", initializer=scale, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(log_dir / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        total = tf.reduce_sum(x, 1, keepdims=True) * tf.get_variable("scale", [], use_resource=True)
        signature = ExportSignature({"x": x}, {"total": total}, version)
    export.write(graph, signature, prefix, export.target(str(log_dir), version))


def test_the_requests_of_the_page(tmp_path: Path) -> None:
    _export_sum(tmp_path, 1.0, 1)
    request, answer, rows = shown()
    with serving("total", tmp_path) as url:
        assert ask(f"{url}:predict", request) == (200, answer)
        assert ask(f"{url}:predict", rows) == (200, {"predictions": answer["outputs"]})
        older = {**request, "signature_name": "predict_object"}
        assert ask(f"{url}:predict", older) == (200, answer)
        code, body = ask(f"{url}:predict", {"inputs": {"y": [[1.0, 2.0, 3.0]]}})
        assert (code, "x" in body["error"]) == (400, True)


def test_a_larger_number_is_served_as_soon_as_it_is_there(tmp_path: Path) -> None:
    request = {"inputs": {"x": [[1.0, 2.0, 3.0]]}}
    with serving("total", tmp_path) as url:
        for scale, version in ((1.0, -1), (2.0, -1), (3.0, 99), (4.0, -1)):
            _export_sum(tmp_path, scale, version)
            assert ask(f"{url}:predict", request) == (200, {"outputs": [[6.0 * scale]]})
        assert ask(url) == (200, {"model_version_status": [{"version": "100"}]})


def test_pitfall_4_4_1_no_number_no_servable(tmp_path: Path) -> None:
    _export_sum(tmp_path, 1.0, "model")
    with serving("total", tmp_path) as url:
        assert ask(url) == (400, {"error": "No versions of servable total found under base path"})
    _export_sum(tmp_path, 1.0, 1)
    with serving("total", tmp_path / "1") as url:
        assert ask(url)[0] == 400
    with serving("total", tmp_path) as url:
        assert ask(url)[0] == 200


@pytest.mark.parametrize("text", ["rose", "Löwenzahn"])
def test_text_and_bytes_and_several_outputs(text: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("scale", initializer=1, use_resource=True)
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with tf.Graph().as_default() as graph:
        word = tf.placeholder(tf.string, [None])
        size = tf.strings.length(word)
        signature = ExportSignature({"word": word}, {"size": size, "double": 2 * size})
    export.write(graph, signature, prefix, str(tmp_path / "1"))
    encoded = text.encode()
    count = len(encoded)
    b64 = {"b64": base64.b64encode(encoded).decode()}
    with serving("words", tmp_path) as url:
        for given in (text, b64):
            columns = {"outputs": {"size": [count], "double": [2 * count]}}
            assert ask(f"{url}:predict", {"inputs": {"word": [given]}}) == (200, columns)
        rows = {"predictions": [{"size": count, "double": 2 * count}]}
        assert ask(f"{url}:predict", {"instances": [{"word": text}]}) == (200, rows)
