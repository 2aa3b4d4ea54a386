"""A short look before a plan may run: deciding probes, machine, rights and first step, over a single connection.

What was confirmed over a whole window need not be measured as long again: it is enough if a second shows the same. If a
second does not show it, that proves nothing, so the whole window is read before a plan is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.domain.action import Facts, PlanImpact, Step
from bot.domain.command import Outputs
from bot.domain.errors import CannotRead, PlanChanged, UnknownPlaybook
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.probe import Probe
from bot.domain.verdict import Status, Verdict, without_secrets
from bot.probes.profile import as_run, profiled
from bot.response.diagnosis import plan_impact
from bot.response.diagnosis.triage import Triage
from bot.response.execution.node_access import (
    IDENTITY,
    NodeAccess,
    NodeStatus,
    identity,
    missing_rights_of,
    right_questions,
    uptime,
)

_IDENTITY, _FIRST, _RIGHT = "identity", "first step", "right"  # beside the probes' names


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """The result of a look; `lacking` are the rights that the login does not have."""

    verdict: Verdict
    seen: NodeStatus
    lacking: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Recheck:
    """Reads nodes again; `triages` are short, the last is whole; `playbooks` finds a playbook by its name."""

    reach: NodeAccess
    triages: Sequence[Triage]
    playbooks: Playbooks

    async def read_in_stages(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
        """Yield what is seen, first in a short look, then over the whole window; the caller stops once satisfied.

        Raises: PlanChanged when the playbook has changed; WouldStopProtected; Unreachable or CannotRead when it
        cannot be read.
        """
        assert incident.proposal is not None
        assert incident.verdict is not None
        try:
            playbook = self.playbooks.get(incident.playbook)
        except UnknownPlaybook as no:
            raise PlanChanged(f"The playbook is gone: {no.sentence}") from no
        was, now = incident.proposal.binds.get("playbook", ""), f"{playbook.name} {playbook.version}"
        if was != now:
            raise PlanChanged(f"The playbook has changed since the plan was proposed: {was} → {now}.")
        # No new profile is taken: its result is evaluated again with what the node says now.
        if incident.profile:
            playbook = profiled(playbook, as_run(incident.profile))
        steps = incident.proposal.plan.steps
        for triage in self.triages[:-1]:
            yield await self._look_once(triage, node, with_deciding_probes(playbook, incident.verdict), steps)
        yield await self._look_once(self.triages[-1], node, playbook, steps)

    async def read_reboot_impact(self, incident: Incident, node: Node) -> PlanImpact:
        """Return what a reboot would end now, as far as it tells of databases and members, and what is not seen of what
        it must not cut off; a short look.

        Raises: Unreachable; CannotRead when its playbook is gone.
        """
        try:
            playbook = self.playbooks.get(incident.playbook)
        except UnknownPlaybook as no:
            raise CannotRead(f"The playbook is gone: {no.sentence}") from no
        asked = tuple(probe for probe in playbook.probes if probe.name in plan_impact.READ_AGAIN)
        return plan_impact.ended_by_reboot(await self.triages[0].snapshot(node, replace(playbook, probes=asked)))

    async def _look_once(self, triage: Triage, node: Node, playbook: Playbook, steps: Sequence[Step]) -> RecheckResult:
        together = self.reach.has_one_login(node) and not any(self.reach.by_calls(step) for step in steps)
        rights = self.reach.rights(steps) if together else ()
        first = None if self.reach.by_calls(steps[0]) else steps[0]
        asked = [Probe(_IDENTITY, "", (IDENTITY,), _unparsed)]
        if first is not None:
            asked.append(Probe(_FIRST, "", self.reach.actions[first.action].looks(first.args), _unparsed))
        asked += [Probe(name, "", commands, _unparsed) for name, commands in self.reach.side_effect_questions(steps)]
        asked += [Probe(f"{_RIGHT} {n}", "", (may,), _unparsed) for n, may in enumerate(right_questions(rights))]
        reading = triage.diagnose(node, replace(playbook, probes=(*playbook.probes, *asked)))
        verdict, lacking = await asyncio.gather(reading, self.reach.lacking(node, () if together else steps))
        if verdict.status is Status.UNREACHABLE or verdict.snapshot is None:
            seen = await self.reach.look(node)  # its error class tells a wrong host key from a lost connection
            return RecheckResult(verdict, seen, ())
        earlier = verdict.snapshot.readings
        if together:
            lacking = missing_rights_of(
                node, rights, [_outputs_of(earlier, f"{_RIGHT} {n}") for n in range(len(rights))]
            )
        boot_id, machine_id = identity(node, _outputs_of(earlier, _IDENTITY))
        facts: tuple[Facts, ...] = ()
        if first is not None:
            facts = (self.reach.actions[first.action].facts(first.args, _outputs_of(earlier, _FIRST)),)
        also = self.reach.side_effects(
            steps, {name: _outputs_of(earlier, name) for name, _ in self.reach.side_effect_questions(steps)}
        )
        began = uptime(_outputs_of(earlier, _IDENTITY))
        until = None if began is None else began + verdict.snapshot.window.total_seconds()
        seen = NodeStatus(boot_id, machine_id, self.reach.host_key(node), facts, also, until)
        return RecheckResult(without_secrets(verdict), seen, lacking)  # as the recorded one, with which it is compared


def with_deciding_probes(playbook: Playbook, verdict: Verdict) -> Playbook:
    """Return the playbook with only the probes that the verdict depends on.

    Shape: the probes of its evidence, of its cause and what that evaluates beside them (what speaks against a reboot),
    of the playbook's must_read, those that tell of databases that its plan ends, and the host, whose boot a reboot's
    command names. Every cause is still evaluated; causes without their probes stay undecided.
    """
    needed = {name for evidence in verdict.evidence for name in evidence.probe.split(", ")} | {
        "host",
        *playbook.must_read,
    }
    cause = next((used.cause for used in playbook.causes if used.cause.name == verdict.cause), None)
    needed |= {*cause.probes, *cause.beside} if cause is not None else set()
    needed |= set(plan_impact.READ_AGAIN) if verdict.plan is not None and verdict.plan.ends is not None else set()
    return replace(playbook, probes=tuple(probe for probe in playbook.probes if probe.name in needed))


def _unparsed(outputs: Outputs) -> Outputs:
    return outputs


def _outputs_of(readings: Mapping[str, Any], name: str) -> Outputs:
    reading = readings.get(name)
    if not isinstance(reading, Outputs):
        raise CannotRead(f"The question “{name}” was not answered.")
    return reading
