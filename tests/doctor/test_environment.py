"""Variables of the environment that `mox doctor` mentions."""

from __future__ import annotations

import pytest

from moxing.doctor import environment
from moxing.doctor.finding import NOTE, Finding


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, []),
        ({"http_proxy": "", "no_proxy": "a", "CUDA_VISIBLE_DEVICES": "0"}, []),
        (
            {"http_proxy": "http://p:1", "https_proxy": "http://p:1", "no_proxy": "a,b"},
            [
                Finding(
                    NOTE,
                    "proxy",
                    "https_proxy, http_proxy is set; the hosts of a cluster must be in no_proxy,"
                    " which is a,b",
                )
            ],
        ),
        (
            {"CUDA_VISIBLE_DEVICES": "-1"},
            [Finding(NOTE, "GPUs", "CUDA_VISIBLE_DEVICES=-1 hides every GPU")],
        ),
    ],
)
def test_environment(environ: dict[str, str], found: list[Finding]) -> None:
    assert list(environment.findings(environ)) == found
