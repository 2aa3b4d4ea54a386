"""A node in a simulated cluster, its incident, and runners over it; time passes only where somebody waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.demo.cluster.pod import DemoPod
from bot.domain.action import Step
from bot.domain.alert import BOT, Alert
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.errors import ConnectionRefused
from bot.domain.events import AlertReceived, IncidentEvent, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.policy import Approval, Policy
from bot.domain.probe import Snapshot
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Verdict
from bot.ledger import Ledger
from bot.probes.host import HostReading
from bot.response.decision.preflight import Preflight
from bot.response.decision.responder import Responder
from bot.response.diagnosis.planning import DrainSettings, with_plan
from bot.response.diagnosis.proposal import Proposer
from bot.response.execution.cluster_calls import ClusterAccess
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.remediation import Remediation
from bot.response.execution.step_executor import StepExecutor
from bot.response.incident_record import IncidentRecord
from tests.directories import Always
from tests.nodes.cluster_server import ClusterServer, NearApi
from tests.record.ledgers import database_in_memory
from tests.schedules.parts import KEY, CountingNode
from tests.schedules.whole_look import WholeLook
from tests.schedules.world import BEGAN_AT, World

NAME = "ip-10-0-0-7"  # what the cluster calls it
LABELS = {"kubernetes_node": NAME}
LOCKUP = ConfiguredCause(CAUSES["lockup"], {}, ("disable_unit", "cordon", "reboot"), "Update.")
PLAYBOOK = Playbook("node-health", "Health", 1, (), (), (LOCKUP,))
POLICY = Policy(
    acting=True,
    approvers=frozenset(("terminal:ann",)),
    kinds=frozenset(("slack", "terminal")),
    approval_expires=timedelta(minutes=15),
    units=frozenset(("ecs.service",)),
    validation=timedelta(minutes=2),
    reboot_deadline=timedelta(minutes=5),
)
STEPS = ["drain", "reboot", "uncordon"]
UP = timedelta(seconds=1000)  # it is up when it is first seen


@dataclass
class Machine(CountingNode):
    """The node as SSH reaches it; its cluster hears of it again some time after a reboot."""

    until_ready: float = 45.0  # seconds after a reboot of ours
    ready_at: datetime = BEGAN_AT
    known_boot: str = ""  # to its cluster

    def in_cluster(self) -> str:
        if self.world.now >= self.ready_at:
            self.known_boot = self.boot_id
        return self.known_boot

    def reboot(self, by_us: bool = True) -> None:
        self.boots(20.0, self.until_ready)

    def boots(self, away: float = 0.0, until_ready: float = 0.0) -> None:
        """Begin another boot, as others may have it do at any time."""
        self.boot += 1
        self.down_until = self.world.now + timedelta(seconds=away)
        self.up_since = self.down_until - UP
        self.ready_at = self.world.now + timedelta(seconds=until_ready)

    def host_key(self, node: Node) -> str:
        return KEY

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        assert host_key in (None, KEY)
        if not self.is_up:
            raise ConnectionRefused(f"{node.name} refused the connection.")
        for question in batch.questions:
            up, (out, err, status) = self.uptime, self.answer(question.command.argv)
            yield Completed(
                question.probe, question.command.name, question.look, out, err, status, started_at_uptime=up
            )


@dataclass
class DrainStage:
    """One incident of one node in a cluster; `now` is everybody's clock."""

    ledger: Ledger
    server: ClusterServer
    machine: Machine
    kubeconfig: Path
    world: World
    draining: DrainSettings = DrainSettings("", "prod", timedelta(minutes=4))
    node: Node = Node("n1", "10.0.0.7", 22, labels=LABELS)
    remedy: tuple[Step, ...] = (Step("reboot"),)
    cured: bool = True  # by its reboot, or by its unit's end
    runners: int = 0

    @property
    def cluster(self) -> Cluster:
        return self.server.cluster

    @property
    def now(self) -> datetime:
        return self.world.now

    async def sleep(self, seconds: float) -> None:
        self.world.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def reach(self) -> NodeAccess:
        api = NearApi(self.kubeconfig, self.server)
        return NodeAccess(self.machine, ACTIONS, cluster=ClusterAccess(api), draining=self.draining)

    def verdict(self) -> Verdict:
        host = HostReading("5.4.0", self.machine.boot_id, timedelta(days=11))
        snapshot = Snapshot("n1", self.now, timedelta(seconds=5), {"host": host})
        if self.cured and (self.machine.boot or not self.machine.enabled):
            ruled_out = (RuledOut("lockup", "no core is stuck"),)
            return Verdict("n1", Status.HEALTHY, None, None, "Healthy", ruled_out=ruled_out, snapshot=snapshot)
        stuck = Evidence("stuck", "kernel_log", "core 3 is stuck", ("BUG: soft lockup",))
        absent = (RuledOut("io-stall", "no task waits for a disk"),)
        sick = Verdict("n1", Status.CRITICAL, "lockup", Confidence.CONFIRMED, "core 3 is stuck", (stuck,),
                       absent, remedy=self.remedy, snapshot=snapshot)  # fmt: skip
        return with_plan(sick, PLAYBOOK, ACTIONS, self.node, self.draining)

    async def diagnose(self, node: Node, playbook: str) -> Verdict:
        return self.verdict()

    async def proposed(self, *pods: DemoPod, cordoned: bool = False) -> IncidentEvent | None:
        """Put the incident on record, of a node with these pods, and return what became of its plan."""
        self.cluster.pods.extend(pods)
        self.cluster.nodes[NAME].unschedulable = cordoned or self.cluster.nodes[NAME].unschedulable
        alert = Alert("terminal", "group", "terminal:asker")
        verdict = self.verdict()
        await self.ledger.append("one", 0, AlertReceived(alert, "n1", "group", PLAYBOOK.name), "terminal:asker")
        await self.ledger.append("one", 1, Triaged(replace(verdict, snapshot=None), PLAYBOOK.name, 1), BOT)
        offered = await Proposer(POLICY, self.reach(), self.ledger, Always(self.node)).event(verdict, PLAYBOOK)
        if offered is not None:
            await self.ledger.append("one", 2, offered, BOT)
        return offered

    async def approved(self, *pods: DemoPod, cordoned: bool = False) -> None:
        await self.proposed(*pods, cordoned=cordoned)
        await self.approve()

    async def approve(self) -> Incident:
        return await self.responder().decide("one", Approval("terminal:ann", "it is stuck"))

    def responder(self) -> Responder:
        reach, nodes = self.reach(), Always(self.node)
        preflight = Preflight(reach, nodes, WholeLook(reach, self.diagnose))
        return Responder(POLICY, self.record, self.ledger, reach, nodes, preflight, lambda: self.now)

    @property
    def record(self) -> IncidentRecord:
        return IncidentRecord(self.ledger)

    def runner(self) -> Remediation:
        """A program of its own, with nothing in its memory."""
        self.runners += 1
        stepping = StepExecutor(
            POLICY, self.ledger, self.reach(), Always(self.node), lambda: self.now, self.sleep, f"r{self.runners}"
        )
        return Remediation(self.record, stepping, Always(self.node), self.diagnose)

    @cached_property
    def program(self) -> Remediation:
        """The one that carries it on where the test names none."""
        return self.runner()

    async def run(self, runner: Remediation | None = None, until: Callable[[Incident], bool] | None = None) -> Incident:
        """Carry it on by one runner, until it has ended or something is so."""
        for _ in range(2000):
            again = await (runner or self.program).advance("one")
            if again is None:
                return await self.told()
            if until is not None and until(incident := await self.told()):
                return incident
            self.world.now += again.after
        raise AssertionError(f"it never ends: {await self.kinds()}")

    async def told(self) -> Incident:
        return fold(await self.ledger.read("one"))

    async def kinds(self) -> list[str]:
        return [entry.kind for entry in await self.ledger.read("one")]

    def calls(self, verb: str) -> list[str]:
        return [call for call in self.server.calls if call.startswith(verb)]


