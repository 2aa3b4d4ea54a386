"""Verdicts as the JSON document that scripts read; its shape is promised in `check.schema.json` beside this file."""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.domain.probe import Unread
from bot.domain.redaction import Redactor
from bot.domain.safe_text import safe
from bot.domain.verdict import Verdict

SCHEMA_VERSION = 1
BEGINNING, BETWEEN, END = f'{{"schema": {SCHEMA_VERSION}, "nodes": [\n', ",\n", "\n]}"  # of a document of several nodes
SCHEMA_FILE = Path(__file__).with_name("check.schema.json")

# The node's own lines stand in the evidence; in the readings they would only repeat, at some hundred kB a node.
_LEFT_OUT = frozenset({"raw", "lines", "source", "source_later"})
_AS_IT_IS = frozenset({int, bool, type(None)})


def document(verdicts: Iterable[Verdict], incidents: Mapping[str, str] | None = None) -> str:
    """Return the whole document as text: one node's is laid out for people, of several each is a line."""
    whole = documents(verdicts, incidents)
    if len(whole["nodes"]) <= 1:
        return json.dumps(whole, ensure_ascii=False, indent=2)
    return BEGINNING + BETWEEN.join(json.dumps(node, ensure_ascii=False) for node in whole["nodes"]) + END


def documents(verdicts: Iterable[Verdict], incidents: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the whole document; `incidents` are those that were opened, by node."""
    redactor = Redactor()
    return {"schema": SCHEMA_VERSION, "nodes": [node_document(verdict, incidents, redactor) for verdict in verdicts]}


def node_document(
    verdict: Verdict, incidents: Mapping[str, str] | None = None, redactor: Redactor | None = None
) -> dict[str, Any]:
    """Return one node's part of the document; whoever makes many hands in one redactor for all of them."""
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
    redactor = Redactor() if redactor is None else redactor
    clean: dict[str, Any] = redactor.value({name: _plain(value) for name, value in body.items()})
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
    kind = type(value)
    if kind in _AS_IT_IS:  # in their order: a node's readings hold some thousand values, most of them figures
        return value
    if kind is str:
        return safe(value)
    if kind is float:
        return round(value, 3)
    if kind is tuple or kind is list or kind is frozenset or kind is set:
        return [inner if type(inner) in _AS_IT_IS else _plain(inner) for inner in value]
    if is_dataclass(kind):
        return _record(value)
    if isinstance(value, Mapping):
        return {
            safe(name if type(name) is str else str(name)): inner if type(inner) in _AS_IT_IS else _plain(inner)
            for name, inner in value.items()
        }
    return _word(value)


def _word(value: Any) -> Any:
    """What is seldom: words of a list of ours, times, and kinds derived from the plain ones."""
    match value:
        case enum.Enum():
            return value.value
        case str():
            return safe(value)
        case timedelta():
            return round(value.total_seconds(), 3)
        case datetime():
            return value.isoformat()
        case float():
            return round(value, 3)
        case tuple() | list() | frozenset() | set():
            return [_plain(inner) for inner in value]
    return value


def _record(value: Any) -> dict[str, Any]:
    """A dataclass as its fields and its simple properties; a duration's name says that it is in seconds."""
    record: dict[str, Any] = {}
    kind: Any = type(value)
    names, properties = _parts(kind)
    for name in names:
        held = getattr(value, name)
        if type(held) in _AS_IT_IS:
            record[name] = held
        elif type(held) is timedelta:
            record[f"{name}_seconds"] = _word(held)
        else:
            record[name] = _plain(held)
    for name in properties:
        held = getattr(value, name)
        if held is None or isinstance(held, bool | int | float | str):
            record.setdefault(name, _plain(held))
    return record


@functools.cache
def _parts(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a dataclass's fields and of its properties, as far as they are told."""
    told = tuple(field.name for field in fields(kind) if field.name not in _LEFT_OUT)
    members = vars(kind).items()
    return told, tuple(name for name, part in members if isinstance(part, property) and not name.startswith("_"))
