"""The secret of a job: reads it, and makes proofs and seals with it."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from moxing.errors import MoxValueError, shown

VARIABLE, FILE_VARIABLE = "MOX_JOB_SECRET", "MOX_JOB_SECRET_FILE"
_LEAST, _MOST = 16, 1024  # Characters.
_HASH = "sha256"
_COUNT_BYTES = 8
HOW_TO_MAKE = f"(umask 077; openssl rand -hex 32 > FILE), and {FILE_VARIABLE}=FILE"


@dataclass(frozen=True)
class Secret:
    """A text that the tasks of one job share; no message, log or repr shows it.

    A proof or a key is the HMAC (RFC 2104, with SHA-256) of a purpose and of two random numbers, of
    which each side chooses one. So no proof can be used a second time, for another purpose, or
    against the side that made it.
    """

    _text: bytes = field(repr=False)

    def proof(self, purpose: str, ask: str, answer: str) -> str:
        """Returns the proof of the secret over two random numbers, in hexadecimal."""
        return self._derive(f"proof of {purpose}", ask, answer).hex()

    def proves(self, proof: object, purpose: str, ask: str, answer: str) -> bool:
        """Whether a holder of the secret has made a stranger's `proof`."""
        expected = self.proof(purpose, ask, answer)
        # compare_digest takes text of ASCII only.
        if not isinstance(proof, str) or not proof.isascii():
            return False
        return hmac.compare_digest(proof, expected)

    def seal(self, sender: str, ask: str, answer: str) -> Seal:
        """Returns the seal of the messages of one side of a connection."""
        return Seal(self._derive(f"seal of {sender}", ask, answer))

    def _derive(self, purpose: str, ask: str, answer: str) -> bytes:
        # Each part's length goes first, so that no two lists of parts have the same bytes.
        parts = [part.encode() for part in ("openmox", purpose, ask, answer)]
        whole = b"".join(len(part).to_bytes(_COUNT_BYTES, "big") + part for part in parts)
        return hmac.digest(self._text, whole, _HASH)


class Seal:
    """Marks the messages of one direction of one connection: their content, order and number."""

    SIZE = 2 * 32  # Characters of a mark.

    def __init__(self, key: bytes) -> None:
        self._key, self._count = key, 0

    def next(self, body: bytes) -> bytes:
        """The mark of the next message."""
        count = self._count.to_bytes(_COUNT_BYTES, "big")
        self._count += 1
        return hmac.digest(self._key, count + body, _HASH).hex().encode()

    def opened(self, line: bytes) -> bytes | None:
        """Returns the next message without its mark; None if no holder of the secret sent it."""
        body, _, mark = line.rpartition(b" ")
        return body if hmac.compare_digest(self.next(body), mark) else None


def new() -> str:
    """Returns a new secret: 256 random bits, in hexadecimal."""
    return secrets.token_hex(32)


def read(environ: Mapping[str, str]) -> Secret | None:
    """Returns the secret of the environment, or of the file it names; None if there is none.

    Raises:
        MoxValueError: the environment has two secrets, the secret is too short or too long, or
            other users could read or write its file. No message shows the secret.
    """
    given, path = environ.get(VARIABLE), environ.get(FILE_VARIABLE)
    if given is None and path is None:
        return None
    if given is not None and path is not None:
        raise MoxValueError(f"{VARIABLE} and {FILE_VARIABLE} are both set; leave one of them out.")
    if given is not None:
        return _checked(given.encode("utf-8", "surrogateescape"), VARIABLE)
    return _checked(_content(path or ""), f"{FILE_VARIABLE}={shown(path, plain=True)}")


def _checked(text: bytes, where: str) -> Secret:
    text = text.strip()
    if not _LEAST <= len(text) <= _MOST:
        length = f"more than {_MOST}" if len(text) > _MOST else str(len(text))
        raise MoxValueError(
            f"{where}: the job's secret has {length} characters; it needs {_LEAST} to {_MOST}, at"
            f" random: {HOW_TO_MAKE}."
        )
    return Secret(text)


def _content(path: str) -> bytes:
    """Returns the text of a file that only this user can read and write."""
    where = f"{FILE_VARIABLE}={shown(path, plain=True)}"
    try:
        # Without O_NONBLOCK, a named pipe would make this wait forever.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise MoxValueError(
            f"{where}: the file of the job's secret can't be read: {reason}. Make one and copy it"
            f" to each machine: {HOW_TO_MAKE}."
        ) from None
    try:
        if problem := _problem(os.fstat(number)):
            raise MoxValueError(f"{where}: {problem}: {HOW_TO_MAKE}.")
        return os.read(number, 2 * _MOST)
    finally:
        os.close(number)


def _problem(found: os.stat_result) -> str:
    """Says why a file is not safe for a secret; "" if it is."""
    if not stat.S_ISREG(found.st_mode):
        return "this is not a file, and so can't hold the job's secret. Make one"
    if found.st_uid not in (os.geteuid(), 0):
        return (
            f"the file of the job's secret belongs to the user with the number {found.st_uid}, who"
            " may have written anything there. Make one of your own"
        )
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return (
            f"its mode {stat.S_IMODE(found.st_mode):04o} lets other users have the job's secret."
            " Make a new one that nobody has seen, of mode 0600"
        )
    return ""
