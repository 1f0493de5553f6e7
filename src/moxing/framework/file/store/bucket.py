"""Implements `Store` with S3 requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from moxing.framework.file.configuration import tuning
from moxing.framework.file.errors import (
    MoxFileError,
    MoxFileNotExistsException,
    MoxFileReadException,
    MoxFileRespException,
)
from moxing.framework.file.store import parts as planning
from moxing.framework.file.store.client import Client
from moxing.framework.file.store.protocol import Assembly, Info, Span
from moxing.framework.file.urls import Location

CHUNK = tuning.MIB
DELETED_AT_ONCE = 1000
_LAST_CHARACTER = "\U0010fffd"


class BucketStore:
    """A store behind an S3 endpoint."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def head(self, where: Location) -> Info | None:
        """Returns the object with exactly this key, or None."""
        try:
            answer = self.client.call("head_object", str(where), **_of(where))
        except MoxFileNotExistsException:
            return None
        return _info(where.key, answer, answer.get("ContentLength", 0))

    def is_directory(self, where: Location) -> bool:
        """Whether any object is below `where`, including an empty object that represents it."""
        try:
            if not where.key:
                self.client.call("head_bucket", where.top, Bucket=where.bucket)
                return True
            page = self.client.call(
                "list_objects",
                str(where),
                Bucket=where.bucket,
                Prefix=where.prefix,
                MaxKeys=1,
            )
        except MoxFileNotExistsException:
            return False
        return bool(page.get("Contents"))

    def list(self, where: Location, deep: bool, start: str = "") -> Iterator[Info]:
        """Yields the entries below the directory `where` in the order of keys, page by page."""
        arguments: dict[str, Any] = {
            "Bucket": where.bucket,
            "Prefix": where.prefix + start,
            "MaxKeys": self.client.settings.list_max_keys,
        }
        if not deep:
            arguments["Delimiter"] = "/"
        last = ""
        while True:
            page = self.client.call("list_objects_v2", str(where), **arguments)
            found = _page(page)
            yield from (info for info in found if info.key != where.prefix)
            if not page.get("IsTruncated"):
                return
            last = found[-1].key if found else last
            token = page.get("NextContinuationToken")
            if not token:
                break
            if token == arguments.get("ContinuationToken"):
                raise _stuck(where, last)
            arguments["ContinuationToken"] = token
        # Stores that have only the first version of this request, such as OBS, treat the second
        # version like the first.
        arguments.pop("ContinuationToken", None)
        yield from self._list_on(where, last, arguments)

    def _list_on(self, where: Location, last: str, arguments: dict[str, Any]) -> Iterator[Info]:
        """Yields the entries after the key `last`, with the first version of the request."""
        arguments["Marker"] = last
        while True:
            page = self.client.call("list_objects", str(where), **arguments)
            # Some stores list a directory again after its own name.
            found = [info for info in _page(page) if info.key > last]
            yield from (info for info in found if info.key != where.prefix)
            if not page.get("IsTruncated"):
                return
            beyond = last + _LAST_CHARACTER
            if found:
                last = found[-1].key
                arguments["Marker"] = page.get("NextMarker") or last
            elif arguments["Marker"] != beyond:
                arguments["Marker"] = beyond
            else:
                raise _stuck(where, last)

    def read(self, where: Location, start: int, stop: int | None, etag: str) -> tuple[Info, bytes]:
        """Reads bytes of an object, fewer at its end; also returns its size and tag."""
        try:
            answer, data = self.client.read(str(where), **_range(where, start, stop, etag))
        except MoxFileRespException as error:
            return _past_end(self, where, error, start, etag), b""
        return _info(where.key, answer, _whole(answer, start, len(data))), data

    def read_ahead(
        self, where: Location, start: int, stop: int, etag: str
    ) -> Future[tuple[Info, bytes]]:
        """Reads in the background, with only one attempt; see `read`."""
        done: Future[tuple[Info, bytes]] = Future()

        def finish(future: Future[tuple[dict[str, Any], bytes]]) -> None:
            try:
                answer, data = future.result()
                whole = _whole(answer, start, len(data))
                done.set_result((_info(where.key, answer, whole), data))
            except BaseException as error:  # noqa: BLE001 (it is handed on)
                done.set_exception(error)

        asked = self.client.submit_read(**_range(where, start, stop, etag))
        asked.add_done_callback(finish)
        return done

    def fetch(self, where: Location, fd: int, span: Span | None = None, etag: str = "") -> None:
        """Writes an object, or a span of it, to the same position in the local file `fd`.

        After a broken answer, the transfer continues where it broke.
        """
        at = span.start if span else 0
        stop = span.stop if span else None

        def begin(answer: dict[str, Any]) -> None:
            nonlocal stop, etag
            stop = at + answer["ContentLength"]
            etag = etag or answer.get("ETag", "")

        def take(data: bytes) -> None:
            nonlocal at
            view = memoryview(data)
            while view:
                written = os.pwrite(fd, view, at)
                at += written
                view = view[written:]

        def once() -> None:
            if stop is None or at < stop:
                self.client.stream(begin, take, CHUNK, **_range(where, at, stop, etag))
            if stop is not None and at < stop:
                raise ConnectionError(f"the answer ended {stop - at} bytes early")

        try:
            self.client.persist(once, "get_object", str(where))
        except MoxFileRespException as error:
            raise _changed(where, error) or error from None
        if span and at != span.stop:
            raise MoxFileReadException(f"{where} ended at byte {at}", url=str(where))

    def put(self, where: Location, data: bytes) -> None:
        """Creates or replaces an object."""
        self.client.call("put_object", str(where), Body=data, **_of(where))

    def copy(self, src: Location, dst: Location, info: Info) -> None:
        """Copies an object of at most 5 GiB inside the store."""
        source = {"Bucket": src.bucket, "Key": src.key}
        match = {"CopySourceIfMatch": info.etag} if info.etag else {}
        self.client.call("copy_object", str(dst), CopySource=source, **match, **_of(dst))

    def assemble(self, where: Location, spans: Sequence[Span]) -> Assembly:
        """Starts to create an object from the concatenation of `spans`."""
        sizes = tuning.current()
        whole = sum(span.size for span in spans)
        inside = any(span.where is not None and span.size >= tuning.LEAST_PART for span in spans)
        if not inside and whole <= sizes.upload_above:
            return _AtOnce(self, where, tuple(spans))
        return _InParts(self, where, planning.plan(spans, sizes.part_size))

    def delete(self, bucket: Location, keys: Sequence[str]) -> None:
        """Deletes objects; missing objects count as deleted."""
        if len(keys) == 1:
            where = bucket.at(keys[0])
            self.client.call("delete_object", str(where), **_of(where))
            return
        for start in range(0, len(keys), DELETED_AT_ONCE):
            named = [{"Key": key} for key in keys[start : start + DELETED_AT_ONCE]]
            answer = self.client.call(
                "delete_objects",
                bucket.top,
                Bucket=bucket.bucket,
                Delete={"Objects": named, "Quiet": True},
            )
            for item in answer.get("Errors", []):
                url = str(bucket.at(item.get("Key", "")))
                raise MoxFileRespException(
                    f"{url} was not deleted ({item.get('Code')}): {item.get('Message')}", url=url
                )

    def data(self, part: planning.Part) -> bytes:
        """Returns the bytes of one part, read from their sources."""
        return b"".join(self._bytes(span) for span in part)

    def _bytes(self, span: Span) -> bytes:
        if span.where is not None:
            data = self.read(span.where, span.start, span.stop, span.etag)[1]
        else:
            data = read_exactly(span.fd, span.start, span.size)
        if len(data) != span.size:
            raise MoxFileReadException(
                f"{span.where or 'the local file'} became shorter while it was being copied",
                url=str(span.where) if span.where else None,
            )
        return data


