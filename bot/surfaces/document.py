"""Verdicts as the JSON document that scripts read; its shape is promised in `check.schema.json` beside this file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from bot.domain.action import PlanImpact
from bot.domain.command import SLOW
from bot.domain.growth import Growth
from bot.domain.probe import Unread
from bot.domain.verdict import Verdict
from bot.surfaces.json_converter import JsonConverter

SCHEMA_VERSION = 1
BEGINNING, BETWEEN, END = f'{{"schema": {SCHEMA_VERSION}, "nodes": [\n', ",\n", "\n]}"  # of a document of several nodes
SCHEMA_FILE = Path(__file__).with_name("check.schema.json")


def node_text(node: Mapping[str, Any]) -> str:
    """Return a node's part of a document of several, as one line."""
    return to_json(node).decode()  # three times as fast as the standard library's


def document(verdicts: Iterable[Verdict]) -> str:
    """Return the document as text: a single node is laid out for people, of several each is a line."""
    nodes = document_body(verdicts)["nodes"]
    return laid_out(nodes) if len(nodes) <= 1 else BEGINNING + BETWEEN.join(map(node_text, nodes)) + END


def laid_out(nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return the document of these nodes' parts as text that people read, too."""
    return json.dumps({"schema": SCHEMA_VERSION, "nodes": nodes}, ensure_ascii=False, indent=2)


def document_body(verdicts: Iterable[Verdict], incidents: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the document; `incidents` are those that were opened, by node."""
    converter = JsonConverter()
    nodes = [node_document(verdict, incidents, converter) for verdict in verdicts]
    return {"schema": SCHEMA_VERSION, "nodes": nodes}


def node_document(
    verdict: Verdict,
    incidents: Mapping[str, str] | None = None,
    converter: JsonConverter | None = None,
    growth: Growth | None = None,
) -> dict[str, Any]:
    """Return a node's part of the document; for many nodes, hand in the same converter each time."""
    readings = verdict.snapshot.readings if verdict.snapshot is not None else {}
    body: dict[str, Any] = {
        "node": verdict.node,
        "status": verdict.status,
        "cause": verdict.cause,
        "confidence": verdict.confidence,
        "summary": verdict.summary,
        "evidence": [
            {"finding": item.finding, "probe": item.probe, "says": item.says, "source": list(item.source)}
            for item in verdict.evidence
        ],
        "ruled_out": [
            {"cause": out.cause, "because": out.because, "applies": out.applies} for out in verdict.ruled_out
        ],
        "undecided": [
            {"cause": open_.cause, "because": open_.because, "would_decide": open_.would_decide}
            for open_ in verdict.undecided
        ],
        "unread": [{"probe": unread.probe, "reason": unread.reason} for unread in verdict.unread],
        "suspects": list(verdict.suspects),
        "plan": None
        if verdict.plan is None
        else {
            "digest": verdict.plan.digest,
            "steps": [
                {"action": step.action, "args": dict(step.args), "commands": list(step.commands)}
                for step in verdict.plan.steps
            ],
        }
        | ({"notes": list(verdict.plan.notes)} if verdict.plan.notes else {}),
        "readings": {name: reading for name, reading in readings.items() if not isinstance(reading, Unread)},
        "took_seconds": round(verdict.took.total_seconds(), 3),
    }
    if verdict.slowness is not None and verdict.slowness >= SLOW:
        body["slowness"] = round(verdict.slowness, 1)
    if verdict.plan is not None and verdict.plan.ends is not None:
        body |= ends_body(verdict.plan.ends)
    if verdict.plan is not None and (proven := verdict.plan.proven) is not None:
        body["proven"] = {"kernels": list(proven.kernels), "here": proven.here, "says": proven.says}
    if verdict.compared:
        body["compared"] = verdict.compared
    if verdict.unusual:
        body["unusual"] = [
            {"fact": each.fact, "here": each.here, "peers": each.peers, "since": each.since or None, "says": each.says}
            | ({"lines": list(each.lines)} if each.lines else {})
            for each in verdict.unusual
        ]
    if verdict.muted:
        body["muted"] = _muted(verdict)
    if growth is not None:
        body["growth"] = growth_body(growth)
    if incidents and verdict.node in incidents:
        body["incident"] = incidents[verdict.node]
    converter = JsonConverter() if converter is None else converter
    clean: dict[str, Any] = converter.convert(body)
    return clean | {"node": body["node"]}  # the name is the inventory's


def ends_body(ends: PlanImpact) -> dict[str, Any]:
    """What ends with the plan, gravest first; and what of it was not read, which is never none."""
    rows = [
        {
            "what": end.what,
            "kind": end.kind,
            "count": end.count,
            "gpus": end.gpus,
            "running_seconds": end.age,
        }
        for end in ends.rows
    ]
    unread = [{"probe": unread.probe, "reason": unread.reason} for unread in ends.unread]
    more = {"ends_not_listed": ends.more} if ends.more else {}
    return {"ends": rows} | more | ({"ends_unread": unread} if unread else {})


def _muted(verdict: Verdict) -> dict[str, Any]:
    """The gravest muted cause that was found, with the others beside it."""
    first, *more = [
        {
            "cause": mute.cause,
            "selector": mute.selector,
            "until": mute.until.isoformat(),
            "reason": mute.reason,
            "by": mute.by,
        }
        for mute in verdict.muted
    ]
    return first | ({"also": more} if more else {})


def growth_body(growth: Growth) -> dict[str, Any]:
    """Return a node's growth as plain JSON values."""
    times = growth.harm_in
    return {
        "cause": growth.cause,
        "counts": growth.what,
        "latest": growth.latest.value,
        "at": growth.latest.at.isoformat(),
        "looks": growth.counted,
        "per_hour": growth.per_hour,
        "interval": [growth.low, growth.high] if growth.low is not None else None,
        "grows": growth.grows,
        "harm_at": growth.harm.value if growth.harm is not None else None,
        "harm": growth.harm.says if growth.harm is not None else None,
        "hours_to_harm": [each.total_seconds() / 3600 for each in times] if times is not None else None,
    }
