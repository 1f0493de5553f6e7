"""What the pods of an emitted job get beside their program: variables, secrets, volumes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from moxing.errors import MoxValueError, shown
from moxing.framework.file.urls import is_remote

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OBJECT = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_SECRET_WORDS = {"SECRET", "PASSWORD", "PASSWD", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY"}
_SECRET_ENDS = ("ACCESS_KEY", "API_KEY", "PRIVATE_KEY", "ACCOUNT_KEY")
_PLACES = ("FILE", "PATH", "DIR", "URI", "URL")  # Say where a secret is, and are none.
_WRITTEN = ("train_url", "log_dir", "model_dir")


@dataclass(frozen=True)
class Pods:
    """What each pod gets.

    Attributes:
        image: of its container, which holds the program and openmox.
        grace: seconds to save and end in, when it is told to stop.
        environ: variables and their values, in clear.
        secrets: names of Secrets, of which each key becomes a variable.
        volumes: names of PersistentVolumeClaims, and where they are mounted.
    """

    image: str
    grace: float
    environ: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()


def pods(
    image: str, grace: float, env: Sequence[str], secret: Sequence[str], volume: Sequence[str]
) -> Pods:
    """What the flags of these names say.

    Raises:
        MoxValueError: a value that can't be, or a secret given in clear.
    """
    found = Pods(
        image,
        grace,
        tuple(_variable(text) for text in env),
        tuple(_secret(text) for text in secret),
        tuple(_volume(text) for text in volume),
    )
    for flag, names in (
        ("env", [name for name, _ in found.environ]),
        ("secret", found.secrets),
        ("volume", [path for _, path in found.volumes]),
    ):
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise MoxValueError(f"--{flag} is given twice for {twice}.")
    return found


def lost(arguments: Sequence[str], given: Pods) -> list[str]:
    """A sentence for each flag of the program that writes to a pod's own disk."""
    sentences = []
    for name, path in _flags(arguments):
        mounted = (_is_below(path, place) for _, place in given.volumes)
        if name in _WRITTEN and path and not is_remote(path) and not any(mounted):
            sentences.append(
                f"--{name}={path} is each pod's own disk: what is saved there is gone with the pod,"
                " and no restart goes on from it. Use a store (s3://...), or --volume=CLAIM:/path."
            )
    return sentences


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise MoxValueError(f"--env={shown(name, plain=True)} must be NAME=VALUE.")
    if name == "TF_CONFIG":
        raise MoxValueError("--env=TF_CONFIG: the training operator sets TF_CONFIG itself.")
    if _is_secret(name) or re.search(r"://[^/@\s]*:[^/@\s]+@", value):
        raise MoxValueError(
            f"--env={name}=... looks like a secret, which everybody who may read the job would see."
            " Put it into a Secret (kubectl create secret generic NAME --from-env-file=FILE) and"
            " give --secret=NAME."
        )
    return name, value


def _is_secret(name: str) -> bool:
    words = re.split(r"[_.-]", name.upper())
    if words[-1] in _PLACES:
        return False
    return bool(_SECRET_WORDS.intersection(words)) or "_".join(words).endswith(_SECRET_ENDS)


def _secret(text: str) -> str:
    name, equals, _ = text.partition("=")
    if equals or not _OBJECT.fullmatch(name):
        # What follows the sign may be secret.
        raise MoxValueError(
            f"--secret={shown(name, plain=True)}{'=...' if equals else ''} is no name of a Secret;"
            " it has lower-case letters, digits, '-' and '.'. Its keys become variables."
        )
    return name


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
    """The flags of a program and their values, written as one word or as two."""
    found = []
    for word, following in pairwise([*arguments, ""]):
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            found.append((name, value if equals else following))
    return found


def _is_below(path: str, place: str) -> bool:
    whole = posixpath.normpath(path)
    return whole == place or whole.startswith(f"{place}/")
