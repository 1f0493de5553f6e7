"""The settings of a job's pods beside the program: variables, secrets, volumes, resources."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from moxing.errors import MoxValueError, shown
from moxing.framework.file.urls import is_remote
from moxing.framework.secret_names import has_credentials, is_secret

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OBJECT = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_KEY = re.compile(
    r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_QUANTITY = re.compile(r"\d{1,15}(\.\d{1,9})?(m|[kMGTPE]i?|Ki)?")
_QUANTITIES = {"cpu": "4 or 500m", "memory": "16Gi or 512Mi", "shm": "8Gi or 512Mi"}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
LONGEST_JOB = 48  # Pods add up to 15 characters to a job's name, and have at most 63.
_LONGEST_LABEL = 63
_WRITTEN = ("train_url", "log_dir", "model_dir")


@dataclass(frozen=True)
class Pods:
    """The settings of each pod of a job.

    Attributes:
        image: the container image, which holds the program and openmox.
        grace: seconds that a pod has to save and exit when it is told to stop.
        environ: variables and their values, in plain text.
        secrets: names of Secrets, each key of which becomes a variable.
        volumes: names of PersistentVolumeClaims, each with its mount path.
        gpus: GPUs of each worker; None for none.
        name: the name of the job; empty for a name made from the script's name.
        namespace: the namespace of all objects; empty for kubectl's current namespace.
        cpu, memory: quantities that each pod requests, such as `4` and `16Gi`; empty for no
            request.
        shared_memory: size of /dev/shm, such as `8Gi`; empty for the container engine's 64 MB.
        node_selector: labels of the nodes to run on.
        tolerations: taints of nodes that the pods tolerate, as Kubernetes writes them.
        service_account: name of a ServiceAccount; empty for the namespace's default.
        pull_secrets: names of the Secrets that open the image's registry.
    """

    image: str
    grace: float
    environ: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()
    gpus: int | None = None
    name: str = ""
    namespace: str = ""
    cpu: str = ""
    memory: str = ""
    shared_memory: str = ""
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[tuple[tuple[str, str], ...], ...] = ()
    service_account: str = ""
    pull_secrets: tuple[str, ...] = ()


def pods(given: Mapping[str, Any], grace: float) -> Pods:
    """Reads the settings from flags.

    Args:
        given: the values of the flags by name, as argparse has them.
        grace: seconds that a pod has to save and exit.

    Raises:
        MoxValueError: a value is not valid, or a secret is given in plain text.
    """
    gpus = given["gpu"] if given["gpu"] is not None else given["num_gpus"]
    if gpus is not None and gpus < 0:
        raise MoxValueError(f"--gpu={gpus} is negative.")
    found = Pods(
        given["image"],
        grace,
        environ=tuple(_variable(text) for text in given["env"]),
        secrets=tuple(_secret(text) for text in given["secret"]),
        volumes=tuple(_volume(text) for text in given["volume"]),
        gpus=gpus,
        name=_short_name("name", given["name"], LONGEST_JOB),
        namespace=_short_name("namespace", given["namespace"], _LONGEST_LABEL),
        cpu=_quantity("cpu", given["cpu"]),
        memory=_quantity("memory", given["memory"]),
        shared_memory=_quantity("shm", given["shm"]),
        node_selector=tuple(_label(text) for text in given["node_selector"]),
        tolerations=tuple(_toleration(text) for text in given["toleration"]),
        service_account=_object("service-account", given["service_account"]),
        pull_secrets=tuple(_object("pull-secret", text) for text in given["pull_secret"]),
    )
    for flag, names in (
        ("env", [name for name, _ in found.environ]),
        ("secret", found.secrets),
        ("volume", [path for _, path in found.volumes]),
        ("node-selector", [name for name, _ in found.node_selector]),
        ("pull-secret", found.pull_secrets),
    ):
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise MoxValueError(f"--{flag} is given twice for {twice}.")
    return found


def lost(arguments: Sequence[str], given: Pods) -> list[str]:
    """Returns a warning for each flag of the program that names a path on a pod's own disk."""
    sentences = []
    for name, path in _flags(arguments):
        mounted = (_is_below(path, place) for _, place in given.volumes)
        if name in _WRITTEN and path and not is_remote(path) and not any(mounted):
            sentences.append(
                f"--{name}={path} is each pod's own disk: files saved there are lost with the pod,"
                " and no restart goes on from them. Use a store (s3://...), or"
                " --volume=CLAIM:/path."
            )
    return sentences


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise MoxValueError(f"--env={shown(name, plain=True)} must be NAME=VALUE.")
    if name == "TF_CONFIG":
        raise MoxValueError("--env=TF_CONFIG: the job sets TF_CONFIG itself, for each pod.")
    if is_secret(name) or has_credentials(value):
        raise MoxValueError(
            f"--env={name}=... looks like a secret, which everybody who may read the job would see."
            " Put it into a Secret (kubectl create secret generic NAME --from-env-file=FILE) and"
            " give --secret=NAME."
        )
    return name, value


