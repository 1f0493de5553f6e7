"""Processes without the job's secret can't join or end a job, and are told why."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moxing.cluster import secret
from moxing.cluster.cluster import Cluster
from moxing.cluster.failure import MissingPeerError
from moxing.cluster.rendezvous import dial as dialing
from moxing.cluster.rendezvous import handshake, meeting
from moxing.cluster.secret import Secret
from moxing.cluster.wire import Link
from moxing.errors import MoxError, MoxRuntimeError, MoxValueError, shown

TEXT = "correct horse battery staple"
SECRET, OTHER = Secret(TEXT.encode()), Secret(b"another secret, also long")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialing, "_FOREIGN_SECONDS", 0.5)
    monkeypatch.setattr(dialing, "_RETRY_SECONDS", 0.02)


class Task(threading.Thread):
    """A task that meets the others of its cluster, in a thread."""

    def __init__(self, cluster: Cluster, limit: float = 20) -> None:
        super().__init__(daemon=True)
        self.cluster, self.limit = cluster, limit
        self.links: dict[str, Link] = {}
        self.error: MoxError | None = None
        self.start()

    def run(self) -> None:
        try:
            self.links = meeting.meet(self.cluster, {}, self.limit)
        except MoxError as error:
            self.error = error

    def end(self) -> Task:
        self.join(30)
        assert not self.is_alive()
        for link in self.links.values():
            link.close()
        return self


def clusters(ports: Callable[[int], list[str]], *secrets: Secret | None) -> list[Cluster]:
    workers = tuple(ports(len(secrets)))
    return [Cluster(workers, index=i, secret=one) for i, one in enumerate(secrets)]


def dialed(cluster: Cluster) -> socket.socket:
    host, port = cluster.workers[0].split(":")
    deadline = time.monotonic() + 20
    while True:
        try:
            connection = socket.create_connection((host, int(port)), timeout=5)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            connection.settimeout(5)
            return connection


def said(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def plain(connection: socket.socket) -> dict[str, Any] | None:
    """The next message of who has not sealed it; None: the connection has ended."""
    data = b""
    while not data.endswith(b"\n"):
        part = connection.recv(1)
        if not part:
            return None
        data += part
    return json.loads(data)


def test_tasks_with_one_secret_meet_and_seal_what_they_send(ports, caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        tasks = [Task(cluster) for cluster in clusters(ports, SECRET, SECRET, SECRET)]
        for task in tasks:
            task.join(20)
    assert [task.error for task in tasks] == [None] * 3
    tasks[0].links["worker 2"].send({"kind": "beat", "step": 4})
    link, messages, deadline = tasks[2].links["worker 0"], [], time.monotonic() + 10
    while not messages and time.monotonic() < deadline:
        messages = link.receive()
    assert messages == [{"kind": "beat", "step": 4}]
    # A message without its mark, on the very connection, ends it.
    tasks[2].links["worker 0"].socket.sendall(said({"kind": "event", "name": "failed"}))
    link = tasks[0].links["worker 2"]
    while link.lost is None and time.monotonic() < deadline:
        assert link.receive() == []
    assert link.lost == "it sent what no holder of the job's secret has sealed"
    for task in tasks:
        task.end()
    assert not any("no secret" in text or TEXT in text for text in caplog.messages)


def test_a_job_without_a_secret_says_so(ports, caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        tasks = [Task(cluster) for cluster in clusters(ports, None, None)]
        assert [task.end().error for task in tasks] == [None, None]
    assert (
        "The job has no secret: until its start, whoever reached worker 0 could have joined or"
        " ended it. MOX_JOB_SECRET keeps others out"
    ) in caplog.messages


@pytest.mark.parametrize("wrong", [None, OTHER])
def test_who_lacks_the_secret_is_told_and_ends_nobody_s_job(ports, caplog, wrong):
    chief, right = clusters(ports, SECRET, SECRET)
    stranger = dataclasses.replace(right, secret=wrong)
    with caplog.at_level("INFO", logger="tensorflow"):
        first = Task(chief)
        dialed(chief).close()
        lost = Task(stranger).end()
        second = Task(right)
        assert [first.end().error, second.end().error] == [None, None]
    address = chief.workers[0]
    if wrong is None:
        assert type(lost.error) is MoxRuntimeError
        assert str(lost.error) == (
            f"worker 0, the chief ({address}), takes only tasks that have the job's secret. Start"
            " this task as the others were, with MOX_JOB_SECRET or MOX_JOB_SECRET_FILE, and with"
            " the same version of openmox."
        )
    else:
        assert type(lost.error) is MissingPeerError
        assert str(lost.error) == (
            f"The program that answers in place of worker 0, the chief ({address}) does not have"
            " this task's secret of the job: it is no task of this job, or was"
            " started without the same MOX_JOB_SECRET or MOX_JOB_SECRET_FILE."
        )
    dropped = [text for text in caplog.messages if text.startswith("Dropped the connection")]
    assert 1 <= len(dropped) <= 3
    assert all(text.endswith("it has not proven that it has the job's secret") for text in dropped)
    assert not any(TEXT in text for text in caplog.messages)


def test_a_secret_in_one_task_only_ends_both_with_a_sentence(ports):
    tasks = [Task(cluster) for cluster in clusters(ports, None, SECRET)]
    chief, worker = (task.end() for task in tasks)
    reason = (
        f"A task has a secret for this job, but worker 0, the chief ({chief.cluster.workers[0]}),"
        " has none. Start all tasks with the same MOX_JOB_SECRET or MOX_JOB_SECRET_FILE, or all"
        " without."
    )
    assert str(chief.error) == reason
    assert "does not have this task's secret of the job: " in str(worker.error)
    assert str(worker.error).endswith(f" It says: {shown(reason)}")


def relay(ports, chief: Cluster) -> tuple[str, list[bytes], Callable[[], None]]:
    """An address in front of the chief's, and what a task says through it."""
    (address,) = ports(1)
    host, port = address.split(":")
    server, heard = socket.create_server((host, int(port))), []

    def pump(source: socket.socket, target: socket.socket, keep: bool) -> None:
        try:
            while data := source.recv(65536):
                if keep:
                    heard.append(data)
                target.sendall(data)
        except OSError:
            pass

    def serve() -> None:
        near, _ = server.accept()
        far = dialed(chief)
        far.settimeout(None)
        threading.Thread(target=pump, args=(near, far, True), daemon=True).start()
        pump(far, near, False)

    threading.Thread(target=serve, daemon=True).start()
    return address, heard, server.close


