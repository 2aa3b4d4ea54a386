"""A cause that people know and accept is counted as muted, wherever its node is read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.actions import ACTIONS
from bot.app.cases import surroundings
from bot.app.factories import library
from bot.domain.batch import Sampling
from bot.domain.entry import Entry, body_of, kind_of
from bot.domain.house_events import HOUSE, CauseMuted
from bot.domain.mute_record import GivenMutes
from bot.extras.fleet.report import answer_line, fleet_body, fleet_text, report
from bot.extras.fleet.run import ChunkReader
from bot.extras.fleet.sweep import Sweep
from bot.response.diagnosis.triage import Triage
from bot.transport.case_file import load
from bot.transport.replay import ReplayTransport
from tests.contract.test_why import FOUNDING

LEAK = "leaked-memory-cgroups"


async def test_sweep_of_whole_checks_says_on_which_nodes_a_cause_is_muted() -> None:
    case = load(FOUNDING)
    at, sweep = case.head.taken_at, Sweep.of(library().get("node-health"), full=True)
    known, _ = surroundings(case.head)
    accepted, other = replace(known, name="n1"), replace(known, name="n2")
    muted = CauseMuted(LEAK, "n1", at + timedelta(days=1), "known")
    mutes = GivenMutes((Entry(HOUSE, 1, at, "terminal:ann", kind_of(muted), body_of(muted), ""),))
    triage = Triage(ReplayTransport(case), ACTIONS, lambda: at, Sampling(case.head.samples), mutes=mutes)
    answers = await ChunkReader(triage, sweep, 2).answers([accepted, other])
    found = report([accepted, other], answers, sweep.judged, selected=2, seconds=1.0)
    (leak,) = (count for count in found.causes if count.cause == LEAK)
    assert (leak.nodes, leak.muted) == (("n1", "n2"), ("n1",))
    assert "muted on 1 of them: n1" in fleet_text(found)
    assert [cause["muted"] for cause in fleet_body(found)["causes"] if cause["cause"] == LEAK] == [["n1"]]
    assert {answer.node: f"{LEAK} (confirmed, muted)" in answer_line(answer) for answer in found.answers} == {
        "n1": True,
        "n2": False,
    }