@asynccontextmanager
async def drain_stage(folder: Path) -> AsyncIterator[DrainStage]:
    """Run one for the length of a block."""
    world = World(1, deadly=0)
    machine = Machine(world, "n1", "cured", up_since=BEGAN_AT - UP)
    node = DemoNode(NAME, machine.in_cluster, lambda: world.now >= machine.ready_at)
    cluster = Cluster.of([node], [], lambda: (world.now - BEGAN_AT).total_seconds())
    kubeconfig = folder / "kubeconfig"
    with database_in_memory() as database:
        ledger = Ledger(database, world.record)
        async with ClusterServer.running(cluster) as server:
            kubeconfig.write_text(server.kubeconfig("prod"))
            yield DrainStage(ledger, server, machine, kubeconfig, world)


def worker(name: str = "worker-0", **more: object) -> DemoPod:
    """A pod of a Ray cluster."""
    labels = {"ray.io/cluster": "train-7", "ray.io/node-type": "worker"}
    pod = DemoPod("ray", name, NAME, ("RayCluster", "train-7"), labels)
    for key, value in more.items():
        setattr(pod, key, value)
    return pod


def daemon() -> DemoPod:
    return DemoPod("kube-system", "aws-node-x1", NAME, ("DaemonSet", "aws-node"))


def mirror() -> DemoPod:
    return DemoPod("kube-system", f"kube-proxy-{NAME}", NAME, mirror=True)
