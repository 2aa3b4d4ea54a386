"""What an approval binds beside the plan; and the look before the plan runs: a node that differs ends the incident."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from bot.domain.action import ALSO, KEEPS, Facts, Plan, PlanImpact, Step
from bot.domain.contracts import NodeDirectory
from bot.domain.errors import (
    AlreadyCured,
    CannotRead,
    CannotTell,
    HostKeyRejected,
    MissingRight,
    Refused,
    StateChanged,
    Unreachable,
    UsageError,
    WouldStopProtected,
)
from bot.domain.events import Cancelled
from bot.domain.incident import Incident
from bot.domain.json_form import to_json_types
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.policy import Policy
from bot.domain.probe import Unread
from bot.domain.safe_text import redacted
from bot.domain.verdict import Evidence, Status, Verdict
from bot.response.diagnosis.plan_impact import PART, READ_FROM, unseen_words
from bot.response.execution.node_access import NodeAccess, NodeStatus
from bot.response.execution.sudoers import login_that_lacks

if TYPE_CHECKING:
    from bot.response.decision.recheck import RecheckResult

_UNIT = re.compile(r"[^\s,;]+\.[a-z]+")
_FOR_SEVERAL = {"stops": "stop", "starts": "start", "is": "are"}
_AGAIN = "Try again, or check the node again."


class DriftDetected(Exception):
    """The node differs from what was approved. No ZombieError: the caller turns it into a refusal."""

    def __init__(self, differences: tuple[str, ...], kind: type[Refused]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences
        self.kind = kind

    @property
    def what(self) -> str:
        """What it means, in a few words."""
        cured = self.kind is AlreadyCured
        return "there is nothing left to cure" if cured else "the node is not as it was"

    @property
    def end(self) -> Cancelled:
        """The end of an incident of which nothing was begun."""
        return Cancelled(f"Read again before acting: {self.what}.", self.differences)


class StateReader(Protocol):
    """Reads a node again: `recheck.Recheck`."""

    def read_in_stages(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
        """Yield what is seen, the shortest look first; the caller stops once satisfied."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """Has the node of an incident read again, and compares."""

    reach: NodeAccess
    nodes: NodeDirectory
    recheck: StateReader

    async def check_unchanged(self, incident: Incident) -> NodeStatus:
        """Look, and return what was seen if nothing has changed.

        Shape: `facts` are those of the first step, where the look asked for them. What a short look does not show is
        read over the whole window before it counts as changed.
        Raises: DriftDetected if something has; MissingRight, CannotDrain, UnknownCluster or CannotTell.
        """
        try:
            return await self._look_until_clear(incident)
        except WouldStopProtected as no:
            raise DriftDetected((no.sentence,), WouldStopProtected) from no
        except HostKeyRejected as no:
            raise DriftDetected((f"host_key: {no.sentence}",), StateChanged) from no
        except (Unreachable, CannotRead, UsageError) as no:
            raise CannotTell(f"The node cannot be read again: {no.sentence}", _AGAIN) from no

    async def _look_until_clear(self, incident: Incident) -> NodeStatus:
        assert incident.proposal is not None
        node, plan = self.nodes.find(incident.node), incident.proposal.plan
        if incident.undoes:
            lacking = await self.reach.lacking(node, plan.steps)
            seen = await self.reach.look(node, plan.steps, plan.steps)
            other = (*_other_differences(incident, node, seen), *undo_drift(incident, seen.facts))
            return _unchanged_or_refused(node, replace(seen, facts=()), other, lacking, StateChanged)
        look: RecheckResult | None = None
        others: tuple[str, ...] = ()
        differences: tuple[str, ...] = ()
        async with aclosing(self.recheck.read_in_stages(incident, node)) as looks:
            async for look in looks:
                others, differences = _other_differences(incident, node, look.seen), _drift_of_look(incident, look)
                if others or not differences:
                    break
        assert look is not None
        kind = AlreadyCured if _is_cured(incident, look.verdict) and not others else StateChanged
        seen = _unchanged_or_refused(node, look.seen, (*others, *differences), look.lacking, kind)
        if unshown := unshown_losses(incident, await self.reach.cluster_side_effects(plan.steps, seen)):
            raise DriftDetected(unshown, StateChanged)
        return seen


def _drift_of_look(incident: Incident, look: RecheckResult) -> tuple[str, ...]:
    """Return how the node differs from the proposal.

    Raises: CannotTell when nobody could talk to it.
    """
    assert incident.proposal is not None
    assert incident.verdict is not None
    if look.verdict.status is Status.UNREACHABLE:
        raise CannotTell(f"The node cannot be read again: {look.verdict.summary}", _AGAIN)
    return verdict_drift(incident.verdict, incident.proposal.plan, look.verdict)


def _is_cured(incident: Incident, now: Verdict) -> bool:
    """True if nothing is found, and what was read speaks against the cause: a probe without an answer cures nothing."""
    assert incident.verdict is not None
    ruled_out = any(each.cause == incident.verdict.cause and each.applies for each in now.ruled_out)
    return now.status is not Status.UNKNOWN and now.cause is None and ruled_out


def _other_differences(incident: Incident, node: Node, seen: NodeStatus) -> tuple[str, ...]:
    assert incident.proposal is not None
    bound = incident.proposal.binds
    return (*machine_drift(bound, node, seen), *boot_drift(bound, seen), *changed_side_effects(bound, seen))


def _unchanged_or_refused(
    node: Node,
    seen: NodeStatus,
    differences: tuple[str, ...],
    lacking: tuple[tuple[str, ...], ...],
    kind: type[Refused],
) -> NodeStatus:
    if differences:
        raise DriftDetected(differences, kind)
    if lacking:
        login, lines = login_that_lacks(node.name, node.user or "zombie", lacking)
        raise MissingRight(f"The {login} may not run what the plan needs.", lines)
    return seen


# --- what is bound, and how a node differs from it


def approval_bindings(
    verdict: Verdict, node: Node, seen: NodeStatus, playbook: Playbook, policy: Policy
) -> Mapping[str, str]:
    """Return what the approver has seen, by name."""
    return bindings_for_version(verdict, node, seen, f"{playbook.name} {playbook.version}", policy)


def bindings_for_version(
    verdict: Verdict, node: Node, seen: NodeStatus, playbook: str, policy: Policy
) -> Mapping[str, str]:
    """Return the same for a playbook's name and version, as the record has them."""
    evidence = json.dumps(redacted(to_json_types(verdict.evidence)), sort_keys=True, separators=(",", ":"))
    return {
        "address": address(node),
        "host_key": seen.host_key,
        "boot_id": seen.boot_id,
        "machine_id": seen.machine_id,
        "playbook": playbook,
        "policy": policy.digest,
        "evidence": hashlib.sha256(evidence.encode()).hexdigest(),
        **(seen.also or {}),
    }


