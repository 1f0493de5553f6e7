"""Settings come from the environment and set_auth, say what is wrong, and keep their secrets."""

from __future__ import annotations

import logging
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from moxing.errors import MoxRuntimeError, MoxTypeError, MoxValueError
from moxing.framework import file as mox
from moxing.framework.file.configuration import settings, tuning

HUAWEI = "obs.cn-north-4.myhuaweicloud.com"


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        ({"S3_ENDPOINT": HUAWEI}, f"https://{HUAWEI}"),
        ({"S3_ENDPOINT": HUAWEI, "S3_USE_HTTPS": "0"}, f"http://{HUAWEI}"),
        ({"S3_ENDPOINT": "127.0.0.1:9000", "S3_USE_HTTPS": "false"}, "http://127.0.0.1:9000"),
        ({"S3_ENDPOINT": "http://a.b:80"}, "http://a.b:80"),
        ({"S3_ENDPOINT": "HTTP://a.b/", "S3_USE_HTTPS": "1"}, "http://a.b"),
        ({"S3_ENDPOINT": "[::1]:9000"}, "https://[::1]:9000"),
        ({"AWS_ENDPOINT_URL": "http://c.d"}, "http://c.d"),
        ({"AWS_ENDPOINT_URL": "http://c.d", "AWS_ENDPOINT_URL_S3": "http://e.f"}, "http://e.f"),
        ({"AWS_ENDPOINT_URL": "http://c.d", "S3_ENDPOINT": "http://g.h"}, "http://g.h"),
        ({}, None),
        ({"S3_ENDPOINT": ""}, None),
    ],
)
def test_endpoint(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], endpoint: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings.current().endpoint == endpoint


def test_keys_and_their_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "aws")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "aws-token")
    found = settings.current()
    assert (found.access_key, found.secret_key, found.token) == ("aws", "aws-secret", "aws-token")
    monkeypatch.setenv("ACCESS_KEY_ID", "own")
    monkeypatch.setenv("SECRET_ACCESS_KEY", "own-secret")
    assert settings.current().access_key == "own"
    mox.set_auth(ak="given", sk="given-secret")
    assert settings.current().secret_key == "given-secret"


def test_region_from_environment_or_host(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.current().region == "us-east-1"
    monkeypatch.setenv("S3_ENDPOINT", HUAWEI)
    assert settings.current().region == "cn-north-4"
    monkeypatch.setenv("S3_ENDPOINT", "s3.eu-west-1.amazonaws.com")
    assert settings.current().region == "eu-west-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "r-3")
    monkeypatch.setenv("S3_REGION", "r-1")
    assert settings.current().region == "r-1"


def test_bucket_goes_into_the_host_name_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint, path in ((HUAWEI, False), ("127.0.0.1:1", True), ("minio:9000", True)):
        monkeypatch.setenv("S3_ENDPOINT", endpoint)
        assert settings.current().path_style is path
    mox.set_auth(path_style=False)
    assert settings.current().path_style is False


def test_certificates_are_checked_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.current().verify is True
    monkeypatch.setenv("S3_CA_BUNDLE", "/ca.pem")
    assert settings.current().verify == "/ca.pem"
    monkeypatch.setenv("S3_VERIFY_SSL", "0")
    assert settings.current().verify is False
    mox.set_auth(ssl_verify=True)
    assert settings.current().verify is True


def test_set_auth_wins_and_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3_ENDPOINT", "https://env.example")
    mox.set_auth(ak="a", sk="s", server="http://given.example", port=81)
    mox.set_auth(is_secure=True)
    mox.set_auth(retry=3, retry_wait=0.5, client_timeout=7, list_max_keys=10, long_conn_mode=False)
    found = settings.current()
    assert found.endpoint == "https://given.example:81"
    assert (found.retry, found.retry_wait, found.client_timeout) == (3, 0.5, 7)
    assert (found.list_max_keys, found.keep_alive) == (10, False)
    mox.set_auth(timeout_config={"getObjectMetadata": 10, "putFile": None})
    assert settings.current().limits == (("head_object", 10.0),)


def test_set_auth_refuses_what_it_does_not_know() -> None:
    with pytest.raises(MoxTypeError) as unknown:
        mox.set_auth(servr="x")
    assert str(unknown.value) == "set_auth() has no argument 'servr'. Did you mean 'server'?"
    with pytest.raises(MoxValueError, match=r"timeout_config has no operation 'getObjectMetadat'"):
        mox.set_auth(timeout_config={"getObjectMetadat": 1})
    with pytest.raises(MoxValueError, match=r"set_auth\(retry=0\) must be from 1 to 1000"):
        mox.set_auth(retry=0)
    with pytest.raises(MoxValueError, match="SECRET_ACCESS_KEY is not set"):
        mox.set_auth(ak="only")
    assert settings.current().access_key is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("S3_USE_HTTPS", "maybe", "environment variable S3_USE_HTTPS='maybe' must be 1 or 0"),
        (
            "MOX_FILE_RETRY",
            "x",
            "environment variable MOX_FILE_RETRY='x' must be a number from 1 to 1000",
        ),
        (
            "MOX_FILE_CLIENT_TIMEOUT",
            "99999999",
            "environment variable MOX_FILE_CLIENT_TIMEOUT='99999999' must be a number from 0.1 to"
            " 86400",
        ),
        (
            "MOX_FILE_LIST_MAX_KEYS",
            "1.5",
            "environment variable MOX_FILE_LIST_MAX_KEYS=1.5 must be a whole number",
        ),
    ],
)
def test_bad_variables_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv("S3_ENDPOINT", "localhost")
    monkeypatch.setenv(name, value)
    with pytest.raises(MoxValueError) as error:
        settings.current()
    assert str(error.value) == message


