"""Every node of the demo's fleet, checked over real SSH with the default playbook, gets the verdict it was made for."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.app.check import Check, check
from bot.app.factories import inventory, library, now, ssh_transport
from bot.demo.faults import Fault
from bot.demo.fleet import FLEET, running
from bot.domain.verdict import Verdict
from bot.probes.cgroups import CgroupsReading
from bot.probes.cpu import CpuReading
from bot.response.diagnosis.triage import Triage
from bot.settings import Settings

LEAK = "leaked-memory-cgroups"
ECS = ("ecs.service",)


@dataclass(frozen=True)
class Expected:
    """What a verdict must say; `steps` are the plan's actions."""

    status: str
    cause: str | None = None
    confidence: str | None = None
    suspects: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


FOUNDING = Expected("critical", LEAK, "confirmed", ECS, ("disable_unit", "reboot"))
EXPECTED = {
    "ray-gpu-1a-0417": FOUNDING,
    "ray-gpu-1a-0533": FOUNDING,
    "ray-gpu-1a-0712": replace(FOUNDING, confidence="likely"),
    "batch-1b-0072": Expected("degraded", LEAK, "confirmed", ECS, ("disable_unit",)),
    "quiet-1a-0061": Expected("degraded", LEAK, "possible"),
    "ci-runner-1b-0019": Expected("degraded", LEAK, "confirmed", ("metrics-shipper.service",), ("disable_unit",)),
    "train-gpu-1a-0102": Expected("healthy"),
    "train-gpu-1b-0116": Expected("critical", "gpu-fault", "confirmed", ("0000:90:1c.0",), ("reboot",)),
    "web-1c-0077": Expected("critical", "essential-unit-stopped", "confirmed", ("kubelet.service",), ("start_unit",)),
    "ingest-1c-0011": Expected("degraded", "instance-allowance-exceeded", "confirmed"),
    "edge-1b-0003": Expected("degraded", "irq-affinity", "confirmed"),
    "api-1c-0150": Expected("degraded", "cfs-throttling", "confirmed"),
    "nat-1c-0031": Expected("critical", "conntrack-full", "confirmed"),
    "kafka-1a-0007": Expected("critical", "io-stall", "confirmed"),
    "bastion-1a-01": Expected("critical", "cpu-steal", "confirmed"),
    "db-backup-1a-0008": Expected("degraded", "failed-units", "confirmed", ("restic-backup.service",)),
    "ray-gpu-1b-0601": FOUNDING,
    "ray-gpu-1b-0602": FOUNDING,
    "ray-gpu-1b-0603": FOUNDING,
    "ray-gpu-1b-0604": FOUNDING,
    "ray-gpu-1b-0605": FOUNDING,
    "ray-gpu-1c-0290": Expected("unreachable"),
    "web-1b-0044": Expected("unreachable"),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Verdict]:
    return asyncio.run(checked(tmp_path_factory.mktemp("fleet")))


async def checked(folder: Path) -> dict[str, Verdict]:
    verdicts: dict[str, Verdict] = {}

    def concluded(verdict: Verdict) -> None:
        verdicts[verdict.node] = verdict

    async with running(FLEET, folder, now) as fleet:
        what = Check(
            nodes=tuple(inventory(fleet.inventory, {}).nodes),
            playbook=library().get(Settings().playbook),
            triage=Triage(ssh_transport({"HOME": str(folder)}), ACTIONS, now),
            parallel=len(FLEET),
        )
        await check(what, lambda _: None, concluded)
    return verdicts


def test_expectations_cover_the_fleet() -> None:
    assert list(EXPECTED) == [member.name for member in FLEET]
    assert {member.name[-4:]: member.fault for member in FLEET if "-1b-060" in member.name} == {
        "0601": Fault.SWALLOWS_REBOOT,  # how each of them ends is seen in test_remediate.py and test_demo_acting.py
        "0602": Fault.ENABLED_AT_BOOT,
        "0603": Fault.STAYS_DOWN,
        "0604": Fault.BOOTED_BY_SOMEBODY,
        "0605": None,
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_node_gets_the_verdict_it_was_made_for(name: str, verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts[name]
    seen = Expected(
        verdict.status.value,
        verdict.cause,
        verdict.confidence.value if verdict.confidence else None,
        verdict.suspects,
        tuple(step.action for step in verdict.plan.steps) if verdict.plan else (),
    )
    assert seen == EXPECTED[name], verdict.summary


def test_nothing_that_could_be_read_is_unread(verdicts: Mapping[str, Verdict]) -> None:
    assert {name: verdict.unread for name, verdict in verdicts.items() if verdict.unread} == {}


@pytest.mark.parametrize("name", ["ray-gpu-1a-0417", "ray-gpu-1a-0533"])
def test_plan_disables_the_agent_before_it_reboots(name: str, verdicts: Mapping[str, Verdict]) -> None:
    plan = verdicts[name].plan
    assert plan is not None
    disable, reboot = plan.steps
    assert disable.args == {"unit": "ecs.service"}
    assert any("disable --now" in command and "ecs.service" in command for command in disable.commands)
    assert any("boot_id" in command and "systemctl reboot" in command for command in reboot.commands)
    assert plan.lasting_fix


def test_founding_verdict_shows_the_figures_of_the_founding_case(verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts["ray-gpu-1a-0417"]
    assert verdict.snapshot is not None
    cgroups, cpu = verdict.snapshot.get(CgroupsReading), verdict.snapshot.get(CpuReading)
    assert isinstance(cgroups, CgroupsReading)
    assert isinstance(cpu, CpuReading)
    assert cgroups.dying + cgroups.alive in (68_680, 68_681)
    assert [held.core for held in cpu.held("sys_percent", 90, 2)] == [39]
    lines = [line for evidence in verdict.evidence for line in evidence.source]
    assert any("TX q 5 is paused for too long" in line for line in lines)
    assert any("68680" in line or "68681" in line for line in lines)


def test_stopped_leaker_is_named_with_the_time_it_stopped(verdicts: Mapping[str, Verdict]) -> None:
    summary = verdicts["batch-1b-0072"].summary
    assert "ecs.service" in summary
    assert "stopped" in summary
    assert "reboot" in summary.lower()  # mentioned, not planned


def test_many_dying_cgroups_alone_are_present_and_not_proven(verdicts: Mapping[str, Verdict]) -> None:
    assert "present, not proven" in verdicts["quiet-1a-0061"].summary


def test_unreachable_nodes_say_how_far_one_came(verdicts: Mapping[str, Verdict]) -> None:
    assert "banner-stall" in verdicts["ray-gpu-1c-0290"].summary
    assert "host-key" in verdicts["web-1b-0044"].summary