def address(node: Node) -> str:
    """A node's address in its inventory."""
    return f"{node.address}:{node.port}" if node.port is not None else node.address


def machine_drift(bound: Mapping[str, str], node: Node, seen: NodeStatus) -> tuple[str, ...]:
    """Return what shows that this is not the approved machine; a new boot does not count."""
    values = {"address": address(node), "host_key": seen.host_key, "machine_id": seen.machine_id}
    return tuple(f"{name}: {bound.get(name, '')} → {now}" for name, now in values.items() if bound.get(name) != now)


def boot_drift(bound: Mapping[str, str], seen: NodeStatus) -> tuple[str, ...]:
    """Return a sentence if the node was booted since."""
    was = bound.get("boot_id", "")
    return () if seen.boot_id == was else (f"boot_id: {was} → {seen.boot_id}",)


def changed_side_effects(bound: Mapping[str, str], seen: NodeStatus) -> tuple[str, ...]:
    """Return how the steps' side effects differ from those approved; empty where they were not read."""
    if seen.also is None:
        return ()
    was = {name: words for name, words in bound.items() if name.startswith(ALSO)}
    changed = sorted(name for name in was.keys() | seen.also.keys() if was.get(name) != seen.also.get(name))
    return tuple(f"{name}: {was.get(name, 'nothing')} → {seen.also.get(name, 'nothing')}" for name in changed)


def added_side_effects(bound: Mapping[str, str], seen: NodeStatus) -> tuple[str, ...]:
    """Return what a later step would do to units that were not shown with it, or not so. Fewer units are no difference,
    because an earlier step may have stopped or started them.
    """
    effects = ((name, bound.get(name, ""), words) for name, words in sorted((seen.also or {}).items()))
    return tuple(
        f"{name}: {was or 'nothing'} → {now}"
        for name, was, now in effects
        if not _unit_effects(now) <= _unit_effects(was)
    )


def _unit_effects(words: str) -> frozenset[tuple[str, str]]:
    """Return each unit in the words with what is said of it: the rest of its part, the same for one and for several.

    Example:
    >>> sorted(_unit_effects("with a.service stops b.service"))
    [('with stop', 'a.service'), ('with stop', 'b.service')]
    """
    parts = [(_UNIT.sub(" ", part).replace(",", " ").split(), _UNIT.findall(part)) for part in words.split("; ")]
    return frozenset(
        (" ".join(_FOR_SEVERAL.get(word, word) for word in rest), unit) for rest, units in parts for unit in units
    )