def test_what_was_heard_of_one_meeting_opens_no_other(ports, monkeypatch):
    chief, worker = clusters(ports, SECRET, SECRET)
    first = Task(chief)
    address, heard, close = relay(ports, chief)
    host, port = address.split(":")
    monkeypatch.setattr(dialing, "split", lambda _: (host, int(port)))
    second = Task(worker)
    assert [first.end().error, second.end().error] == [None, None]
    close()
    monkeypatch.undo()
    question, greeting = b"".join(heard).split(b"\n")[:2]
    assert b'"hello"' in greeting

    again = Task(chief)
    with dialed(chief) as replayed:
        replayed.sendall(question + b"\n")
        assert (plain(replayed) or {})["kind"] == "proof"
        replayed.sendall(greeting + b"\n")
        assert replayed.recv(100) == b""
    assert again.is_alive()
    real = Task(worker)
    assert [again.end().error, real.end().error] == [None, None]


def test_the_chief_s_own_proof_opens_no_connection(ports):
    """Neither as the mark of a greeting, nor by two connections that play on each other."""
    chief, worker = clusters(ports, SECRET, SECRET)
    task = Task(chief)
    hello = handshake.hello(worker, {})
    with dialed(chief) as one, dialed(chief) as two:
        one.sendall(said(handshake.question()))
        proof = plain(one)
        assert proof is not None
        # The second connection asks with the number of the first one's proof, and gets another.
        two.sendall(said({**handshake.question(), "nonce": proof["nonce"]}))
        other = plain(two)
        assert other is not None
        body = json.dumps(hello, separators=(",", ":")).encode()
        one.sendall(body + b" " + other["proof"].encode() + b"\n")
        two.sendall(body + b" " + proof["proof"].encode() + b"\n")
        assert [one.recv(100), two.recv(100)] == [b"", b""]
    assert task.is_alive()
    assert [Task(worker).end().error, task.end().error] == [None, None]


