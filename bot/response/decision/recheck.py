"""A short look before a plan may run: what decides, whose machine it is, the rights and the first step, in one go.

What was confirmed over a whole window need not be measured again for as long: it is enough that a second of it shows
the same. A second that does not show it proves nothing, so the whole window is looked at before anybody is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.domain.action import Facts, Step
from bot.domain.command import Outputs
from bot.domain.errors import CannotRead, PlanChanged, UnknownPlaybook
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.probe import Probe
from bot.domain.verdict import Status, Verdict
from bot.probes.profile import as_run, profiled
from bot.response.diagnosis.triage import Triage
from bot.response.execution.node_access import IDENTITY, NodeAccess, Seen, asking, identity, lacking_of, uptime

_IDENTITY, _FIRST, _RIGHT = "identity", "first step", "right"  # beside the probes' names


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """What one look saw; `lacking` are the rights that the login does not have."""

    verdict: Verdict
    seen: Seen
    lacking: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Recheck:
    """Looks at nodes once more; `triages` are short ones and at last the whole, `playbooks` finds one by its name."""

    reach: NodeAccess
    triages: Sequence[Triage]
    playbooks: Playbooks

    async def looks(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
        """Yield what is seen, at first shortly, then over the whole window; whoever is satisfied stops.

        Raises: PlanChanged when the playbook is another by now; WouldStopProtected; Unreachable or CannotRead when it
        cannot be told.
        """
        assert incident.proposal is not None
        assert incident.verdict is not None
        try:
            playbook = self.playbooks.get(incident.playbook)
        except UnknownPlaybook as no:
            raise PlanChanged(f"The playbook is not there any more: {no.sentence}") from no
        was, now = incident.proposal.binds.get("playbook", ""), f"{playbook.name} {playbook.version}"
        if was != now:
            raise PlanChanged(f"The playbook is another than when the plan was proposed: {was} → {now}.")
        # A profile is not taken anew: what it showed is weighed again with what the node says now.
        playbook = profiled(playbook, as_run(incident.profile))
        steps = incident.proposal.plan.steps
        for triage in self.triages[:-1]:
            yield await self._look(triage, node, deciding(playbook, incident.verdict), steps)
        yield await self._look(self.triages[-1], node, playbook, steps)

    async def _look(self, triage: Triage, node: Node, playbook: Playbook, steps: Sequence[Step]) -> RecheckResult:
        together = self.reach.acts_as_it_looks(node) and not any(self.reach.by_calls(step) for step in steps)
        rights = self.reach.rights(steps) if together else ()
        first = None if self.reach.by_calls(steps[0]) else steps[0]
        asked = [Probe(_IDENTITY, "", (IDENTITY,), _as_told)]
        if first is not None:
            asked.append(Probe(_FIRST, "", self.reach.actions[first.action].looks(first.args), _as_told))
        asked += [Probe(name, "", commands, _as_told) for name, commands in self.reach.asking_around(steps)]
        asked += [Probe(f"{_RIGHT} {n}", "", (may,), _as_told) for n, may in enumerate(asking(rights))]
        reading = triage.diagnose(node, replace(playbook, probes=(*playbook.probes, *asked)))
        verdict, lacking = await asyncio.gather(reading, self.reach.lacking(node, () if together else steps))
        if verdict.status is Status.UNREACHABLE or verdict.snapshot is None:
            seen = await self.reach.look(node)  # says why by its kind: another host key is more than a lost connection
            return RecheckResult(verdict, seen, ())
        told = verdict.snapshot.readings
        if together:
            lacking = lacking_of(node, rights, [_told(told, f"{_RIGHT} {n}") for n in range(len(rights))])
        boot_id, machine_id = identity(node, _told(told, _IDENTITY))
        facts: tuple[Facts, ...] = ()
        if first is not None:
            facts = (self.reach.actions[first.action].facts(first.args, _told(told, _FIRST)),)
        also = self.reach.also(steps, {name: _told(told, name) for name, _ in self.reach.asking_around(steps)})
        began = uptime(_told(told, _IDENTITY))
        until = None if began is None else began + verdict.snapshot.window.total_seconds()
        seen = Seen(boot_id, machine_id, self.reach.host_key(node), facts, also, until)
        return RecheckResult(verdict, seen, lacking)


def deciding(playbook: Playbook, verdict: Verdict) -> Playbook:
    """Return the playbook with those probes alone that the verdict hangs on.

    Shape: what its evidence was read by, what its cause looks at, what the playbook must read, and the host, whose boot
    stands in a reboot's command. Every cause is weighed still, and those whose probes were not asked stay undecided.
    """
    needed = {name for evidence in verdict.evidence for name in evidence.probe.split(", ")} | {
        "host",
        *playbook.must_read,
    }
    needed |= {name for used in playbook.causes if used.cause.name == verdict.cause for name in used.cause.probes}
    return replace(playbook, probes=tuple(probe for probe in playbook.probes if probe.name in needed))


def _as_told(outputs: Outputs) -> Outputs:
    return outputs


def _told(readings: Mapping[str, Any], name: str) -> Outputs:
    told = readings.get(name)
    if not isinstance(told, Outputs):
        raise CannotRead(f"What was asked as “{name}” was not answered.")
    return told