def _secret(text: str) -> str:
    name, equals, _ = text.partition("=")
    if equals or not _OBJECT.fullmatch(name):
        # The message leaves out the text after the sign, which may be secret.
        raise MoxValueError(
            f"--secret={shown(name, plain=True)}{'=...' if equals else ''} is no name of a Secret;"
            " it has lower-case letters, digits, '-' and '.'. Its keys become variables."
        )
    return name


def _short_name(flag: str, text: str | None, longest: int) -> str:
    if text is None or _LABEL.fullmatch(text) and len(text) <= longest and not text[0].isdigit():
        return text or ""
    raise MoxValueError(
        f"--{flag}={shown(text, plain=True)} must be a name of at most {longest} lower-case"
        " letters, digits and '-' that begins with a letter."
    )


def _object(flag: str, text: str | None) -> str:
    rule = (
        "is no name of an object of Kubernetes; such a name has lower-case letters, digits, '-' and"
        " '.'."
    )
    return _matching(flag, text, _OBJECT, rule)


def _quantity(flag: str, text: str | None) -> str:
    rule = f"is no quantity of Kubernetes. Write {_QUANTITIES[flag]}."
    return _matching(flag, text, _QUANTITY, rule)


def _matching(flag: str, text: str | None, form: re.Pattern[str], rule: str) -> str:
    if text is None or form.fullmatch(text):
        return text or ""
    raise MoxValueError(f"--{flag}={shown(text, plain=True)} {rule}")


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key) or not (_VALUE.fullmatch(value) or not value):
        raise MoxValueError(
            f"--node-selector={shown(text, plain=True)} must be KEY=VALUE, a label of nodes."
        )
    return key, value


def _toleration(text: str) -> tuple[tuple[str, str], ...]:
    """Returns the fields of a toleration; `KEY` tolerates any value, and no effect means all."""
    taint, colon, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    if (
        not _KEY.fullmatch(key)
        or (value and not _VALUE.fullmatch(value))
        or (colon and effect not in _EFFECTS)
    ):
        raise MoxValueError(
            f"--toleration={shown(text, plain=True)} must be KEY, KEY=VALUE, or either with"
            f" {', '.join(f':{one}' for one in _EFFECTS)}."
        )
    fields = [("key", key), ("operator", "Equal" if equals else "Exists")]
    fields += [("value", value)] if equals else []
    return tuple([*fields, ("effect", effect)] if colon else fields)


def _volume(text: str) -> tuple[str, str]:
    claim, _, path = text.partition(":")
    whole = re.sub("^/+", "/", posixpath.normpath(path)) if path else ""
    if not _OBJECT.fullmatch(claim) or not whole.startswith("/") or ":" in whole:
        raise MoxValueError(
            f"--volume={shown(text, plain=True)} must be CLAIM:/path: the name of a"
            " PersistentVolumeClaim, and where the pods find it."
        )
    if whole == "/":
        raise MoxValueError(f"--volume={text} would hide the whole image; mount it below /.")
    return claim, whole


def _flags(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Returns the flags of a program and their values, written as one word or as two."""
    found = []
    for word, following in pairwise([*arguments, ""]):
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            found.append((name, value if equals else following))
    return found


def _is_below(path: str, place: str) -> bool:
    whole = posixpath.normpath(path)
    return whole == place or whole.startswith(f"{place}/")
