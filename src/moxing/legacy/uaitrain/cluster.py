"""`uaitrain.arch.tensorflow.uai_dist`: the cluster in TF_CONFIG, written and read by a program."""

from __future__ import annotations

import json
import os
from typing import Any

from moxing.errors import MoxValueError, shown

_CONFIG = "TF_CONFIG"
_CHIEFS = ("master", "chief")


class UAIDistRunConfig:
    """The tasks of a job as lists of host:port with commas.

    Args:
        dist_master: the task that leads, which trains too.
        ps_nodes: the parameter servers.
        wk_nodes: the other tasks that train.
        task_type: of this process: "master", "worker" or "ps".
        task_idx: of this process, from 0, among the tasks of its type.
    """

    def __init__(
        self, dist_master: str, ps_nodes: str, wk_nodes: str, task_type: str, task_idx: int
    ) -> None:
        self._nodes = {"master": dist_master, "ps": ps_nodes, "worker": wk_nodes}
        self._task = {"type": task_type, "index": task_idx}

    def generate_cluster(self) -> None:
        """Does nothing; subclasses pass the cluster on."""


class UAITensorFlowDistRunConfig(UAIDistRunConfig):
    """A cluster that TensorFlow's Estimators read from TF_CONFIG."""

    def generate_cluster(self) -> None:
        """Writes the cluster and this process's task into TF_CONFIG of the environment."""
        cluster = {kind: nodes.split(",") for kind, nodes in self._nodes.items()}
        config = {"cluster": cluster, "task": self._task, "environment": "cloud"}
        os.environ[_CONFIG] = json.dumps(config)


class UAITensorFlowDistRunConfigParser:
    """Reads the cluster that the platform describes in TF_CONFIG.

    Attributes, after `load_cluster_config`:
        task_type: the type of this process's task.
        task_id: its number, of a task that trains among all that train: the master's is 0.
        ps_list: the parameter servers.
        wk_list: all tasks that train, the master first.
    """

    def __init__(self) -> None:
        self.env = os.environ.get(_CONFIG)

    def is_dist(self) -> bool:
        """Whether there is a TF_CONFIG."""
        return self.env is not None

    def load_cluster_config(self) -> None:
        """Reads the cluster.

        Raises:
            MoxValueError: TF_CONFIG is missing, or lacks this process's task or the master.
        """
        config = self._config()
        cluster, task = config.get("cluster") or {}, config.get("task") or {}
        masters = [host for kind in _CHIEFS for host in cluster.get(kind, [])]
        if not masters or "index" not in task:
            raise MoxValueError(
                f"TF_CONFIG={shown(self.env)} has no master or no task: uai_dist reads a cluster"
                ' such as {"cluster": {"master": ["a:1"], "worker": ["b:1"]}, "task": {"type":'
                ' "master", "index": 0}}.'
            )
        self.task_type = str(task.get("type"))
        self.task_id = int(task["index"]) + (self.task_type == "worker")
        self.ps_list = [str(host) for host in cluster.get("ps", [])]
        self.wk_list = [str(masters[0]), *map(str, cluster.get("worker", []))]

    def is_chief(self) -> bool:
        """Whether this process is the master."""
        return self.task_type in _CHIEFS

    def is_ps(self) -> bool:
        """Whether this process is a parameter server."""
        return self.task_type == "ps"

    def num_ps(self) -> int:
        """Returns the number of parameter servers."""
        return len(self.ps_list)

    def num_worker(self) -> int:
        """Returns the number of tasks that train, the master among them."""
        return len(self.wk_list)

    def get_ps_list(self) -> list[str]:
        """Returns the addresses of the parameter servers."""
        return self.ps_list

    def get_worker_list(self) -> list[str]:
        """Returns the addresses of all tasks that train, the master's first."""
        return self.wk_list

    def get_task_id(self) -> int:
        """Returns this process's number among the tasks of its kind."""
        return self.task_id

    def _config(self) -> dict[str, Any]:
        try:
            config = json.loads(self.env or "")
        except ValueError:
            config = None
        if not isinstance(config, dict):
            raise MoxValueError(
                f"TF_CONFIG={shown(self.env)} is no JSON object: uai_dist reads the cluster in it."
                " The platform sets it for several nodes, and so does `mox uai train --nodes=N`."
            )
        return config
