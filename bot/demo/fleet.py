"""The demo's fleet: its nodes, their SSH servers, and the files with which commands reach them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import asyncssh

from bot.demo import fleet_leaks, fleet_other_faults, fleet_pattern
from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.demo.cluster.pod import Budget, DemoPod
from bot.demo.cluster.server import ClusterServer
from bot.demo.faults import Fault
from bot.demo.images import CONTAINERD, UBUNTU_22, usual_units
from bot.demo.machine.load import Load, Shares
from bot.demo.machine.machine import Machine
from bot.demo.machine.state import Memory, Nic, State
from bot.demo.ssh_server import ADDRESS, USER, NodeServer

CLUSTER_CONTEXT = "demo"
CLUSTER_SETTINGS = f'[kubernetes]\ncontext = "{CLUSTER_CONTEXT}"\nkubeconfig = "kubeconfig"\ndrain_deadline = "2m"\n'


@dataclass(frozen=True, slots=True)
class Member:
    """A node of the fleet. `description` says what there is to see on it."""

    state: State
    description: str
    role: str
    fault: Fault | None = None
    image: str = ""
    in_cluster: bool = False  # also a node of the simulated Kubernetes cluster

    @property
    def name(self) -> str:
        """Its name in the inventory."""
        return self.state.name

    @property
    def labels(self) -> dict[str, str]:
        """The labels that a real fleet's inventory would hold."""
        seed = hashlib.sha256(self.name.encode()).digest()
        zone = next((part for part in self.name.split("-") if part in ("1a", "1b", "1c")), "1a")
        dns = f"ip-10-{seed[0] % 16}-{seed[1]}-{seed[2]}.ec2.internal"
        labels = {"az": f"us-east-{zone}", "role": self.role, "instance_id": f"i-0{seed.hex()[:16]}"}
        labels["private_dns"] = dns
        labels |= {"image": self.image} if self.image else {}
        return labels | ({"kubernetes_node": dns} if self.in_cluster else {})


FLEET: tuple[Member, ...] = (
    Member(
        fleet_leaks.AUTO_RESTART,
        "an unused agent that systemd keeps restarting; its dying cgroups hold a core",
        "gpu",
    ),
    Member(fleet_leaks.HIDDEN, "the same leak inside a unit that runs: only the containers show it", "gpu"),
    Member(
        fleet_leaks.BETWEEN_LOOKS,
        "the same leak; no check sees its bursts: likely, until a profile asked from its card catches a burst",
        "gpu",
    ),
    Member(fleet_leaks.STOPPED, "the same leak, stopped days ago; its dying cgroups are still there", "batch"),
    Member(fleet_other_faults.QUIET_ZOMBIES, "70,000 dying cgroups that do no harm: present, not proven", "web"),
    Member(fleet_other_faults.FAST_LEAK, "a leak that grows while you watch, on cgroup v2", "ci"),
    Member(fleet_other_faults.BUSY, "96 cores at 95 %, little memory left, and healthy", "gpu"),
    Member(fleet_other_faults.GPU_LOST, "a GPU that has fallen off the bus; the others answer", "gpu"),
    Member(
        fleet_other_faults.KUBELET_STOPPED,
        "its kubelet was stopped by hand and forgotten; a start brings it back",
        "web",
    ),
    Member(fleet_other_faults.ALLOWANCE, "more traffic than the instance is allowed", "ingest"),
    Member(fleet_other_faults.IRQ_AFFINITY, "every network queue on core 0", "edge"),
    Member(fleet_other_faults.THROTTLED, "idle cores, and a pod that may not use them", "api"),
    Member(fleet_other_faults.CONNTRACK_FULL, "the connection tracking table is full", "nat"),
    Member(fleet_other_faults.IO_STALL, "everything waits for a single disk", "kafka"),
    Member(fleet_other_faults.STEAL, "CPU time stolen by other guests; read without mpstat", "bastion"),
    Member(fleet_other_faults.BACKUP_FAILED, "a failed backup, which a reboot would not fix", "database"),
    Member(
        fleet_leaks.SWALLOWS_REBOOT,
        "the same leak; the reboot is accepted and never happens",
        "gpu",
        Fault.SWALLOWS_REBOOT,
    ),
    Member(
        fleet_leaks.ENABLED_AT_BOOT,
        "the same leak; the disabled unit is enabled again at boot",
        "gpu",
        Fault.ENABLED_AT_BOOT,
    ),
    Member(
        fleet_leaks.STAYS_DOWN, "the same leak; the node does not come back from its reboot", "gpu", Fault.STAYS_DOWN
    ),
    Member(
        fleet_leaks.BOOTED_BY_SOMEBODY,
        "the same leak; a colleague reboots it before you can approve",
        "gpu",
        Fault.BOOTED_BY_SOMEBODY,
    ),
    Member(
        fleet_leaks.IN_CLUSTER,
        "the same leak on a Kubernetes node: drained before its reboot, if the extra k8s is installed",
        "gpu",
        in_cluster=True,
    ),
    Member(fleet_other_faults.SILENT, "accepts the connection and then says nothing", "gpu", Fault.SILENT),
    Member(fleet_other_faults.REBUILT, "shows a host key other than the known key", "web", Fault.OTHER_HOST_KEY),
)


