"""Verdicts as the JSON document that scripts read; its shape is promised in `check.schema.json` beside this file."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.domain.probe import Unread
from bot.domain.redaction import redacted
from bot.domain.safe_text import safe
from bot.domain.verdict import Verdict

SCHEMA_VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("check.schema.json")

# The node's own lines stand in the evidence; in the readings they would only repeat, at some hundred kB a node.
_LEFT_OUT = frozenset({"raw", "lines", "source", "source_later"})


def document(verdicts: Iterable[Verdict], incidents: Mapping[str, str] | None = None) -> str:
    """Return the whole document as text."""
    return json.dumps(documents(verdicts, incidents), ensure_ascii=False, indent=2)


def documents(verdicts: Iterable[Verdict], incidents: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the whole document; `incidents` are those that were opened, by node."""
    return {"schema": SCHEMA_VERSION, "nodes": [node_document(verdict, incidents) for verdict in verdicts]}


def node_document(verdict: Verdict, incidents: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return one node's part of the document."""
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
        "ruled_out": [{"cause": ruled_out.cause, "because": ruled_out.because} for ruled_out in verdict.ruled_out],
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
        "readings": {name: _plain(reading) for name, reading in readings.items() if not isinstance(reading, Unread)},
        "took_seconds": round(verdict.took.total_seconds(), 3),
    }
    if verdict.muted:
        body["muted"] = _muted(verdict)
    if incidents and verdict.node in incidents:
        body["incident"] = incidents[verdict.node]
    clean: dict[str, Any] = redacted({name: _plain(value) for name, value in body.items()})
    return clean | {"node": body["node"]}  # the name is the inventory's


def _muted(verdict: Verdict) -> dict[str, Any]:
    """The gravest cause that was found and is muted; further ones beside it."""
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


def _plain(value: Any) -> Any:
    """Turn values into JSON's: durations into seconds, instants into ISO 8601, text made safe once more at the exit."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, timedelta):
        return round(value.total_seconds(), 3)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return round(value, 3)
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    if isinstance(value, Mapping):
        return {safe(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [_plain(inner) for inner in value]
    return value


def _record(value: Any) -> dict[str, Any]:
    """A dataclass as its fields and its simple properties; a duration's name says that it is in seconds."""
    record: dict[str, Any] = {}
    for field in fields(value):
        if field.name in _LEFT_OUT:
            continue
        held = getattr(value, field.name)
        name = f"{field.name}_seconds" if isinstance(held, timedelta) else field.name
        record[name] = _plain(held)
    for name, member in vars(type(value)).items():
        if isinstance(member, property) and not name.startswith("_"):
            held = getattr(value, name)
            if held is None or isinstance(held, bool | int | float | str):
                record.setdefault(name, _plain(held))
    return record
