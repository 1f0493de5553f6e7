"""Translates errors of a store or the network to openmox's errors, and marks transient ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from moxing.framework.file.configuration.settings import Settings
from moxing.framework.file.errors import (
    MoxFileConnectionException,
    MoxFileError,
    MoxFileNotExistsException,
    MoxFilePermissionException,
    MoxFileRespException,
    Response,
)

# Client errors (HTTP 4xx) that another attempt can resolve.
_PASSING = frozenset(
    {
        "BadDigest",
        "IncompleteBody",
        "OperationAborted",
        "RequestTimeout",
        "RequestTimeTooSkewed",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
    }
)
_GONE = frozenset({"NoSuchKey", "NoSuchBucket", "404", "NotFound"})
_REFUSED = frozenset({"AccessDenied", "403", "Forbidden", "AllAccessDisabled"})
_BAD_KEYS = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"})
# Answers that send the client to another endpoint, and the names that such an answer may hold.
ELSEWHERE = frozenset({301, 302, 307, 308})
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}")
# Errors that make requests for other files pointless.
HOPELESS = _BAD_KEYS | {"NoSuchBucket", "PermanentRedirect"}

# Parts of OpenSSL's messages, in various versions, if the server speaks plain HTTP, and if a CA
# bundle is missing or empty.
_NO_TLS = ("wrong version number", "record layer failure", "packet length too long", "http request")
_NO_AUTHORITIES = ("no such file", "no certificate", "is a directory", "permission denied")


def translate(error: Exception, doing: str, url: str, settings: Settings) -> MoxFileError:
    """Returns the error to raise for `error`; its `transient` is true if a retry may succeed.

    Args:
      error: the error that botocore raised.
      doing: the S3 operation, such as `"get_object"`.
      url: the URL of the request.
      settings: the settings of the client.
    """
    from botocore import exceptions

    if isinstance(error, MoxFileError):
        return error
    if isinstance(error, exceptions.ClientError):
        return _refusal(error.response, doing, url, settings)
    if isinstance(error, exceptions.SSLError):
        why = _tls(error, settings)
        start = f"Unable to connect to endpoint {settings.endpoint} for {url}: "
        return _connection(start + why, url, transient=False)
    if isinstance(error, exceptions.ProxyConnectionError):
        return _connection(
            f"Unable to connect to the proxy that leads to {settings.endpoint}, for {url}: "
            f"{_short(error)}. Check HTTP_PROXY and HTTPS_PROXY; a host in NO_PROXY is asked "
            "without a proxy",
            url,
        )
    if isinstance(error, TimeoutError | exceptions.ReadTimeoutError):
        return _connection(
            f"{doing} of {url} at {settings.endpoint} did not end within its time limit", url
        )
    if isinstance(error, exceptions.EndpointConnectionError | exceptions.ConnectTimeoutError):
        return _connection(
            f"Unable to connect to endpoint {settings.endpoint} for {url}. Check S3_ENDPOINT and "
            "S3_USE_HTTPS, and that the network reaches it",
            url,
        )
    return _connection(
        f"the connection to {settings.endpoint} broke in {doing} of {url}: {_short(error)}", url
    )


def _tls(error: Exception, settings: Settings) -> str:
    """Returns the reason why a TLS connection failed, and what to do."""
    said = str(error).lower().replace("_", " ")
    if any(sign in said for sign in _NO_TLS):
        return (
            "it does not speak TLS there. For a store without TLS write http:// before the host in "
            "S3_ENDPOINT, or set S3_USE_HTTPS=0"
        )
    if isinstance(settings.verify, str) and any(sign in said for sign in _NO_AUTHORITIES):
        return (
            f"the file of authorities {settings.verify} (S3_CA_BUNDLE, AWS_CA_BUNDLE, or "
            f"ssl_verify= of mox.file.set_auth) can't be used ({_short(error)})"
        )
    return (
        f"its TLS certificate was not accepted ({_short(error)}). If it is signed by your own "
        "authority, set S3_CA_BUNDLE to that authority's file; S3_VERIFY_SSL=0 turns the check off"
    )


def was_reached(error: Exception) -> bool:
    """Whether a request came to the store, or to something at its address."""
    from botocore import exceptions

    kinds = (
        *(exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError),
        exceptions.ProxyConnectionError,
    )
    return not isinstance(error, kinds)


def is_mistake(error: Exception) -> bool:
    """Whether the request was not sent because it is invalid, for example its bucket name."""
    from botocore import exceptions

    return isinstance(error, exceptions.ParamValidationError | exceptions.InvalidRegionError)


def is_network(error: Exception) -> bool:
    """Whether `error` comes from the store or the network, and not from a bug."""
    from botocore import exceptions

    kinds = (
        exceptions.ClientError,
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.ResponseStreamingError,
        exceptions.IncompleteReadError,
        ConnectionError,
        EOFError,
        TimeoutError,
        MoxFileError,
    )
    return isinstance(error, kinds) or type(error).__name__ == "ResponseParserError"


def _connection(message: str, url: str, transient: bool = True) -> MoxFileConnectionException:
    error = MoxFileConnectionException(message, url=url, resp=Response())
    error.transient = transient
    return error


def _refusal(answer: Mapping[str, Any], doing: str, url: str, settings: Settings) -> MoxFileError:
    about = answer.get("ResponseMetadata", {})
    details = answer.get("Error", {})
    status = about.get("HTTPStatusCode")
    code = str(details.get("Code", ""))
    resp = Response(
        status=status,
        errorCode=code,
        errorMessage=str(details.get("Message", "")),
        requestId=str(about.get("RequestId", "")),
    )
    if status in ELSEWHERE:
        return _elsewhere(_place(answer, url), doing, url, resp, settings)
    error = _kind(code, status, doing, url, resp, settings)
    error.transient = code in _PASSING or status in (408, 429) or bool(status and status >= 500)
    return error


def _kind(
    code: str, status: int | None, doing: str, url: str, resp: Response, settings: Settings
) -> MoxFileError:
    said = f"({code or 'no code'}, stat:{status}, {doing}, request {resp.requestId or 'unnamed'})"
    if code == "NoSuchBucket":
        return MoxFileNotExistsException(
            f"the bucket of {url} does not exist at {settings.endpoint} {said}; create it, or "
            "correct its name",
            url=url,
            resp=resp,
        )
    if code in _GONE or (status == 404 and code != "NoSuchUpload"):
        return MoxFileNotExistsException(f"{url} does not exist {said}", url=url, resp=resp)
    if code in _REFUSED | _BAD_KEYS or status in (401, 403):
        return MoxFilePermissionException(
            f"{settings.endpoint} does not allow {doing} of {url} {said}; {_keys(settings)}",
            url=url,
            resp=resp,
        )
    if code == "EntityTooLarge":
        return MoxFileRespException(
            f"{url} is larger than {settings.endpoint} takes in one request {said}; set "
            "MOX_FILE_LARGE_FILE_PART_SIZE to fewer bytes",
            url=url,
            resp=resp,
        )
    words = f": {resp.errorMessage}" if resp.errorMessage else ""
    return MoxFileRespException(
        f"{settings.endpoint} refused {doing} of {url} {said}{words}", url=url, resp=resp
    )


def _place(answer: Mapping[str, Any], url: str) -> str:
    """Returns the endpoint that a store names in place of its own; empty if it names none."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    place = headers.get("location") or answer.get("Error", {}).get("Endpoint") or ""
    parts = urlsplit(place if "//" in place else f"//{place}")
    try:
        # The bucket may stand in the host's name.
        host, port = (parts.hostname or "").removeprefix(f"{urlsplit(url).netloc}."), parts.port
    except ValueError:
        return ""
    if not _HOST.fullmatch(host):
        return ""
    return f"{f'{parts.scheme}://' if parts.scheme else ''}{host}{f':{port}' if port else ''}"


def _elsewhere(
    place: str, doing: str, url: str, resp: Response, settings: Settings
) -> MoxFileRespException:
    """Returns the error for a store that sends the client elsewhere.

    Keys are used for the endpoint of the settings only: an answer does not lead them elsewhere.
    """
    there = (
        f" is at {place}: set S3_ENDPOINT={place}"
        if place
        else (" is at another endpoint: set S3_ENDPOINT to the endpoint of its region")
    )
    return MoxFileRespException(
        f"the bucket of {url} is in another region than {settings.endpoint}"
        f" ({resp.errorCode or 'no code'}, stat:{resp.status}, {doing}); it{there}",
        url=url,
        resp=resp,
    )


def _keys(settings: Settings) -> str:
    if settings.access_key is None:
        return "no keys are configured: set ACCESS_KEY_ID and SECRET_ACCESS_KEY"
    return "check ACCESS_KEY_ID and SECRET_ACCESS_KEY and the rights they have on the bucket"


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
