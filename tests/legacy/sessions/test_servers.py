"""Programs that start the servers of a cluster themselves, at different times."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import warm

from moxing import native_noise

PROGRAM = """
    import sys
    import tensorflow as tf

    tf.app.flags.DEFINE_string('job_name', '', '')
    tf.app.flags.DEFINE_string('ps', '', '')
    tf.app.flags.DEFINE_string('worker', '', '')
    FLAGS = tf.app.flags.FLAGS

    def main(_):
        cluster = tf.train.ClusterSpec({'ps': [FLAGS.ps], 'worker': [FLAGS.worker]})
        server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=0)
        print(FLAGS.job_name, 'is up', flush=True)
        with tf.device('/job:ps/task:0'):
            done = tf.FIFOQueue(1, tf.int32, shared_name='done')
        if FLAGS.job_name == 'ps':
            with tf.Session(server.target) as session:
                session.run(done.dequeue())
            return
        with tf.device(tf.train.replica_device_setter(cluster=cluster)):
            step = tf.Variable(0, name='global_step', trainable=False)
            w = tf.Variable([1.0, 2.0], name='w')
            train = tf.train.GradientDescentOptimizer(0.1).minimize(
                tf.reduce_sum(w * w), global_step=step)
            finished = done.enqueue(1)
        assert w.device == '/job:ps/task:0'
        supervisor = tf.train.Supervisor(is_chief=True, global_step=step)
        with supervisor.prepare_or_wait_for_session(server.target) as session:
            for _ in range(20):
                session.run(train)
            print('step', session.run(step), session.run('w:0').max() < 0.1)
            session.run(finished)
        supervisor.stop()

    if __name__ == '__main__':
        tf.app.run()
"""


def ports() -> list[int]:
    sockets = [socket.socket() for _ in range(2)]
    for one in sockets:
        one.bind(("localhost", 0))
    numbers = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("first", ["ps", "worker"])
def test_one_starts_long_before_the_other(tmp_path: Path, first: str) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM))
    one, two = ports()
    environment = {name: value for name, value in os.environ.items() if "MIN_LOG" not in name}

    def start(job: str) -> warm.Popen:
        return warm.Popen(
            [
                *(sys.executable, "-m", "moxing", "run", "train.py", f"--job_name={job}"),
                *(f"--ps=localhost:{one}", f"--worker=localhost:{two}"),
            ],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    processes = {first: start(first)}
    try:
        # It meets a closed port and must go on trying.
        assert processes[first].stdout.readline() == f"{first} is up\n"  # type: ignore[union-attr]
        time.sleep(2)
        second = "worker" if first == "ps" else "ps"
        processes[second] = start(second)
        output = {job: process.communicate(timeout=300) for job, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()
            process.wait()

    assert {job: process.returncode for job, process in processes.items()} == {"ps": 0, "worker": 0}
    assert "step 20 True" in output["worker"][0]
    for job in ("ps", "worker"):
        # A session that closes may find that its partner has ended: `mox launch` drops that line.
        sieve = native_noise.Sieve()
        lines = [line for line in output[job][1].splitlines() if not sieve.is_noise(line.encode())]
        assert [line for line in lines if "0000 " in line] == []


TAKEN = {
    "v1": """
        import tensorflow as tf
        cluster = tf.train.ClusterSpec({'ps': ['127.0.0.1:1'], 'worker': ['127.0.0.1:%d']})
        tf.train.Server(cluster, job_name='worker', task_index=0)
    """,
    "server_def": """
        import tensorflow as tf
        cluster = tf.train.ClusterSpec({'worker': {0: '127.0.0.1:%d'}}).as_cluster_def()
        tf.train.Server(tf.train.ServerDef(
            cluster=cluster, job_name='worker', task_index=0, protocol='grpc'))
    """,
    "distribute": """
        import tensorflow as tf
        cluster = tf.train.ClusterSpec({'worker': ['127.0.0.1:%d'], 'chief': ['127.0.0.1:1']})
        x = tf.constant(1).numpy()
        tf.distribute.Server(cluster, job_name='worker', task_index=0)
    """,
    "strategy": """
        import json, os
        os.environ['TF_CONFIG'] = json.dumps(
            {'cluster': {'worker': ['127.0.0.1:%d', '127.0.0.1:1']},
             'task': {'type': 'worker', 'index': 0}})
        import tensorflow as tf
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        print(tf.constant(1).numpy())
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TAKEN)
def test_who_has_the_port_of_a_server_is_told(kind: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (tmp_path / "train.py").write_text(textwrap.dedent(TAKEN[kind] % port))
        done = subprocess.run(
            [sys.executable, "-m", "moxing", "run", "train.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert f"error: worker 0 (127.0.0.1:{port}): port {port} of this machine" in said
    assert f"is taken by process {os.getpid()} (" in said
    assert "Traceback" not in said
    assert "train.py:" in said.splitlines()[-1]
