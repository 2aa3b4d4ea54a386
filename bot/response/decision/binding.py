"""What an approval binds beside the plan, and how a node that is read again differs from it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from bot.domain.action import ALSO, Plan
from bot.domain.json_form import plain
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.policy import Policy
from bot.domain.probe import Unread
from bot.domain.safe_text import redacted
from bot.domain.verdict import Verdict
from bot.response.execution.node_access import NodeStatus

_UNIT = re.compile(r"[^\s,;]+\.[a-z]+")


def binds(verdict: Verdict, node: Node, seen: NodeStatus, playbook: Playbook, policy: Policy) -> Mapping[str, str]:
    """Return what the approver has seen, by name."""
    return bindings(verdict, node, seen, f"{playbook.name} {playbook.version}", policy)


def bindings(verdict: Verdict, node: Node, seen: NodeStatus, playbook: str, policy: Policy) -> Mapping[str, str]:
    """Return the same for a playbook's name and version, as the record has them."""
    evidence = json.dumps(redacted(plain(verdict.evidence)), sort_keys=True, separators=(",", ":"))
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


def another_machine(bound: Mapping[str, str], node: Node, seen: NodeStatus) -> tuple[str, ...]:
    """Return what shows that this is not the approved machine; a new boot does not count."""
    values = {"address": address(node), "host_key": seen.host_key, "machine_id": seen.machine_id}
    return tuple(f"{name}: {bound.get(name, '')} → {now}" for name, now in values.items() if bound.get(name) != now)


def another_boot(bound: Mapping[str, str], seen: NodeStatus) -> tuple[str, ...]:
    """Return a sentence if the node was booted since."""
    was = bound.get("boot_id", "")
    return () if seen.boot_id == was else (f"boot_id: {was} → {seen.boot_id}",)


def another_reach(bound: Mapping[str, str], seen: NodeStatus) -> tuple[str, ...]:
    """Return how the steps' side effects differ from those approved; empty where they were not read."""
    if seen.also is None:
        return ()
    was = {name: words for name, words in bound.items() if name.startswith(ALSO)}
    changed = sorted(name for name in was.keys() | seen.also.keys() if was.get(name) != seen.also.get(name))
    return tuple(f"{name}: {was.get(name, 'nothing')} → {seen.also.get(name, 'nothing')}" for name in changed)


def further_reach(bound: Mapping[str, str], seen: NodeStatus) -> tuple[str, ...]:
    """Return what a later step would do to units that were not shown with it. Fewer units are no difference, because an
    earlier step may have stopped or started them.
    """
    effects = ((name, bound.get(name, ""), words) for name, words in sorted((seen.also or {}).items()))
    return tuple(f"{name}: {was or 'nothing'} → {now}" for name, was, now in effects if not _units(now) <= _units(was))


def _units(words: str) -> frozenset[str]:
    return frozenset(_UNIT.findall(words))


def drift(before: Verdict, plan: Plan, now: Verdict) -> tuple[str, ...]:
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
        found.append(f"plan: {_said(plan)} → {_said(now.plan)}")
    found += [f"{reading.probe}: {reading.reason}" for reading in _newly_unread(before, now)]
    return tuple(found)


def _newly_unread(before: Verdict, now: Verdict) -> list[Unread]:
    """What the evidence depends on and is now unread."""
    known, shown = {reading.probe for reading in before.unread}, {reading.probe for reading in before.evidence}
    return [reading for reading in now.unread if reading.probe in shown and reading.probe not in known]


def _said(plan: Plan) -> str:
    return "; ".join(line for step in plan.steps for line in step.commands)
