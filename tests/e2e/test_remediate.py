"""`zombie remediate` as a person runs it: the whole program over SSH, on simulated nodes that count what is done."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN
from bot.demo.machine import changes
from tests.nodes.acting_fleet import POLICY, site
from tests.program import Started, zombie
from tests.waiting import until

pytestmark = pytest.mark.slow
DONE = ["disable ecs.service", "reboot"]
TO_APPROVAL = ["AlertReceived", "Triaged", "PlanProposed", "Approved"]
BOTH_STEPS = ["StepStarted", "StepVerified"] * 2


async def test_founding_case_is_carried_to_resolved_and_other_endings_to_a_person(tmp_path: Path) -> None:
    nodes = {
        "cured": (AUTO_RESTART, None),
        "swallows": (AUTO_RESTART, Fault.SWALLOWS_REBOOT),
        "again": (HIDDEN, Fault.ENABLED_AT_BOOT),
        "stranger": (HIDDEN, Fault.OTHER_KEY_AFTER_BOOT),
    }
    async with site(tmp_path, nodes) as here:
        incidents = await here.opened(*nodes)
        ended = dict(
            zip(incidents, await asyncio.gather(*(here.remediate(one) for one in incidents.values())), strict=True)
        )
        told = {name: await here.told(incident) for name, incident in incidents.items()}
        kinds = {name: [entry["kind"] for entry in one["entries"]] for name, one in told.items()}

        assert ended["cured"].status == 0, ended["cured"]
        assert told["cured"]["state"] == "resolved"
        assert kinds["cured"][:9] == [*TO_APPROVAL, *BOTH_STEPS, "ValidationStarted"]
        compared = {
            one["name"]: (one["before"], one["after"]) for one in told["cured"]["entries"][-1]["body"]["compared"]
        }
        assert compared["dying memory cgroups"][0] in ("68,440", "68,441"), "it leaks while it is read"
        assert compared["dying memory cgroups"][1] == "17"
        crashes = ("activating (auto-restart), enabled", "active (running), enabled")  # it runs a moment of each round
        assert compared["ecs.service"] in [(before, "inactive (dead), disabled") for before in crashes]
        assert compared["network device resets"][1] == "0"
        assert (here.machine("cured").reboots, here.machine("cured").done) == (1, DONE)

        assert (ended["swallows"].status, told["swallows"]["state"]) == (1, "escalated"), ended["swallows"]
        assert kinds["swallows"][-2:] == ["StepFailed", "Escalated"]
        assert (here.machine("swallows").reboots, here.machine("swallows").done) == (0, DONE), "never sent again"

        assert (ended["again"].status, told["again"]["state"]) == (1, "escalated"), ended["again"]
        assert "Disable ecs.service does not hold" in told["again"]["entries"][-1]["body"]["because"]
        assert here.machine("again").reboots == 1

        assert (ended["stranger"].status, told["stranger"]["state"]) == (1, "unknown"), ended["stranger"]
        assert kinds["stranger"][-1] == "QuestionAsked"
        assert here.machine("stranger").done == DONE, "nothing is sent to another machine"

        whole = await here.zombie("audit", "verify")
        assert (whole.status, whole.out[:5]) == (0, "whole")


async def test_whoever_may_not_or_comes_late_is_told_by_name_and_nothing_is_done(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (AUTO_RESTART, None)}) as here:
        incident = (await here.opened("node"))["node"]
        for name, reason, refusal in (("mallory", "why not", "NotAnApprover"), ("alice", "  ", "ReasonMissing")):
            refused = await here.remediate(incident, name, reason)
            assert (refused.status, refused.err.split(": ")[1]) == (1, refusal)
        assert (await here.zombie("brake", "on", "--reason", "a rollout")).out.startswith("on: pulled by terminal:")
        refused = await here.remediate(incident)
        assert (refused.status, refused.err.split(": ")[1]) == (1, "Braked")
        assert (await here.told(incident))["state"] == "proposed"
        no = await here.zombie("brake", "off", "--approve-as", "mallory")
        assert (no.status, no.err.split(": ")[1]) == (1, "NotAnApprover")
        assert (await here.zombie("brake", "off", "--approve-as", "bob")).out == "off\n"
        assert (await here.remediate("no-such-incident")).status == 2

        (here.folder / "zombie.toml").write_text(POLICY.replace('"2s"', '"3s"'))
        refused = await here.remediate(incident)
        assert (refused.status, refused.err.split(": ")[1]) == (1, "PlanChanged"), "other rules than were shown"
        (here.folder / "zombie.toml").write_text(POLICY)

        machine = here.machine("node")
        machine.become(changes.after_reboot(machine.state, AUTO_RESTART), booted=True)  # by somebody else
        refused = await here.remediate(incident)
        assert (refused.status, refused.err.split(": ")[1]) == (1, "StateChanged")
        told = await here.told(incident)
        assert told["state"] == "cancelled"
        assert any(one.startswith("boot_id: ") for one in told["entries"][-1]["body"]["differences"])
        late = await here.remediate(incident, "bob")
        assert (late.status, late.err.split(": ")[1]) == (1, "AlreadyDecided")
        assert machine.done == []
        exported = (await here.zombie("audit", "export")).out
        assert exported.count('"WishRefused"') == 7


async def test_killed_in_a_step_it_is_looked_at_and_goes_on_with_one_reboot(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (HIDDEN, None)}) as here:
        incident = (await here.opened("node"))["node"]
        first = await here.start("remediate", incident, "--approve-as", "alice", "--reason", "it leaks")
        await asyncio.to_thread(until, lambda: here.machine("node").reboots, within=timedelta(seconds=60))
        first.send_signal(signal.SIGKILL)
        await first.communicate()
        assert (await here.kinds(incident))[-1] == "StepStarted"
        assert "AlreadyDecided" in (await here.remediate(incident)).err, "it may be alive"
        async with asyncio.timeout(60):
            while (done := await here.remediate(incident)).status != 0:
                assert "AlreadyDecided" in done.err, done
        assert (await here.told(incident))["state"] == "resolved"
        assert here.machine("node").done == DONE
        assert here.machine("node").reboots == 1


async def test_reader_of_its_output_that_leaves_is_told_who_goes_on(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (HIDDEN, None)}) as here:
        incident = (await here.opened("node"))["node"]
        command = ("remediate", incident, "--approve-as", "alice", "--reason", "it leaks")
        with Started(*command, cwd=here.folder, env={**here.environ, "SUDO_USER": "alice"}) as running:
            await asyncio.to_thread(running.stdout.read, 1)
            running.stdout.close()
            assert await asyncio.to_thread(running.wait, 60) == 141
            says = running.stderr.read()
        assert f"interrupted; a running `zombie serve` goes on with {incident}." in says


def test_sudoers_lines_for_acting_are_what_visudo_takes(tmp_path: Path) -> None:
    config = tmp_path / "zombie.toml"
    config.write_text(POLICY)
    done = zombie("sudoers", "--user", "zombie", "--config", str(config), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    acting = done.stdout.partition("# Acting")[2].splitlines()[1:]
    commands = [
        ("/usr/bin/", "/bin/", "systemctl disable --now -- ecs.service"),
        ("/usr/bin/", "/bin/", "systemctl mask --now -- ecs.service"),
        ("/usr/bin/", "/bin/", "systemctl enable -- ecs.service"),
        ("/usr/bin/", "/bin/", "systemctl unmask -- ecs.service"),
        ("/usr/bin/", "/bin/", "systemctl start -- ecs.service"),
        ("/usr/bin/", "/bin/", "systemctl reboot"),
        ("/usr/sbin/", "/sbin/", "sysctl -w vm.drop_caches\\=3"),
    ]
    start = "zombie ALL=(root) NOPASSWD: "
    lines_wanted = [f"{start}{folder}{command}" for *folders, command in commands for folder in folders]
    assert acting == ["Defaults:zombie !fqdn", *lines_wanted]
    lines = tmp_path / "sudoers"
    lines.write_text(done.stdout)
    checked = subprocess.run(["visudo", "-cf", str(lines)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
