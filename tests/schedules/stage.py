"""Incidents over the nodes of a scheduled world, and everything that acts on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bot.actions import ACTIONS
from bot.domain.action import Plan, Step
from bot.domain.alert import BOT, Alert
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import LedgerUnavailable, Refused
from bot.domain.events import AlertReceived, PlanProposed, Triaged
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.policy import Approval, ApproverLookup, Policy
from bot.domain.probe import Snapshot
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Verdict
from bot.ledger import Leases, Ledger
from bot.probes.cgroups import CgroupsReading
from bot.probes.host import HostReading
from bot.response.decision.preflight import Preflight, approval_bindings
from bot.response.decision.responder import Responder
from bot.response.execution.node_access import NodeAccess, NodeStatus
from bot.response.execution.remediation import Remediation
from bot.response.execution.step_executor import StepExecutor
from bot.response.incident_record import IncidentRecord
from tests.known import known
from tests.schedules.parts import KEY, CountingNode, Wire
from tests.schedules.recorder import Recorder
from tests.schedules.whole_look import WholeLook
from tests.schedules.world import World

PLAYBOOK = Playbook("node-health", "Health", 1, (), (), ())
HEALTHY = Verdict(
    "n1", Status.HEALTHY, None, None, "Healthy", ruled_out=(RuledOut("leaked-memory-cgroups", "19 dying cgroups"),)
)
ENDINGS = ("cured", "cured", "swallowed", "enabled-again", "gone", "other-key", "other-machine", "rebooted-by-others")
NEWS = 2  # seconds in which a program that waits hears what another appended
SETTLED = ("resolved", "expired", "cancelled", "escalated", "declined")


@dataclass
class Stage:
    """Nodes, their incidents, and everything that acts on them, in one world."""

    world: World
    ledger: Ledger
    policy: Policy
    nodes: dict[str, CountingNode]
    wire: Wire
    recorder: Any  # a Recorder
    refusals: Counter[str] = field(default_factory=Counter)
    runners: int = 0
    lookup: ApproverLookup | None = None
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)  # of each proposal

    @classmethod
    def set(
        cls,
        world: World,
        ledger: Ledger,
        endings: dict[str, str],
        policy: Policy,
        breaks: float = 0.02,
        strays: float = 0.0,
    ) -> Stage:
        nodes = {name: CountingNode(world, name, ending) for name, ending in endings.items()}
        wire = Wire(world, nodes, breaks, strays)
        return cls(world, ledger, policy, nodes, wire, Recorder(world, ledger, breaks))

    def find(self, name: str, /) -> Node:
        return Node(name, "10.0.0.7", 22, labels=self.labels.get(name, {}))

    def plan(self, name: str, boot_id: str) -> Plan:
        steps = (
            Step("disable_unit", {"unit": "ecs.service"}, ("sudo -n systemctl disable --now -- ecs.service",)),
            Step(
                "reboot",
                {},
                (f'test "$(cat /proc/sys/kernel/random/boot_id)" = {boot_id} && exec sudo -n systemctl reboot',),
            ),
        )
        return Plan(name, steps, "Take the agent out of the image.")

    def verdict(self, name: str) -> Verdict:
        node = self.nodes[name]
        if node.boot > 0 and not node.active:
            return replace(HEALTHY, node=name)
        plan = self.plan(name, node.boot_id)
        said = Evidence("dying", "cgroups", "68,700 dying", ("memory 4 68700 1",))
        return Verdict(
            name, Status.CRITICAL, "leaked-memory-cgroups", Confidence.CONFIRMED, "ecs.service leaks", (said,),
            suspects=("ecs.service",) if node.active else (), remedy=plan.steps, plan=plan if node.active else None,
            ruled_out=(RuledOut("io-stall", "no task waits for a disk"),),
        )  # fmt: skip

    async def diagnose(self, node: Node, playbook: str) -> Verdict:
        await self.world.boundary()
        if not self.nodes[node.name].is_up:
            return Verdict(node.name, Status.UNREACHABLE, None, None, "refused")
        verdict = self.verdict(node.name)
        if verdict.cause is None or verdict.snapshot is not None:
            return verdict
        at = self.nodes[node.name]
        read = {
            "cgroups": CgroupsReading("v1", 68_700, 1, "memory - cpu", 68_700 + 20 * at.active),
            "host": HostReading("5.4.0", at.boot_id, timedelta(seconds=at.uptime)),
        }
        return replace(verdict, snapshot=Snapshot(node.name, self.world.now, timedelta(seconds=5), read))

    def propose(
        self, incident: str, name: str, wave: str = "", alert: Alert | None = None, plan: Plan | None = None
    ) -> None:
        """Put an incident on record, up to its proposal: the verdict's own plan, or another."""
        node, verdict = self.nodes[name], self.verdict(name)
        plan = plan or known(verdict.plan)
        verdict = replace(verdict, plan=plan, remedy=plan.steps)
        seen = NodeStatus(node.boot_id, node.machine_id.lower(), KEY)
        alert = alert or Alert("terminal", wave or "group", "terminal:asker")
        self.ledger.append.now(
            incident, 0, AlertReceived(alert, name, f"group-{incident}", PLAYBOOK.name, wave=wave), "terminal:asker"
        )
        self.ledger.append.now(incident, 1, Triaged(verdict, PLAYBOOK.name, 1), BOT)
        bound = approval_bindings(verdict, self.find(name), seen, PLAYBOOK, self.policy)
        self.ledger.append.now(incident, 2, PlanProposed.of(plan, bound, figures=self.figures), BOT)

    @property
    def record(self) -> IncidentRecord:
        return IncidentRecord(self.recorder)

    def responder(self) -> Responder:
        reach = NodeAccess(self.wire, ACTIONS)
        preflight = self.preflight(reach)
        return Responder(
            self.policy, self.record, self.recorder, reach, self, preflight, self.world.clock, lookup=self.lookup
        )

    def preflight(self, reach: NodeAccess) -> Preflight:
        return Preflight(reach, self, WholeLook(reach, self.diagnose))

    def remediation(self) -> Remediation:
        self.runners += 1
        world, reach = self.world, NodeAccess(self.wire, ACTIONS)
        name, preflight = f"runner-{self.runners}", self.preflight(reach)
        stepping = StepExecutor(
            self.policy, self.recorder, reach, self, world.clock, world.sleep, name, preflight=preflight
        )
        return Remediation(self.record, stepping, self, self.diagnose)

    def decided_by(self, incident: str, name: str) -> None:
        """Let a person approve it."""
        approval = Approval(f"terminal:{name}", "it is sick")
        self.world.start(f"{name} approves {incident}", lambda: self.decides(incident, approval))

    async def decides(self, incident: str, approval: Approval) -> None:
        """Decide it so; a locked database is tried again, a refusal is not."""
        for _ in range(5):
            try:
                await self.responder().decide(incident, approval)
            except Refused as no:
                self.refusals[no.name] += 1
            except LedgerUnavailable:
                await self.world.sleep(1)
                continue
            return

    def run_by(self, incident: str, name: str) -> None:
        """Let a runner carry it to its end, through every death."""

        async def run() -> None:
            remediation = self.remediation()
            while True:
                try:
                    again = await remediation.advance(incident)
                except LedgerUnavailable:
                    await self.world.sleep(1)
                    continue
                if again is None:
                    return
                await self.world.sleep(min(max(0.01, again.after.total_seconds()), NEWS))

        self.world.start(f"{name} runs {incident}", run)

    def seen_to_by(self, incident: str, name: str, leases: Callable[[str], Leases]) -> None:
        """Let a runner carry it to its end while it has its lease, and take that over from one that fell silent."""

        async def run() -> None:
            remediation = self.remediation()
            ours = leases(f"{incident}-{remediation.stepping.runner}")
            while any(line.id == incident for line in self.ledger.incidents.now(only_open=True)):
                await self.world.boundary()
                ours.beat.now()
                ours.claim.now()
                if not ours.mine.now():
                    await self.world.sleep(1)
                    continue
                await self.world.boundary()  # it may be frozen here, and wake up when it was taken over long ago
                try:
                    again = await remediation.advance(incident)
                except LedgerUnavailable:
                    again = AdvanceLater(timedelta(seconds=1))
                await self.world.sleep(min(max(0.01, again.after.total_seconds() if again is not None else 0), 2))
            ours.leave.now()

        self.world.start(f"{name} sees to {incident}", run)


POLICY = Policy(
    acting=True,
    approvers=frozenset(("terminal:ann", "terminal:bob")),
    kinds=frozenset(("slack", "terminal")),
    approval_expires=timedelta(minutes=4),
    units=frozenset(("ecs.service",)),
    validation=timedelta(seconds=2),
    reboot_deadline=timedelta(seconds=40),
)
