"""A node that prints secrets of every kind: none of them leaves by any way out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from bot.actions import ACTIONS
from bot.app.cases import replayed, with_recorded_probes
from bot.app.check import check
from bot.domain.action import Plan, Step
from bot.domain.batch import Sampling
from bot.domain.case import read_case
from bot.domain.json_form import to_json_types
from bot.domain.node import Node
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Evidence, RuledOut, Verdict, without_secrets
from bot.probes.processes import ProcessesReading
from bot.response.diagnosis.triage import CpuLock, Triage
from bot.surfaces.document import document
from bot.surfaces.verdict_text import verdict_text
from bot.transport.case_file import load
from bot.transport.replay import ReplayTransport
from tests.readings.secrets import seeded
from tests.shipped import shipped
from tests.slack.service import CHANNEL, Readings, card_saying, serving
from tests.slack.workspace import SlackWorkspace
from tests.unit.surfaces.verdicts import FOUNDING

CAPTURES = Path(__file__).parents[1] / "captures"
CORPUS = seeded(7)
HIDDEN = {word for one in CORPUS for word in one.hidden}
SAID = " · ".join(one.text.replace("\n", " ") for one in CORPUS[:8])


def told_by_a_talkative_node(name: str) -> Verdict:
    """A verdict with every secret in its evidence, and some in each of its other texts."""
    lines = tuple(line for one in CORPUS for line in one.text.split("\n"))
    return replace(
        FOUNDING,
        node=name,
        summary=SAID,
        evidence=(
            *(Evidence(one.kind, "kernel_log", one.text, tuple(one.text.split("\n"))) for one in CORPUS),
            Evidence("all", "kernel_log", SAID, lines),
        ),
        ruled_out=(RuledOut("cpu-steal", SAID),),
        unread=(Unread("containers", SAID),),
        suspects=(CORPUS[0].text,),
        plan=Plan(name, (Step("disable_unit", {"unit": "x.service"}, (f"echo {CORPUS[0].text}",)),), SAID),
        lasting_fix=SAID,
        try_next=SAID,
    )


def leaked(text: str) -> list[str]:
    """Every secret that stands in a text, also as JSON writes it."""
    return sorted(word for word in HIDDEN if word in text or json.dumps(word)[1:-1] in text)


def kept_in(folder: Path) -> str:
    """Every byte of the database, also what it has deleted and not overwritten."""
    return b"".join(path.read_bytes() for path in folder.glob("zombie.db*")).decode(errors="replace")


def test_this_test_can_fail() -> None:
    assert len(leaked(json.dumps(to_json_types(told_by_a_talkative_node("node-1"))))) == len(HIDDEN)


def test_neither_text_nor_document_holds_one() -> None:
    shown = without_secrets(told_by_a_talkative_node("node-1"))
    assert leaked(verdict_text(shown)) == []
    assert leaked(document([shown])) == []
    assert leaked(repr(shown)) == []


async def test_check_in_a_terminal_prints_none() -> None:
    class Talkative:
        """A check whose nodes say too much."""

        nodes = (Node("node-1", "127.0.0.1"), Node("node-2", "127.0.0.1"))
        parallel = 2
        playbook = None
        cpu_lock = CpuLock()

        @property
        def triage(self) -> Talkative:
            return self

        async def diagnose(self, node: Node, playbook: object, heard: object = None) -> Verdict:
            return told_by_a_talkative_node(node.name)

    shown: list[Verdict] = []
    await check(Talkative(), lambda _: None, shown.append)  # type: ignore[arg-type]
    assert sorted(one.node for one in shown) == ["node-1", "node-2"]
    assert leaked("".join(map(verdict_text, shown)) + document(shown)) == []


def test_readings_of_the_document_hold_none() -> None:
    reading = ProcessesReading((), 5.0, ("agent --api-token hunter2hunter2",))
    snapshot = Snapshot("node-1", datetime(2026, 11, 21, tzinfo=UTC), timedelta(seconds=5), {"processes": reading})
    told = document([replace(FOUNDING, snapshot=snapshot)])
    assert "agent --api-token [redacted]" in told


async def test_neither_card_nor_details_nor_record_nor_log_nor_metrics_hold_one(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, Readings(told_by_a_talkative_node)) as bot:
        request = f"/zombie check node-1 {CORPUS[1].text}"
        await slack.say("alice", CHANNEL, request)
        card = await card_saying(slack, "node-1: CRITICAL")
        await slack.until(lambda: len(slack.thread(card)) > 1, what="the details")
        async with httpx.AsyncClient(trust_env=False) as client:
            metrics = (await client.get(f"{bot.address}/metrics")).text
        (incident,) = [one.id for one in await bot.ledger.incidents()]
        record = json.dumps([dict(entry.body) for entry in await bot.ledger.read(incident)])
        posted = [one for one in slack.messages(CHANNEL, "alice") if one.user == "U0ZOMBIE01"] + slack.thread(card)
        assert "redacted" in record
        for way, text in (
            ("Slack", json.dumps([(one.text, one.blocks) for one in posted], default=str)),
            ("record", record),
            ("metrics", metrics),
        ):
            assert leaked(text) == [], way
    assert leaked("\n".join(map(json.dumps, bot.lines))) == []
    assert leaked(kept_in(tmp_path)) == []


async def test_name_that_looks_like_a_secret_hides_no_fault_from_the_bot() -> None:
    case = load(CAPTURES / "nodes" / "debian-12-v2--stuck-disk.jsonl.gz")
    (log,) = (run for run in case.runs if (run.probe, run.name) == ("kernel_log", "log"))
    lines = log.stdout.splitlines()
    killed = '[  416.2] lab-1 kernel: Memory cgroup out of memory: Killed process 7 (pw=""") total-vm:4kB'
    first = next(at for at, line in enumerate(lines) if "blocked for more" in line)
    said = "\n".join([*lines[:first], killed, *lines[first:-1], killed.replace("416", "427"), lines[-1], ""])
    case = replace(case, runs=tuple(replace(run, stdout=said) if run is log else run for run in case.runs))
    playbook, at = with_recorded_probes(case, shipped().get("node-health")), case.head.taken_at
    triage = Triage(ReplayTransport(case), ACTIONS, lambda: at, Sampling(case.head.samples), program="zombie 1")
    verdict = await triage.diagnose(Node("lab-1", "127.0.0.1"), playbook)
    assert (verdict.status, verdict.cause) == ("critical", "io-stall")
    assert verdict.snapshot is not None
    assert verdict.snapshot.case is not None
    again = await replayed(read_case(verdict.snapshot.case.text(), "the case", "lab-1"), playbook)
    assert (again.status, [unread.probe for unread in again.unread]) == ("unknown", ["kernel_log"])
