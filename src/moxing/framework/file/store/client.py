"""Sends S3 requests with botocore, and retries them after transient errors.

botocore is imported when the first client is made.
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
FIRST_CONTACT = 10.0  # Seconds in which a store must be reached; later it may be away for longer.
MOST_CONNECTIONS = 256


class Client:
    """A connection pool to one store with one set of keys; thread-safe."""

    def __init__(self, settings: Settings) -> None:
        _quiet()
        self.settings = settings
        self._reached = False
        self._general = _connect(settings, settings.client_timeout)
        # Each operation with its own time limit has its own connection pool.
        self._special = {name: _connect(settings, limit) for name, limit in settings.limits}

    def call(self, operation: str, url: str, **arguments: Any) -> Any:
        """Returns the answer to one S3 request.

        Args:
          operation: botocore's name of the request, such as `"head_object"`.
          url: the URL to name in an error.
          **arguments: the arguments of the request.

        Raises:
          MoxFileError: the store refused the request, or no attempt reached the store.
        """
        return self.persist(lambda: self._request(operation, arguments), operation, url)

    def read(self, url: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
        """Returns the answer to a `get_object` request and its whole body."""
        return self.persist(lambda: self._read(arguments), "get_object", url)

    def submit_read(self, **arguments: Any) -> Future[tuple[dict[str, Any], bytes]]:
        """Starts one attempt of `read` in the background."""
        future: Future[tuple[dict[str, Any], bytes]] = Future()

        def go() -> None:
            try:
                future.set_result(self._read(arguments))
            except BaseException as error:  # noqa: BLE001 (it is handed on)
                future.set_exception(error)

        try:
            threading.Thread(target=go, name="mox-file-ahead", daemon=True).start()
        except RuntimeError as error:
            # Later Python versions start no threads at the end of a program.
            future.set_exception(error)
        return future

    def stream(
        self,
        begin: Callable[[dict[str, Any]], None],
        take: Callable[[bytes], None],
        chunk: int,
        **arguments: Any,
    ) -> None:
        """Passes the answer to a `get_object` request to `begin`, and its body to `take` in pieces.

        Makes only one attempt, because the caller knows where to continue.
        """
        answer = self._request("get_object", arguments)
        with contextlib.closing(answer["Body"]) as body:
            begin(answer)
            while data := body.read(chunk):
                take(data)

    def close(self) -> None:
        """Closes the connections."""
        for client in (self._general, *self._special.values()):
            client.close()

    def persist(self, once: Callable[[], T], operation: str, url: str) -> T:
        """Returns the result of `once`, which is retried after transient errors.

        An address that no request ever reached is likely a wrong one, and is given up soon.
        """

        def work() -> T:
            result = once()
            self._reached = True
            return result

        def gives_up(seconds: float) -> bool:
            return not self._reached and seconds > FIRST_CONTACT

        def explain(error: Exception) -> MoxFileError:
            self._reached |= answers.was_reached(error)
            if answers.is_mistake(error):
                raise MoxValueError(f"{url} can't be used: {error}") from None
            if not answers.is_network(error):
                raise error
            return answers.translate(error, operation, url, self.settings)

        settings = self.settings
        return retry.persist(work, explain, settings.retry, settings.retry_wait, gives_up)

    def _request(self, operation: str, arguments: dict[str, Any]) -> Any:
        data = arguments.get("Body")
        if data is not None:
            # Send the body in small blocks, each with its own time limit, for slow links.
            arguments = {**arguments, "Body": io.BytesIO(data)}
        return getattr(self._special.get(operation, self._general), operation)(**arguments)

    def _read(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        answer = self._request("get_object", arguments)
        # As a context manager, the body returns the raw stream, whose errors are not botocore's.
        with contextlib.closing(answer["Body"]) as body:
            return answer, body.read()


class _Clients:
    """The clients of this process by settings; old ones go, because temporary keys change."""

    KEPT = 4

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            # A child process can't use the parent's connections and lock.
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
    """Returns this process's client for `settings`, made at the first call."""
    return _CLIENTS.get(settings)


def _connect(settings: Settings, limit: float) -> Any:
    from botocore import UNSIGNED
    from botocore.config import Config

    keys: dict[str, Any] = {} if settings.access_key else {"signature_version": UNSIGNED}
    config = Config(
        connect_timeout=min(CONNECT_TIMEOUT, limit),
        read_timeout=limit,
        max_pool_connections=MOST_CONNECTIONS,
        # Only the module `retry` decides about further attempts.
        retries={"total_max_attempts": 1},
        s3={"addressing_style": "path" if settings.path_style else "virtual"},
        # Most S3-compatible stores do not support the newer default, checksums in trailers. The
        # signature covers the body.
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
    # OBS and other stores require the older digest for this request.
    events.register("before-call.s3.DeleteObjects", _add_md5)
    events.register("needs-retry.s3.HeadBucket", _end_search)
    if not settings.keep_alive:
        events.register("before-send.s3", _ask_to_close)
    if "//obs." in (settings.endpoint or ""):
        _list_plainly(events)
    return client


@functools.cache
def _session() -> Any:
    """Returns a session, whose protocol description, slow to load, all clients share."""
    import botocore.session

    session = botocore.session.Session()
    factory = session.get_component("response_parser_factory")
    factory.set_parser_defaults(timestamp_parser=_moment)
    return session


def _moment(value: Any) -> datetime.datetime:
    """Parses a time in an answer; botocore's own slow parser would dominate a listing's time."""
    try:
        return datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        from botocore.utils import parse_timestamp

        return parse_timestamp(value)


def _quiet() -> None:
    """Keeps signed requests out of a program's debug log."""
    for name in ("botocore", "urllib3"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


def _list_plainly(events: Any) -> None:
    """Keeps botocore from requesting encoded names, for which OBS repeats the same page forever."""
    from botocore import handlers

    for operation in ("ListObjects", "ListObjectsV2"):
        events.unregister(
            f"before-parameter-build.s3.{operation}", handlers.set_list_objects_encoding_type_url
        )


def _ask_to_close(request: Any, **_: Any) -> None:
    request.headers["Connection"] = "close"


def _end_search(response: Any = None, **_: Any) -> None:
    """Ends botocore's search for the region of a bucket that the store leaves unnamed.

    After an answer that sends it elsewhere, botocore asks for the bucket's region. Where the
    store sends it elsewhere again, botocore would ask again, without end.
    """
    from botocore.exceptions import ClientError

    if response is None:
        return
    http, parsed = response
    region = "x-amz-bucket-region" in http.headers or "Region" in parsed.get("Error", {})
    if http.status_code in answers.ELSEWHERE and not region:
        raise ClientError(parsed, "HeadBucket")


def _add_md5(params: dict[str, Any], **_: Any) -> None:
    body = params["body"]
    data = body if isinstance(body, bytes) else bytes(body, "utf-8")
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    params["headers"]["Content-MD5"] = base64.b64encode(digest).decode("ascii")
