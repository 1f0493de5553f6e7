"""Reports environment variables that change how a program runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moxing.doctor.finding import NOTE, Finding

_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_NO_GPU = ("", "-1")


def findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Looks at the environment; yields a finding for each such variable.

    Args:
        environ: the environment variables.
    """
    proxies = [name for name in _PROXIES if environ.get(name)]
    if proxies:
        exempt = environ.get("no_grpc_proxy") or environ.get("no_proxy") or "empty"
        yield Finding(
            NOTE,
            "proxy",
            f"{', '.join(proxies)} is set; the hosts of a cluster must be in no_proxy, which is"
            f" {exempt}",
        )
    hidden = environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None and hidden.strip() in _NO_GPU:
        yield Finding(NOTE, "GPUs", f"CUDA_VISIBLE_DEVICES={hidden} hides every GPU")
