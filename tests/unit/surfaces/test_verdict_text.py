"""The terminal's text: 80 columns, no colour needed, nothing a node printed obeyed."""

from __future__ import annotations

import json
from dataclasses import replace

from jsonschema import Draft202012Validator

from bot.domain.probe import Unread
from bot.domain.verdict import Evidence, Undecided, Unusual
from bot.surfaces.document import SCHEMA_FILE, document
from bot.surfaces.verdict_brief import verdict_brief
from bot.surfaces.verdict_text import headline, verdict_text
from tests.slack.drawn import details
from tests.unit.surfaces.verdicts import FOUNDING, MUTED

SCHEMA = Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


def test_slow_node_is_called_slow_wherever_a_verdict_is_told() -> None:
    slow, brisk = replace(FOUNDING, slowness=8.2), replace(FOUNDING, slowness=1.4)
    assert "read in 5.3 s: answers took 8 × as long as usual" in verdict_text(slow)
    assert "as usual" not in verdict_text(brisk)
    told = json.loads(document([slow, brisk]))
    SCHEMA.validate(told)
    assert [node.get("slowness") for node in told["nodes"]] == [8.2, None]


def test_muted_cause_is_told_with_who_accepted_it_until_when_and_why() -> None:
    assert headline(MUTED) == "node-123  CRITICAL  leaked-memory-cgroups (confirmed, muted)"
    said = " ".join(verdict_text(MUTED).split())
    assert "is muted until 2026-11-29 12:00 UTC by terminal:ann: replaced. No plan is offered for it." in said
    assert json.loads(document([MUTED]))["nodes"][0]["muted"] == {
        "cause": "leaked-memory-cgroups",
        "selector": "*",
        "until": "2026-11-29T12:00:00+00:00",
        "reason": "replaced",
        "by": "terminal:ann",
    }


def test_text_says_everything_a_person_needs() -> None:
    text = verdict_text(FOUNDING)
    for word in (
        "memory  4",
        "ecs.service",
        "sudo -n systemctl disable --now -- ecs.service",
        "cpu-steal",
        "Not read",
        "io-stall",
    ):
        assert word in text, text


def test_reading_that_the_login_may_not_have_names_what_gives_it() -> None:
    closed = Unread("kernel_log", "log: sudo refused (sudo: a password is required)")
    text = verdict_text(replace(FOUNDING, unread=(closed,)))
    assert "zombie sudoers prints the lines" in text
    (reply,) = details(replace(FOUNDING, unread=(closed,)))
    assert "zombie sudoers prints the lines" in json.dumps(reply.message.blocks)
    bare = replace(FOUNDING, unread=(Unread("kernel_log", "log: sudo is not installed"),))
    assert "install sudo on the node" in verdict_text(bare)
    silent = replace(FOUNDING, unread=(Unread("kernel_log", "the answer never came"),))
    assert "sudoers" not in verdict_text(silent).partition("Not read")[2]


def test_reason_that_many_causes_share_is_told_once() -> None:
    closed = Unread("kernel_log", "log: sudo refused (sudo: a password is required)")
    open_ = tuple(Undecided(name, f"the log was not read ({closed.reason})") for name in ("io-stall", "oom-kills"))
    text = verdict_text(replace(FOUNDING, unread=(closed,), undecided=open_), width=200)
    assert text.count("sudo refused") == 1
    assert "io-stall: the log was not read\n" in text


def test_kernel_is_quoted_where_no_cause_was_found_and_no_expression_of_ours() -> None:
    source = ("[9.1] node kernel: nvme nvme1: I/O 37 timeout", "[9.2] node kernel: nvme nvme1: I/O 38 \x1b[1mtimeout")
    told = Evidence(
        "failures", "kernel_log", "It told of failures.", (*source, "kernel_log.last_complaint_seconds = 9")
    )
    verdict = replace(
        FOUNDING, cause=None, confidence=None, found="", harm="", evidence=(told,), alerted="gpu was read."
    )
    for said in (verdict_text(verdict), verdict_brief(verdict)):
        words = " ".join(said.split())
        assert "The kernel's last line about it: “nvme nvme1: I/O 38 \\x1b[1mtimeout”" in words
        assert "gpu was read." in words
    assert "The kernel's last line" not in verdict_text(replace(verdict, cause="disk-full"))
    odd = Unusual("kernel_log.events[x]", "“nvme nvme1: I/O 38 \\x1b[1mtimeout”", "absent on its 40 peers")
    assert "The kernel's last line" not in verdict_text(replace(verdict, unusual=(odd,))), "it stands there already"