def test_a_long_value_of_a_variable_is_shown_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_TASK_NUM", "a" * 10_000)
    with pytest.raises(MoxValueError, match="TASK_NUM='aaa") as error:
        tuning.current()
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("server", ["http://user:pass@host", "host/path", "host:port", "http://"])
def test_bad_endpoint_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("S3_ENDPOINT", server)
    with pytest.raises(MoxValueError, match="must be host, host:port or a URL") as error:
        mox.exists("s3://bucket/a")
    assert "pass@" not in str(error.value)


def test_without_an_endpoint_every_function_fails_at_once(tmp_path: Path) -> None:
    url = "s3://bucket/a"
    calls = (
        lambda: mox.read(url),
        lambda: mox.write(url, ""),
        lambda: mox.append(url, ""),
        lambda: mox.append_remote(url, url),
        lambda: mox.exists(url),
        lambda: mox.is_directory(url),
        lambda: mox.stat(url),
        lambda: mox.get_size(url),
        lambda: mox.list_directory(url),
        lambda: mox.scan_dir(url),
        lambda: list(mox.walk(url)),
        lambda: mox.glob(f"{url}/*"),
        lambda: mox.make_dirs(url),
        lambda: mox.mk_dir(url),
        lambda: mox.remove(url),
        lambda: mox.rename(url, str(tmp_path / "b")),
        lambda: mox.copy(url, str(tmp_path / "b")),
        lambda: mox.copy_parallel(url, str(tmp_path / "b")),
        lambda: mox.copy_parallel(str(tmp_path), url),
        lambda: mox.background_sync_copy(str(tmp_path), url),
        lambda: mox.File(url),
    )
    began = time.monotonic()
    for call in calls:
        with pytest.raises(MoxRuntimeError, match=r"^no S3/OBS endpoint configured \(S3_ENDPOINT"):
            call()
    assert time.monotonic() - began < 20  # No wait, as none of them can be tried again.


def test_message_without_an_endpoint_says_what_to_set() -> None:
    with pytest.raises(MoxRuntimeError) as error:
        mox.exists("obs://bucket/a")
    assert str(error.value) == (
        "no S3/OBS endpoint configured (S3_ENDPOINT is not set), so obs://bucket/a can't be "
        "reached. Set the environment variable S3_ENDPOINT, such as "
        "S3_ENDPOINT=obs.cn-north-4.myhuaweicloud.com with ACCESS_KEY_ID and SECRET_ACCESS_KEY, or "
        "call mox.file.set_auth(ak=..., sk=..., server=...). To work without a store, set "
        "MOX_FILE_S3_ROOT to a local directory that holds the buckets."
    )


