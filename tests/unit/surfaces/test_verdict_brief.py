"""What a check prints: a node in ten lines, several as a table, and nothing of it obeyed by a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bot.actions import ACTIONS
from bot.chat.card import incident_card
from bot.domain.action import EndedItem, PlanImpact
from bot.domain.probe import Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Verdict
from bot.surfaces.verdict_brief import FEW, MORE, MOST, PROPOSES, verdict_brief, verdicts_table
from bot.surfaces.verdict_text import headline, verdict_text
from bot.view.plan_words import PlanWords
from bot.view.view import verdicts_view
from bot.view.words import plain, remainder_words
from tests.unit.surfaces.verdicts import FOUNDING, HOSTILE, MUTED

WORDS = PlanWords(ACTIONS)
HEALTHY = Verdict("node-9", Status.HEALTHY, None, None, summary="Healthy", ruled_out=FOUNDING.ruled_out)
GONE = Verdict(
    "node-0", Status.UNREACHABLE, None, None, summary="node-0 refused the connection. [refused]", try_next="Is it up?"
)


def test_brief_says_verdict_harm_offer_its_cost_and_what_next_in_ten_lines() -> None:
    assert FOUNDING.plan is not None
    ends = PlanImpact((EndedItem("ray::train_step", "gpu", 48, 8, 3 * 86_400),))
    grave = replace(
        FOUNDING,
        summary="ecs.service leaks memory cgroups: 68,441 dying memory cgroups beside 240 alive. Harm: core 39 is held "
        "in the kernel by kubelet; the network card is reset for lack of CPU. Disable ecs.service, then reboot.",
        plan=replace(FOUNDING.plan, ends=ends),
    )
    lines = verdict_brief(grave, words=WORDS).splitlines()
    assert lines[0] == headline(grave) == "node-123  CRITICAL  leaked-memory-cgroups (confirmed)"
    said = " ".join(" ".join(lines).split())
    for words in (
        "68,441 dying memory cgroups",
        "Harm: core 39 is held",
        "What would help: disable ecs.service, then reboot. Nothing is done.",
        "Cost: what ends (the bot restarts none of it): 48 × ray::train_step on 8 GPUs, running 3 d",
    ):
        assert words in said, said
    assert lines[-1].strip() == PROPOSES
    assert len(lines) <= MOST


def test_brief_is_drawn_from_the_card() -> None:
    document = incident_card(verdicts_view([FOUNDING], WORDS))
    text = document.text
    assert not isinstance(text, str)
    said = " ".join(verdict_brief(FOUNDING, words=WORDS).split())
    assert FOUNDING.summary in plain(text)
    assert FOUNDING.summary in said
    assert "Undecided: io-stall. 1 other cause ruled out. Not read: containers." in said
    assert "thread" not in said


def test_full_text_has_what_the_brief_points_to() -> None:
    brief, full = verdict_brief(FOUNDING, words=WORDS), verdict_text(FOUNDING, words=WORDS)
    for words in ("sudo -n systemctl disable --now -- ecs.service", "memory  4", "no time was stolen"):
        assert words not in brief
        assert words in full


def test_next_step_is_one_that_can_be_taken() -> None:
    assert verdict_brief(FOUNDING).splitlines()[-1].strip() == PROPOSES
    assert verdict_brief(FOUNDING, proposes=False).splitlines()[-1].strip() == MORE
    assert verdict_brief(MUTED).splitlines()[-1].strip() == MORE, "no plan is offered for what is muted"
    assert verdict_brief(HEALTHY).splitlines()[-1].strip() == MORE
    silent = verdict_brief(GONE)
    assert "Is it up?" in silent
    assert "--full" not in silent, "there is no more"


def test_missing_rights_are_what_next_too() -> None:
    closed = Unread("kernel_log", "log: sudo refused (sudo: a password is required)")
    assert "zombie sudoers prints the lines" in verdict_brief(replace(FOUNDING, unread=(closed,)))
    assert "zombie sudoers" not in verdict_brief(HEALTHY)


def test_what_is_not_confirmed_says_what_would_settle_it() -> None:
    likely = replace(FOUNDING, confidence=Confidence.LIKELY, settled_by="a profile of the busy core")
    assert "Likely, not confirmed: a profile of the busy core would settle it." in verdict_brief(likely)
    assert "Likely, not confirmed: a profile of the busy core would settle it." in verdict_text(likely)


def test_table_has_the_sick_first_and_says_what_would_help() -> None:
    assert verdicts_table([HEALTHY, GONE, FOUNDING], 4, 120, words=WORDS).splitlines() == [
        "STATUS       NODE      CAUSE                  WHAT NOW",
        "CRITICAL     node-123  leaked-memory-cgroups  disable ecs.service, then reboot",
        "UNREACHABLE  node-0    not known              Is it up?",
        "HEALTHY      node-9    none                   nothing",
        "",
        "3 of 4 nodes judged: 1 critical, 1 unreachable, 1 healthy",
    ]


def test_sick_node_without_a_plan_has_its_lasting_fix_and_its_doubt_in_the_table() -> None:
    doubted = replace(FOUNDING, plan=None, confidence=Confidence.POSSIBLE)
    row = verdicts_table([doubted, HEALTHY], 2, 120).splitlines()[1]
    assert row == "CRITICAL  node-123  possible leaked-memory-cgroups  Take the unit out of the image."
    bare = verdicts_table([replace(doubted, lasting_fix=""), HEALTHY], 2, 120).splitlines()[1]
    assert bare == "CRITICAL  node-123  possible leaked-memory-cgroups  look by hand", (
        "nothing would read as: all is well"
    )


def test_narrow_terminal_keeps_node_and_cause_whole() -> None:
    heading, sick, *_ = verdicts_table([FOUNDING, HEALTHY], 2, 48, words=WORDS).splitlines()
    assert heading == "STATUS    NODE      CAUSE"
    assert sick == "CRITICAL  node-123  leaked-memory-cgroups"
    cut = verdicts_table([FOUNDING, HEALTHY], 2, 60, words=WORDS).splitlines()[1]
    assert cut == "CRITICAL  node-123  leaked-memory-cgroups  disable ecs.servi…"[:59] + "…"


def test_many_healthy_nodes_are_counted_so_that_the_sick_stay_in_sight() -> None:
    many = [replace(HEALTHY, node=f"node-{number}") for number in range(FEW + 1)]
    text = verdicts_table([*many, FOUNDING], FEW + 2, 80)
    assert len(text.splitlines()) == 4
    assert "22 of 22 nodes judged: 1 critical, 21 healthy; the healthy ones are listed with --full" in text
    assert len(verdicts_table([*many, FOUNDING], FEW + 2, 80, healthy=FEW + 1).splitlines()) == FEW + 5
    assert verdicts_table(many, FEW + 1, 80).startswith("21 of 21 nodes judged: 21 healthy;")


def test_colour_is_on_the_status_alone_and_shifts_no_column() -> None:
    coloured = verdicts_table([FOUNDING, HEALTHY], 2, 80, colour=True)
    assert "\x1b[1;31mCRITICAL\x1b[0m  node-123" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == verdicts_table([FOUNDING, HEALTHY], 2, 80)
    hostile = verdict_brief(replace(FOUNDING, summary=HOSTILE), colour=True)
    assert set(re.findall(r"\x1b\[[^m]*m", hostile)) == {"\x1b[1;31m", "\x1b[0m"}


def test_node_s_line_is_cut_where_its_proof_is_not() -> None:
    log = (
        "[760929.000010] ray-gpu-1a-0417 kernel: ena 0000:20:03.0 eth0: napi handler hasn't been called, poll scheduled"
    )
    ran = '{"cpu": "39", "usr": 0.00, "nice": 0.00, "sys": 100.00, "iowait": 0.00, "irq": 0.00, "soft": 0.00}'
    unsaid = "Nov 28 13:22:11 node-1 kernel: a line that the sentence does not repeat, and which ends with its verdict"
    shown = [
        verdict_text(replace(FOUNDING, evidence=(Evidence("f", probe, says, (line,)),)), width=80)
        for probe, says, line in (
            ("kernel_log", "eth0: the driver's poll was scheduled but did not run", log),
            ("cpu", "core 39 spent 100 % of its time in the kernel", ran),
            ("kernel_log", "the disk failed", unsaid),
        )
    ]
    cut = [next(line for line in text.splitlines() if line.startswith("      | ")) for text in shown]
    assert [line.startswith("      | …") for line in cut] == [True, False, True]
    assert cut[0].endswith("napi handler hasn't been called, poll scheduled")
    assert cut[1].startswith('      | {"cpu": "39"')
    assert cut[2].endswith("ends with its verdict")
    assert max(map(len, cut)) <= 80


@pytest.mark.parametrize(
    ("applies", "says"),
    [
        ([True, True, True], "3 other causes ruled out."),
        ([True, False], "1 other cause ruled out, 1 does not apply."),
        ([False, False, True, True], "2 other causes ruled out, 2 do not apply."),
    ],
)
def test_what_does_not_apply_is_not_counted_as_ruled_out(applies: list[bool], says: str) -> None:
    out = tuple(RuledOut(f"cause-{at}", "why", here) for at, here in enumerate(applies))
    assert list(remainder_words(replace(FOUNDING, ruled_out=out, undecided=(), unread=()))) == [says]