@pytest.mark.parametrize("sealed", [False, True])
def test_a_greeting_without_a_mark_is_none_though_it_comes_with_the_question(ports, sealed):
    chief, worker = clusters(ports, SECRET, SECRET)
    task = Task(chief)
    hello = said(handshake.hello(worker, {}))
    if sealed:
        hello = hello[:-1] + b" " + b"0" * 64 + b"\n"
    with dialed(chief) as stranger:
        stranger.sendall(said(handshake.question()) + hello)
        assert (plain(stranger) or {})["kind"] == "proof"
        assert stranger.recv(100) == b""
    assert task.is_alive()
    assert [Task(worker).end().error, task.end().error] == [None, None]


Answer = Callable[[dict[str, Any]], bytes]
START = said({"kind": "start", "job": "x"})
IMPOSTORS: dict[str, Answer] = {
    "an earlier version's words": lambda asked: said({"kind": "waiting", "missing": []}) + START,
    "the start": lambda asked: START,
    "a refusal": lambda asked: said({"kind": "refused", "reason": "go\x1b[2J away"}),
    "the question itself": said,
    "a proof with its own number": lambda asked: said({**asked, "kind": "proof", "proof": "00"}),
    "a proof for other numbers": lambda asked: said(
        {**handshake.answer(SECRET, handshake.question()), "kind": "proof"}
    ),
    # As one who sits between a task and the chief would: the proof is real, the start is not.
    "a real proof and a start": lambda asked: said(handshake.answer(SECRET, asked)) + START,
    "a real proof and a refusal": lambda asked: (
        said(handshake.answer(SECRET, asked))
        + said({"kind": "refused", "reason": "x", "again": False})
    ),
}


@pytest.mark.parametrize("name", IMPOSTORS)
def test_a_task_believes_nothing_that_is_not_proven(ports, name: str):
    impostor = IMPOSTORS[name]
    chief, worker = clusters(ports, SECRET, SECRET)
    host, port = chief.workers[0].split(":")
    said_by_task: list[bytes] = []
    with socket.create_server((host, int(port))) as server:
        server.settimeout(0.1)
        task = Task(worker, limit=1.2)
        while task.is_alive():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(1)
                try:
                    asked = plain(connection)
                    assert asked is not None
                    connection.sendall(impostor(asked))
                    said_by_task.append(connection.recv(65536))
                except (OSError, ValueError):
                    pass
        error = task.end().error
    assert isinstance(error, MissingPeerError)
    assert "\x1b" not in str(error)
    # Nothing of the program is told to who has proven nothing.
    assert any(b"facts" in data for data in said_by_task) == name.startswith("a real proof")


def test_one_impostor_for_a_moment_ends_no_task(ports):
    chief, worker = clusters(ports, SECRET, SECRET)
    host, port = chief.workers[0].split(":")
    with socket.create_server((host, int(port))) as server:
        task = Task(worker)
        connection, _ = server.accept()
        with connection:
            plain(connection)
            connection.sendall(said({"kind": "refused", "reason": "no"}))
            connection.recv(10)
    assert [Task(chief).end().error, task.end().error] == [None, None]


def old_greeting(cluster: Cluster) -> bytes:
    return said({**handshake.hello(cluster, {}), "protocol": 1})


def test_an_older_version_gets_a_sentence(ports):
    for own in (SECRET, None):
        chief, worker = clusters(ports, own, own)
        task = Task(chief, limit=3)
        with dialed(chief) as old:
            old.sendall(old_greeting(worker))
            told = plain(old)
            while told is not None and told["kind"] != "refused":
                told = plain(old)
        assert told is not None
        if own is None:
            assert " runs another version of openmox (" in str(task.end().error)
        else:
            assert " and with the same version of openmox." in told["reason"]
            assert [Task(worker).end().error, task.end().error] == [None, None]


def test_an_older_chief_closes_and_is_said_to_have_proven_nothing(ports):
    chief, worker = clusters(ports, SECRET, SECRET)
    host, port = chief.workers[0].split(":")
    with socket.create_server((host, int(port))) as server:
        server.settimeout(0.1)
        task = Task(worker, limit=0.5)
        while task.is_alive():
            try:
                server.accept()[0].close()
            except TimeoutError:
                continue
        error = str(task.end().error)
    assert "without a proof that it has the job's secret (MOX_JOB_SECRET)" in error


