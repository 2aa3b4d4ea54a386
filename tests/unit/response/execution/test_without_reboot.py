"""Dropping caches stands in a reboot's place where a playbook says so, never alone, and says what it costs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.actions import ACTIONS
from bot.app.factories import library
from bot.causes import CAUSES
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.library.remedies import remedy_fault
from bot.probes.agents import Agent, AgentsReading
from bot.probes.host import HostReading
from bot.response.diagnosis.planning import with_plan
from bot.response.proven_cures import proven_on
from tests.known import known
from tests.record.incidents import BEGAN_AT, BOOT, NODE, VERDICT

HOST = HostReading("5.4.0", BOOT, timedelta(days=9))
SICK = replace(VERDICT, plan=None, snapshot=Snapshot(NODE, BEGAN_AT, timedelta(seconds=5), {"host": HOST}))


def playbook(*remedy: str) -> Playbook:
    found = library(()).get("zombie-cgroups")
    causes = tuple(
        replace(used, remedy=remedy) if used.cause.name == "leaked-memory-cgroups" else used for used in found.causes
    )
    return replace(found, causes=causes)


@pytest.mark.parametrize(
    ("remedy", "steps"),
    [
        (("disable_unit", "mask_unit", "reboot"), ["disable_unit", "reboot"]),
        (("disable_unit", "mask_unit", "drop_caches"), ["disable_unit", "drop_caches"]),
        (("disable_unit", "drop_caches", "reboot"), ["disable_unit", "reboot"]),
        (("disable_unit",), ["disable_unit"]),
        (("drop_caches",), []),
    ],
)
def test_it_takes_the_reboots_place_and_no_other(remedy: tuple[str, ...], steps: list[str]) -> None:
    plan = with_plan(SICK, playbook(*remedy), ACTIONS).plan
    assert [step.action for step in plan.steps] == steps if plan is not None else not steps


def test_what_it_costs_and_does_not_do_stands_beside_the_plan() -> None:
    plan = known(with_plan(SICK, library(()).get("zombie-cgroups-no-reboot"), ACTIONS).plan)
    assert plan.steps[-1].commands == ("sudo -n sysctl -w vm.drop_caches=3",)
    assert "frees dying cgroups for now, often not all, and stops no leak" in plan.notes[0]
    rebooting = known(with_plan(SICK, library(()).get("zombie-cgroups"), ACTIONS).plan)
    assert [note.partition(":")[0] for note in rebooting.notes] == [
        "Not read before the reboot",
        "Whether anything here needs ecs.service is not known.",
        proven_on("leaked-memory-cgroups", ("disable_unit", "reboot"), HOST.kernel).says.partition(":")[0],
    ]


def test_what_losing_a_unit_costs_stands_beside_the_plan_as_far_as_it_was_read() -> None:
    def said(used: bool | None, because: str = "") -> str:
        agents = AgentsReading((Agent("ecs", "ecs.service", used=used, because=because),))
        read = replace(known(SICK.snapshot), readings={"host": HOST, "agents": agents})
        plan = known(with_plan(replace(SICK, snapshot=read), library(()).get("zombie-cgroups"), ACTIONS).plan)
        return plan.notes[-2]

    assert said(False, "kubelet.service runs this node's work") == (
        "ecs.service is not needed: kubelet.service runs this node's work."
    )
    assert said(None, "its log could not be read") == "Whether anything here needs ecs.service is not known."
    assert said(True) == "Whether anything here needs ecs.service is not known.", "its use is never called none"


@pytest.mark.parametrize(
    ("cause", "remedy", "says"),
    [
        ("leaked-memory-cgroups", ["drop_caches"], "needs disable_unit or mask_unit before it"),
        ("leaked-memory-cgroups", ["drop_caches", "disable_unit"], "needs disable_unit or mask_unit before it"),
        ("io-stall", ["disable_unit", "drop_caches"], "helps only leaked-memory-cgroups"),
    ],
)
def test_playbook_cannot_offer_it_as_a_cure(cause: str, remedy: list[str], says: str) -> None:
    assert says in (remedy_fault(CAUSES[cause], remedy, ACTIONS, CAUSES) or "")
