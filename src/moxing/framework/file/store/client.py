"""Speaks S3 over botocore: one call is one request, tried again while the error may pass.

botocore is imported when the first client is made, not before.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import functools
import hashlib
import io
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from moxing.errors import MoxValueError
from moxing.framework.file.configuration.settings import Settings
from moxing.framework.file.errors import MoxFileError
from moxing.framework.file.store import answers, retry

T = TypeVar("T")
CONNECT_TIMEOUT = 10.0
MOST_CONNECTIONS = 256


class Client:
    """A connection pool to one store with one set of keys. Safe to use from many threads."""

    def __init__(self, settings: Settings) -> None:
        _quiet()
        self.settings = settings
        self._general = _connect(settings, settings.client_timeout)
        # Whoever sets a limit for one kind of request gets a pool with that limit for it.
        self._special = {name: _connect(settings, limit) for name, limit in settings.limits}

    def call(self, operation: str, url: str, **arguments: Any) -> Any:
        """The answer to one S3 request.

        Args:
          operation: botocore's name of it, such as `"head_object"`.
          url: what to name in an error.
          **arguments: the request's own.

        Raises:
          MoxFileError: the store refused it, or could not be reached in all tries.
        """
        return self.persist(lambda: self._request(operation, arguments), operation, url)

    def read(self, url: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
        """The answer to a `get_object` request and its whole body."""
        return self.persist(lambda: self._read(arguments), "get_object", url)

    def submit_read(self, **arguments: Any) -> Future[tuple[dict[str, Any], bytes]]:
        """One try of `read`, under way while the caller does something else."""
        future: Future[tuple[dict[str, Any], bytes]] = Future()

        def go() -> None:
            try:
                future.set_result(self._read(arguments))
            except BaseException as error:  # noqa: BLE001 (it is handed on)
                future.set_exception(error)

        try:
            threading.Thread(target=go, name="mox-file-ahead", daemon=True).start()
        except RuntimeError as error:
            # Later Pythons start no thread when the program ends.
            future.set_exception(error)
        return future

    def stream(
        self,
        begin: Callable[[dict[str, Any]], None],
        take: Callable[[bytes], None],
        chunk: int,
        **arguments: Any,
    ) -> None:
        """Hands the answer to a `get_object` request to `begin`, and its body to `take` in pieces.

        One try only: the caller knows where to take it up.
        """
        answer = self._request("get_object", arguments)
        with contextlib.closing(answer["Body"]) as body:
            begin(answer)
            while data := body.read(chunk):
                take(data)

    def close(self) -> None:
        """Lets the connections go."""
        for client in (self._general, *self._special.values()):
            client.close()

    def persist(self, once: Callable[[], T], operation: str, url: str) -> T:
        """The result of `once`, tried again while its error may pass."""

        def explain(error: Exception) -> MoxFileError:
            if answers.is_mistake(error):
                raise MoxValueError(f"{url} can't be used: {error}") from None
            if not answers.is_network(error):
                raise error
            return answers.translate(error, operation, url, self.settings)

        return retry.persist(once, explain, self.settings.retry, self.settings.retry_wait)

    def _request(self, operation: str, arguments: dict[str, Any]) -> Any:
        data = arguments.get("Body")
        if data is not None:
            # Sent in small blocks, each with a time limit of its own, however slow the link is.
            arguments = {**arguments, "Body": io.BytesIO(data)}
        return getattr(self._special.get(operation, self._general), operation)(**arguments)

    def _read(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        answer = self._request("get_object", arguments)
        # Entered itself, the body would give the raw stream, whose errors are not botocore's.
        with contextlib.closing(answer["Body"]) as body:
            return answer, body.read()


class _Clients:
    """The clients of this process, by their settings. Temporary keys change, so old ones go."""

    KEPT = 4

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            # Connections and lock of the parent are of no use in a child.
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Settings, Client] = {}

    def get(self, settings: Settings) -> Client:
        with self._lock:
            client = self._made.pop(settings, None) or Client(settings)
            self._made[settings] = client
            if len(self._made) > self.KEPT:
                self._made.pop(next(iter(self._made))).close()
            return client


_CLIENTS = _Clients()


def client_for(settings: Settings) -> Client:
    """The client of this process for `settings`; made once."""
    return _CLIENTS.get(settings)


def _connect(settings: Settings, limit: float) -> Any:
    from botocore import UNSIGNED
    from botocore.config import Config

    keys: dict[str, Any] = {} if settings.access_key else {"signature_version": UNSIGNED}
    config = Config(
        connect_timeout=min(CONNECT_TIMEOUT, limit),
        read_timeout=limit,
        max_pool_connections=MOST_CONNECTIONS,
        # `retry` is the one place that decides about further tries.
        retries={"total_max_attempts": 1},
        s3={"addressing_style": "path" if settings.path_style else "virtual"},
        # The newer default, checksums in trailers, is unknown to most S3-compatible stores. The
        # body is covered by the signature.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        **keys,
    )
    client = _session().create_client(
        "s3",
        region_name=settings.region,
        endpoint_url=settings.endpoint,
        verify=settings.verify,
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=settings.secret_key,
        aws_session_token=settings.token,
        config=config,
    )
    events = client.meta.events
    # OBS and others want the older digest for this one request.
    events.register("before-call.s3.DeleteObjects", _add_md5)
    if not settings.keep_alive:
        events.register("before-send.s3", _ask_to_close)
    if "//obs." in (settings.endpoint or ""):
        _list_plainly(events)
    return client


@functools.cache
def _session() -> Any:
    """What clients share: the description of the protocol, which takes time and memory to load."""
    import botocore.session

    session = botocore.session.Session()
    factory = session.get_component("response_parser_factory")
    factory.set_parser_defaults(timestamp_parser=_moment)
    return session


def _moment(value: Any) -> datetime.datetime:
    """A time of an answer. botocore's own way guesses the format and takes most of a listing."""
    try:
        return datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        from botocore.utils import parse_timestamp

        return parse_timestamp(value)


def _quiet() -> None:
    """Keeps signed requests out of the log of a program that logs everything."""
    for name in ("botocore", "urllib3"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


def _list_plainly(events: Any) -> None:
    """Does not ask for encoded names: OBS then returns the same page for ever."""
    from botocore import handlers

    for operation in ("ListObjects", "ListObjectsV2"):
        events.unregister(
            f"before-parameter-build.s3.{operation}", handlers.set_list_objects_encoding_type_url
        )


def _ask_to_close(request: Any, **_: Any) -> None:
    request.headers["Connection"] = "close"


def _add_md5(params: dict[str, Any], **_: Any) -> None:
    body = params["body"]
    data = body if isinstance(body, bytes) else bytes(body, "utf-8")
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    params["headers"]["Content-MD5"] = base64.b64encode(digest).decode("ascii")