class _AtOnce:
    """An object small enough for one request."""

    def __init__(self, store: BucketStore, where: Location, part: planning.Part) -> None:
        self.parts: Sequence[Callable[[], None]] = ()
        self._make = lambda: store.put(where, store.data(part))

    def finish(self) -> None:
        self._make()

    def abort(self) -> None:
        return


class _InParts:
    """A multipart upload."""

    def __init__(self, store: BucketStore, where: Location, planned: list[planning.Part]) -> None:
        self._store = store
        self._where = where
        self._url = str(where)
        self._size = sum(span.size for part in planned for span in part)
        answer = store.client.call("create_multipart_upload", self._url, **_of(where))
        self._upload = {**_of(where), "UploadId": answer["UploadId"]}
        self._tags: dict[int, str] = {}
        self.parts: Sequence[Callable[[], None]] = [
            self._sender(number, part) for number, part in enumerate(planned, start=1)
        ]

    def _sender(self, number: int, part: planning.Part) -> Callable[[], None]:
        def send() -> None:
            tag = self._copy(number, part[0]) if planning.copied_inside(part) else None
            self._tags[number] = tag or self._send(number, self._store.data(part))

        return send

    def _send(self, number: int, data: bytes) -> str:
        return self._store.client.call(
            "upload_part",
            self._url,
            Body=data,
            PartNumber=number,
            **self._upload,
        )["ETag"]

    def _copy(self, number: int, span: Span) -> str:
        assert span.where is not None
        answer = self._store.client.call(
            "upload_part_copy",
            self._url,
            CopySource={"Bucket": span.where.bucket, "Key": span.where.key},
            CopySourceRange=f"bytes={span.start}-{span.stop - 1}",
            PartNumber=number,
            **({"CopySourceIfMatch": span.etag} if span.etag else {}),
            **self._upload,
        )
        return answer["CopyPartResult"]["ETag"]

    def finish(self) -> None:
        parts = [{"PartNumber": n, "ETag": tag} for n, tag in sorted(self._tags.items())]
        try:
            self._store.client.call(
                "complete_multipart_upload",
                self._url,
                MultipartUpload={"Parts": parts},
                **self._upload,
            )
        except MoxFileRespException as error:
            if not self._is_there(error):
                raise

    def _is_there(self, error: MoxFileRespException) -> bool:
        """Whether an earlier attempt created the object and only its answer was lost."""
        if error.resp is None or error.resp.errorCode not in ("NoSuchUpload", "404"):
            return False
        found = self._store.head(self._where)
        ending = f'-{len(self._tags)}"'
        return found is not None and found.size == self._size and found.etag.endswith(ending)

    def abort(self) -> None:
        try:
            self._store.client.call("abort_multipart_upload", self._url, **self._upload)
        except MoxFileError:
            # Report the error that led to the abort, not this one.
            return


