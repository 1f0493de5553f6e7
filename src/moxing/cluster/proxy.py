"""Refuses proxy variables that would redirect TensorFlow's traffic between the tasks."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from moxing.cluster.addresses import split
from moxing.cluster.cluster import Cluster
from moxing.errors import MoxValueError

# In the order in which gRPC reads them; it knows only the lower-case spellings.
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy")


def refuse(cluster: Cluster, environ: Mapping[str, str]) -> None:
    """Raises if gRPC would send a task's traffic to a proxy, and wait forever.

    Raises:
        MoxValueError: names the variable, the hosts, and the line that repairs it.
    """
    variable = next((name for name in _PROXIES if environ.get(name)), None)
    if variable is None:
        return
    hosts = list(dict.fromkeys(split(address)[0] for address in cluster.tasks.values()))
    name = next((name for name in _EXCEPTIONS if environ.get(name)), "no_proxy")
    exempt = [part.strip() for part in environ.get(name, "").split(",") if part.strip()]
    caught = [host for host in hosts if not any(_covers(part, host) for part in exempt)]
    if caught:
        raise MoxValueError(
            f"The environment variable {variable} would send TensorFlow's traffic for "
            f"{', '.join(caught)} to a proxy, which can't pass it on. Before the start, run: "
            f"export {name}={','.join([*exempt, *caught])} (or unset {variable} for this process)."
        )


def _covers(part: str, host: str) -> bool:
    if host == part or host.endswith(part if part.startswith(".") else f".{part}"):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(part, strict=False)
    except ValueError:
        return False