def test_keys_show_nowhere(bucket: str, caplog: Any, capfd: Any) -> None:
    secret, key = "mox-test-secret-key-0123456789", "AKIAMOXTESTACCESSKEY"
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        mox.write(f"{bucket}/a", "x")
        errors = []
        for call in (lambda: mox.read(f"{bucket}/none"), lambda: mox.stat("s3://no-such-bucket/x")):
            with pytest.raises(mox.MoxFileNotExistsException) as error:
                call()
            errors.append(f"{error.value} {error.value!r} {error.value.resp!r}")
    finally:
        logging.getLogger().setLevel(logging.WARNING)
    seen = [caplog.text, *capfd.readouterr(), *errors, repr(settings.current())]
    seen.append(repr(pickle.dumps(error.value)))
    for text in seen:
        assert secret not in text
        assert key not in text


def test_large_file_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from moxing.framework.file import file_io

    assert tuning.current().part_size == 10 << 20
    assert tuning.current().tasks == 32
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", str(6 << 20))
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_TASK_NUM", "4")
    monkeypatch.setenv("MOX_FILE_PARTIAL_MAXIMUM_SIZE", str(99 << 30))
    found = tuning.current()
    assert (found.part_size, found.tasks, found.split_above) == (6 << 20, 4, 5 << 30)
    assert found.upload_above == 64 << 20
    monkeypatch.setattr(file_io, "_LARGE_FILE_TASK_NUM", 1)
    monkeypatch.setattr(file_io, "_NUMBER_OF_PROCESSES", 1)
    assert (tuning.current().tasks, tuning.current().processes) == (1, 1)
    monkeypatch.setenv("MOX_FILE_LARGE_FILE_PART_SIZE", "1")
    assert tuning.current().part_size == 5 << 20


def test_staging_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DLS_LOCAL_CACHE_PATH", str(tmp_path / "dls"))
    assert tuning.staging_dir() == str(tmp_path / "dls")
    monkeypatch.setenv("MOX_FILE_CACHE_DIR", str(tmp_path / "own"))
    assert tuning.staging_dir() == str(tmp_path / "own")
    assert (tmp_path / "own").is_dir()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"retry": 3.5}, "set_auth(retry=3.5): a whole number is needed"),
        ({"list_max_keys": 10.0}, "set_auth(list_max_keys=10.0): a whole number is needed"),
        (
            {"server": "s3.example", "port": 99999},
            "set_auth(port=99999): a number from 1 to 65535 is needed",
        ),
        (
            {"timeout_config": {"getObject": 0}},
            "timeout_config['getObject'] is 0; seconds of at least 0.1 are needed",
        ),
        (
            {"timeout_config": {"read": "1"}},
            "timeout_config['read'] is '1'; seconds of at least 0.1 are needed",
        ),
    ],
)
def test_set_auth_refuses_numbers_that_a_request_would(given: Any, message: str) -> None:
    with pytest.raises(MoxValueError) as error:
        mox.set_auth(**given)
    assert str(error.value) == message
    assert settings.current() == settings.Settings()


def test_port_may_be_text() -> None:
    mox.set_auth(server="127.0.0.1", port="9000", is_secure=False)  # type: ignore[arg-type]
    assert settings.current().endpoint == "http://127.0.0.1:9000"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("se\ncret", "is no text of plain ASCII characters"),
        ("se\u00fccret", "is no text of plain ASCII characters"),
        ("se cret", "has a space in it"),
    ],
)
@pytest.mark.parametrize(
    ("variable", "argument"),
    [("ACCESS_KEY_ID", "ak"), ("SECRET_ACCESS_KEY", "sk"), ("SECURITY_TOKEN", "security_token")],
)
def test_what_is_no_key_gets_into_no_request_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, argument: str, value: str, fault: str
) -> None:
    monkeypatch.setenv("ACCESS_KEY_ID", "a")
    monkeypatch.setenv("SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv(variable, value)
    with pytest.raises(MoxValueError) as error:
        settings.current()
    assert str(error.value) == (
        f"the object store's {variable} (or {argument}= of mox.file.set_auth) {fault}; copy it "
        "again"
    )


def test_files_wait_on_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLS_LOCAL_CACHE_PATH", "s3://bucket/cache")
    with pytest.raises(MoxValueError) as caught:
        tuning.staging_dir()
    assert str(caught.value) == (
        "MOX_FILE_CACHE_DIR, or DLS_LOCAL_CACHE_PATH, is s3://bucket/cache: files wait there on the"
        " way to a store, so it must be a folder of this machine"
    )
    assert list(tmp_path.iterdir()) == []