def read_exactly(fd: int, start: int, size: int) -> bytes:
    """Reads `size` bytes of a local file from `start`, fewer only at the end of the file."""
    pieces: list[bytes] = []
    while size > 0:
        data = os.pread(fd, size, start)
        if not data:
            break
        pieces.append(data)
        start += len(data)
        size -= len(data)
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _of(where: Location) -> dict[str, Any]:
    return {"Bucket": where.bucket, "Key": where.key}


def _range(where: Location, start: int, stop: int | None, etag: str) -> dict[str, Any]:
    arguments: dict[str, Any] = dict(_of(where))
    if start or stop is not None:
        arguments["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
    if etag:
        arguments["IfMatch"] = etag
    return arguments


def _info(key: str, answer: dict[str, Any], size: int) -> Info:
    changed = answer.get("LastModified")
    mtime = int(changed.timestamp()) * 1_000_000_000 if changed else 0
    return Info(key, size, mtime, answer.get("ETag", ""))


def _whole(answer: dict[str, Any], start: int, got: int) -> int:
    """Returns the size of the whole object from the answer to a range request."""
    total = str(answer.get("ContentRange", "")).rpartition("/")[2]
    return int(total) if total.isdigit() else start + got


def _page(page: dict[str, Any]) -> list[Info]:
    """Returns the files and directories of one page, in the order of keys."""
    found = [_info(item["Key"], item, item.get("Size", 0)) for item in page.get("Contents", [])]
    found += [Info(item["Prefix"]) for item in page.get("CommonPrefixes", [])]
    found.sort(key=lambda item: item.key)
    return found


def _stuck(where: Location, last: str) -> MoxFileRespException:
    return MoxFileRespException(
        f"the listing of {where} does not get beyond {last!r}: the store repeats itself",
        url=str(where),
    )


def _past_end(
    store: BucketStore, where: Location, error: MoxFileRespException, start: int, etag: str
) -> Info:
    """Returns the object's Info if the requested range starts at or after its end."""
    if error.resp is not None and error.resp.errorCode == "InvalidRange":
        found = store.head(where)
        if found is not None and found.size <= start and etag in ("", found.etag):
            return found
    raise _changed(where, error) or error from None


def _changed(where: Location, error: MoxFileRespException) -> MoxFileReadException | None:
    if error.resp is None or error.resp.status not in (412, 416):
        return None
    return MoxFileReadException(
        f"{where} changed while it was being read; read it again from its start",
        url=str(where),
        resp=error.resp,
    )