def verdict_drift(before: Verdict, plan: Plan, now: Verdict) -> tuple[str, ...]:
    """Return how a verdict differs from the approved verdict; figures may move."""
    found = []
    if now.status is not before.status:
        found.append(f"status: {before.status} → {now.status}")
    if now.cause != before.cause:
        found.append(f"cause: {before.cause or 'none'} → {now.cause or 'none'}")
    was, sure = before.confidence, now.confidence
    if was is not None and (sure is None or sure.rank < was.rank):
        found.append(f"confidence: {was} → {sure or 'none'}")
    if set(now.suspects) != set(before.suspects):
        found.append(f"suspects: {', '.join(before.suspects) or 'none'} → {', '.join(now.suspects) or 'none'}")
    if now.plan is None:
        found.append("plan: none is offered now")
    elif now.plan.digest != plan.digest:
        found.append(f"plan: {_plan_words(plan)} → {_plan_words(now.plan)}")
    found += [f"{reading.probe}: {reading.reason}" for reading in _newly_unread(before, now)]
    if plan.ends is not None and now.plan is not None and now.plan.ends is not None:
        found += [*added_data_stores(plan.ends, now.plan.ends), *impact_newly_unread(plan.ends, now.plan.ends)]
    return tuple(found)


def added_data_stores(before: PlanImpact, now: PlanImpact) -> Iterator[str]:
    """Yield each database and member that would end now and was not shown."""
    shown, found = _data_stores(before), _data_stores(now)
    for what, count in found.items():
        if count > (known := shown[what]):
            runs = f"{what} runs" if not known else f"one more {what} runs"
            runs = runs if count - known == 1 or not known else f"{count - known} more {what} run"
            yield f"what ends: {runs} here now, others need its data or its vote, and it was not shown"


def _data_stores(ends: PlanImpact) -> Counter[str]:
    """How many there are of each name; several whose names are secrets have the same."""
    counts = Counter[str]()
    for end in ends.rows:
        counts[end.what] += end.count if end.kind == KEEPS else 0
    return counts


def impact_newly_unread(before: PlanImpact, now: PlanImpact) -> Iterator[str]:
    """Yield what can no longer be looked at for databases and members, and before a reboot: unread is never none."""
    known = {unread.probe for unread in (*before.unread, *before.unseen)}
    for unread in now.unread:
        whole = unread.probe.partition(PART)[0]
        if whole in READ_FROM and not {unread.probe, whole} & known:
            yield f"what ends: {unread.probe} could not be read: {unread.reason}"
    for unseen in now.unseen:
        if not {unseen.probe, unseen.probe.partition(PART)[0]} & known:
            yield f"not read before the reboot: {unseen_words(unseen)}"


def unshown_losses(incident: Incident, affected: Mapping[str, bool]) -> tuple[str, ...]:
    """Return what would go for good with a step and was not shown with the plan, such as a pod that came since."""
    assert incident.proposal is not None
    shown = incident.proposal.affects
    lost = [line for line, is_lost in affected.items() if is_lost and redacted(line) not in shown]
    return tuple(f"what it moves: {line}; it is there now, and was not shown" for line in lost)


def _newly_unread(before: Verdict, now: Verdict) -> list[Unread]:
    """What the evidence depends on and is now unread."""
    known, shown = {reading.probe for reading in before.unread}, {reading.probe for reading in before.evidence}
    return [reading for reading in now.unread if reading.probe in shown and reading.probe not in known]


def _plan_words(plan: Plan) -> str:
    return "; ".join(line for step in plan.steps for line in step.commands)


def undo_drift(incident: Incident, facts: Sequence[Facts]) -> tuple[str, ...]:
    """Return how the node's state differs from what it was when the undo was proposed."""
    assert incident.proposal is not None
    assert incident.verdict is not None
    now = [unit_state_evidence(step, facts) for step, facts in zip(incident.proposal.plan.steps, facts, strict=True)]
    return tuple(
        f"{was.says} → {seen.says}"
        for was, seen in zip(incident.verdict.evidence, now, strict=True)
        if was.source != seen.source
    )


def unit_state_evidence(step: Step, facts: Facts) -> Evidence:
    """Return a unit's state as an undo records it."""
    lines = tuple(f"{name}={value}" for name, value in facts.items())
    return Evidence(step.action, "look", f"{step.args.get('unit', step.action)}: {unit_state_words(facts)}", lines)


def unit_state_words(facts: Facts) -> str:
    """Return a unit's state in words."""
    return ", ".join(f"{name}={value}" for name, value in facts.items() if name.endswith("State")) or ", ".join(
        f"{name}={value}" for name, value in facts.items()
    )
