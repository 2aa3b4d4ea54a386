"""The demo's fleet: its members, their servers, and the files by which ordinary commands reach them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import asyncssh

from bot.demo import fleet_endings, fleet_founding, fleet_others
from bot.demo.cluster.of_fleet import CONTEXT, cluster_of
from bot.demo.cluster.server import ClusterServer
from bot.demo.faults import Fault
from bot.demo.images import CONTAINERD, UBUNTU_22, usual_units
from bot.demo.machine.load import Load, Shares
from bot.demo.machine.machine import Machine
from bot.demo.machine.power import ActingMachine
from bot.demo.machine.state import Memory, Nic, State
from bot.demo.ssh_server import ADDRESS, USER, NodeServer


@dataclass(frozen=True, slots=True)
class Member:
    """One node of the fleet: what it is, what is wrong with the way to it, and what it has to teach."""

    state: State
    teaches: str
    role: str
    fault: Fault | None = None
    in_cluster: bool = False  # it is a node of the simulated Kubernetes cluster

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
        return labels | ({"kubernetes_node": dns} if self.in_cluster else {})


FLEET: tuple[Member, ...] = (
    Member(
        fleet_founding.AUTO_RESTART, "an unused agent that systemd restarts for ever; its cgroups hold a core", "gpu"
    ),
    Member(fleet_founding.HIDDEN, "the same, hidden in a unit that runs: only the containers tell", "gpu"),
    Member(fleet_founding.STOPPED, "the same, stopped days ago; what it left is still there", "batch"),
    Member(fleet_others.QUIET_ZOMBIES, "70,000 dying cgroups and no harm: present, not proven", "web"),
    Member(fleet_others.FAST_LEAK, "a leak that grows while you watch, on cgroup v2", "ci"),
    Member(fleet_others.BUSY, "96 cores at 95 %, little memory left, and well", "gpu"),
    Member(fleet_others.ALLOWANCE, "more traffic than the instance is allowed", "ingest"),
    Member(fleet_others.IRQ_AFFINITY, "every network queue on core 0", "edge"),
    Member(fleet_others.THROTTLED, "idle cores, and a pod that may not use them", "api"),
    Member(fleet_others.CONNTRACK_FULL, "no room for another connection", "nat"),
    Member(fleet_others.IO_STALL, "everything waits for one disk", "kafka"),
    Member(fleet_others.STEAL, "cores that others use; read without mpstat", "bastion"),
    Member(fleet_others.BACKUP_FAILED, "a failed backup, which no reboot would mend", "database"),
    Member(
        fleet_endings.SWALLOWS_REBOOT,
        "the founding case; its reboot is accepted and never comes",
        "gpu",
        Fault.SWALLOWS_REBOOT,
    ),
    Member(
        fleet_endings.ENABLED_AT_BOOT,
        "the founding case; what is disabled is enabled again at boot",
        "gpu",
        Fault.ENABLED_AT_BOOT,
    ),
    Member(
        fleet_endings.STAYS_DOWN, "the founding case; it does not come back from its reboot", "gpu", Fault.STAYS_DOWN
    ),
    Member(
        fleet_endings.BOOTED_BY_SOMEBODY,
        "the founding case; a colleague reboots it before you can approve",
        "gpu",
        Fault.BOOTED_BY_SOMEBODY,
    ),
    Member(
        fleet_endings.IN_CLUSTER,
        "the founding case on a Kubernetes node: drained before its reboot, where the extra k8s is installed",
        "gpu",
        in_cluster=True,
    ),
    Member(fleet_others.SILENT, "accepts the connection and never says a word", "gpu", Fault.SILENT),
    Member(fleet_others.REBUILT, "shows another host key than the one on file", "web", Fault.OTHER_HOST_KEY),
)


def alike(count: int) -> tuple[Member, ...]:
    """Return that many healthy small nodes, for measuring what many nodes cost."""
    quiet = State(
        name="",
        system=replace(UBUNTU_22, product="m6i.2xlarge"),
        load=Load(8, Shares(usr=12.0, sys=2.0)),
        units=usual_units(UBUNTU_22, CONTAINERD),
        nics=(Nic(version="2.13.0g"),),
        memory=Memory(pressure={"cpu some": 0.3}),
    )
    return tuple(
        Member(replace(quiet, name=f"node-{number:03}"), "one of many", "worker") for number in range(1, count + 1)
    )


class Fleet:
    """A running fleet; `folder` holds its inventory, the key that opens its nodes, and their host keys."""

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
    def teaches(self) -> Mapping[str, str]:
        """What each member has to teach."""
        return {name: member.teaches for name, member in self.members.items()}

    @property
    def says(self) -> str:
        """What the members are."""
        return f"{len(self.members)} simulated nodes behind real SSH on {ADDRESS}: no account, no root, no network."

    def login(self, name: str) -> tuple[str, ...]:
        """Return the words of the ssh command that leads to a member."""
        files = ("-i", str(self.key), "-o", f"UserKnownHostsFile={self.known_hosts}")
        return ("ssh", "-F", "none", *files, "-p", str(self.servers[name].port), f"{USER}@{ADDRESS}")

    async def start(self, seconds: Callable[[], float]) -> None:
        """Start every node and write the files; the nodes' time runs as `seconds` does."""
        login = asyncssh.generate_private_key("ssh-ed25519", "demo")
        began_at, zero = self._clock(), seconds()

        def elapsed() -> float:
            return seconds() - zero

        in_cluster: dict[str, tuple[Machine, Callable[[], bool]]] = {}
        for name, member in self.members.items():
            machine = ActingMachine(member.state, began_at, elapsed, member.fault)
            server = NodeServer(machine, login, member.fault)
            machine.power = server.powered
            await server.start()
            self.servers[name] = server
            if member.in_cluster:
                in_cluster[member.labels["kubernetes_node"]] = (machine, self._is_up(name))
        self.key.touch(mode=0o600)
        self.key.write_bytes(login.export_private_key())
        self.known_hosts.write_text("".join(server.known_hosts_line() for server in self.servers.values()))
        self.inventory.write_text(self._toml())
        if in_cluster:
            self.cluster = ClusterServer(cluster_of(in_cluster, elapsed))
            await self.cluster.start()
            (self.folder / "kubeconfig").write_text(self.cluster.kubeconfig(CONTEXT))

    def _is_up(self, name: str) -> Callable[[], bool]:
        return lambda: self.servers[name].fault is self.members[name].fault

    async def stop(self) -> None:
        """End every node."""
        if self.cluster is not None:
            await self.cluster.stop()
        for server in self.servers.values():
            await server.stop()

    def _toml(self) -> str:
        text = f'[ssh]\nuser = "{USER}"\nkey = "{self.key.name}"\nknown_hosts = "{self.known_hosts.name}"\n'
        text += 'connect_timeout = "3s"\n'
        for name, member in self.members.items():
            labels = ", ".join(f'{label} = "{value}"' for label, value in member.labels.items())
            text += f'\n[nodes.{name}]\naddress = "{ADDRESS}"\nport = {self.servers[name].port}\n'
            text += f"labels = {{ {labels} }}\n"
        return text


@asynccontextmanager
async def running(
    members: Sequence[Member], folder: Path, clock: Callable[[], datetime], seconds: Callable[[], float]
) -> AsyncIterator[Fleet]:
    """Run a fleet for the length of a block."""
    fleet = Fleet(members, folder, clock)
    try:
        await fleet.start(seconds)
        yield fleet
    finally:
        await fleet.stop()
