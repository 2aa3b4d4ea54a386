"""The simulated cluster that some of the demo's nodes are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.demo.cluster.pod import Budget, DemoPod
from bot.demo.machine.machine import Machine
from bot.demo.machine.proc_files import identity

CONTEXT = "demo"
SETTINGS = f'[kubernetes]\ncontext = "{CONTEXT}"\nkubeconfig = "kubeconfig"\ndrain_deadline = "2m"\n'


def cluster_of(machines: Mapping[str, tuple[Machine, Callable[[], bool]]], seconds: Callable[[], float]) -> Cluster:
    """Return a cluster of machines by the names that it calls them; beside each stands whether it is up."""
    nodes = [DemoNode(name, _boot_of(machine), is_up) for name, (machine, is_up) in machines.items()]
    return Cluster.of(nodes, [pod for name in machines for pod in _pods(name)], seconds)


def _boot_of(machine: Machine) -> Callable[[], str]:
    return lambda: str(identity(machine.state, f"boot {machine.state.generation}"))


def _pods(node: str) -> tuple[DemoPod, ...]:
    """Part of a training job that a budget holds for a while, a small job, and what stays on every node."""
    ray = {"ray.io/cluster": "train-llm-7", "ray.io/node-type": "worker"}
    return (
        DemoPod(
            "ray",
            f"train-llm-7-worker-{node.split('.')[0]}",
            node,
            ("RayCluster", "train-llm-7"),
            ray,
            ("dshm", "checkpoints"),
            grace=2.0,
            budgets=(Budget("train-llm-7", refuses=2),),
        ),
        DemoPod(
            "batch",
            "tokenize-29-x7k",
            node,
            ("Job", "tokenize-29"),
            {"batch.kubernetes.io/job-name": "tokenize-29"},
            grace=1.0,
        ),
        DemoPod("monitoring", "loki-gateway-6f9-m2", node, ("ReplicaSet", "loki-gateway-6f9"), grace=1.0),
        DemoPod("kube-system", "aws-node-q8z", node, ("DaemonSet", "aws-node")),
        DemoPod("kube-system", "nvidia-device-plugin-1p", node, ("DaemonSet", "nvidia-device-plugin")),
        DemoPod("kube-system", f"kube-proxy-{node.split('.')[0]}", node, mirror=True),
    )
