"""What a person may wish in the terminal beside a yes: no, not now, take it back, the brake; as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN
from tests.nodes.acting_fleet import POLICY, Ended, Site, site

pytestmark = pytest.mark.slow


async def say(here: Site, incident: str, *words: str) -> Ended:
    return await here.zombie("remediate", incident, *words)


def refusal(ended: Ended) -> str:
    assert ended.status == 1, ended
    return ended.err.split(": ")[1]


async def test_no_and_never_mind_are_on_record_and_nothing_is_done(tmp_path: Path) -> None:
    async with site(tmp_path, {"no": (AUTO_RESTART, None), "off": (AUTO_RESTART, None)}) as here:
        incidents = await here.opened("no", "off")
        by = ("--approve-as", "alice", "--reason", "a rollout replaces it")
        declined = await say(here, incidents["no"], "--decline", *by)
        assert (declined.status, "Declined" in declined.out) == (0, True), declined
        assert (await here.told(incidents["no"]))["state"] == "declined"
        assert refusal(await say(here, incidents["no"], *by)) == "AlreadyDecided"

        assert refusal(await say(here, incidents["off"], "--cancel", "--approve-as", "mallory")) == "NotAnApprover"
        cancelled = await say(here, incidents["off"], "--cancel")  # by the login that asked for the check
        assert (cancelled.status, "called it off" in cancelled.out) == (0, True), cancelled
        assert (await here.told(incidents["off"]))["state"] == "cancelled"
        assert refusal(await say(here, incidents["off"], "--cancel")) == "AlreadyDecided"

        assert (await say(here, incidents["off"], "--decline", "--cancel")).status == 2
        lacking = await say(here, incidents["off"], "--approve-as", "alice")
        assert (lacking.status, "--reason" in lacking.err) == (2, True)
        assert here.machine("no").done == here.machine("off").done == []


async def test_question_is_answered_and_another_machine_hears_nothing_whatever_the_answer(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (HIDDEN, Fault.OTHER_KEY_AFTER_BOOT)}) as here:
        incident = (await here.opened("node"))["node"]
        parked = await here.remediate(incident)
        assert (parked.status, '--answer "go on" or "give up"' in parked.out) == (1, True), parked
        done = list(here.machine("node").done)
        by = ("--approve-as", "bob", "--reason", "it was replaced")
        again = await say(here, incident, "--answer", "go on", *by)
        assert (again.status, again.out.count("QuestionAsked")) == (1, 1), again
        over = await say(here, incident, "--answer", "give up", *by)
        assert (over.status, "bob gave it up: it was replaced" in over.out) == (0, True), over
        assert (await here.told(incident))["state"] == "escalated"
        assert refusal(await say(here, incident, "--answer", "go on", *by)) == "AlreadyDecided"
        assert here.machine("node").done == done


async def test_what_was_done_is_taken_back_once_a_second_person_says_yes(tmp_path: Path) -> None:
    policy = POLICY.replace('"2s"', '"1s"')
    async with site(tmp_path, {"node": (AUTO_RESTART, None)}, policy) as here:
        incident = (await here.opened("node"))["node"]
        assert refusal(await here.zombie("undo", incident, "--as", "alice")) == "NothingToUndo"
        cured = await here.remediate(incident)
        assert cured.status == 0, cured
        assert "  $ sudo -n systemctl disable --now -- " in cured.out, "a yes prints the plan with its commands"
        last = [line for line in cured.out.splitlines() if "Resolved" in line][-1]
        assert last.endswith(" readings within 1 s confirm it.")
        assert refusal(await here.zombie("undo", incident, "--as", "mallory")) == "NotAnApprover"

        asked = await here.zombie("undo", incident, "--as", "alice", "--reason", "it is needed after all")
        assert asked.status == 0, asked
        undo = next(line.split()[1].rstrip(":") for line in asked.out.splitlines() if line.startswith("Incident "))
        assert refusal(await here.remediate(undo, "alice")) == "SelfApproval"
        back = await here.remediate(undo, "bob")
        assert back.status == 0, back
        assert here.machine("node").done[-2:] == ["enable ecs.service", "start ecs.service"]
        assert here.machine("node").reboots == 1
        assert (await here.told(undo))["state"] == "resolved"
        assert (await here.zombie("audit", "verify")).status == 0


async def test_one_login_is_one_person_whatever_names_it_claims(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (HIDDEN, None)}, POLICY.replace("[policy]", "[policy]\napprovals = 2")) as here:
        opened = await here.zombie("check", "node", "--open", "--json", login="carol")
        incident = json.loads(opened.out)["nodes"][0]["incident"]
        told = await here.told(incident)
        assert told["entries"][0]["body"]["alert"]["os_user"] == "carol"
        yes = ("remediate", incident, "--reason", "it leaks", "--approve-as")
        assert refusal(await here.zombie(*yes, "alice", login="carol")) == "SelfApproval"
        assert (await here.zombie(*yes, "alice", login="dan")).status == 1, "the first of two"
        assert refusal(await here.zombie(*yes, "bob", login="dan")) == "NotEnoughApprovers"
        assert here.machine("node").done == []
        (here.folder / "zombie.toml").write_text(POLICY.replace("[policy]", "[policy]\nself_approval = true"))
        alone = (await here.opened("node"))["node"]
        assert (await here.remediate(alone, "alice")).status == 0
