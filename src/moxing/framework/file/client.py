"""Speaks S3 over s3fs: one call is one request, tried again while the error may pass.

s3fs and botocore are imported when the first client is made, not before.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import functools
import hashlib
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from moxing.errors import MoxValueError
from moxing.framework.file import answers, retry
from moxing.framework.file.background_loop import BackgroundLoop
from moxing.framework.file.errors import MoxFileError
from moxing.framework.file.settings import Settings

T = TypeVar("T")
CONNECT_TIMEOUT = 10.0
MOST_CONNECTIONS = 256
# The slowest link that is still waited for, in bytes a second.
SLOWEST = 64 * 1024
_LIMITS = {
    "complete_multipart_upload": 300.0,
    "delete_objects": 300.0,
    "list_objects": 300.0,
    "list_objects_v2": 300.0,
}


class Client:
    """A connection pool to one store with one set of keys. Safe to use from many threads."""

    def __init__(self, settings: Settings, loop: BackgroundLoop) -> None:
        _quiet()
        import s3fs

        self.settings = settings
        self._limits = {**_LIMITS, **dict(settings.limits)}
        self._loop = loop
        self._fs = s3fs.S3FileSystem(
            anon=settings.access_key is None,
            key=settings.access_key,
            secret=settings.secret_key,
            token=settings.token,
            endpoint_url=settings.endpoint,
            use_ssl=(settings.endpoint or "").startswith("https"),
            client_kwargs={"region_name": settings.region, "verify": settings.verify},
            config_kwargs=_config(settings),
            use_listings_cache=False,
            skip_instance_cache=True,
            asynchronous=True,
            loop=self._loop.loop,
            session=_session(),
        )
        self._known: Any = None

    def call(self, operation: str, url: str, *, sends: int = 0, **arguments: Any) -> Any:
        """The answer to one S3 request.

        Args:
          operation: botocore's name of it, such as `"head_object"`.
          url: what to name in an error.
          sends: bytes of the body, for the time limit.
          **arguments: the request's own.

        Raises:
          MoxFileError: the store refused it, or could not be reached in all tries.
        """

        def once() -> Any:
            limit = self._limit(operation, sends)
            return self._loop.wait(self._request(operation, arguments), limit)

        return self.persist(once, operation, url)

    def read(self, url: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
        """The answer to a `get_object` request and its whole body."""

        def once() -> tuple[dict[str, Any], bytes]:
            return self.submit_read(**arguments).result()

        return self.persist(once, "get_object", url)

    def submit_read(self, **arguments: Any) -> Future[tuple[dict[str, Any], bytes]]:
        """One try of `read`, under way while the caller does something else."""
        return self._loop.start(self._read(arguments))

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
        silent = self.settings.client_timeout + CONNECT_TIMEOUT
        answer = self._loop.wait(self._request("get_object", arguments), silent)
        body = answer["Body"]
        try:
            begin(answer)
            while data := self._loop.wait(body.read(chunk), silent):
                take(data)
        finally:
            self._loop.loop.call_soon_threadsafe(body.close)

    def close(self) -> None:
        """Lets the connections go, soon."""
        if self._known is not None:
            self._loop.start(self._known.close())

    def persist(self, once: Callable[[], T], operation: str, url: str) -> T:
        """The result of `once`, tried again while its error may pass."""

        def explain(error: Exception) -> MoxFileError:
            if answers.is_mistake(error):
                raise MoxValueError(f"{url} can't be used: {error}") from None
            if not answers.is_network(error):
                raise error
            return answers.translate(error, operation, url, self.settings)

        return retry.persist(once, explain, self.settings.retry, self.settings.retry_wait)

    def _limit(self, operation: str, sends: int) -> float:
        chosen = self._limits.get(operation, self.settings.client_timeout + CONNECT_TIMEOUT)
        return chosen + sends / SLOWEST

    async def _request(self, operation: str, arguments: dict[str, Any]) -> Any:
        client = await self._fs.set_session()
        if client is not self._known:
            # OBS and others want the older digest for this one request.
            client.meta.events.register("before-call.s3.DeleteObjects", _add_md5)
            if _is_obs(self.settings):
                _list_plainly(client)
            self._known = client
        return await getattr(client, operation)(**arguments)

    async def _read(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        limit = self.settings.client_timeout + CONNECT_TIMEOUT
        answer = await asyncio.wait_for(self._request("get_object", arguments), limit)
        body = answer["Body"]
        try:
            length = answer.get("ContentLength", 0)
            return answer, await asyncio.wait_for(body.read(), limit + length / SLOWEST)
        finally:
            body.close()


class _Clients:
    """The clients of this process, by their settings. Temporary keys change, so old ones go."""

    KEPT = 4

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            # Connections, loop and lock of the parent are of no use in a child.
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Settings, Client] = {}
        self._loop: BackgroundLoop | None = None

    def get(self, settings: Settings) -> Client:
        with self._lock:
            client = self._made.pop(settings, None)
            if client is None:
                self._loop = self._loop or BackgroundLoop()
                client = Client(settings, self._loop)
            self._made[settings] = client
            if len(self._made) > self.KEPT:
                self._made.pop(next(iter(self._made))).close()
            return client


_CLIENTS = _Clients()


def client_for(settings: Settings) -> Client:
    """The client of this process for `settings`; made once."""
    return _CLIENTS.get(settings)


def _config(settings: Settings) -> dict[str, Any]:
    return {
        "connect_timeout": min(CONNECT_TIMEOUT, settings.client_timeout),
        "read_timeout": settings.client_timeout,
        "max_pool_connections": MOST_CONNECTIONS,
        # `retry` is the one place that decides about further tries.
        "retries": {"total_max_attempts": 1},
        "s3": {"addressing_style": "path" if settings.path_style else "virtual"},
        # The newer default, checksums in trailers, is unknown to most S3-compatible stores. The
        # body is covered by the signature.
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
        "connector_args": None if settings.keep_alive else {"force_close": True},
    }


@functools.cache
def _session() -> Any:
    """What clients share: the description of the protocol, which takes time and memory to load."""
    import aiobotocore.session

    session = aiobotocore.session.AioSession()
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
    for name in ("botocore", "aiobotocore", "s3fs", "fsspec", "aiohttp"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


def _is_obs(settings: Settings) -> bool:
    return "//obs." in (settings.endpoint or "")


def _list_plainly(client: Any) -> None:
    """Does not ask for encoded names: OBS then returns the same page for ever."""
    from botocore import handlers

    for operation in ("ListObjects", "ListObjectsV2"):
        client.meta.events.unregister(
            f"before-parameter-build.s3.{operation}", handlers.set_list_objects_encoding_type_url
        )


def _add_md5(params: dict[str, Any], **_: Any) -> None:
    body = params["body"]
    data = body if isinstance(body, bytes) else bytes(body, "utf-8")
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    params["headers"]["Content-MD5"] = base64.b64encode(digest).decode("ascii")
