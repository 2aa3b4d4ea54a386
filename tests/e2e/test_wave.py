"""`zombie wave` as people run it: the whole program over SSH, on simulated nodes that count what is done to them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet import FLEET
from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN
from bot.demo.machine.state import Line
from bot.domain.entry import instant_of, instant_text
from bot.extras.marks.marks import VerdictMarked
from bot.extras.marks.store import MarkStore
from bot.extras.waves.events import WaveEnded
from bot.ledger import Database
from tests.nodes.acting_fleet import POLICY, Site, site
from tests.slack.replicas import replicas, until

pytestmark = pytest.mark.slow
CAUSE = "leaked-memory-cgroups"
DONE = ["disable ecs.service", "reboot"]
LOGGER = "logger -p user.notice -t"
_WORKS = next(member.state for member in FLEET if member.name.startswith("train-gpu"))
_LOG = "watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [java:4242]"
_LOCKED_UP = Line(_WORKS.uptime - 300.0, _LOG, 0, every=200.0)
STUCK = replace(_WORKS, log=(*_WORKS.log, _LOCKED_UP))  # its plan is the reboot alone


async def started(here: Site, *options: str) -> dict[str, Any]:
    done = await here.zombie("wave", "start", "*", "--cause", CAUSE, "--json", *options, login="alice")
    assert done.status == 0, done.err
    told: dict[str, Any] = json.loads(done.out)
    return told


async def told(here: Site, wave: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await here.zombie("wave", wave, "--json")).out)
    return found


async def yes(here: Site, wave: str, name: str) -> Any:
    digest = (await told(here, wave))["digest"]
    said = ("--digest", digest[:32], "--approve-as", name, "--reason", "the canary first")
    return await here.zombie("wave", "approve", wave, *said)


async def approved(here: Site, wave: str) -> None:
    done = await yes(here, wave, "bob")
    assert done.status == 0, done.err


async def test_plans_are_shown_whole_and_a_yes_that_names_no_digest_or_another_is_refused(tmp_path: Path) -> None:
    nodes = {"n0": (STUCK, None), "n1": (STUCK, None), "n2": (AUTO_RESTART, None)}
    async with site(tmp_path, nodes) as here:
        known = here.fleet.inventory.read_text()
        here.fleet.inventory.write_text(f"{known}\n[nodes.other]\n{known.split('[nodes.n0]')[1].split('[')[0]}")
        asked = await here.zombie("wave", "start", "*", "--cause", "lockup", CAUSE, "--json", login="alice")
        assert "zombie: other is left out: It is the same machine as n0, which is in the wave." in asked.err
        wave = json.loads(asked.out)
        assert wave["does"] == "2 × reboot; 1 × disable ecs.service, then reboot"
        alike, other = wave["plans"]
        assert {node["node"] for node in alike["nodes"]} == {"n0", "n1"}
        said, reboot = alike["commands"]
        assert (said, "= <boot> && exec sudo -n systemctl reboot" in reboot) == (f'{LOGGER} "zombie[<incident>]"', True)
        (alone,) = other["nodes"]
        said, disable, again, reboot = other["commands"]
        assert said == again == f'{LOGGER} "zombie[{alone["incident"]}]"'
        assert disable == "sudo -n systemctl disable --now -- ecs.service"
        assert f"= {alone['boot']} && exec sudo -n systemctl reboot" in reboot
        every = [node for plan in wave["plans"] for node in plan["nodes"]]
        assert len({node["boot"] for node in every}) == len({node["address"] for node in every}) == 3
        shown = await here.zombie("wave", wave["id"])
        blind = await here.zombie("wave", "approve", wave["id"], "--approve-as", "bob", "--reason", "go")
        assert (blind.status, "names the digest of the plans above" in blind.err) == (2, True), blind
        for said in (shown.out, blind.out):
            assert all(command in said for plan in wave["plans"] for command in plan["commands"]), said
            assert all(node[name] in said for node in every for name in ("node", "incident", "address", "boot")), said
            assert wave["digest"][:32] in said
        for digest, status, named in (("0" * 64, 1, "PlanChanged"), (wave["digest"][:12], 2, "32 digits")):
            named_as = ("--digest", digest, "--approve-as", "bob", "--reason", "go")
            no = await here.zombie("wave", "approve", wave["id"], *named_as)
            assert (no.status, named in no.err) == (status, True), no
        assert (await told(here, wave["id"]))["state"] == "proposed"


@pytest.mark.long
async def test_real_cure_goes_through_the_stages(tmp_path: Path) -> None:
    async with site(tmp_path, {f"n{number}": (AUTO_RESTART, None) for number in range(5)}) as here:
        gone = await here.zombie("wave", "start", "*", "--cause", CAUSE, "--control", "20%", login="alice")
        assert (gone.status, "control groups of waves are gone" in gone.err) == (2, True), gone
        wave = await started(here)
        assert (wave["state"], len(wave["nodes"]), wave["stages"]) == ("proposed", 5, [1, 2, 5])
        own = await yes(here, wave["id"], "alice")
        assert (own.status, own.err.split(": ")[1]) == (1, "SelfApproval")
        alone = await here.remediate(wave["nodes"][0]["incident"], "bob")
        assert (alone.status, alone.err.split(": ")[1]) == (1, "PartOfWave"), "only the wave gives it the turn"

        await approved(here, wave["id"])
        done = await here.zombie("wave", "run", wave["id"])
        assert done.status == 0, done

        over = await told(here, wave["id"])
        assert over["state"] == "completed"
        assert {node["turn"] for node in over["nodes"]} == {"cured"}
        assert [here.machine(node["node"]).done for node in over["nodes"]] == [DONE] * 5
        whole = await here.zombie("audit", "verify")
        assert (whole.status, whole.out[:5]) == (0, "whole"), whole


async def test_useless_cure_stops_at_the_canary_and_goes_on_only_by_an_approver(tmp_path: Path) -> None:
    nodes = {f"n{number}": (HIDDEN, Fault.ENABLED_AT_BOOT) for number in range(4)}
    async with site(tmp_path, nodes) as here:
        wave = await started(here)
        await approved(here, wave["id"])
        done = await here.zombie("wave", "run", wave["id"])
        assert done.status == 1
        over = await told(here, wave["id"])
        acted = [name for name in nodes if here.machine(name).done]
        assert (over["state"], len(acted)) == ("stopped", 1), done
        assert f"{acted[0]}: acted, but not fixed: " in over["stopped"]
        blind = await here.zombie("wave", "resume", wave["id"], "--approve-as", "bob", "--reason", "go on")
        assert (blind.status, f"{acted[0]}: acted, but not fixed: " in blind.out) == (2, True), blind
        (seen,) = re.findall(r"--seen (\S+)", blind.err)
        earlier = instant_text(instant_of(seen) - timedelta(seconds=1))
        for name, at, refusal in (
            ("alice", seen, "SelfApproval"),
            ("mallory", seen, "NotAnApprover"),
            ("bob", earlier, "StaleRequest"),
        ):
            as_one = ("--seen", at, "--approve-as", name, "--reason", "go on")
            no = await here.zombie("wave", "resume", wave["id"], *as_one)
            assert (no.status, no.err.split(": ")[1]) == (1, refusal), no
        again = await here.zombie("wave", "run", wave["id"])
        assert (again.status, [name for name in nodes if here.machine(name).done]) == (1, acted)


@pytest.mark.long
async def test_doubt_a_policy_that_changes_and_a_brake_stop_it_before_anything_is_done(tmp_path: Path) -> None:
    async with site(tmp_path, {f"n{number}": (AUTO_RESTART, None) for number in range(2)}) as here:
        wave = await started(here)
        with Database.open(f"sqlite:///{here.folder / 'state' / 'zombie.db'}") as database:
            for who in ("alice", "bob"):  # who may approve; there are no others
                MarkStore(database).append.now(VerdictMarked("i1", CAUSE, right=False), f"terminal:{who}")
        no = await yes(here, wave["id"], "bob")
        assert (no.status, no.err.split(": ")[1]) == (1, "CauseInDoubt")
        assert (
            await here.zombie("playbooks", "looked-at", CAUSE, "--reason", "it is right now", login="alice")
        ).status == 0
        await approved(here, wave["id"])
        await here.zombie("brake", "on", "--reason", "a rollout")
        assert (await here.zombie("wave", "run", wave["id"])).status == 1
        assert "pulled the brake" in (await told(here, wave["id"]))["stopped"]
        await here.zombie("brake", "off", "--approve-as", "bob")
        (here.folder / "zombie.toml").write_text(POLICY.replace('"alice", "bob"', '"alice"'))  # bob may no more
        (seen,) = re.findall(r"--seen (\S+)", (await here.zombie("wave", "resume", wave["id"])).err)
        as_bob = ("--seen", seen, "--approve-as", "bob", "--reason", "over")
        no = await here.zombie("wave", "resume", wave["id"], *as_bob)
        assert (no.status, no.err.split(": ")[1]) == (1, "NotAnApprover")
        assert [here.machine(name).done for name in ("n0", "n1")] == [[], []]


async def test_bot_that_serves_carries_a_wave_on_and_another_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    nodes = {f"n{number}": (STUCK, None) for number in range(3)}
    async with replicas(tmp_path, f"sqlite:///{tmp_path / 'zombie.db'}", nodes) as bots:
        here, first = bots.here, await bots.joins()
        done = await here.zombie("wave", "start", "*", "--cause", "lockup", "--json", login="alice")
        assert done.status == 0, done.err
        wave = json.loads(done.out)["id"]
        await approved(here, wave)
        await until(lambda: any(here.machine(name).reboots for name in nodes), "the canary's reboot", 90)
        await bots.joins()
        await first.kill()

        def is_over() -> bool:
            return any(line.get("change") == WaveEnded.__name__ for bot in bots.runners for line in bot.lines)

        await until(is_over, "the end", 200)
        over = await told(here, wave)
        assert (over["state"], {node["turn"] for node in over["nodes"]}) == ("completed", {"cured"}), over
        assert [here.machine(name).reboots for name in nodes] == [1, 1, 1]
        whole = await here.zombie("audit", "verify")
        assert (whole.status, whole.out[:5]) == (0, "whole"), whole
