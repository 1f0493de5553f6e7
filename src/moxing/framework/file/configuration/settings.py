"""The address, credentials and request settings of the object store."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError, near_matches, shown
from moxing.framework.file.configuration import environment

# The names under which scripts set time limits, and the S3 operations they stand for.
OPERATIONS: Mapping[str, str] = {
    "completeMultipartUpload": "complete_multipart_upload",
    "copyPart": "upload_part_copy",
    "copyObject": "copy_object",
    "deleteObject": "delete_objects",
    "getObject": "get_object",
    "getObjectMetadata": "head_object",
    "initiateMultipartUpload": "create_multipart_upload",
    "listObjects": "list_objects",
    "putContent": "put_object",
    "putFile": "put_object",
    "putObject": "put_object",
    "read": "get_object",
    "uploadPart": "upload_part",
}
NO_ENDPOINT = (
    "no S3/OBS endpoint configured (S3_ENDPOINT is not set), so {url} can't be reached. Set the "
    "environment variable S3_ENDPOINT, such as S3_ENDPOINT=obs.cn-north-4.myhuaweicloud.com with "
    "ACCESS_KEY_ID and SECRET_ACCESS_KEY, or call mox.file.set_auth(ak=..., sk=..., server=...). "
    "To work without a store, set MOX_FILE_S3_ROOT to a local directory that holds the buckets."
)
_REGION = re.compile(r"\b(?:obs|s3)[.-]([a-z]{2,}(?:-[a-z]+)+-\d+)\.")

_RANGES: dict[str, tuple[Any, Any]] = {  # What the numbers among the settings may be.
    "retry": (1, 1000),
    "retry_wait": (0, 3600),
    "client_timeout": (0.1, 86400),
    "list_max_keys": (1, 1000),
}


@dataclass(frozen=True)
class Settings:
    """All settings that a client of the store needs; its repr leaves keys out.

    Attributes:
      root: the local directory that stands for the store, or None.
      endpoint: the URL of the store with its scheme, or None.
      access_key, secret_key, token: the credentials; without them, requests are anonymous.
      region: the name of the region for which requests are signed.
      verify: whether TLS certificates are checked; a string is the path of a CA bundle to trust.
      path_style: whether the bucket is in the path (True) or in the host name (False).
      keep_alive: whether connections are reused.
      retry: the total number of attempts for a request.
      retry_wait: seconds before the second attempt, doubled for each further one, at most 15.
      client_timeout: seconds without a byte from the store after which an attempt fails.
      list_max_keys: the number of keys per request of a listing, 1 to 1000.
      limits: the maximum seconds of a whole attempt, by S3 operation, where the user set them.
    """

    root: str | None = None
    endpoint: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    region: str = "us-east-1"
    verify: bool | str = True
    path_style: bool = True
    keep_alive: bool = True
    retry: int = 10
    retry_wait: float = 0.5
    client_timeout: float = 60.0
    list_max_keys: int = 1000
    limits: tuple[tuple[str, float], ...] = ()


@dataclass
class _Given:
    """The arguments of `set_auth`. The mapping is replaced as a whole: threads need no lock."""

    arguments: Mapping[str, Any] = field(default_factory=dict)


_GIVEN = _Given()


def set_auth(
    ak: str | None = None,
    sk: str | None = None,
    server: str | None = None,
    port: int | None = None,
    is_secure: bool | None = None,
    ssl_verify: bool | str | None = None,
    long_conn_mode: bool | None = None,
    path_style: bool | None = None,
    retry: int | None = None,
    retry_wait: float | None = None,
    client_timeout: float | None = None,
    list_max_keys: int | None = None,
    timeout_config: Mapping[str, float | None] | None = None,
    security_token: str | None = None,
    region: str | None = None,
    **unknown: object,
) -> None:
    """Sets the address and credentials of the object store; omitted settings do not change.

    The settings override the environment from the next call on, in this process and in the
    processes that `copy_parallel` starts.

    Args:
      ak: the access key (else `ACCESS_KEY_ID`, `AWS_ACCESS_KEY_ID`).
      sk: the secret key (else `SECRET_ACCESS_KEY`, `AWS_SECRET_ACCESS_KEY`).
      server: the host name or URL of the store (else `S3_ENDPOINT`, `AWS_ENDPOINT_URL_S3`,
        `AWS_ENDPOINT_URL`).
      port: the port of the store, if `server` does not name one.
      is_secure: whether to use TLS; overrides the scheme of `server`.
      ssl_verify: whether to check the certificate, or the path of a CA bundle.
      long_conn_mode: whether connections are reused.
      path_style: whether the bucket is in the path. By default, it is in the path for IP addresses
        and host names without a dot, and otherwise in the host name.
      retry: the total number of attempts for a request, at least 1; 10 by default, which outlasts
        an outage of the store of one minute.
      retry_wait: seconds before the second attempt, doubled for each further one; 0.5 by default.
      client_timeout: seconds of silence after which an attempt fails; 60 by default.
      list_max_keys: the number of keys per request of a listing, 1 to 1000.
      timeout_config: the maximum seconds of a whole attempt, by a request name in `OPERATIONS`,
        such as `{"getObjectMetadata": 10}`.
      security_token: the token of temporary keys (else `SECURITY_TOKEN`, `AWS_SESSION_TOKEN`).
      region: the name of the region (else `S3_REGION`, `AWS_REGION`, `AWS_DEFAULT_REGION`, or the
        part of the host name that looks like a region).

      Raises:
        MoxTypeError: an argument is unknown.
        MoxValueError: a value is invalid.
    """
    given = {name: value for name, value in locals().items() if name != "unknown"}
    if unknown:
        name = next(iter(unknown))
        raise MoxTypeError(f"set_auth() has no argument {name!r}.{near_matches(name, given)}")
    changes = {name: value for name, value in given.items() if value is not None}
    merged = {**_GIVEN.arguments, **changes}
    _build(merged)
    _GIVEN.arguments = merged


def reset_auth() -> None:
    """Discards all settings of `set_auth`, so that only the environment applies."""
    _GIVEN.arguments = {}


def current() -> Settings:
    """Returns the current settings.

    Raises:
      MoxValueError: the value of an environment variable is invalid.
    """
    return _build(_GIVEN.arguments)


def needs_endpoint(settings: Settings, url: object) -> None:
    """Raises an error if no store for `url` is configured.

    Raises:
      MoxRuntimeError: neither an endpoint nor a directory of buckets is configured.
    """
    if settings.root is None and settings.endpoint is None:
        raise MoxRuntimeError(NO_ENDPOINT.format(url=url))


def _build(given: Mapping[str, Any]) -> Settings:
    endpoint = _endpoint(given)
    base = Settings(
        root=environment.first("MOX_FILE_S3_ROOT"),
        endpoint=endpoint,
        access_key=given.get("ak") or environment.first("ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"),
        secret_key=given.get("sk")
        or environment.first("SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"),
        token=given.get("security_token")
        or environment.first("SECURITY_TOKEN", "AWS_SESSION_TOKEN"),
        region=given.get("region")
        or environment.first("S3_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
        or _region(endpoint),
        verify=environment.boolean("S3_VERIFY_SSL", True) and (_authorities() or True),
        path_style=_plain_host(endpoint),
        retry=environment.integer("MOX_FILE_RETRY", Settings.retry, *_RANGES["retry"]),
        retry_wait=environment.number(
            "MOX_FILE_RETRY_WAIT", Settings.retry_wait, *_RANGES["retry_wait"]
        ),
        client_timeout=environment.number(
            "MOX_FILE_CLIENT_TIMEOUT", Settings.client_timeout, *_RANGES["client_timeout"]
        ),
        list_max_keys=environment.integer(
            "MOX_FILE_LIST_MAX_KEYS", Settings.list_max_keys, *_RANGES["list_max_keys"]
        ),
        limits=_limits(given.get("timeout_config") or {}),
    )
    named = {
        "ssl_verify": "verify",
        "long_conn_mode": "keep_alive",
        "path_style": "path_style",
        "retry": "retry",
        "retry_wait": "retry_wait",
        "client_timeout": "client_timeout",
        "list_max_keys": "list_max_keys",
    }
    settings = replace(base, **{to: given[name] for name, to in named.items() if name in given})
    _check(settings)
    _check_keys(settings)
    return settings


def _check(settings: Settings) -> None:
    for name, (least, most) in _RANGES.items():
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MoxValueError(f"set_auth({name}={shown(value)}): a number is needed")
        if not least <= value <= most:
            raise MoxValueError(f"set_auth({name}={shown(value)}) must be from {least} to {most}")
        if name in ("retry", "list_max_keys") and not isinstance(value, int):
            raise MoxValueError(f"set_auth({name}={shown(value)}): a whole number is needed")
    if bool(settings.access_key) != bool(settings.secret_key):
        missing = "SECRET_ACCESS_KEY" if settings.access_key else "ACCESS_KEY_ID"
        raise MoxValueError(
            f"the object store's keys are incomplete: {missing} is not set (set both ACCESS_KEY_ID "
            "and SECRET_ACCESS_KEY, or pass both ak= and sk= to mox.file.set_auth)"
        )


def _check_keys(settings: Settings) -> None:
    """Refuses invalid keys before a request, whose error would show them."""
    keys = {
        "ACCESS_KEY_ID": ("ak", settings.access_key),
        "SECRET_ACCESS_KEY": ("sk", settings.secret_key),
        "SECURITY_TOKEN": ("security_token", settings.token),
    }
    for variable, (argument, value) in keys.items():
        if value is None:
            continue
        # `isprintable` accepts spaces, so they are checked separately.
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            fault = "is no text of plain ASCII characters"
        elif " " in value:
            fault = "has a space in it"
        else:
            continue
        raise MoxValueError(
            f"the object store's {variable} (or {argument}= of mox.file.set_auth) {fault}; copy it "
            "again"
        )


def _limits(config: Mapping[str, float | None]) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for name, seconds in config.items():
        if name not in OPERATIONS:
            raise MoxValueError(
                f"timeout_config has no operation {name!r}.{near_matches(name, OPERATIONS)} "
                f"It has {', '.join(OPERATIONS)}."
            )
        if seconds is not None:
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0.1:
                raise MoxValueError(
                    f"timeout_config[{name!r}] is {seconds!r}; seconds of at least 0.1 are needed"
                )
            found[OPERATIONS[name]] = float(seconds)
    if "list_objects" in found:
        found["list_objects_v2"] = found["list_objects"]
    return tuple(sorted(found.items()))


def _endpoint(given: Mapping[str, Any]) -> str | None:
    server = given.get("server") or environment.first(
        "S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"
    )
    if not server:
        return None
    if not isinstance(server, str):
        raise MoxTypeError(f"set_auth(server={server!r}): a host name or URL is needed")
    named = re.match(r"(https?)://", server, re.IGNORECASE)
    secure = environment.boolean("S3_USE_HTTPS", True)
    if named:
        secure = named[1].lower() == "https"
    if given.get("is_secure") is not None:
        secure = bool(given["is_secure"])
    port = _port(given)
    try:
        parts = urlsplit(f"//{server[named.end() if named else 0 :]}")
        host, port = parts.hostname, port or parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.path.strip("/") or "@" in parts.netloc:
        # The message does not show the value, which may contain a password.
        raise MoxValueError(
            "the object store's endpoint (S3_ENDPOINT, or server= of mox.file.set_auth) must be "
            "host, host:port or a URL of these, such as https://obs.cn-north-4.myhuaweicloud.com"
        )
    host = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{host}{f':{port}' if port else ''}"


def _port(given: Mapping[str, Any]) -> int | None:
    port = given.get("port")
    if port is None:
        return None
    if not str(port).isdecimal() or not 0 < int(port) < 65536:
        raise MoxValueError(f"set_auth(port={port!r}): a number from 1 to 65535 is needed")
    return int(port)


def _authorities() -> str | None:
    return environment.first("S3_CA_BUNDLE", "AWS_CA_BUNDLE")


def _host(endpoint: str | None) -> str:
    return (urlsplit(endpoint).hostname if endpoint else None) or ""


def _plain_host(endpoint: str | None) -> bool:
    """Whether the host is an IP address or a name without a dot, which allow no bucket prefix."""
    host = _host(endpoint)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." not in host
    return True


def _region(endpoint: str | None) -> str:
    found = _REGION.search(_host(endpoint))
    return found[1] if found else Settings.region