def sealed_pair() -> tuple[Link, Link]:
    near, far = (Link(one) for one in socket.socketpair())
    handshake.seal(near, SECRET, handshake.TASK, "a", "b")
    handshake.seal(far, SECRET, handshake.CHIEF, "a", "b")
    return near, far


@pytest.mark.parametrize("order", [[0, 0], [1], [1, 0], [0, 2]])
def test_repeated_left_out_or_exchanged_messages_end_a_sealed_link(order):
    near, far = sealed_pair()
    for number in range(3):
        near.send({"kind": "value", "n": number})
    lines = far.socket.recv(65536).splitlines(keepends=True)
    with near.socket, far.socket:
        near.socket.sendall(b"".join(lines[i] for i in order))
        messages = far.receive()
        assert [message["n"] for message in messages] == ([0] if order[0] == 0 else [])
        assert (far.unsealed, far.lost is None) == (True, False)
        assert far.receive() == []


def test_a_message_that_comes_back_to_its_sender_ends_a_sealed_link():
    near, far = sealed_pair()
    with near.socket, far.socket:
        near.send({"kind": "beat"})
        far.socket.sendall(far.socket.recv(65536))
        assert near.receive() == []
        assert near.unsealed


def test_no_representation_and_no_copy_shows_the_secret():
    cluster = Cluster(("a:1", "b:1"), secret=SECRET)
    moved = dataclasses.replace(cluster, index=1)
    assert moved.secret is SECRET
    assert TEXT not in f"{cluster!r} {moved} {SECRET!r} {SECRET}"


def written(path: Path, text: str = f"{TEXT}\n", mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_the_secret_is_read_from_the_environment_or_a_file(tmp_path):
    path = written(tmp_path / "secret")
    assert secret.read({}) is None
    assert secret.read({"MOX_JOB_SECRET": f" {TEXT} "}) == SECRET
    assert secret.read({"MOX_JOB_SECRET_FILE": path}) == SECRET
    link = tmp_path / "link"  # As Kubernetes mounts Secrets.
    link.symlink_to(path)
    assert secret.read({"MOX_JOB_SECRET_FILE": str(link)}) == SECRET
    assert len(secret.new()) == 64
    assert secret.new() != secret.new()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: written(path, "short and secre"), "has 15 characters; it needs 16 to 1024"),
        (lambda path: written(path, "x" * 5000), "has more than 1024 characters"),
        (lambda path: written(path, ""), "has 0 characters"),
        (lambda path: written(path, mode=0o640), "its mode 0640 lets other users have the job's"),
        (lambda path: written(path, mode=0o602), "its mode 0602 lets other users"),
        (lambda path: str(path / "none"), "can't be read: No such file or directory. Make one"),
        (lambda path: str(path.parent), "is not a file"),
        (lambda path: "/dev/zero", "is not a file"),
        (lambda path: "a\0b", "can't be read: embedded null byte"),
        (lambda path: os.mkfifo(path, 0o600) or str(path), "is not a file"),
    ],
)
def test_a_file_that_cannot_be_the_secret(tmp_path, make, message):
    path = make(tmp_path / "secret")
    with pytest.raises(MoxValueError) as error:
        secret.read({"MOX_JOB_SECRET_FILE": path})
    assert message in str(error.value)
    assert "secre\n" not in str(error.value)
    assert str(error.value).isprintable()
    assert error.value.__cause__ is None


def test_a_file_of_another_user(tmp_path, monkeypatch):
    path = written(tmp_path / "secret")
    owner = os.stat(path).st_uid
    monkeypatch.setattr(secret.os, "geteuid", lambda: owner + 7)
    if owner == 0:  # Root may write everywhere, and can be trusted with a file.
        os.chown(path, 1234, 1234)
    with pytest.raises(MoxValueError, match="belongs to the user with the number"):
        secret.read({"MOX_JOB_SECRET_FILE": path})


@pytest.mark.parametrize("text", ["", "   ", "too short", "x" * 1025])
def test_a_variable_that_cannot_be_the_secret(text):
    with pytest.raises(MoxValueError, match="characters; it needs 16 to 1024, at random") as error:
        secret.read({"MOX_JOB_SECRET": text})
    assert not text.strip() or text not in str(error.value)


def test_two_secrets_are_none():
    with pytest.raises(MoxValueError, match="are both set; leave one of them out"):
        secret.read({"MOX_JOB_SECRET": TEXT, "MOX_JOB_SECRET_FILE": "/x"})