# With those above a fleet of some forty, in which something is common: the demo's, beside which tests run the few.
PATTERN: tuple[Member, ...] = (
    *(
        Member(state, "a trainer of the older image: the same leak", fleet_pattern.ROLE, image=fleet_pattern.OLDER)
        for state in fleet_pattern.LEAKING
    ),
    *(
        Member(state, "a trainer of the newer image: healthy", fleet_pattern.ROLE, image=fleet_pattern.NEWER)
        for state in fleet_pattern.NEWER_ONES
    ),
    *(
        Member(
            state,
            "the older image, and no leak: something else keeps the agent down",
            fleet_pattern.ROLE,
            image=fleet_pattern.OLDER,
        )
        for state in fleet_pattern.KEPT_DOWN
    ),
)


def healthy_nodes(count: int) -> tuple[Member, ...]:
    """Return `count` healthy small nodes, for measuring the cost of many nodes."""
    quiet = State(
        name="",
        system=replace(UBUNTU_22, product="m6i.2xlarge"),
        load=Load(8, Shares(usr=12.0, sys=2.0)),
        units=usual_units(UBUNTU_22, CONTAINERD),
        nics=(Nic(version="2.13.0g"),),
        memory=Memory(pressure={"cpu some": 0.3}),
    )
    return tuple(
        Member(replace(quiet, name=f"node-{number:03}"), "a quiet worker", "worker") for number in range(1, count + 1)
    )


class Fleet:
    """A running fleet. `folder` holds its inventory, the login key and the host keys."""

    def __init__(self, members: Sequence[Member], folder: Path, clock: Callable[[], datetime]) -> None:
        self.members = {member.name: member for member in members}
        self.folder = folder
        self.inventory = folder / "inventory.toml"
        self.key = folder / "demo_key"
        self.known_hosts = folder / "known_hosts"
        self._clock = clock
        self.servers: dict[str, NodeServer] = {}
        self.cluster: ClusterServer | None = None

    @property
    def descriptions(self) -> Mapping[str, str]:
        """What there is to see on each node."""
        return {name: member.description for name, member in self.members.items()}

    @property
    def summary(self) -> str:
        """A sentence about the fleet."""
        return f"{len(self.members)} simulated nodes behind real SSH on {ADDRESS}: no account, no root, no network."

    def ssh_command(self, name: str) -> tuple[str, ...]:
        """Return the ssh command that logs in to a node."""
        files = ("-i", str(self.key), "-o", f"UserKnownHostsFile={self.known_hosts}")
        return ("ssh", "-F", "none", *files, "-p", str(self.servers[name].port), f"{USER}@{ADDRESS}")

    async def start(self) -> None:
        """Start every node and write the files."""
        # An existing key is used, so that fleets of several processes share a login.
        login = (
            asyncssh.read_private_key(self.key)
            if self.key.is_file()
            else asyncssh.generate_private_key("ssh-ed25519", "demo")
        )
        loop = asyncio.get_running_loop()
        began_at, zero = self._clock(), loop.time()

        def elapsed() -> float:
            return loop.time() - zero

        in_cluster: dict[str, tuple[Machine, Callable[[], bool]]] = {}
        for name, member in self.members.items():
            machine = Machine(member.state, began_at, elapsed, member.fault)
            server = NodeServer(machine, login, member.fault)
            machine.power = server.powered
            await server.start()
            self.servers[name] = server
            if member.in_cluster:
                in_cluster[member.labels["kubernetes_node"]] = (machine, self._answers_as_made(name))
        self.key.touch(mode=0o600)
        self.key.write_bytes(login.export_private_key())
        self.known_hosts.write_text("".join(server.known_hosts_line() for server in self.servers.values()))
        self.inventory.write_text(self._inventory_text())
        if in_cluster:
            self.cluster = ClusterServer(_cluster_of(in_cluster, elapsed))
            await self.cluster.start()
            (self.folder / "kubeconfig").write_text(self.cluster.kubeconfig(CLUSTER_CONTEXT))

    def _answers_as_made(self, name: str) -> Callable[[], bool]:
        return lambda: self.servers[name].fault is self.members[name].fault

    async def stop(self) -> None:
        """Stop every node."""
        if self.cluster is not None:
            await self.cluster.stop()
        for server in self.servers.values():
            await server.stop()

    def _inventory_text(self) -> str:
        text = f'[ssh]\nuser = "{USER}"\nkey = "{self.key.name}"\nknown_hosts = "{self.known_hosts.name}"\n'
        text += 'connect_timeout = "3s"\n'
        for name, member in self.members.items():
            labels = ", ".join(f'{label} = "{value}"' for label, value in member.labels.items())
            text += f'\n[nodes.{name}]\naddress = "{ADDRESS}"\nport = {self.servers[name].port}\n'
            text += f"labels = {{ {labels} }}\n"
        return text


@asynccontextmanager
async def running(members: Sequence[Member], folder: Path, clock: Callable[[], datetime]) -> AsyncIterator[Fleet]:
    """Run a fleet for the length of a block."""
    fleet = Fleet(members, folder, clock)
    try:
        await fleet.start()
        yield fleet
    finally:
        await fleet.stop()


def _cluster_of(machines: Mapping[str, tuple[Machine, Callable[[], bool]]], seconds: Callable[[], float]) -> Cluster:
    """Return a cluster of machines, by their Kubernetes names, each with a function that says whether it is up."""
    nodes = [DemoNode(name, _boot_of(machine), is_up) for name, (machine, is_up) in machines.items()]
    return Cluster.of(nodes, [pod for name in machines for pod in _cluster_pods(name)], seconds)


def _boot_of(machine: Machine) -> Callable[[], str]:
    return lambda: machine.state.boot_id


def _cluster_pods(node: str) -> tuple[DemoPod, ...]:
    """A training job that a disruption budget protects for a while, a small job, and the usual daemons."""
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
