"""Whole nodes, recorded, each with the verdict it deserves: tests/captures/nodes/verdicts.toml.

A recording is what `zombie check --record` writes. `synthetic--` ones were answered by a simulated machine, the others
by a real one. A label may leave probes out, or change a word in what was recorded, to make a neighbour of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.app.cases import run_alone
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.node import Node
from bot.domain.verdict import Verdict
from bot.response.diagnosis.triage import Triage
from bot.transport.case_file import load
from bot.transport.replay import ReplayTransport
from tests.commandline import CommandLine
from tests.shipped import shipped

NODES = Path(__file__).parents[1] / "captures" / "nodes"
NOTHING: dict[str, Any] = {"cause": "", "confidence": "", "suspects": [], "plan": [], "unread": []}
LABELS: list[dict[str, Any]] = [
    label | {"expect": NOTHING | label["expect"]}
    for label in tomllib.loads((NODES / "verdicts.toml").read_text())["node"]
]


class Changed:
    """A recording with probes left out and words replaced."""

    def __init__(self, recording: ReplayTransport, without: list[str], words: dict[str, str]) -> None:
        self._recording = recording
        self._without = without
        self._words = words
        self.unused = set(words)

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        async for run in self._recording.read(node, batch, deadline):
            if run.probe in self._without:
                continue
            text = run.stdout
            for old, new in self._words.items():
                if old in text:
                    self.unused.discard(old)
                    text = text.replace(old, new)
            yield replace(run, stdout=text)


def now() -> datetime:
    return datetime(2026, 11, 21, tzinfo=UTC)


def judged(label: dict[str, Any]) -> tuple[Verdict, Changed]:
    """The verdict on a label's recording, and the recording with its changes."""
    title = label["title"]
    if title not in JUDGED:
        JUDGED[title] = run_alone(_judged(label))
    return JUDGED[title]


JUDGED: dict[str, tuple[Verdict, Changed]] = {}


async def _judged(label: dict[str, Any]) -> tuple[Verdict, Changed]:
    case = load(NODES / label["file"])
    recording = Changed(ReplayTransport(case), label.get("without", []), label.get("replace", {}))
    whole = shipped().get(label.get("playbook", "node-health"))
    # A probe that came later was not asked: what it would decide is open, and no label's business.
    playbook = replace(whole, probes=tuple(probe for probe in whole.probes if probe.name in case.probes))
    return await Triage(recording, ACTIONS, now).diagnose(Node("node", "localhost"), playbook), recording


@pytest.mark.parametrize("label", LABELS, ids=[label["title"] for label in LABELS])
def test_recorded_node_gets_the_verdict_it_deserves(label: dict[str, Any]) -> None:
    verdict, recording = judged(label)
    steps = [" ".join([step.action, *step.args.values()]) for step in verdict.plan.steps] if verdict.plan else []
    told = {
        "status": verdict.status.value,
        "cause": verdict.cause or "",
        "confidence": verdict.confidence.value if verdict.confidence else "",
        "suspects": list(verdict.suspects),
        "plan": steps,
        "unread": sorted(reading.probe for reading in verdict.unread),
    }
    assert told == label["expect"], verdict.summary
    assert not recording.unused, "a word to be replaced is not in the recording"


def test_causes_are_named_where_they_belong_and_nowhere_else(record_property: Callable[[str, object], None]) -> None:
    named = [(str(label["expect"]["cause"]), judged(label)[0]) for label in LABELS]
    rows = []
    for cause in sorted({expected for expected, _ in named if expected} | {v.cause for _, v in named if v.cause}):
        right = sum(expected == cause == verdict.cause for expected, verdict in named)
        told = sum(verdict.cause == cause for _, verdict in named)
        due = sum(expected == cause for expected, _ in named)
        precision, recall = right / told if told else 1.0, right / due if due else 1.0
        rows.append(f"{cause}: precision {precision:.2f} ({right} of {told}), recall {recall:.2f} ({right} of {due})")
        least = (0.98, 0.95) if cause == "leaked-memory-cgroups" else (0.9, 0.9)
        assert precision >= least[0], rows[-1]
        assert recall >= least[1], rows[-1]
    unjustified = [
        label["title"]
        for label, (_, verdict) in zip(LABELS, named, strict=True)
        if verdict.plan is not None and not label["expect"]["plan"]
    ]
    assert not unjustified
    record_property("table", f"Verdicts on {len(LABELS)} labelled recordings, no plan unjustified:\n" + "\n".join(rows))


@pytest.mark.parametrize(
    "label", [label for label in LABELS if "replace" not in label][::9], ids=lambda label: str(label["title"])
)
def test_replay_gives_a_recording_its_verdict(run: CommandLine, label: dict[str, Any]) -> None:
    without = [word for probe in label.get("without", []) for word in ("--with", f"{probe}=unread")]
    playbook = label.get("playbook", "node-health")
    ran = run("replay", str(NODES / label["file"]), "-p", playbook, "--json", *without)
    (node,) = ran.json["nodes"]
    steps = node["plan"]["steps"] if node["plan"] else []
    told = {name: node[name] or "" for name in ("status", "cause", "confidence")}
    told |= {
        "suspects": node["suspects"],
        "unread": sorted(each["probe"] for each in node["unread"]),
    }
    told["plan"] = [" ".join([step["action"], *step["args"].values()]) for step in steps]
    assert told == label["expect"]
    assert ran.status == {"healthy": 0, "degraded": 1, "critical": 1, "unknown": 3}[told["status"]]


def test_every_recording_is_labelled_and_there_are_enough() -> None:
    assert {label["file"] for label in LABELS} == {path.name for path in NODES.glob("*.jsonl.gz")}
    assert len(LABELS) >= 25
    causes = {label["expect"]["cause"] for label in LABELS}
    assert len(causes) >= 9, causes
